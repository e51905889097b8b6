package outputtest

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/change"
)

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
