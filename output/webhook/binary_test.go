package webhook_test

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testfile"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/output/webhook"
)

// TestBinaryMode: the headers and the body of the binary mode are the very event that the structured mode sends.
func TestBinaryMode(t *testing.T) {
	r := newReceiver(t, nil)
	binary := open(t, webhook.Config{URL: r.URL, Format: change.CloudEventsBinary, Single: true})
	structured := open(t, webhook.Config{URL: r.URL, Format: change.CloudEvents, Single: true})
	deliveries := map[string]change.Delivery{"a row": outputtest.Delivery(0, 1)}
	all := outputtest.Outbox()
	for i := range all.Events {
		one := all
		one.Events = all.Events[i : i+1]
		deliveries["outbox: "+one.Events[0].ID] = one
	}
	deliveries["odd texts"] = outboxDelivery(change.Outbox{AggregateType: "Bestellung ä", AggregateID: "4\r\n2: x",
		EventType: `100% "so"`, IdempotencyKey: `k "1"`, Payload: []byte("text")})
	deliveries["no payload"] = outboxDelivery(change.Outbox{AggregateType: "Order", AggregateID: "1", EventType: "Gone",
		IdempotencyKey: "gone-1"})
	own := outputtest.Delivery(0, 1)
	own.Type, own.Source = "com.example.order.{op}", "https://example.com/shop/ä"
	deliveries["type and source of the settings"] = own
	written := outputtest.Delivery(0, 1)
	written.Events[0].Written = change.NewWritten([]string{"status", "größe"}, "0x2A")
	deliveries["what was written"] = written
	for name, d := range deliveries {
		t.Run(name, func(t *testing.T) {
			for _, o := range []*webhook.Output{structured, binary} {
				if err := o.Deliver(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			}
			seen := r.seen()
			requests := seen[len(seen)-2:]
			var want map[string]any
			if err := json.Unmarshal(requests[0].body, &want); err != nil {
				t.Fatal(err)
			}
			if _, ok := want["data"].(map[string]any); ok { // JSON is sent as it is
				want["data"] = string(data(&d))
			} else if _, ok := want["data_base64"]; ok || want["data"] == nil {
				delete(want, "data_base64")
				want["data"] = string(data(&d))
			}
			if diff := cmp.Diff(want, binaryEvent(t, requests[1])); diff != "" {
				t.Errorf("the binary mode's event is another (-structured +binary):\n%s", diff)
			}
			for _, name := range []string{"Idempotency-Key", "Rowrelay-Fencing-Token", "Rowrelay-Delivery"} {
				if requests[0].header.Get(name) != requests[1].header.Get(name) {
					t.Errorf("%s: %q", name, requests[1].header.Get(name))
				}
			}
		})
	}
}

// data is what an event's body is in binary mode.
func data(d *change.Delivery) []byte {
	if o := d.Events[0].Outbox; o != nil {
		return o.Payload
	}
	return d.Events[0].Row
}

// binaryEvent reads a request by the CloudEvents HTTP binding.
func binaryEvent(t *testing.T, r request) map[string]any {
	t.Helper()
	event := map[string]any{"data": string(r.body)}
	if is := r.header.Values("Content-Type"); len(is) == 1 {
		event["datacontenttype"] = is[0]
	}
	for name, values := range r.header {
		attribute, ok := strings.CutPrefix(strings.ToLower(name), "ce-")
		if !ok {
			continue
		}
		for _, c := range []byte(values[0]) {
			if c <= ' ' || c > '~' || c == '"' {
				t.Errorf("%s: %q is not percent-encoded", name, values[0])
			}
		}
		value, err := url.PathUnescape(values[0])
		if err != nil || len(values) != 1 {
			t.Errorf("%s: %q: %v", name, values, err)
		}
		event[attribute] = value
	}
	return event
}

func TestBinaryModeSendsOneEvent(t *testing.T) {
	_, err := webhook.New(webhook.Config{URL: "http://127.0.0.1:1/", Format: change.CloudEventsBinary})
	if err == nil || !strings.Contains(err.Error(), "output__batch=1") {
		t.Errorf("%v", err)
	}
	_, err = webhook.New(webhook.Config{URL: "http://127.0.0.1:1/", Format: change.CloudEventsBinary, Single: true,
		Headers: map[string]string{"ce-type": "mine"}})
	if err == nil || !strings.Contains(err.Error(), "Rowrelay sets Ce-Type itself") {
		t.Errorf("%v", err)
	}
}

// TestDocsShowABinaryRequest: docs/formats.md shows the golden files' first event as it is sent in binary mode.
func TestDocsShowABinaryRequest(t *testing.T) {
	page := testfile.Read(t, "../../docs/formats.md")
	block := regexp.MustCompile("(?s)```http\n(.*?)\n\n(.*?)\n```").FindSubmatch(page)
	if block == nil {
		t.Fatal("no example")
	}
	r := newReceiver(t, nil)
	o := open(t, webhook.Config{URL: r.URL, Format: change.CloudEventsBinary, Single: true})
	e := change.Event{
		Key: []byte(`{"id":12093}`), Row: block[2], Time: time.Date(2026, 4, 7, 1, 23, 45, 123456700, time.UTC),
		Cursor: change.Cursor(`{"kind":"timestamp+pk","value":"2026-04-07T01:23:45.1234567Z","tiebreaker":{"id":12093}}`),
	}
	e.ID = change.EventID("orders", e.Op, e.Key, e.Cursor, e.Row)
	d := change.Delivery{App: "shop", Poller: "orders", BatchID: "b", Token: 1, Number: 1, Attempt: 1,
		Events: []change.Event{e}}
	if err := o.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	var sent []string
	for name, values := range r.seen()[0].header {
		if name = strings.ToLower(name); name == "content-type" || strings.HasPrefix(name, "ce-") {
			sent = append(sent, name+": "+values[0])
		}
	}
	slices.Sort(sent)
	if diff := cmp.Diff(strings.Split(string(block[1]), "\n"), sent); diff != "" {
		t.Errorf("docs/formats.md (-shown +sent):\n%s", diff)
	}
}
