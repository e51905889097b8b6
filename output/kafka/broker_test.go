package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/output/kafka"
	"github.com/rowrelay/rowrelay/poller"
)

// TestBroker holds what takes a broker of its own.
func TestBroker(t *testing.T) {
	broker := testenv.OwnKafka(t)
	t.Run("a lost answer is no duplicate", func(t *testing.T) { lostAnswer(t, broker) })
	t.Run("nothing is sent after the context has ended", func(t *testing.T) { nothingLate(t, broker) })
	t.Run("a delivery's end does not touch another", func(t *testing.T) { apart(t, broker) })
	t.Run("a broker that does not answer is unavailable in time", func(t *testing.T) { silent(t, broker) })
	t.Run("a partition without its replicas", func(t *testing.T) { fewReplicas(t, broker) })
	t.Run("logins", func(t *testing.T) { logins(t, broker) })
	t.Run("a right that is missing", func(t *testing.T) { unauthorized(t, broker) })
	t.Run("a client certificate", func(t *testing.T) { certificate(t, broker) })
	t.Run("TLS and an identity", func(t *testing.T) { identity(t, broker) })
	t.Run("a broker is restarted", func(t *testing.T) { restarted(t, broker) })
}

// lostAnswer: within a delivery the producer's sequence tells a repetition.
func lostAnswer(t *testing.T, broker *testenv.KafkaBroker) {
	for _, f := range []fate{lose, cut} {
		p := newProxy(t, broker)
		topic := broker.Topic(t, 2)
		o := open(t, broker.Proxied, topic, nil)
		d := outbox(0, 10)
		p.set(pass, f, f)
		if err := o.Deliver(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if p.count() < 3 {
			t.Errorf("%d requests, want the first and its repetitions", p.count())
		}
		arrivedOnce(t, broker.Records(t, topic), d)
		_ = p.listener.Close()
	}
}

func nothingLate(t *testing.T, broker *testenv.KafkaBroker) {
	p := newProxy(t, broker)
	topic := broker.Topic(t, 2)
	o := open(t, broker.Proxied, topic, nil)
	p.set(hold)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the claim was lost")
	arrived := p.arrived
	go func() {
		<-arrived
		cancel(why)
	}()
	err := o.Deliver(ctx, outbox(0, 3))
	failed(t, err, poller.FailedEvent{Index: 0}, poller.FailedEvent{Index: 1}, poller.FailedEvent{Index: 2})
	if !errors.Is(err, why) {
		t.Errorf("%v does not wrap the cause", err)
	}
	// A client that still held the records would send them again now, within some 100 ms.
	p.set(pass)
	p.drop()
	for begin := time.Now(); time.Since(begin) < time.Second; {
		if err := o.Deliver(t.Context(), outbox(10, 3)); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range broker.Records(t, topic) {
		if key := string(r.Key); key == "0" || key == "1" || key == "2" {
			t.Errorf("the event %s was sent after the context had ended", key)
		}
	}
	_ = p.listener.Close()
}

func apart(t *testing.T, broker *testenv.KafkaBroker) {
	p := newProxy(t, broker)
	topic := broker.Topic(t, 1)
	o := open(t, broker.Proxied, topic, nil)
	p.set(pass, hold)
	arrived := p.arrived
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- o.Deliver(ctx, outbox(0, 3)) }()
	<-arrived
	d := outbox(10, 3)
	if err := o.Deliver(t.Context(), d); err != nil {
		t.Errorf("beside a delivery that hangs: %v", err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that hung: %v", err)
	}
	arrivedOnce(t, broker.Records(t, topic), d)
	_ = p.listener.Close()
}

func silent(t *testing.T, broker *testenv.KafkaBroker) {
	p := newProxy(t, broker)
	topic := broker.Topic(t, 1)
	o := open(t, broker.Proxied, topic, func(c *kafka.Config) { c.Timeout = time.Second })
	p.set(hold)
	begin := time.Now()
	err := o.Deliver(t.Context(), outbox(0, 1))
	failed(t, err, poller.FailedEvent{Index: 0})
	contains(t, err, "no confirmation within 1s (output__timeout)", topic)
	if took := time.Since(begin); took > 15*time.Second { // by default it would be 30 s
		t.Errorf("it took %s", took)
	}
	_ = p.listener.Close()
}

// fewReplicas: what passes is waited for, what stays is told well before the time is up.
func fewReplicas(t *testing.T, broker *testenv.KafkaBroker) {
	p := newProxy(t, broker)
	topic := broker.Topic(t, 1)
	o := open(t, broker.Proxied, topic, nil)
	p.set(pass, starve, starve, starve)
	d := outbox(0, 3)
	if err := o.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	arrivedOnce(t, broker.Records(t, topic), d)
	p.set(starve)
	begin := time.Now()
	err := o.Deliver(t.Context(), outbox(10, 2))
	failed(t, err, poller.FailedEvent{Index: 0, Cause: poller.Misplaced, Named: true},
		poller.FailedEvent{Index: 1, Cause: poller.Misplaced, Named: true})
	contains(t, err, topic, "NOT_ENOUGH_REPLICAS", "min.insync.replicas")
	if took := time.Since(begin); took > 25*time.Second { // of the 30 s of output__timeout
		t.Errorf("it took %s", took)
	}
	_ = p.listener.Close()
}

// restarted: a producer sends windows, each key's number n+1 after its number n was confirmed, as the tick does, while
// the broker is killed under it, and once more between two of them. Nothing is lost or inverted.
func restarted(t *testing.T, broker *testenv.KafkaBroker) {
	topic := broker.Topic(t, 3)
	o := open(t, broker.Address, topic, func(c *kafka.Config) { c.Timeout = 2 * time.Second })
	const windows, keys = 200, 5
	up := make(chan struct{})
	failures := 0
	for n := range windows {
		switch n {
		case 50:
			go func() {
				defer close(up)
				broker.Kill()
				broker.Start()
			}()
		case 150:
			<-up
			broker.Kill()
			broker.Start()
		}
		d := outbox(0, keys)
		for i := range d.Events {
			d.Events[i].ID = fmt.Sprintf("%d.%d", i, n)
			d.Events[i].Outbox.IdempotencyKey = d.Events[i].ID
		}
		for len(d.Events) > 0 {
			var err error
			if d.Events, err = unavailable(t, o, d); err == nil {
				break
			}
			if failures++; failures > 10_000 { // some minutes
				t.Fatalf("the output does not recover: %v", err)
			}
			select {
			case <-time.After(20 * time.Millisecond): // the tick's backoff
			case <-t.Context().Done():
			}
		}
	}
	last, seen := map[string]int{}, map[string]int{}
	for _, r := range broker.Records(t, topic) {
		id := header(r, "idempotency_key")
		key, number, _ := strings.Cut(id, ".")
		var n int
		if _, err := fmt.Sscan(number, &n); err != nil {
			t.Fatal(err)
		}
		if seen[id]++; seen[id] == 1 {
			if before, ok := last[key]; ok && n != before+1 {
				t.Errorf("key %s: %d came after %d", key, n, before)
			}
			last[key] = n
		}
	}
	if len(seen) != windows*keys {
		t.Errorf("%d events arrived of %d", len(seen), windows*keys)
	}
	duplicates := 0
	for _, times := range seen {
		duplicates += times - 1
	}
	t.Logf("%d deliveries failed while the broker was down; %d duplicates", failures, duplicates)
}

// unavailable delivers d and returns the events that were not brought, which must be for no fault of theirs: while a
// broker starts, it says of topics that they have no leader.
func unavailable(t *testing.T, o *kafka.Output, d change.Delivery) ([]change.Event, error) {
	t.Helper()
	err := o.Deliver(t.Context(), d)
	if err == nil {
		return nil, nil
	}
	var failure *poller.DeliveryError
	if !errors.As(err, &failure) {
		t.Fatalf("Deliver: %v", err)
	}
	var rest []change.Event
	for _, f := range failure.Failed {
		if f.Cause != poller.Unavailable && f.Cause != poller.Misplaced {
			t.Fatalf("event %d is %s: %v", f.Index, f.Cause, err)
		}
		rest = append(rest, d.Events[f.Index])
	}
	return rest, err
}
