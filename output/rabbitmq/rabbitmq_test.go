package rabbitmq_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/output/rabbitmq"
	"github.com/rowrelay/rowrelay/poller"
)

func TestConformance(t *testing.T) {
	outputtest.Run(t, func(t *testing.T) outputtest.Fixture {
		b := newBroker(t)
		p, through := via(t, b)
		b.queue(t, ".upsert", nil)
		exchange := b.exchange(t, "x", b.queue(t, ".orders", nil), "order.events")
		shipped := b.queue(t, ".shipped", nil)
		return outputtest.Fixture{
			Output:      open(t, rabbitmq.Config{URL: through, MaxMessage: 1 << 20}, b.prefix+".{op}", nil),
			Unreachable: open(t, rabbitmq.Config{URL: "amqp://" + unused(t)}, "q", nil),
			InOrder:     true,
			TooLarge:    1 << 20,
			Received: func(t *testing.T) [][]byte {
				var bodies [][]byte
				for _, m := range b.take(t) {
					bodies = append(bodies, m.Body)
				}
				return bodies
			},
			Spoil: func(d *change.Delivery, i int) poller.Cause {
				d.Events[i].Op = change.Delete // to a queue that is not there
				return poller.Misplaced
			},
			Misplace: func(d *change.Delivery, i int) { d.Events[i].Op = change.Delete },
			Hang:     func(*testing.T) <-chan struct{} { return p.hush() },
			Messages: b.messages,
			Payloads: open(t, rabbitmq.Config{URL: b.url, Format: change.Payload}, exchange+"/{aggregate_type}.events",
				map[string]string{"OrderShipped": shipped}),
			Default: exchange + "/order.events",
			Other:   shipped,
		}
	})
}

// messages reads all that is to be known of a message; none of it may be missing.
func (b *broker) messages(t *testing.T) []outputtest.Message {
	t.Helper()
	var all []outputtest.Message
	for _, d := range b.take(t) {
		m := outputtest.Message{
			Destination: d.RoutingKey, Body: d.Body, ID: d.MessageId, Type: d.Type, ContentType: d.ContentType,
			Time:       d.Timestamp,
			Attributes: map[string]string{},
		}
		if d.Exchange != "" {
			m.Destination = d.Exchange + "/" + d.RoutingKey
		}
		if number, ok := d.Headers["rowrelay_publish"].(int64); !ok || number < 1 {
			t.Errorf("a message has the number %v", d.Headers["rowrelay_publish"])
		}
		delete(d.Headers, "rowrelay_publish")
		for name, value := range d.Headers {
			m.Attributes[name] = value.(string)
		}
		if m.ID == "" || m.Type == "" || m.ContentType == "" || m.Time.IsZero() || d.AppId != "shop" ||
			d.DeliveryMode != amqp.Persistent {
			t.Errorf("a message misses something: %+v, app_id %q, delivery mode %d", m, d.AppId, d.DeliveryMode)
		}
		all = append(all, m)
	}
	return all
}

// unused returns a loopback address where nothing listens.
func unused(t testing.TB) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

func TestCreate(t *testing.T) {
	b := newBroker(t)
	queue, exchange := b.prefix+"created", b.prefix+"x"
	o := open(t, rabbitmq.Config{URL: b.url, Create: true}, queue, map[string]string{"x": exchange + "/key"})
	t.Cleanup(func() {
		_, _ = b.ch.QueueDelete(queue, false, false, false)
		_ = b.ch.ExchangeDelete(exchange, false, false)
	})
	d := rows(0, 4)
	d.Events[2].Outbox = &change.Outbox{EventType: "X"}
	// no queue is bound to a new exchange
	failed(t, o.Deliver(t.Context(), d), poller.Misplaced, []int{2}, exchange, "bind")
	if q, err := b.ch.QueueDeclarePassive(queue, true, false, false, false, nil); err != nil || q.Messages != 3 {
		t.Errorf("the queue: %+v, %v", q, err)
	}
	// What is declared is durable, and a topic exchange: declaring it again as such is no contradiction.
	if err := b.ch.ExchangeDeclare(exchange, amqp.ExchangeTopic, true, false, false, false, nil); err != nil {
		t.Error(err)
	}
	if _, err := b.ch.QueueDeclare(queue, true, false, false, false, nil); err != nil {
		t.Error(err)
	}

	// A queue that goes away does so without a word; what is returned tells, and the next delivery declares it.
	if _, err := b.ch.QueueDelete(queue, false, false, false); err != nil {
		t.Fatal(err)
	}
	d = rows(0, 3)
	failed(t, o.Deliver(t.Context(), d), poller.Misplaced, indices(0, 3), queue, "the next request declares it")
	deliver(t, o, d)
}

func TestAFullQueueSaysNo(t *testing.T) {
	b := newBroker(t)
	q := b.queue(t, "full", amqp.Table{"x-max-length": 5, "x-overflow": "reject-publish"})
	o := open(t, rabbitmq.Config{URL: b.url}, q, nil)
	d := rows(0, 5)
	deliver(t, o, d)
	failed(t, o.Deliver(t.Context(), rows(100, 8)), poller.Misplaced, indices(0, 8), "basic.nack", q)
	if diff := cmp.Diff(ids(&d), b.ids(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again := rows(200, 5)
	deliver(t, o, again) // over the same channel: a nack breaks nothing
}

func TestAThousandDeliveriesAtOnce(t *testing.T) {
	b, p, o := behindProxy(t, rabbitmq.Config{Concurrency: 16})
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			if err := o.Deliver(t.Context(), rows(10*i, 3)); err != nil {
				t.Errorf("Deliver: %v", err)
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	all := b.ids(t)
	for _, id := range all {
		seen[id] = true
	}
	if len(all) != 3000 || len(seen) != 3000 {
		t.Errorf("%d messages of %d events arrived, want 3000 of 3000", len(all), len(seen))
	}
	if n := p.dialled(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// The broker's own limit is lower than ours: it names the sizes when it closes the channel, and that is learned.
func TestTooLargeForTheBroker(t *testing.T) {
	b := newBroker(t)
	b.queue(t, "q", nil)
	o := open(t, rabbitmq.Config{URL: b.url, Format: change.Row}, b.queues[0], nil)
	d := rows(0, 3)
	d.Events[1].Row = fmt.Appendf(nil, `"%s"`, strings.Repeat("x", 17<<20))
	err := o.Deliver(t.Context(), d)
	var failure *poller.DeliveryError
	if !errors.As(err, &failure) {
		t.Fatalf("Deliver: %v", err)
	}
	for _, f := range failure.Failed {
		if (f.Cause == poller.Impossible) != (f.Index == 1) || f.Named != (f.Index == 1) {
			t.Errorf("event %d is %s, named %t: %v", f.Index, f.Cause, f.Named, err)
		}
	}
	b.ids(t)
	failed(t, o.Deliver(t.Context(), d), poller.Impossible, []int{1}, "max_message_size", "16777216")
	if diff := cmp.Diff(ids(&d, 0, 2), b.ids(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Headers larger than a frame would cost the connection, and with it all deliveries under way.
func TestHeadersThatNoFrameHolds(t *testing.T) {
	b, p, o := behindProxy(t, rabbitmq.Config{Format: change.Row})
	for _, size := range []int{100_000, 129_000, 131_072, 200_000} {
		d := rows(0, 3)
		d.Events[1].Cursor = change.Cursor(strings.Repeat("c", size))
		if err := o.Deliver(t.Context(), d); err != nil {
			failed(t, err, poller.Impossible, []int{1}, "frame_max")
		} else if size > 131_000 {
			t.Errorf("headers of %d bytes were sent", size)
		}
		if got := b.ids(t); len(got) < 2 {
			t.Errorf("with headers of %d bytes, only %d messages arrived", size, len(got))
		}
	}
	d := rows(0, 3)
	d.Events[2].ID = strings.Repeat("i", 256)
	failed(t, o.Deliver(t.Context(), d), poller.Impossible, []int{2}, "its id 256")
	if n := p.dialled(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestDestinationsThatCannotBe(t *testing.T) {
	b := newBroker(t)
	b.queue(t, ".42", nil)
	o := open(t, rabbitmq.Config{URL: b.url}, b.prefix+".{aggregate_id}", nil)
	d := outputtest.Outbox()
	d.Events[1].Outbox.AggregateID = strings.Repeat("x", 300)
	d.Events[2].Outbox = nil
	d.Events = d.Events[:3]
	failed(t, o.Deliver(t.Context(), d), poller.Impossible, []int{1, 2}, "255 bytes")
	if diff := cmp.Diff(ids(&d, 0), b.ids(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNoSecretInErrors(t *testing.T) {
	b := newBroker(t)
	const secret = "hunter2-s3cret"
	u, err := url.Parse(b.url)
	if err != nil {
		t.Fatal("the broker's URL")
	}
	u.User = url.UserPassword("rowrelay", secret)
	password := u.String()
	u.Host = unused(t)
	unreachable := u.String()
	whole, _ := url.Parse(b.url)
	real, _ := whole.User.Password()
	whole.Path = "/none"
	for _, c := range []struct{ name, url, want string }{
		{"wrong password", password, "check user and password"},
		{"unreachable", unreachable, "refused"},
		{"no such host", "amqp://u:" + secret + "@no-such-host.invalid/", "connect"},
		{"virtual host", whole.String(), "virtual host"},
		{"certificate file", "amqps://u:" + secret + "@" + u.Host + "/?cacertfile=/none", "connect"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := open(t, rabbitmq.Config{URL: c.url}, "q", nil).Deliver(t.Context(), rows(0, 2))
			failed(t, err, poller.Unavailable, []int{0, 1}, c.want)
			general(t, err, true)
			for e := err; e != nil; e = errors.Unwrap(e) {
				if strings.Contains(e.Error(), secret) || strings.Contains(e.Error(), real) {
					t.Errorf("the password is in the error: %v", e)
				}
			}
		})
	}
	for _, bad := range []string{"", "u:" + secret, "http://u:" + secret + "@h/", "amqp://u:" + secret + "@h:x/",
		"amqp://u:" + secret + "%zz@h/", "amqp://u:" + secret + " @h"} {
		if _, err := rabbitmq.New(rabbitmq.Config{URL: bad}); err == nil || strings.Contains(err.Error(), secret) ||
			!strings.Contains(err.Error(), "output__connection") {
			t.Errorf("New(%q): %v", bad, err)
		}
	}
	if _, err := rabbitmq.New(rabbitmq.Config{URL: b.url, MaxMessage: -1}); err == nil {
		t.Error("a negative limit is accepted")
	}
}

func TestClose(t *testing.T) {
	b := newBroker(t)
	b.queue(t, "q", nil)
	o := open(t, rabbitmq.Config{URL: b.url}, b.queues[0], nil)
	if err := o.Close(); err != nil {
		t.Errorf("Close before any delivery: %v", err)
	}
	failed(t, o.Deliver(t.Context(), rows(0, 2)), poller.Unavailable, []int{0, 1}, "closed")
	o = open(t, rabbitmq.Config{URL: b.url}, b.queues[0], nil)
	deliver(t, o, rows(0, 2))
	for range 2 {
		if err := o.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	failed(t, o.Deliver(context.Background(), rows(0, 2)), poller.Unavailable, []int{0, 1}, "closed")
}

func BenchmarkDeliver(b *testing.B) {
	for _, events := range []int{1, 100} {
		b.Run(fmt.Sprintf("events=%d", events), func(b *testing.B) {
			r := newBroker(b)
			// A durable queue, as in production: a confirm waits for the disk. It keeps few messages: only publishing is
			// measured.
			queue := r.prefix + "bench"
			if _, err := r.ch.QueueDeclare(queue, true, false, false, false, amqp.Table{"x-max-length": 1000}); err != nil {
				b.Fatal(err)
			}
			defer func() { _, _ = r.ch.QueueDelete(queue, false, false, false) }()
			o := open(b, rabbitmq.Config{URL: r.url}, queue, nil)
			d := rows(0, events)
			deliver(b, o, d)
			b.SetParallelism(4) // of 2 cores: 8 deliveries at once
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := o.Deliver(b.Context(), d); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N*events)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
