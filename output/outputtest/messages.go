package outputtest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// Fixture is an output with its destination. Functions that are nil are what the destination cannot do: their tests do
// not exist.
type Fixture struct {
	// Output under test.
	Output poller.Output
	// Received returns the bodies that the destination holds, in the order in which they arrived: each the single or
	// the batch form of cloudevents.
	Received func(t *testing.T) [][]byte
	// InOrder says that the events of one delivery arrive in their order.
	InOrder bool
	// Unreachable is an output of the same kind whose destination does not answer at all.
	Unreachable poller.Output
	// Spoil makes the destination, or the output, fail exactly event i of d from now on, with cause.
	Spoil func(d *change.Delivery, i int) (cause poller.Cause)
	// Misplace gives event i of d a place that is not there, while Output's other events have theirs; nil where there is
	// only one place for all.
	Misplace func(d *change.Delivery, i int)
	// TooLarge is a size of a row, in bytes, that can never be sent; 0 where there is no limit.
	TooLarge int
	// Hang makes the destination keep requests unanswered until the test ends, and returns a channel that is closed
	// when the first one has arrived.
	Hang func(t *testing.T) (arrived <-chan struct{})
	// IdempotencyKeys returns the idempotency key of each request that arrived, in order.
	IdempotencyKeys func() []string
	// One says that the output takes one event for each delivery.
	One bool
	// Messages returns the messages that all destinations hold, with what stands beside their bodies; nil where nothing
	// does.
	Messages func(t *testing.T) []Message
	// Payloads is an output of the same kind with the format payload, which sends outbox events of the type OrderShipped
	// to the destination Other, and the others to Default.
	Payloads       poller.Output
	Default, Other string
}

// Delivery returns a delivery of n events with keys from first on.
func Delivery(first, n int) change.Delivery {
	d := change.Delivery{
		App: "shop", Poller: "orders", Engine: "sqlite", Table: "orders", Fingerprint: "sha256:00",
		BatchID: fmt.Sprintf("batch_%d", first), Token: 1<<53 + 1, Number: uint64(first) + 1, Attempt: 1,
		TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", TraceState: "shop=1",
		Events: make([]change.Event, n),
	}
	for i := range d.Events {
		key := fmt.Appendf(nil, `{"id":%d}`, first+i)
		row := fmt.Appendf(nil, `{"id":%d,"text":"é \"quoted\" %s"}`, first+i, strings.Repeat("x", i*7%50))
		cursor := change.Cursor(fmt.Sprintf(`{"kind":"integer+pk","value":%d,"tiebreaker":{"id":%d}}`, first+i, first+i))
		d.Events[i] = change.Event{
			ID: change.EventID("orders", change.Upsert, key, cursor, row), Key: key, OrderKey: key, Row: row, Cursor: cursor,
			Time: time.Date(2026, 4, 7, 1, 23, 45, 0, time.UTC),
		}
	}
	return d
}

// Message is what a broker holds for one event.
type Message struct {
	// Destination as the output's template makes it: a topic, a queue, "exchange/routing.key".
	Destination string
	Body        []byte
	// ID, Type, ContentType and Key are those of the broker's message; "" where it has no such thing, and is not compared.
	ID, Type, ContentType, Key string
	// Time is the message's own, cut to what the broker keeps; zero where it has none.
	Time time.Time
	// Attributes are its headers, or application properties.
	Attributes map[string]string
}

// Outbox returns a delivery of outbox events: JSON, text and bytes, with and without what an outbox may leave out. One
// is of the type OrderShipped.
func Outbox() change.Delivery {
	d := Delivery(0, 4)
	for i, o := range []change.Outbox{
		{AggregateType: "Order", AggregateID: "42", EventType: "OrderPlaced", IdempotencyKey: "key-0",
			Payload: []byte(`{"total": 1.10}`), JSON: true,
			CreatedAt:   time.Date(2026, 4, 7, 1, 2, 3, 456789000, time.UTC),
			TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", TraceState: "a=b,c=d"},
		{AggregateType: "Order", AggregateID: "43", EventType: "OrderShipped", IdempotencyKey: "key-1",
			Payload: []byte(`null`), JSON: true},
		{AggregateType: "Order", AggregateID: "ä 44", EventType: "OrderNoted", IdempotencyKey: "key-2",
			Payload: []byte("text, é")},
		{AggregateType: "Order", AggregateID: "45", EventType: "OrderSigned", IdempotencyKey: "key-3",
			Payload: []byte{0, 1, 0xfe, 0xff, '\n'}},
	} {
		e := &d.Events[i]
		e.Outbox, e.ID = &o, o.IdempotencyKey
		e.OrderKey = []byte(`{"aggregate_type":"Order","aggregate_id":"` + o.AggregateID + `"}`)
	}
	return d
}

func attributes(t *testing.T, f Fixture, n int) {
	d := Delivery(100, n)
	d.Attempt, d.Backfill = 2, "bf_1"
	if err := f.Output.Deliver(t.Context(), d); err != nil {
		t.Fatalf("Deliver: %v", err)
	}
	compare(t, &d, f.Messages(t), func(*change.Event) string { return "" }, change.CloudEvents)
}

func payloads(t *testing.T, f Fixture) {
	d := Outbox()
	if f.One {
		d.Events = d.Events[:1]
	}
	if err := f.Payloads.Deliver(t.Context(), d); err != nil {
		t.Fatalf("Deliver: %v", err)
	}
	got := f.Messages(t)
	compare(t, &d, got, func(e *change.Event) string {
		if e.Outbox.EventType == "OrderShipped" {
			return f.Other
		}
		return f.Default
	}, change.Payload)
}

// compare compares messages with what they are made of, by idempotency key.
func compare(t *testing.T, d *change.Delivery, messages []Message, destination func(*change.Event) string,
	format change.Format) {
	t.Helper()
	byKey := map[string]Message{}
	for _, m := range messages {
		byKey[m.Attributes["idempotency_key"]] = m
	}
	if len(messages) != len(d.Events) || len(byKey) != len(d.Events) {
		t.Fatalf("%d messages with %d idempotency keys arrived of %d events", len(messages), len(byKey), len(d.Events))
	}
	for i := range d.Events {
		e := &d.Events[i]
		want := map[string]string{}
		for _, a := range d.Attributes(nil, e) {
			want[a.Name] = a.Value
		}
		got := byKey[want["idempotency_key"]]
		if diff := cmp.Diff(want, got.Attributes); diff != "" {
			t.Errorf("event %d: attributes (-want +got):\n%s", i, diff)
		}
		if body := format.AppendEvent(nil, d, i); !bytes.Equal(body, got.Body) {
			t.Errorf("event %d: body %q, want %q", i, got.Body, body)
		}
		if want := destination(e); want != "" && got.Destination != want {
			t.Errorf("event %d: destination %q, want %q", i, got.Destination, want)
		}
		created := e.Time
		if e.Outbox != nil && !e.Outbox.CreatedAt.IsZero() {
			created = e.Outbox.CreatedAt
		}
		for _, c := range []struct{ what, got, want string }{
			{"id", got.ID, e.ID},
			{"type", got.Type, want["event_type"]},
			{"content type", got.ContentType, format.ContentTypeOf(e)},
			{"key", got.Key, e.MessageKey()},
		} {
			if c.got != "" && c.got != c.want {
				t.Errorf("event %d: %s %q, want %q", i, c.what, c.got, c.want)
			}
		}
		if !got.Time.IsZero() && (got.Time.After(created) || created.Sub(got.Time) >= time.Second) {
			t.Errorf("event %d: time %s, want %s", i, got.Time, created)
		}
	}
}
