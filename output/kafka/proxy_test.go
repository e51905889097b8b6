package kafka_test

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// fate is what the proxy does with a produce request.
type fate int

const (
	pass   fate = iota
	hold        // it stays unanswered, and the broker does not see it
	cut         // the connection ends before the broker sees it
	lose        // the broker takes it, and the connection ends instead of its answer
	starve      // the proxy answers that a replica is missing, and the broker does not see it
)

// proxy stands between a client and a broker's listener, and reads the requests.
type proxy struct {
	listener net.Listener
	behind   string

	mu       sync.Mutex
	next     []fate // of the next produce requests; then pass
	always   fate
	arrived  chan struct{} // closed by the first produce request since set
	produces int
	held     []net.Conn
}

func newProxy(t *testing.T, b *testenv.KafkaBroker) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", b.Proxied)
	if err != nil {
		t.Fatal(err)
	}
	return proxyOn(t, l, b.Behind)
}

func proxyOn(t *testing.T, l net.Listener, behind string) *proxy {
	t.Helper()
	p := &proxy{listener: l, behind: behind, arrived: make(chan struct{})}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { p.serve(t, client) })
		}
	})
	t.Cleanup(func() { _ = l.Close() })
	return p
}

func (p *proxy) serve(t *testing.T, client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", p.behind)
	if err != nil {
		return // the broker is down
	}
	defer func() { _ = server.Close() }()
	stop := make(chan struct{})
	defer close(stop)
	go func() { // the test's end ends connections that a client keeps
		select {
		case <-t.Context().Done():
			_ = client.Close()
		case <-stop:
		}
	}()
	var mu sync.Mutex
	lost := false
	go func() {
		defer func() { _ = client.Close() }()
		buf := make([]byte, 32<<10)
		for {
			n, err := server.Read(buf)
			mu.Lock()
			gone := lost
			mu.Unlock()
			if gone || err != nil {
				return
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	var size [4]byte
	for {
		if _, err := io.ReadFull(client, size[:]); err != nil {
			return
		}
		request := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(client, request); err != nil {
			return
		}
		if binary.BigEndian.Uint16(request) == 0 { // produce
			switch p.fate() {
			case hold:
				p.mu.Lock()
				p.held = append(p.held, client)
				p.mu.Unlock()
				continue
			case cut:
				return
			case starve:
				answer, err := starved(request)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := client.Write(answer); err != nil {
					return
				}
				continue
			case lose:
				mu.Lock()
				lost = true
				mu.Unlock()
			case pass:
			}
		}
		if _, err := server.Write(append(size[:], request...)); err != nil {
			return
		}
	}
}

// starved answers a produce request as the leader of partitions does whose replicas are down: one broker alone has no
// such.
func starved(request []byte) ([]byte, error) {
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(int16(binary.BigEndian.Uint16(request[2:])))
	correlation, body := request[4:8], request[8:]
	body = body[2+binary.BigEndian.Uint16(body):] // the client's id
	if req.IsFlexible() {
		body = body[1:] // no tags
	}
	if err := req.ReadFrom(body); err != nil {
		return nil, err
	}
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	for _, topic := range req.Topics {
		t := kmsg.NewProduceResponseTopic()
		t.Topic, t.TopicID = topic.Topic, topic.TopicID
		for _, partition := range topic.Partitions {
			p := kmsg.NewProduceResponseTopicPartition()
			p.Partition, p.ErrorCode = partition.Partition, kerr.NotEnoughReplicas.Code
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	answer := append(make([]byte, 4, 64), correlation...)
	if req.IsFlexible() {
		answer = append(answer, 0)
	}
	answer = resp.AppendTo(answer)
	binary.BigEndian.PutUint32(answer, uint32(len(answer)-4))
	return answer, nil
}

func (p *proxy) fate() fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.produces++
	select {
	case <-p.arrived:
	default:
		close(p.arrived)
	}
	if len(p.next) == 0 {
		return p.always
	}
	f := p.next[0]
	p.next = p.next[1:]
	return f
}

// set says what becomes of the next produce requests, and of all after them.
func (p *proxy) set(always fate, next ...fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.always, p.next, p.arrived = always, next, make(chan struct{})
}

// drop ends the connections with a request that is held: a client that still has it sends it again.
func (p *proxy) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.held {
		_ = c.Close()
	}
	p.held = nil
}

func (p *proxy) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.produces
}
