package change_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/change"
)

const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// outboxEvent is an event of an outbox as package publisher makes it.
func outboxEvent(aggregateType, aggregate, eventType string, payload []byte) change.Event {
	quote := func(s string) string { return string(change.AppendString(nil, s)) }
	isJSON := json.Valid(payload)
	shown := string(payload)
	switch {
	case payload == nil:
		shown = "null"
	case !utf8.Valid(payload):
		shown = string(change.AppendBinary(nil, payload)) + `,"payload_encoding":"base64"`
	case !isJSON:
		shown = quote(shown)
	}
	shown = strings.NewReplacer("\n", "", "\r", "").Replace(shown)
	created := time.Date(2026, 4, 7, 1, 23, 45, 123456000, time.UTC)
	return change.Event{
		ID: "order-placed-42", Key: []byte(`{"seq":12093}`), Cursor: change.Cursor(`{"kind":"outbox","seq":12093}`),
		Time:     created,
		OrderKey: []byte(`{"aggregate_type":` + quote(aggregateType) + `,"aggregate_id":` + quote(aggregate) + `}`),
		Row: []byte(`{"seq":12093,"aggregate_type":` + quote(aggregateType) + `,"aggregate_id":` + quote(aggregate) +
			`,"event_type":` + quote(eventType) +
			`,"payload":` + shown + `,"created_at":"2026-04-07T01:23:45.123456Z","idempotency_key":"order-placed-42"}`),
		Outbox: &change.Outbox{
			AggregateType: aggregateType, AggregateID: aggregate, EventType: eventType, IdempotencyKey: "order-placed-42",
			Payload: payload, JSON: isJSON, CreatedAt: created,
		},
	}
}

// outboxCases are the golden files' events of an outbox.
func outboxCases() []struct {
	name  string
	event change.Event
} {
	placed := outboxEvent("Order", "42", "OrderPlaced", []byte(`{"order_id":42,"customer_id":7,"total":"19.90"}`))
	placed.Outbox.TraceParent, placed.Outbox.TraceState = trace, "vendor=1"
	long := outboxEvent("Order", "42", "OrderPlaced", []byte(`{"order_id":42}`))
	long.ID, long.Outbox.IdempotencyKey = "6f1e0c33a1d94d0c8a9f2f1c7a1b2c3d", strings.Repeat("k", 255)
	return []struct {
		name  string
		event change.Event
	}{
		{"json", placed},
		{"indented", outboxEvent("Order", "42", "OrderPlaced", []byte("{\r\n  \"order_id\": 42\n}"))},
		{"text", outboxEvent("Order", "42", "OrderNoted", []byte("please ring \"twice\"\n"))},
		{"binary", outboxEvent("Order", "42", "OrderPacked", []byte{0xff, 0x00, 0x10})},
		{"empty", outboxEvent("Order", "42", "OrderTouched", []byte{})},
		{"null", outboxEvent("Order", "42", "OrderTouched", nil)},
		{"odd", outboxEvent("Bestellung/Ä", "a\n%\u0085", "typ\x00", []byte(`null`))},
		{"longkey", long},
	}
}

func TestPayloadIsSentAsItIs(t *testing.T) {
	for _, c := range []struct{ payload, contentType, element string }{
		{`{"a": 1}`, "application/json", `{"a": 1}`},
		{"{\n \"a\": 1}\r\n", "application/json", `{  "a": 1}  `},
		{"null", "application/json", "null"},
		{"12345678901234567890.10", "application/json", "12345678901234567890.10"},
		{"", "text/plain; charset=utf-8", `""`},
		{"<order id=\"1\"/>", "text/plain; charset=utf-8", `"<order id=\"1\"/>"`},
		{"\xff\x00", "application/octet-stream", `"/wA="`},
		{"\"\xff\"", "application/octet-stream", `"Iv8i"`}, // JSON is UTF-8
	} {
		e := outboxEvent("Order", "42", "OrderPlaced", []byte(c.payload))
		d := delivery(e)
		if got := string(change.Payload.AppendEvent(nil, d, 0)); got != c.payload {
			t.Errorf("%q: single form %q", c.payload, got)
		}
		if got := string(change.Payload.AppendLine(nil, d, 0)); got != c.element {
			t.Errorf("%q: line %q, want %q", c.payload, got, c.element)
		}
		if got := string(change.Payload.AppendBatch(nil, d)); got != "["+c.element+"]" {
			t.Errorf("%q: batch %q", c.payload, got)
		}
		if got := change.Payload.ContentTypeOf(&e); got != c.contentType {
			t.Errorf("%q: %s, want %s", c.payload, got, c.contentType)
		}
		checkBound(t, change.Payload, d, true)
	}
}

// A payload that is NULL is neither the text "" nor the JSON null.
func TestNoPayload(t *testing.T) {
	d := delivery(outboxEvent("Order", "42", "OrderTouched", nil))
	if body := change.Payload.AppendEvent(nil, d, 0); len(body) != 0 {
		t.Errorf("single form %q", body)
	}
	if body := string(change.Payload.AppendBatch(nil, d)); body != "[null]" {
		t.Errorf("batch %s", body)
	}
	var got map[string]any
	if err := json.Unmarshal(change.CloudEvents.AppendEvent(nil, d, 0), &got); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"data", "data_base64", "datacontenttype"} {
		if v, ok := got[name]; ok {
			t.Errorf("%s is %v", name, v)
		}
	}
}

func TestContentTypeOfOtherFormats(t *testing.T) {
	text := outboxEvent("Order", "42", "OrderNoted", []byte("text"))
	for _, f := range []change.Format{change.CloudEvents, change.RowChange, change.SQLTrigger, change.Row} {
		if got := f.ContentTypeOf(&text); got != f.ContentType(true) {
			t.Errorf("%s: %s", f, got)
		}
	}
	row := cases()[0].event
	if got := change.Payload.ContentTypeOf(&row); got != "application/json" {
		t.Errorf("a row: %s", got)
	}
}

// The attributes of an outbox event are its writer's, and none of them breaks a rule of CloudEvents.
func TestCloudEventsOfAnOutbox(t *testing.T) {
	name := regexp.MustCompile(`^[a-z0-9_]{1,20}$`)
	for _, c := range []struct {
		aggregateType, aggregate, eventType, payload string
		want                                         map[string]any
	}{
		{"Order", "42", "OrderPlaced", `{"a":1}`,
			map[string]any{"type": "OrderPlaced", "subject": "Order/42", "partitionkey": "42",
				"datacontenttype": "application/json", "data": map[string]any{"a": 1.0}, "data_base64": nil}},
		{"Order", "100%", "Order.Placed/v2", "text",
			map[string]any{"type": "Order.Placed/v2", "subject": "Order/100%", "partitionkey": "100%",
				"datacontenttype": "text/plain; charset=utf-8", "data": "text"}},
		{"Order", "4\n2%", "O\x7f", "\xff",
			map[string]any{"type": "O%7F", "subject": "Order/4%0A2%25", "partitionkey": "4%0A2%25",
				"datacontenttype": "application/octet-stream", "data": nil,
				"data_base64": base64.StdEncoding.EncodeToString([]byte{0xff})}},
		{"Ä", "\u0085\ufffe\xff", "", "null",
			map[string]any{"type": "rowrelay.outbox.event", "subject": "Ä/%C2%85%EF%BF%BE%FF", "data": nil}},
		{"", "", "x", "1", map[string]any{"subject": nil, "partitionkey": nil, "data": 1.0}},
	} {
		e := outboxEvent(c.aggregateType, c.aggregate, c.eventType, []byte(c.payload))
		body := change.CloudEvents.AppendEvent(nil, delivery(e), 0)
		var got map[string]any
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		for k, v := range c.want {
			if !cmp.Equal(got[k], v) {
				t.Errorf("%s of %q is %#v, want %#v", k, c, got[k], v)
			}
		}
		for k, v := range got {
			s, isString := v.(string)
			if !name.MatchString(k) || k != "data" && isString &&
				(s == "" || strings.ContainsFunc(s, func(r rune) bool {
					return r < 0x20 || r >= 0x7f && r <= 0x9f || r == 0xfffe
				})) {
				t.Errorf("%q: attribute %s = %q", c, k, v)
			}
		}
		if got["id"] != e.ID || got["idempotencykey"] != e.Outbox.IdempotencyKey ||
			got["time"] != "2026-04-07T01:23:45.123456Z" || got["source"] != "/shop/orders" {
			t.Errorf("%q: %s", c, body)
		}
	}
}

// An outbox without the column: an instant that is made up would differ from delivery to delivery.
func TestCloudEventsWithoutCreatedAt(t *testing.T) {
	e := outboxEvent("Order", "42", "OrderPlaced", []byte(`{}`))
	e.Outbox.CreatedAt = time.Time{}
	if body := string(change.CloudEvents.AppendEvent(nil, delivery(e), 0)); strings.Contains(body, `"time"`) ||
		strings.Contains(body, "traceparent") {
		t.Error(body)
	}
}

func TestAttributes(t *testing.T) {
	d := delivery(outboxCases()[0].event, cases()[1].event)
	d.Backfill = "again"
	show := func(e *change.Event) string {
		var b strings.Builder
		for _, a := range d.Attributes(nil, e) {
			fmt.Fprintf(&b, "%s=%s\n", a.Name, a.Value)
		}
		return b.String()
	}
	const sender = "rowrelay_poller=orders\nrowrelay_batch=batch_20260407_012346_0001\nrowrelay_token=42\nrowrelay_delivery=7\nrowrelay_attempt=1\nrowrelay_backfill=again\n"
	e, row := &d.Events[0], &d.Events[1]
	if diff := cmp.Diff("idempotency_key=order-placed-42\nevent_type=OrderPlaced\naggregate_type=Order\naggregate_id=42\ncreated_at=2026-04-07T01:23:45.123456Z\n"+
		"traceparent="+trace+"\ntracestate=vendor=1\n"+sender+"rowrelay_key_hash="+e.KeyHash()+"\nrowrelay_cursor="+
		string(e.Cursor)+"\n", show(e)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("idempotency_key="+row.ID+"\nevent_type=rowrelay.row.delete\n"+sender+"rowrelay_key_hash="+
		row.KeyHash()+"\nrowrelay_cursor="+string(row.Cursor)+"\n", show(row)); diff != "" {
		t.Error(diff)
	}
	if e.MessageKey() != "42" || row.MessageKey() != `{"id":12094}` {
		t.Errorf("keys %q, %q", e.MessageKey(), row.MessageKey())
	}
	if bare := (&change.Event{Key: e.Key, Row: e.Row, Cursor: e.Cursor}); e.Size()-bare.Size() != len(e.Outbox.Payload) {
		t.Errorf("sizes %d and %d", e.Size(), bare.Size())
	}
}
