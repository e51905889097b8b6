package webhook_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/output/webhook"
)

const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// outboxDelivery carries one event of an outbox.
func outboxDelivery(o change.Outbox) change.Delivery {
	d := outputtest.Delivery(7, 1)
	d.Events[0].ID, d.Events[0].Outbox = o.IdempotencyKey, &o
	d.TraceParent, d.TraceState = "", "" // nothing is traced: see TestTraceHeaders
	return d
}

func placed() change.Outbox {
	return change.Outbox{
		AggregateType: "Order", AggregateID: "42", EventType: "OrderPlaced", IdempotencyKey: "order-placed-42",
		Payload: []byte(`{"order_id": 42}`), JSON: true, CreatedAt: time.Date(2026, 4, 7, 1, 23, 45, 5000, time.UTC),
	}
}

func TestOutboxHeaders(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(o *change.Outbox, e *change.Event)
		want   map[string]string
	}{
		{"plain", func(*change.Outbox, *change.Event) {}, map[string]string{
			"Idempotency-Key": "order-placed-42", "Rowrelay-Event-Id": "order-placed-42", "Rowrelay-Event-Type": "OrderPlaced",
			"Rowrelay-Aggregate-Type": "Order", "Rowrelay-Aggregate-Id": "42",
			"Rowrelay-Created-At":      "2026-04-07T01:23:45.000005Z",
			"Rowrelay-Idempotency-Key": "", "traceparent": "", "tracestate": "",
		}},
		{"an id of its own", func(_ *change.Outbox, e *change.Event) { e.ID = "6f1e0c" }, map[string]string{
			"Idempotency-Key": "6f1e0c", "Rowrelay-Event-Id": "6f1e0c", "Rowrelay-Idempotency-Key": "order-placed-42",
		}},
		{"an id with spaces", func(o *change.Outbox, e *change.Event) {
			o.IdempotencyKey, e.ID = `order "42" 100%`, `order "42" 100%`
		}, map[string]string{
			"Idempotency-Key": `order "42" 100%`, "Rowrelay-Event-Id": `order "42" 100%`, "Webhook-Id": `order "42" 100%`,
			"Rowrelay-Idempotency-Key": "",
		}},
		{"no created_at", func(o *change.Outbox, _ *change.Event) {
			o.CreatedAt = time.Time{}
		}, map[string]string{"Rowrelay-Created-At": ""}},
		{"odd texts", func(o *change.Outbox, e *change.Event) {
			o.AggregateType, o.AggregateID, o.EventType, o.IdempotencyKey, e.ID = "Bestellung ä", "4\r\n2: x", `100% "so"`,
				"k\x00\xff", "k\x00\xff"
		}, map[string]string{
			"Rowrelay-Aggregate-Type": "Bestellung%20%C3%A4", "Rowrelay-Aggregate-Id": "4%0D%0A2:%20x",
			"Rowrelay-Event-Type": "100%25%20%22so%22",
			"Idempotency-Key":     "k%00%FF", "Rowrelay-Event-Id": "k%00%FF", "Rowrelay-Idempotency-Key": "",
			"Webhook-Id": "k%00%FF",
		}},
		{"a trace", func(o *change.Outbox, _ *change.Event) { o.TraceParent, o.TraceState = trace, "a=1,b@c=2" },
			map[string]string{"traceparent": trace, "tracestate": "a=1,b@c=2"}},
		{"a trace's state that no header carries", func(o *change.Outbox, _ *change.Event) {
			o.TraceParent, o.TraceState = trace, "a=1\n"
		},
			map[string]string{"traceparent": trace, "tracestate": ""}},
		{"a state without a trace", func(o *change.Outbox, _ *change.Event) { o.TraceParent, o.TraceState = "none", "a=1" },
			map[string]string{"traceparent": "", "tracestate": ""}},
	} {
		r := newReceiver(t, nil)
		out := open(t, webhook.Config{URL: r.URL, Single: true, Format: change.Payload,
			Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"})
		d := outboxDelivery(placed())
		c.change(d.Events[0].Outbox, &d.Events[0])
		if err := out.Deliver(t.Context(), d); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		q := r.seen()[0]
		for name, want := range c.want {
			if got := q.header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", c.name, name, got, want)
			}
		}
		back, err := url.PathUnescape(q.header.Get("Rowrelay-Aggregate-Id"))
		if err != nil || back != d.Events[0].Outbox.AggregateID {
			t.Errorf("%s: the aggregate's id comes back as %q, %v", c.name, back, err)
		}
	}
}

// The user of a trace finds it under exactly the header that W3C names; a bad one is not passed on.
func TestTraceParents(t *testing.T) {
	for given, sent := range map[string]bool{
		trace: true, strings.ToUpper(trace): false, trace[:54]: false, trace + "-more": false,
		"01" + trace[2:] + "-more": true,
		"01" + trace[2:] + "more":  false, "ff" + trace[2:]: false, "01" + trace[2:] + "-\n": false,
		strings.ReplaceAll(trace, "-", "_"):                       false,
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": false,
		"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01": false,
	} {
		r := newReceiver(t, nil)
		out := open(t, webhook.Config{URL: r.URL, Single: true})
		d := outboxDelivery(placed())
		d.Events[0].Outbox.TraceParent = given
		if err := out.Deliver(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if got := r.seen()[0].header.Get("traceparent"); (got == given) != sent || !sent && got != "" {
			t.Errorf("%q was sent as %q", given, got)
		}
	}
}

func TestPayloadBodies(t *testing.T) {
	for _, c := range []struct {
		payload, contentType, batch string
		json                        bool
	}{
		{"{\n\"a\": 1}", "application/json", `[{ "a": 1}]`, true},
		{"<a/>", "text/plain; charset=utf-8", `["<a/>"]`, false},
		{"\xff\n", "application/octet-stream", `["/wo="]`, false},
	} {
		o := placed()
		o.Payload, o.JSON = []byte(c.payload), c.json
		r := newReceiver(t, nil)
		for _, single := range []bool{true, false} {
			out := open(t, webhook.Config{URL: r.URL, Single: single, Format: change.Payload})
			if err := out.Deliver(t.Context(), outboxDelivery(o)); err != nil {
				t.Fatal(err)
			}
		}
		single, batch := r.seen()[0], r.seen()[1]
		if string(single.body) != c.payload || single.header.Get("Content-Type") != c.contentType {
			t.Errorf("%q: %q, %s", c.payload, single.body, single.header.Get("Content-Type"))
		}
		if string(batch.body) != c.batch || batch.header.Get("Content-Type") != "application/json" {
			t.Errorf("%q: %q, %s", c.payload, batch.body, batch.header.Get("Content-Type"))
		}
		if batch.header.Get("Rowrelay-Event-Type") != "OrderPlaced" {
			t.Error("a request of one event does not say its type")
		}
	}
}

// A request of several events speaks of none of them in its headers.
func TestSeveralOutboxEvents(t *testing.T) {
	r := newReceiver(t, nil)
	out := open(t, webhook.Config{URL: r.URL, Format: change.Payload})
	d := outputtest.Delivery(0, 2)
	d.TraceParent, d.TraceState = "", ""
	for i := range d.Events {
		o := placed()
		o.TraceParent = trace
		d.Events[i].Outbox = &o
	}
	if err := out.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	for name := range r.seen()[0].header {
		if strings.HasPrefix(name, "Rowrelay-Event") || strings.HasPrefix(name, "Rowrelay-Aggregate") ||
			name == "Traceparent" {
			t.Errorf("%s is set", name)
		}
	}
	if body := string(r.seen()[0].body); body != `[{"order_id": 42},{"order_id": 42}]` {
		t.Error(body)
	}
}
