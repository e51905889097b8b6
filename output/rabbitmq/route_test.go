package rabbitmq

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output"
)

func TestRouteOf(t *testing.T) {
	of := func(template, eventType string) (route, error) {
		destinations, err := output.ParseDestinations(template, nil)
		if err != nil {
			t.Fatal(err)
		}
		o := &Output{cfg: Config{Destinations: destinations}}
		return o.routeOf(&change.Delivery{},
			&change.Event{Outbox: &change.Outbox{AggregateType: "shop/x", EventType: eventType}})
	}
	long := strings.Repeat("x", maxShort+1)
	for _, c := range []struct {
		template, eventType string
		want                route
	}{
		{"order.events", "", route{"", "order.events"}},
		{"shop/order.events", "", route{"shop", "order.events"}},
		{"shop/a/b", "", route{"shop", "a/b"}},
		{"fanout/", "", route{"fanout", ""}},
		{"/queue", "", route{"", "queue"}},
		{long[1:] + "/" + long[1:], "", route{long[1:], long[1:]}},
		// What a row holds chooses no exchange.
		{"{event_type}", "amq.fanout/evil", route{"", "amq.fanout/evil"}},
		{"shop/{event_type}", "a/b", route{"shop", "a/b"}},
		{"/{event_type}", "amq.fanout/evil", route{"", "amq.fanout/evil"}},
	} {
		if got, err := of(c.template, c.eventType); err != nil || got != c.want {
			t.Errorf("%q with %q: %+v, %v", c.template, c.eventType, got, err)
		}
	}
	for _, template := range []string{long, long + "/k", "x/" + long, "x/{event_type}"} {
		if _, err := of(template, long); !errors.Is(err, errLongRoute) {
			t.Errorf("%d bytes: %v", len(template), err)
		}
	}
	if got, err := of("{aggregate_type}/{event_type}", "a"); err == nil {
		t.Errorf("a value with a slash is the exchange: %+v", got)
	}
}

func TestAbout(t *testing.T) {
	shop, other, queue := route{"shop", "a"}, route{"shop2", "a"}, route{"", "shop"}
	for reason, want := range map[string][]route{
		"NOT_FOUND - no exchange 'shop' in vhost '/'":                                                     {shop},
		"ACCESS_REFUSED - write access to exchange 'shop' in vhost '/' refused for user 'u'":              {shop},
		"ACCESS_REFUSED - access to exchange 'shop2' in vhost '/' refused for user 'shop'":                {other},
		"ACCESS_REFUSED - write access to exchange 'amq.default' in vhost '/' refused for user 'u'":       {queue},
		"ACCESS_REFUSED - write access to topic 'a' in exchange 'shop' in vhost '/' refused for user 'u'": {shop},
		"ACCESS_REFUSED - write access to topic 'b' in exchange 'shop' in vhost '/' refused for user 'u'": nil,
		"ACCESS_REFUSED - cannot publish to internal exchange 'shop' in vhost '/'":                        {shop},
		"ACCESS_REFUSED - write access to exchange 'a name that is cut at 255 bytes":                      nil,
	} {
		for _, r := range []route{shop, other, queue} {
			expected := false
			for _, w := range want {
				expected = expected || w == r
			}
			if about(reason, r) != expected {
				t.Errorf("%q is about %+v: %t", reason, r, !expected)
			}
		}
	}
}
