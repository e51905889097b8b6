package webhook_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/output/webhook"
	"github.com/rowrelay/rowrelay/poller"
)

// one is a delivery of one event.
func one(op change.Op, key, row string, o *change.Outbox) change.Delivery {
	d := outputtest.Delivery(1, 1)
	e := &d.Events[0]
	e.Op, e.Key, e.Row, e.Outbox = op, []byte(key), []byte(row), o
	return d
}

// The URL is made of the event, escaped for where each value stands; the host is always that of the settings.
func TestURLOfAnEvent(t *testing.T) {
	for _, c := range []struct {
		template string
		d        change.Delivery
		want     string
	}{
		{"/{app}/{poller}/{op}/{key}", one(change.Insert, `{"id":9007199254740993}`, `{}`, nil),
			"/shop/orders/insert/9007199254740993"},
		{"/o/{key}", one(change.Upsert, `{"region":"a/b, c","n":1.50}`, `{}`, nil), "/o/a%2Fb%2C%20c,1.50"},
		{"/o/{row.Name}?q={row.text}&x={{", one(change.Upsert, `{"id":1}`, `{"name":"é?#@evil.example","text":"a&b=c d/.."}`,
			nil),
			"/o/%C3%A9%3F%23@evil.example?q=a%26b%3Dc+d%2F..&x={"},
		{"?id={key}", one(change.Delete, `{"id":"1"}`, `null`, nil), "/?id=1"},
		{"/{event_type}/{aggregate_type}/{aggregate_id}",
			one(change.Upsert, `{"seq":1}`, `{}`, &change.Outbox{EventType: "order.placed", AggregateType: "Order",
				AggregateID: "%2e%2e"}),
			"/order.placed/Order/%252e%252e"},
	} {
		r := newReceiver(t, nil)
		o := open(t, webhook.Config{URL: r.URL + c.template, Single: true})
		if err := o.Deliver(t.Context(), c.d); err != nil {
			t.Errorf("%s: %v", c.template, err)
		} else if got := r.seen()[0]; got.uri != c.want || got.method != http.MethodPost {
			t.Errorf("%s: %s %s", c.template, got.method, got.uri)
		}
	}
}

// What an event cannot say is held against it; a column that no row has is the settings' fault, and counts against
// none.
func TestURLThatAnEventCannotHave(t *testing.T) {
	r := newReceiver(t, nil)
	for _, c := range []struct {
		template string
		d        change.Delivery
		cause    poller.Cause
		says     string
	}{
		{"/{row.a}/x", one(change.Upsert, `{"id":1}`, `{"a":".."}`, nil), poller.Impossible, "would bring . or .."},
		{"/{row.a}{row.b}/x", one(change.Upsert, `{"id":1}`, `{"a":".","b":"."}`, nil), poller.Impossible,
			"would bring . or .."},
		{"/x/{key}", one(change.Upsert, `{"id":"..\\..\\admin"}`, `{}`, nil), poller.Impossible, "would bring . or .."},
		{"/x/{key}", one(change.Upsert, `{"id":"a/../../admin"}`, `{}`, nil), poller.Impossible, "would bring . or .."},
		{"/{row.a}", one(change.Upsert, `{"id":1}`, `{"a":null}`, nil), poller.Impossible, "needs {row.a}, which is empty"},
		{"/{event_type}", one(change.Upsert, `{"id":1}`, `{}`, nil), poller.Impossible, "needs {event_type}, which is empty"},
		{"/{row.a}", one(change.Delete, `{"id":1}`, `{"id":1}`, nil), poller.Impossible, "use {key}"},
		{"/{row.a}", one(change.Update, `{"id":1}`, `{"id":1}`, nil), poller.Misplaced, "the row has no such column"},
	} {
		o := open(t, webhook.Config{URL: r.URL + c.template, Single: true})
		var failed *poller.DeliveryError
		if err := o.Deliver(t.Context(), c.d); !errors.As(err, &failed) || failed.Failed[0].Cause != c.cause ||
			!strings.Contains(failed.Error(), c.says) {
			t.Errorf("%s: %v", c.template, err)
		}
	}
	if n := len(r.seen()); n > 0 {
		t.Errorf("%d requests arrived", n)
	}
}

func TestRoutesThatAreRefused(t *testing.T) {
	for says, cfg := range map[string]webhook.Config{
		"in its host or before it":       {URL: "https://e{key}.example.com/", Single: true},
		"output__url has a placeholder":  {URL: "https://example.com{key}/x", Single: true},
		"output__url is not an absolute": {URL: "https://example.com:{row.port}/x", Single: true},
		"not an absolute":                {URL: "https:///x/{key}", Single: true},
		"{nobody} is not known":          {URL: "https://example.com/{nobody}", Single: true},
		"{row.} is not known":            {URL: "https://example.com/{row.}", Single: true},
		"a { has no } after it":          {URL: "https://example.com/{key", Single: true},
		"set output__batch=1":            {URL: "https://example.com/{key}"},
		"has a . or ..":                  {URL: "https://example.com/a/../{key}", Single: true},
		"put {key} into output__url": {URL: "https://example.com/", Single: true,
			Methods: map[string]string{"delete": "DELETE"}},
		"needs an https URL":              {URL: "http://example.com/", Certificate: "planted"},
		"not a certificate and its priva": {URL: "https://example.com/", Certificate: "planted"},
	} {
		if _, err := webhook.New(cfg); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(),
			"planted") {
			t.Errorf("%q is not in %v", says, err)
		}
	}
}

// The method goes by the operation. A DELETE has no body, and its signature says so.
func TestMethodOfAnEvent(t *testing.T) {
	const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	r := newReceiver(t, nil)
	o := open(t, webhook.Config{URL: r.URL + "/{key}", Single: true, Method: "PUT", Secret: secret, Gzip: true,
		Methods: map[string]string{"insert": "POST", "delete": "DELETE"}})
	for _, op := range []change.Op{change.Insert, change.Update, change.Delete, change.Upsert} {
		if err := o.Deliver(t.Context(), one(op, `{"id":1}`, `{"id":1}`, nil)); err != nil {
			t.Fatal(err)
		}
	}
	var methods []string
	for _, q := range r.seen() {
		methods = append(methods, q.method)
		deleted := q.method == http.MethodDelete
		if (len(q.body) == 0) != deleted || (q.header.Get("Content-Type") == "") != deleted ||
			(q.header.Get("Content-Encoding") == "") != deleted || q.header.Get("Rowrelay-Op") == "" {
			t.Errorf("%s with %d bytes and %v", q.method, len(q.body), q.header)
		}
		if deleted {
			wh, err := standardwebhooks.NewWebhook(secret)
			if err != nil {
				t.Fatal(err)
			}
			if err := wh.Verify(q.body, q.header); err != nil {
				t.Error(err)
			}
		}
	}
	if !slices.Equal(methods, []string{"POST", "PUT", "DELETE", "PUT"}) {
		t.Error(methods)
	}
}

// Lanes share the rate: of eight requests at once one goes now, and those whose turn comes too late are not sent.
func TestRate(t *testing.T) {
	r := newReceiver(t, nil)
	o := open(t, webhook.Config{URL: r.URL, Every: time.Hour, Concurrency: 8})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var lanes sync.WaitGroup
	for i := range 8 {
		lanes.Go(func() {
			var failed *poller.DeliveryError
			err := o.Deliver(ctx, outputtest.Delivery(i, 1))
			if err != nil && (!errors.As(err, &failed) || failed.Failed[0].Cause != poller.Unavailable ||
				!strings.Contains(err.Error(), "output__rate")) {
				t.Error(err)
			}
		})
	}
	lanes.Wait()
	if n := len(r.seen()); n != 1 {
		t.Errorf("%d requests arrived", n)
	}
}
