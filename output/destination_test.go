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

func TestDestinationsKeepCase(t *testing.T) {
	destinations, err := output.ParseDestinations("outbox.event.{aggregate_type}", nil)
	if err != nil {
		t.Fatal(err)
	}
	destinations.KeepCase = true
	e := &change.Event{Outbox: &change.Outbox{AggregateType: "Order"}}
	if got, err := destinations.Of(&change.Delivery{}, e); got != "outbox.event.Order" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// Where a destination is cut says the template alone, whatever the row holds.
func TestDestinationsAreCutByTheTemplate(t *testing.T) {
	d := &change.Delivery{App: "Shop", Poller: "orders"}
	for _, c := range []struct {
		template, aggregateType, eventType string
		before, after                      string
		found                              bool // before, after and found are none for an error
	}{
		{"queue", "", "", "queue", "", false},
		{"Shop/Key", "", "", "Shop", "Key", true},
		{"shop/a/b", "", "", "shop", "a/b", true},
		{"fanout/", "", "", "fanout", "", true},
		{"/queue", "", "", "", "queue", true},
		{"{event_type}", "", "amq.fanout/evil", "amq.fanout/evil", "", false},
		{"{aggregate_type}.events", "A/B", "", "a/b.events", "", false},
		{"shop/{event_type}", "", "a/b", "shop", "a/b", true},
		{"{aggregate_type}/{event_type}", "Order", "a/b", "order", "a/b", true},
		{"{aggregate_type}/{event_type}", "amq.fanout/evil", "a", "", "", false},
		{"x.{aggregate_type}.y/{event_type}", "/", "a", "", "", false},
		{"{app}.x/{aggregate_type}/{event_type}", "a", "b", "shop.x", "a/b", true},
		{"{{/{event_type}", "", "b", "{", "b", true},
	} {
		destinations, err := output.ParseDestinations(c.template, nil)
		if err != nil {
			t.Fatal(err)
		}
		e := &change.Event{Outbox: &change.Outbox{AggregateType: c.aggregateType, EventType: c.eventType}}
		before, after, found, err := destinations.Cut(d, e)
		if before != c.before || after != c.after || found != c.found || (err == nil) != (c.before+c.after != "") {
			t.Errorf("%q with %q, %q: %q, %q, %t, %v", c.template, c.aggregateType, c.eventType, before, after, found, err)
		}
	}
}

func TestDestinationFaults(t *testing.T) {
	for text, want := range map[string]string{
		"": "is empty", "{": "has no } after it", "a}": "has no { before it",
		"{topic}":          "{topic} is not known: choose of {app}, {poller}",
		"{Aggregate_Type}": "is not known", "{}": "is not known", "{{a}": "has no { before it",
	} {
		if _, err := output.ParseDestinations(text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := output.ParseDestinations("x", map[string]string{"OrderPlaced": text}); err == nil ||
			!strings.Contains(err.Error(), "destinations__OrderPlaced") {
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
		r := strings.NewReplacer("{{", "{", "}}", "}", "{app}", value, "{poller}", value, "{op}", "upsert",
			"{aggregate_type}", value,
			"{aggregate_id}", value, "{event_type}", value)
		if want := r.Replace(text); got != want {
			t.Errorf("%q with %q: %q, want %q", text, value, got, want)
		}
		before, after, found, err := destinations.Cut(&change.Delivery{App: value, Poller: value}, e)
		if whole := before + "/" + after; err == nil &&
			(found != strings.Contains(text, "/") || found && whole != got || !found && before != got) {
			t.Errorf("%q with %q: cut into %q and %q, %t", text, value, before, after, found)
		}
	})
}
