package feed

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/publisher/event"
)

func TestEventOfARow(t *testing.T) {
	at := time.Date(2026, 4, 7, 1, 23, 45, 678900000, time.UTC)
	r := event.Row{Ref: event.Ref{Seq: 7}, Attempts: 2, Outbox: change.Outbox{
		AggregateType: "Order", AggregateID: `o"1`, EventType: "OrderPlaced", IdempotencyKey: "order-placed-1",
		Payload: []byte(`{"n":1}`), JSON: true, CreatedAt: at,
	}}
	e := eventsOf([]event.Row{r}, time.Now())[0]
	for name, c := range map[string][2]string{
		"ID":       {e.ID, "order-placed-1"},
		"Key":      {string(e.Key), `{"seq":7}`},
		"OrderKey": {string(e.OrderKey), `{"aggregate_type":"Order","aggregate_id":"o\"1"}`},
		"Cursor":   {string(e.Cursor), `{"kind":"outbox","seq":7}`},
		"Row": {string(e.Row), `{"seq":7,"aggregate_type":"Order","aggregate_id":"o\"1","event_type":"OrderPlaced","payload":{"n":1},` +
			`"created_at":"2026-04-07T01:23:45.6789Z","idempotency_key":"order-placed-1"}`},
	} {
		if c[0] != c[1] {
			t.Errorf("%s is %s, want %s", name, c[0], c[1])
		}
	}
	if !e.Time.Equal(at) || e.Attempts != 2 || e.Outbox.EventType != "OrderPlaced" || e.Waits || e.Broken != nil {
		t.Errorf("%+v", e)
	}
	if a, ok := aggregateOf(e.OrderKey); !ok || a != (event.Aggregate{Type: "Order", ID: `o"1`}) {
		t.Errorf("the order key reads as %v", a)
	}
}

func TestEventOfAMappedRowWithoutAggregate(t *testing.T) {
	now := time.Now()
	broken := errors.New("too large")
	list := eventsOf([]event.Row{{Ref: event.Ref{ID: "ab-1"}, Outbox: change.Outbox{IdempotencyKey: "k"}},
		{Ref: event.Ref{ID: "ab-2"}, Broken: broken, Waits: true}}, now)
	if e := list[0]; string(e.Key) != `{"id":"ab-1"}` || string(e.OrderKey) != string(e.Key) ||
		string(e.Cursor) != `{"kind":"outbox","id":"ab-1"}` || !e.Time.Equal(now) {
		t.Errorf("%s %s %s %s", e.Key, e.OrderKey, e.Cursor, e.Time)
	}
	if _, ok := aggregateOf(list[0].OrderKey); ok {
		t.Error("an event without an aggregate has none")
	}
	if e := list[1]; string(e.Row) != "null" || !errors.Is(e.Broken, broken) || !e.Waits {
		t.Errorf("%+v", e)
	}
}

func TestPayloads(t *testing.T) {
	for payload, want := range map[string]string{
		`{"a": 1}`:            `{"a": 1}`,
		"{\n \"a\": \"\\n\"}": `{"a":"\n"}`,
		"plain \"text\"":      `"plain \"text\""`,
		"\xff\x00":            `"/wA=","payload_encoding":"base64"`,
		"":                    `""`,
	} {
		o := change.Outbox{Payload: []byte(payload), JSON: json.Valid([]byte(payload))}
		e := eventsOf([]event.Row{{Ref: event.Ref{Seq: 1}, Outbox: o}}, time.Now())[0]
		if !strings.Contains(string(e.Row), `"payload":`+want+`,"created_at":null`) || !json.Valid(e.Row) ||
			bytes.ContainsAny(e.Row, "\r\n") {
			t.Errorf("%q: %s", payload, e.Row)
		}
		if string(e.Outbox.Payload) != payload {
			t.Errorf("the payload itself became %q", e.Outbox.Payload)
		}
	}
}

func TestIDs(t *testing.T) {
	for _, key := range []string{"a", "order placed", strings.Repeat("x", 128), "~!"} {
		if got := eventID(key); got != key {
			t.Errorf("%q became %q", key, got)
		}
	}
	seen := map[string]bool{}
	for _, key := range []string{"", " a", "a ", "ä", "a\nb", strings.Repeat("x", 129), "\x7f"} {
		got := eventID(key)
		if len(got) != 34 || !strings.HasPrefix(got, "k-") || seen[got] {
			t.Errorf("%q became %q", key, got)
		}
		seen[got] = true
	}
}

func FuzzEvent(f *testing.F) {
	f.Add("Order", "1", "Placed", "key", []byte(`{"a":1}`), "")
	f.Add("\xff", "\x00", "\"", " ", []byte("\xff\n"), "id")
	f.Fuzz(func(t *testing.T, typ, id, what, key string, payload []byte, text string) {
		r := event.Row{Ref: event.Ref{Seq: 1, ID: text}, Outbox: change.Outbox{
			AggregateType: typ, AggregateID: id, EventType: what, IdempotencyKey: key, Payload: payload,
			JSON: json.Valid(payload),
		}}
		list := eventsOf([]event.Row{r, r}, time.Now())
		for _, e := range list {
			for _, data := range [][]byte{e.Key, e.OrderKey, e.Cursor, e.Row} {
				if !json.Valid(data) || bytes.ContainsAny(data, "\n\r") {
					t.Fatalf("not one line of JSON: %q", data)
				}
			}
			if e.ID == "" || len(e.ID) > maxID || !bytes.Equal(e.Row, list[0].Row) {
				t.Fatalf("%+v", e)
			}
			if a, ok := aggregateOf(e.OrderKey); id != "" && change.ValidText(id) && change.ValidText(typ) &&
				(!ok || a != event.Aggregate{Type: typ, ID: id}) {
				t.Fatalf("%s reads as %v", e.OrderKey, a)
			}
		}
	})
}

func BenchmarkEvents(b *testing.B) {
	rows := make([]event.Row, 500)
	for i := range rows {
		rows[i] = event.Row{Ref: event.Ref{Seq: int64(1e6 + i)}, Outbox: change.Outbox{
			AggregateType: "Order", AggregateID: "order-123456", EventType: "OrderPlaced", IdempotencyKey: "order-placed-123456",
			Payload: []byte(`{"order_id":"order-123456","customer_id":4711,"total":"199.90","items":[{"sku":"A-1","n":2},{"sku":"B-2","n":1}]}`),
			JSON:    true, CreatedAt: time.Now().UTC(),
		}}
	}
	b.ReportAllocs()
	now := time.Now()
	for b.Loop() {
		if list := eventsOf(rows, now); len(list) != len(rows) {
			b.Fatal(len(list))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows)), "ns/event")
}
