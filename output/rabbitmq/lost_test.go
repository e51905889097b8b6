package rabbitmq_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/output/rabbitmq"
	"github.com/rowrelay/rowrelay/poller"
)

func TestTheConnectionIsLostBetweenDeliveries(t *testing.T) {
	b := newBroker(t)
	p, through := via(t, b)
	b.queue(t, "q", nil)
	o := open(t, rabbitmq.Config{URL: through}, b.queues[0], nil)
	d := rows(0, 3)
	deliver(t, o, d)

	p.refuse(true) // the broker restarts
	p.drop()
	var err error
	eventually(t, "deliveries fail", func() bool { err = o.Deliver(t.Context(), d); return err != nil })
	failed(t, err, poller.Unavailable, indices(0, 3), p.Addr().String())
	p.refuse(false)
	b.ids(t)
	deliver(t, o, d) // at once
	if diff := cmp.Diff(ids(&d), b.ids(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The connection is cut after some bytes of a delivery: what was confirmed is accepted, the rest unavailable, and every
// event that is called accepted is on the queue.
func TestTheConnectionIsLostInTheMiddle(t *testing.T) {
	b := newBroker(t)
	p, through := via(t, b)
	b.queue(t, "q", nil)
	o := open(t, rabbitmq.Config{URL: through}, b.queues[0], nil)
	for _, after := range []int{1, 5_000, 100_000, 300_000} {
		deliver(t, o, rows(5000, 1)) // there is a connection
		b.ids(t)
		p.dropAfter(0, after)
		d := rows(0, 1000)
		err := o.Deliver(t.Context(), d)
		var failure *poller.DeliveryError
		if !errors.As(err, &failure) || len(failure.Failed) == 0 {
			t.Fatalf("cut after %d bytes: %v", after, err)
		}
		arrived := b.ids(t)
		for i := range d.Events {
			lost := slices.ContainsFunc(failure.Failed, func(f poller.FailedEvent) bool { return f.Index == i })
			if !lost && !slices.Contains(arrived, d.Events[i].ID) {
				t.Errorf("cut after %d bytes: event %d was called accepted, and is not there", after, i)
			}
		}
		for _, f := range failure.Failed {
			if f.Cause != poller.Unavailable {
				t.Errorf("event %d is %s", f.Index, f.Cause)
			}
		}
	}
	deliver(t, o, rows(0, 10))
}

// The connection is cut after some of the confirms: those events are accepted, and not sent again.
func TestWhatWasConfirmedStaysAccepted(t *testing.T) {
	b := newBroker(t)
	p, through := via(t, b)
	b.queue(t, "q", nil)
	o := open(t, rabbitmq.Config{URL: through}, b.queues[0], nil)
	accepted := 0
	eventually(t, "a connection is cut between two confirms", func() bool { // the broker may confirm all at once
		deliver(t, o, rows(5000, 1))
		b.ids(t)
		p.dropAfter(21+10, 0) // one basic.ack is 21 bytes
		err := o.Deliver(t.Context(), rows(0, 1000))
		p.dropAfter(0, 0)
		var failure *poller.DeliveryError
		if errors.As(err, &failure) {
			accepted = 1000 - len(failure.Failed)
		}
		return accepted > 0
	})
	if got := b.ids(t); len(got) < accepted {
		t.Errorf("%d were called accepted, and %d are there", accepted, len(got))
	}
}

// Many deliveries while the connection is cut again and again: nothing is called accepted that is not there.
func TestTheConnectionIsLostAgainAndAgain(t *testing.T) {
	b := newBroker(t)
	p, through := via(t, b)
	b.queue(t, "q", nil)
	o := open(t, rabbitmq.Config{URL: through}, b.queues[0], nil)
	var wg sync.WaitGroup
	var mu sync.Mutex
	accepted := map[string]bool{}
	stop := make(chan struct{})
	for k := range 8 {
		wg.Go(func() {
			for i := range 30 {
				d := rows(100_000*k+100*i, 20)
				var failure *poller.DeliveryError
				errors.As(o.Deliver(t.Context(), d), &failure)
				mu.Lock()
				for j := range d.Events {
					if failure == nil || !slices.ContainsFunc(failure.Failed, func(f poller.FailedEvent) bool { return f.Index == j }) {
						accepted[d.Events[j].ID] = true
					}
				}
				mu.Unlock()
			}
		})
	}
	go func() {
		tick := time.NewTicker(30 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.drop()
			case <-stop:
				return
			}
		}
	}()
	wg.Wait()
	close(stop)
	there := map[string]bool{}
	for _, id := range b.ids(t) {
		there[id] = true
	}
	for id := range accepted {
		if !there[id] {
			t.Errorf("event %s was called accepted, and is not there", id)
		}
	}
	if len(accepted) == 0 || p.dials < 3 {
		t.Errorf("%d accepted over %d connections: that proves little", len(accepted), p.dials)
	}
}

// The context of a delivery ends before the broker confirms. What it published stays in front of what is published later.
func TestAnUnconfirmedDeliveryIsNotOvertaken(t *testing.T) {
	b := newBroker(t)
	p, through := via(t, b)
	b.queue(t, "q", nil)
	o := open(t, rabbitmq.Config{URL: through}, b.queues[0], nil)
	var wg sync.WaitGroup
	for i := range 8 { // so that there is more than one channel
		wg.Go(func() {
			if err := o.Deliver(t.Context(), rows(5000+1000*i, 300)); err != nil {
				t.Errorf("Deliver: %v", err)
			}
		})
	}
	wg.Wait()
	b.ids(t)

	arrived := p.hush()
	why := errors.New("the right to deliver ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-arrived; cancel(why) }()
	first, second := rows(0, 50), rows(100, 50)
	err := o.Deliver(ctx, first)
	failed(t, err, poller.Unavailable, indices(0, 50), why.Error())
	if !errors.Is(err, why) {
		t.Errorf("%v does not wrap the cause", err)
	}
	ended, stop := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, why)
	defer stop()
	failed(t, o.Deliver(ended, second), poller.Unavailable, indices(0, 50)) // the broker has not answered yet
	p.speak()
	deliver(t, o, second)
	if diff := cmp.Diff(append(ids(&first), ids(&second)...), b.ids(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p.dials != 1 {
		t.Errorf("%d connections, want 1", p.dials)
	}
}

// A broker that reads nothing: what has not left when the context ends never leaves. The connection is reset, and others that
// are in flight over it learn so at once.
func TestNothingIsWrittenAfterTheEnd(t *testing.T) {
	b := newBroker(t)
	p, through := via(t, b)
	b.queue(t, "q", nil)
	o := open(t, rabbitmq.Config{URL: through}, b.queues[0], nil)
	var wg sync.WaitGroup
	for i := range 8 { // so that there is more than one channel
		wg.Go(func() { deliver(t, o, rows(5000+1000*i, 300)) })
	}
	wg.Wait()
	b.ids(t)
	stall := make(chan struct{})
	p.mu.Lock()
	p.stall = stall
	p.mu.Unlock()
	other := make(chan error, 1)
	p.mu.Lock()
	p.said = 0
	p.mu.Unlock()
	heard := p.hush()
	go func() { other <- o.Deliver(t.Context(), rows(6000, 2)) }()
	<-heard
	d := rows(0, 100)
	size := 0
	for i := range d.Events {
		d.Events[i].Row = fmt.Appendf(nil, `"%s"`, strings.Repeat("x", 400<<10))
		size += len(d.Events[i].Row)
	}
	why := errors.New("the right to deliver ended")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 500*time.Millisecond, why)
	defer cancel()
	began := time.Now()
	failed(t, o.Deliver(ctx, d), poller.Unavailable, indices(0, 100), why.Error())
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %s", took)
	}
	close(stall) // from now on, what is still written is read
	eventually(t, "the connection ends", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.ended > 0
	})
	failed(t, <-other, poller.Unavailable, []int{0, 1})
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("the other took %s", took)
	}
	p.speak()
	p.mu.Lock()
	said := p.said
	p.stall = nil
	p.mu.Unlock()
	if said > size/2 { // what the kernel had: some MB
		t.Errorf("%d bytes left of a delivery of %d whose context had ended", said, size)
	}
	deliver(t, o, rows(0, 3))
}

// countdown ends when it has been asked so often whether it has ended.
type countdown struct {
	context.Context
	left atomic.Int32
	end  context.CancelCauseFunc
	why  error
}

func (c *countdown) Err() error {
	if c.left.Add(-1) <= 0 {
		c.end(c.why)
	}
	return c.Context.Err()
}

// The context ends while a delivery is composed: what waits to be sent together with the rest is dropped.
func TestTheEndWhileComposing(t *testing.T) {
	b := newBroker(t)
	b.queue(t, "q", nil)
	o := open(t, rabbitmq.Config{URL: b.url}, b.queues[0], nil)
	deliver(t, o, rows(5000, 1))
	b.ids(t)
	c := &countdown{why: errors.New("the right to deliver ended")}
	c.Context, c.end = context.WithCancelCause(t.Context())
	c.left.Store(10)
	failed(t, o.Deliver(c, rows(0, 20)), poller.Unavailable, indices(0, 20), c.why.Error())
	if c.left.Load() > 0 {
		t.Fatal("the delivery ended before its context")
	}
	d := rows(100, 2)
	deliver(t, o, d)
	if diff := cmp.Diff(ids(&d), b.ids(t)); diff != "" {
		t.Errorf("what arrived (-want +got):\n%s", diff)
	}
}

// Attempts to connect that fail before AMQP begins leave nothing behind.
func TestFailedDialsLeaveNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() { // says what neither TLS nor AMQP understands
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = c.Read(make([]byte, 1000))
				_, _ = c.Write([]byte("AMQP\x00\x00\x09\x01"))
				_ = c.Close()
			}()
		}
	}()
	for _, u := range []string{"amqps://u:p@%s/?cacertfile=/none", "amqps://u:p@%s/", "amqp://u:p@%s/"} {
		o := open(t, rabbitmq.Config{URL: fmt.Sprintf(u, l.Addr())}, "q", nil)
		before := runtime.NumGoroutine()
		for range 20 {
			failed(t, o.Deliver(t.Context(), rows(0, 1)), poller.Unavailable, []int{0})
		}
		eventually(t, "goroutines end: "+u, func() bool { return runtime.NumGoroutine() <= before+3 })
	}
}

// A broker that never answers: deliveries end with their contexts, and the connection is replaced.
func TestABrokerThatDoesNotAnswer(t *testing.T) {
	b := newBroker(t)
	p, through := via(t, b)
	b.queue(t, "q", nil)
	o := open(t, rabbitmq.Config{URL: through}, b.queues[0], nil)
	for _, when := range []string{"connecting", "publishing"} {
		if when == "publishing" {
			deliver(t, o, rows(5000, 1))
		}
		p.hush()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		began := time.Now()
		failed(t, o.Deliver(ctx, rows(0, 5)), poller.Unavailable, indices(0, 5), context.DeadlineExceeded.Error())
		cancel()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: it took %s", when, took)
		}
		if when == "connecting" {
			p.speak()
		}
	}
	p.mu.Lock()
	p.mute = nil // the old connection stays silent for ever, a new one does not
	p.mu.Unlock()
	began := time.Now()
	deliver(t, o, rows(0, 5)) // waits until the old one is reset: not for the heartbeats, which take 15 seconds
	if took := time.Since(began); took > 12*time.Second {
		t.Errorf("it took %s", took)
	}
	if p.dials != 2 {
		t.Errorf("%d connections, want 2", p.dials)
	}
}

func blockedFrame(reason string) []byte {
	payload := append([]byte{0, 10, 0, 60, byte(len(reason))}, reason...)
	frame := binary.BigEndian.AppendUint32([]byte{1, 0, 0}, uint32(len(payload)))
	return append(append(frame, payload...), 0xce)
}

func TestABlockedConnection(t *testing.T) {
	b := newBroker(t)
	p, through := via(t, b)
	b.queue(t, "q", nil)
	o := open(t, rabbitmq.Config{URL: through}, b.queues[0], nil)
	deliver(t, o, rows(0, 2))
	b.ids(t)

	// The alarm comes while a delivery waits for its confirms.
	arrived := p.hush()
	why := errors.New("the right to deliver ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- o.Deliver(ctx, rows(10, 2)) }()
	<-arrived
	p.inject(t, blockedFrame("low on memory"))
	eventually(t, "the next delivery is refused at once", func() bool {
		short, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer stop()
		err := o.Deliver(short, rows(20, 2))
		return err != nil && strings.Contains(err.Error(), "low on memory")
	})
	cancel(why)
	err := <-ended
	failed(t, err, poller.Unavailable, []int{0, 1}, "low on memory", "blocks publishers")
	if !errors.Is(err, why) {
		t.Errorf("%v does not wrap the cause", err)
	}
	// It ends.
	p.inject(t, []byte{1, 0, 0, 0, 0, 0, 4, 0, 10, 0, 61, 0xce})
	p.speak()
	eventually(t, "deliveries go on", func() bool { return o.Deliver(t.Context(), rows(30, 2)) == nil })
	if p.dials != 1 {
		t.Errorf("%d connections, want 1", p.dials)
	}
}

func TestABlockedConnectionIsClosed(t *testing.T) {
	b := newBroker(t)
	p, through := via(t, b)
	b.queue(t, "q", nil)
	o := open(t, rabbitmq.Config{URL: through}, b.queues[0], nil)
	deliver(t, o, rows(0, 2))
	p.inject(t, blockedFrame("low on disk"))
	eventually(t, "deliveries are refused", func() bool {
		err := o.Deliver(t.Context(), rows(20, 2))
		return err != nil && strings.Contains(err.Error(), "low on disk")
	})
	p.hush()
	began := time.Now()
	if err := o.Close(); err != nil || time.Since(began) > 4*time.Second {
		t.Errorf("Close took %s: %v", time.Since(began), err)
	}
}

func TestTLS(t *testing.T) {
	b := newBroker(t)
	b.queue(t, "q", nil)
	u, err := url.Parse(b.url)
	if err != nil {
		t.Fatal("the broker's URL")
	}
	plain := u.Host
	certificate, file := selfSigned(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	p := &proxy{Listener: l, broker: plain}
	go p.serve()
	defer p.drop()
	u.Scheme, u.Host = "amqps", l.Addr().String()

	unknown := open(t, rabbitmq.Config{URL: u.String()}, b.queues[0], nil)
	failed(t, unknown.Deliver(t.Context(), rows(0, 2)), poller.Unavailable, []int{0, 1}, "certificate")
	u.RawQuery = "cacertfile=" + url.QueryEscape(file)
	known := open(t, rabbitmq.Config{URL: u.String()}, b.queues[0], nil)
	d := rows(0, 200)
	deliver(t, known, d)
	if diff := cmp.Diff(ids(&d), b.ids(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	u.Host = strings.Replace(u.Host, "127.0.0.1", "localhost", 1) // which the certificate does not name
	other := open(t, rabbitmq.Config{URL: u.String()}, b.queues[0], nil)
	failed(t, other.Deliver(t.Context(), rows(0, 2)), poller.Unavailable, []int{0, 1}, "certificate")
}

// selfSigned returns a certificate for 127.0.0.1, and the file that it is in.
func selfSigned(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}
