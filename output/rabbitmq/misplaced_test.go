package rabbitmq_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output/rabbitmq"
	"github.com/rowrelay/rowrelay/poller"
)

// typed returns a delivery of an outbox's events, of these types; one that is called the same has the same idempotency
// key.
func typed(key string, types ...string) change.Delivery {
	d := rows(0, len(types))
	for i, eventType := range types {
		e := &d.Events[i]
		e.Outbox = &change.Outbox{AggregateType: "Order", AggregateID: string(rune('1' + i)), EventType: eventType,
			Payload: []byte(`"` + eventType + `"`), JSON: true}
		if key != "" {
			e.ID = key
		}
		e.Outbox.IdempotencyKey = e.ID
	}
	return d
}

// A mapped table need not keep idempotency keys apart. A message that comes back is booked on the event that it was
// made of.
func TestReturnsAmongEqualIDs(t *testing.T) {
	b := newBroker(t)
	q := b.queue(t, "there", nil)
	o := open(t, rabbitmq.Config{URL: b.url, Format: change.Payload}, b.prefix+"missing",
		map[string]string{"A": q, "C": q, "M": b.prefix + "missing2"})
	for range 2 { // over the same channel
		for _, types := range [][]string{{"A", "B"}, {"B", "A"}, {"A", "B", "A", "B", "C", "M"}, {"B", "B", "A"},
			{"M", "B", "C"}} {
			d := typed("same-key", types...)
			var gone []int
			var want, got []string
			for i, eventType := range types {
				if eventType == "A" || eventType == "C" {
					want = append(want, `"`+eventType+`"`)
				} else {
					gone = append(gone, i)
				}
			}
			failed(t, o.Deliver(t.Context(), d), poller.Misplaced, gone, "does not exist")
			for _, m := range b.take(t) {
				got = append(got, string(m.Body))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", types, diff)
			}
		}
	}
}

// A return that cannot be booked on an event: one of them may be lost, and so none counts as accepted.
func TestAReturnOfNothingThatWasSent(t *testing.T) {
	_, p, o := behindProxy(t, rabbitmq.Config{})
	deliver(t, o, rows(0, 2)) // over channel 1
	heard := p.hush()
	ended := make(chan error, 1)
	go func() { ended <- o.Deliver(t.Context(), rows(10, 3)) }()
	<-heard
	frame := func(kind byte, payload ...byte) []byte {
		return append(append(binary.BigEndian.AppendUint32([]byte{kind, 0, 1}, uint32(len(payload))), payload...), 0xce)
	}
	p.inject(t, append(
		frame(1, 0, 60, 0, 50, 1, 0x38, 1, 'x', 0, 1, 'q'),     // basic.return: 312, x, no exchange, the key q
		frame(2, 0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)..., // without properties, an empty body
	))
	p.speak()
	failed(t, <-ended, poller.Unavailable, indices(0, 3), "not sent over this channel")
	deliver(t, o, rows(20, 2))
}

// An exchange that the user must not write to costs the channel: its own events are misplaced, the others were only
// dragged along, and get through with the next attempt.
func TestAnExchangeThatIsForbidden(t *testing.T) {
	b := newBroker(t)
	q := b.queue(t, "there", nil)
	forbidden := b.prefix + "forbidden"
	// Nobody may publish to an internal exchange.
	if err := b.ch.ExchangeDeclare(forbidden, amqp.ExchangeTopic, false, false, true, false, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.ch.ExchangeDelete(forbidden, false, false) })
	o := open(t, rabbitmq.Config{URL: b.url, Format: change.Payload}, q, map[string]string{"F": forbidden + "/key"})
	d := typed("", "A", "F", "A", "F", "A")
	err := o.Deliver(t.Context(), d)
	var failure *poller.DeliveryError
	if !errors.As(err, &failure) {
		t.Fatalf("Deliver: %v", err)
	}
	misplaced := map[int]bool{}
	for _, f := range failure.Failed {
		if f.Cause == poller.Misplaced && f.Named {
			misplaced[f.Index] = true
		} else if f.Cause != poller.Unavailable || f.Named {
			t.Errorf("event %d is %s, named %t", f.Index, f.Cause, f.Named)
		}
	}
	if diff := cmp.Diff(map[int]bool{1: true, 3: true}, misplaced); diff != "" {
		t.Errorf("misplaced (-want +got):\n%s\n%v", diff, err)
	}
	b.ids(t)
	for range 2 {
		failed(t, o.Deliver(t.Context(), d), poller.Misplaced, []int{1, 3}, "ACCESS_REFUSED", forbidden, "set_permissions")
		if diff := cmp.Diff(ids(&d, 0, 2, 4), b.ids(t)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// A row's data does not choose the exchange.
func TestASlashInARowIsPartOfTheKey(t *testing.T) {
	b := newBroker(t)
	victim := b.queue(t, "victim", nil)
	b.exchange(t, "fanout", victim, "#")
	mine := b.queue(t, "fanout/evil", nil)
	o := open(t, rabbitmq.Config{URL: b.url, Format: change.Payload}, b.prefix+"{event_type}", nil)
	deliver(t, o, typed("", "fanout/evil"))
	got := b.take(t)
	if len(got) != 1 || got[0].RoutingKey != mine || got[0].Exchange != "" {
		t.Errorf("the message went to exchange %q with the key %q", got[0].Exchange, got[0].RoutingKey)
	}
	o = open(t, rabbitmq.Config{URL: b.url, Format: change.Payload}, b.prefix+"{event_type}/{aggregate_id}", nil)
	failed(t, o.Deliver(t.Context(), typed("", "fanout/evil", "fanout")), poller.Impossible, []int{0},
		"must not bring a /")
	if got := b.take(t); len(got) != 1 {
		t.Errorf("%d messages arrived, want the one whose type is an exchange", len(got))
	}
}

func TestWhatIsNotThereIsNamedAndTheRestIsAccepted(t *testing.T) {
	b := newBroker(t)
	there := b.queue(t, ".upsert", nil)
	unbound := b.exchange(t, "unbound", "", "")
	missing := b.prefix + "missing"
	for _, c := range []struct {
		name, destination string
		want              []string
	}{
		{"queue", b.prefix + ".{op}", []string{there[:len(there)-len("upsert")] + "delete", "does not exist",
			"state__create=true"}},
		{"binding", unbound + "/key.{op}", []string{unbound, `"key.delete"`, "bind a durable queue"}},
		{"exchange", missing + "/k", []string{missing, "does not exist", "state__create=true"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := open(t, rabbitmq.Config{URL: b.url}, c.destination, map[string]string{"ok": there})
			d := rows(0, 6)
			for i := range d.Events {
				d.Events[i].Op = change.Delete
				if i%2 == 0 {
					d.Events[i].Outbox = &change.Outbox{EventType: "ok"}
				}
			}
			for range 2 { // the second time, what was learned of the topology must not be wrong
				failed(t, o.Deliver(t.Context(), d), poller.Misplaced, []int{1, 3, 5}, c.want...)
				if diff := cmp.Diff(ids(&d, 0, 2, 4), b.ids(t)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestItGoesOnWhenTheTopologyIsMended(t *testing.T) {
	b := newBroker(t)
	o := open(t, rabbitmq.Config{URL: b.url}, b.prefix+"late/key", nil)
	d := rows(0, 3)
	failed(t, o.Deliver(t.Context(), d), poller.Misplaced, indices(0, 3), "does not exist")
	exchange := b.exchange(t, "late", "", "")
	failed(t, o.Deliver(t.Context(), d), poller.Misplaced, indices(0, 3), "bind")
	queue := b.queue(t, "q", nil)
	b.exchange(t, "late", queue, "key")
	deliver(t, o, d)

	// An exchange that goes away costs the channel; the next delivery knows better.
	if err := b.ch.ExchangeDelete(exchange, false, false); err != nil {
		t.Fatal(err)
	}
	failed(t, o.Deliver(t.Context(), d), poller.Misplaced, indices(0, 3), "no exchange")
	failed(t, o.Deliver(t.Context(), d), poller.Misplaced, indices(0, 3), "does not exist")
	b.exchange(t, "late", queue, "key")
	deliver(t, o, d)
	if got := b.ids(t); len(got) != 6 {
		t.Errorf("%d messages, want those of 2 deliveries", len(got))
	}
}

// More returns than any buffer holds, between confirmed ones: each is told of its own.
func TestReturnedAmongConfirmed(t *testing.T) {
	b := newBroker(t)
	b.queue(t, ".upsert", nil)
	o := open(t, rabbitmq.Config{URL: b.url}, b.prefix+".{op}", nil)
	d := rows(0, 1000)
	var gone, there []int
	for i := range d.Events {
		if i%3 > 0 {
			d.Events[i].Op = change.Delete
			gone = append(gone, i)
		} else {
			there = append(there, i)
		}
	}
	for range 2 {
		failed(t, o.Deliver(t.Context(), d), poller.Misplaced, gone, "does not exist")
		if diff := cmp.Diff(ids(&d, there...), b.ids(t)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// Returns and confirms that arrive all at once: no confirm is looked at before the return that came ahead of it.
func TestReturnedAllAtOnce(t *testing.T) {
	b := newBroker(t)
	p, through := via(t, b)
	o := open(t, rabbitmq.Config{URL: through}, b.prefix+"none", nil)
	d := rows(0, 12)
	for range 20 {
		heard := p.hush()
		ended := make(chan error, 1)
		go func() { ended <- o.Deliver(t.Context(), d) }()
		<-heard
		p.speak()
		failed(t, <-ended, poller.Misplaced, indices(0, 12), "does not exist")
	}
}
