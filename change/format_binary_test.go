package change_test

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
)

// The binary mode has the structured mode's attributes, whatever the event is, and its bound holds what they take.
func TestBinaryForms(t *testing.T) {
	for _, c := range append(cases(), outboxCases()...) {
		d := delivery(c.event)
		e := &d.Events[0]
		attributes := change.BinaryAttributes(d, e)
		if attributes["specversion"] != "1.0" || attributes["type"] == "" || attributes["source"] != "/shop/orders" ||
			attributes["id"] == "" || attributes["rowrelaycursor"] != string(e.Cursor.AppendText(nil)) {
			t.Errorf("%s: %v", c.name, attributes)
		}
		f, body := change.CloudEventsBinary, e.Row
		if e.Outbox != nil {
			body = e.Outbox.Payload
		}
		if got := f.AppendEvent(nil, d, 0); string(got) != string(body) {
			t.Errorf("%s: %s", c.name, got)
		}
		if of, ok := attributes["datacontenttype"]; ok && of != f.ContentTypeOf(e) {
			t.Errorf("%s: %s, %s", c.name, of, f.ContentTypeOf(e))
		}
		if f.Bound(d, e) < len(body) {
			t.Errorf("%s: bound %d of %d bytes", c.name, f.Bound(d, e), len(body))
		}
	}
}

// TestTypeAndSource: the attributes that the settings choose stand in every form, and within the bound.
func TestTypeAndSource(t *testing.T) {
	for _, c := range append(cases(), outboxCases()...) {
		d := delivery(c.event)
		e := &d.Events[0]
		d.Type, d.Source = strings.Repeat("com.example.", 100)+"{op}.{event_type}.{event_type}",
			"https://example.com/"+strings.Repeat("s", 2000)
		got := change.BinaryAttributes(d, e)
		if !strings.Contains(got["type"], "com.example."+e.Op.String()+".") || got["source"] != d.Source {
			t.Errorf("%s: type %s, source %s", c.name, got["type"], got["source"])
		}
		if size, bound := len(change.CloudEvents.AppendBatch(nil, d)), change.CloudEvents.Bound(d, e); size > bound {
			t.Errorf("%s: %d bytes, said to be %d at most", c.name, size, bound)
		}
	}
}
