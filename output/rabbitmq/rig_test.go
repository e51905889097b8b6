package rabbitmq_test

import (
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/output/rabbitmq"
	"github.com/rowrelay/rowrelay/poller"
)

// broker is the test's own view of RabbitMQ: what it declares is exclusive to its connection, and goes away with it.
type broker struct {
	url, prefix string
	ch          *amqp.Channel
	queues      []string
}

func newBroker(t testing.TB) *broker {
	t.Helper()
	b := &broker{}
	b.url, b.prefix = testenv.RabbitMQ(t)
	conn, err := amqp.Dial(b.url)
	if err != nil {
		t.Fatal("the test cannot reach RabbitMQ")
	}
	t.Cleanup(func() { _ = conn.Close() })
	if b.ch, err = conn.Channel(); err != nil {
		t.Fatal(err)
	}
	return b
}

// queue declares a queue and returns its name.
func (b *broker) queue(t testing.TB, suffix string, args amqp.Table) string {
	t.Helper()
	name := b.prefix + suffix
	if _, err := b.ch.QueueDeclare(name, false, false, true, false, args); err != nil {
		t.Fatal(err)
	}
	b.queues = append(b.queues, name)
	return name
}

// exchange declares a topic exchange, bound to queue for key unless queue is "".
func (b *broker) exchange(t testing.TB, suffix, queue, key string) string {
	t.Helper()
	name := b.prefix + suffix
	if err := b.ch.ExchangeDeclare(name, amqp.ExchangeTopic, false, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.ch.ExchangeDelete(name, false, false) }) // gone with a test that deleted it
	if queue != "" {
		if err := b.ch.QueueBind(queue, key, name, false, nil); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

// take takes all messages off all queues.
func (b *broker) take(t testing.TB) []amqp.Delivery {
	t.Helper()
	var all []amqp.Delivery
	for _, queue := range b.queues {
		for {
			m, ok, err := b.ch.Get(queue, true)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			all = append(all, m)
		}
	}
	return all
}

func (b *broker) ids(t testing.TB) []string {
	t.Helper()
	var ids []string
	for _, m := range b.take(t) {
		ids = append(ids, m.MessageId)
	}
	return ids
}

func ids(d *change.Delivery, indices ...int) []string {
	var ids []string
	for i := range d.Events {
		if len(indices) == 0 || slices.Contains(indices, i) {
			ids = append(ids, d.Events[i].ID)
		}
	}
	return ids
}

func open(t testing.TB, cfg rabbitmq.Config, destination string, byType map[string]string) *rabbitmq.Output {
	t.Helper()
	var err error
	if cfg.Destinations, err = output.ParseDestinations(destination, byType); err != nil {
		t.Fatal(err)
	}
	o, err := rabbitmq.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() }) // the broker may be gone
	return o
}

// behindProxy is a broker with one queue, and an output to that queue by way of a proxy.
func behindProxy(t testing.TB, cfg rabbitmq.Config) (*broker, *proxy, *rabbitmq.Output) {
	t.Helper()
	b := newBroker(t)
	p, through := via(t, b)
	cfg.URL = through
	return b, p, open(t, cfg, b.queue(t, "q", nil), nil)
}

// deliver delivers d, which must succeed.
func deliver(t testing.TB, o *rabbitmq.Output, d change.Delivery) {
	t.Helper()
	if err := o.Deliver(t.Context(), d); err != nil {
		t.Fatalf("Deliver: %v", err)
	}
}

// failed asserts that exactly the indices failed with cause, and that the text says all of want.
func failed(t testing.TB, err error, cause poller.Cause, indices []int, want ...string) {
	t.Helper()
	var failure *poller.DeliveryError
	if !errors.As(err, &failure) {
		t.Fatalf("Deliver returned %v, want a *poller.DeliveryError", err)
	}
	var got []int
	for _, f := range failure.Failed {
		if got = append(got, f.Index); f.Cause != cause {
			t.Errorf("event %d is %s, want %s (%v)", f.Index, f.Cause, cause, err)
		}
		if (f.Err != nil) != f.Named {
			t.Errorf("event %d, named: %t, has the error %v", f.Index, f.Named, f.Err)
		}
	}
	if diff := cmp.Diff(indices, got); diff != "" {
		t.Errorf("failed events (-want +got):\n%s\n%v", diff, err)
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
}

// general fails where an error does not say of each event that it failed as any would have, or says so and should not.
func general(t testing.TB, err error, want bool) {
	t.Helper()
	var failure *poller.DeliveryError
	if !errors.As(err, &failure) {
		t.Fatalf("Deliver returned %v, want a *poller.DeliveryError", err)
	}
	for _, f := range failure.Failed {
		if f.General != want {
			t.Errorf("event %d, general: %t, want %t (%v)", f.Index, f.General, want, err)
		}
	}
}

func indices(from, to int) []int {
	var all []int
	for i := from; i < to; i++ {
		all = append(all, i)
	}
	return all
}

func rows(first, n int) change.Delivery { return outputtest.Delivery(first, n) }

// proxy stands between an output and the broker.
type proxy struct {
	net.Listener
	broker  string
	mu      sync.Mutex
	clients []net.Conn
	servers []net.Conn
	dials   int
	mute    chan struct{} // not nil: what the broker says is held back until it is closed
	heard   chan struct{} // closed when a client says something while mute
	after   [2]int        // >0: connections are cut when the broker, or the client, has sent so many bytes more
	cut     bool          // connections are refused
	stall   chan struct{} // not nil: what clients say is not read until it is closed
	said    int           // bytes that were read from clients
	ended   int           // how often reading from a client has ended
}

// via returns a proxy and the URL through it.
func via(t testing.TB, b *broker) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(b.url)
	if err != nil {
		t.Fatal("the broker's URL")
	}
	p := &proxy{broker: u.Host}
	if p.Listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	u.Host = p.Addr().String()
	go p.serve()
	t.Cleanup(func() {
		_ = p.Close()
		p.speak()
		p.drop()
	})
	return p, u.String()
}

func (p *proxy) serve() {
	for {
		client, err := p.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		refuse := p.cut
		p.dials++
		p.mu.Unlock()
		if refuse {
			_ = client.Close()
			continue
		}
		server, err := net.Dial("tcp", p.broker)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.clients, p.servers = append(p.clients, client), append(p.servers, server)
		p.mu.Unlock()
		go p.copy(server, client, true)
		go p.copy(client, server, false)
	}
}

func (p *proxy) copy(to, from net.Conn, said bool) {
	defer func() { _, _ = to.Close(), from.Close() }()
	b := make([]byte, 32<<10)
	for {
		p.mu.Lock()
		stall := p.stall
		p.mu.Unlock()
		if said && stall != nil {
			<-stall
		}
		n, err := from.Read(b)
		p.mu.Lock()
		if said {
			p.said += n
			if err != nil {
				p.ended++
			}
		}
		mute := p.mute
		if said && mute != nil && p.heard != nil && n > 0 {
			close(p.heard)
			p.heard = nil
		}
		who := 0
		if said {
			who = 1
		}
		if after := &p.after[who]; *after > 0 && n > 0 {
			if *after -= n; *after <= 0 {
				n += *after // no more than was asked for
				*after = 0
				err = io.EOF
			}
		}
		p.mu.Unlock()
		if mute != nil && !said {
			<-mute
		}
		if n > 0 {
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// hush holds back what the broker says; the channel is closed when a client says something from now on.
func (p *proxy) hush() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute, p.heard = make(chan struct{}), make(chan struct{})
	return p.heard
}

func (p *proxy) speak() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mute != nil {
		close(p.mute)
	}
	p.mute, p.heard = nil, nil
}

// dialled is how many connections there were.
func (p *proxy) dialled() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dials
}

// drop cuts all connections.
func (p *proxy) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range slices.Concat(p.clients, p.servers) {
		_ = c.Close()
	}
	p.clients, p.servers = nil, nil
}

// dropAfter cuts the connections when the broker, or the client, has sent so many bytes more; 0 for never.
func (p *proxy) dropAfter(broker, client int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.after = [2]int{broker, client}
}

func (p *proxy) refuse(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = yes
}

// inject says something in the broker's name, between two frames: only while it is silent.
func (p *proxy) inject(t testing.TB, frame []byte) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.clients {
		if _, err := c.Write(frame); err != nil {
			t.Fatal(err)
		}
	}
}
