package output_test

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output"
)

func TestDestinations(t *testing.T) {
	d := &change.Delivery{App: "Shop", Poller: "orders"}
	placed := &change.Event{Outbox: &change.Outbox{AggregateType: "Order", AggregateID: "A-17", EventType: "Order.Placed"}}
	row := &change.Event{Op: change.Delete}
	for _, c := range []struct {
		byDefault string
		byType    map[string]string
		event     *change.Event
		want      string // "" for an error
	}{
		{"{aggregate_type}.events", nil, placed, "order.events"},
		{"{poller}", nil, row, "orders"},
		{"{app}/{poller}.{op}", nil, row, "shop/orders.delete"},
		{"{{{event_type}}}", nil, placed, "{order.placed}"},
		{"{aggregate_type}/{aggregate_id}", nil, placed, "order/a-17"},
		{"Events", nil, placed, "Events"},
		{"Shop.{aggregate_type}.Events", nil, placed, "Shop.order.Events"},
		{"x", map[string]string{"ORDER.placed": "exact", "order_placed": "plain"}, placed, "exact"},
		{"x", map[string]string{"order_placed": "{event_type}"}, placed, "order.placed"},
		{"x", map[string]string{"order": "other"}, placed, "x"},
		{"x", map[string]string{"rowrelay_row_delete": "other"}, row, "x"},
		{"{aggregate_type}.events", nil, row, ""},
		{"{aggregate_id}", nil, &change.Event{Outbox: &change.Outbox{}}, ""},
	} {
		destinations, err := output.ParseDestinations(c.byDefault, c.byType)
		if err != nil {
			t.Fatal(err)
		}
		got, err := destinations.Of(d, c.event)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q %q: %q, %v; want %q", c.byDefault, c.byType, got, err, c.want)
		}
	}
}

func TestDestinationFaults(t *testing.T) {
	for text, want := range map[string]string{
		"": "is empty", "{": "has no } behind it", "a}": "has no { before it", "{topic}": "{topic} is not known: choose of {app}, {poller}",
		"{Aggregate_Type}": "is not known", "{}": "is not known", "{{a}": "has no { before it",
	} {
		if _, err := output.ParseDestinations(text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := output.ParseDestinations("x", map[string]string{"OrderPlaced": text}); err == nil || !strings.Contains(err.Error(), "destinations__OrderPlaced") {
			t.Errorf("%q of a type: %v", text, err)
		}
	}
}

// Whatever the template and the event are, nothing but its own text and the values comes out.
func FuzzDestinations(f *testing.F) {
	f.Add("{aggregate_type}.events", "Order")
	f.Add("{{{poller}}}", "")
	f.Fuzz(func(t *testing.T, text, value string) {
		destinations, err := output.ParseDestinations(text, nil)
		if err != nil {
			return
		}
		e := &change.Event{Outbox: &change.Outbox{AggregateType: value, AggregateID: value, EventType: value}}
		got, err := destinations.Of(&change.Delivery{App: value, Poller: value}, e)
		if err != nil {
			return
		}
		value = strings.ToLower(value)
		r := strings.NewReplacer("{{", "{", "}}", "}", "{app}", value, "{poller}", value, "{op}", "upsert", "{aggregate_type}", value,
			"{aggregate_id}", value, "{event_type}", value)
		if want := r.Replace(text); got != want {
			t.Errorf("%q with %q: %q, want %q", text, value, got, want)
		}
	})
}
