package wiring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/poller"
)

// outputSettings are the settings of a poller whose output is of some kind, and more.
func loadOutput(t *testing.T, kind string, more ...string) (*App, *config.Poller) {
	t.Helper()
	cfg, err := config.Load(append([]string{
		"state__kind=memory", "DB=sqlite::memory:", "pollers__orders__source__connection=DB",
		"pollers__orders__source__mode=outbox",
		"pollers__orders__source__table=outbox", "pollers__orders__output__kind=" + kind,
		"pollers__orders__output__connection=TO",
	}, more...))
	if err != nil {
		t.Fatal(err)
	}
	return &App{Config: cfg}, cfg.Pollers[0]
}

const namespaceKey = "TO=Endpoint=sb://127.0.0.1:1/;SharedAccessKeyName=n;SharedAccessKey=c2VjcmV0;UseDevelopmentEmulator=true"

// TestMaxMessageBytes: output__max_message_bytes reaches the output, which refuses an event before it connects.
func TestMaxMessageBytes(t *testing.T) {
	a, p := loadOutput(t, "kafka", "TO=kafka://127.0.0.1:1", "pollers__orders__output__max_message_bytes=1KiB")
	to, err := a.OpenOutput(p, &p.Outputs[0])
	if err != nil {
		t.Fatal(err)
	}
	large := change.Event{ID: "k-1", Key: []byte(`{"seq":1}`), OrderKey: []byte(`{}`), Row: []byte(`{}`),
		Outbox: &change.Outbox{AggregateType: "Order", Payload: bytes.Repeat([]byte("x"), 1<<10)}}
	var failed *poller.DeliveryError
	err = to.Deliver(t.Context(), change.Delivery{Poller: "orders", Events: []change.Event{large}})
	if !errors.As(err, &failed) || failed.Failed[0].Cause != poller.Impossible {
		t.Errorf("an event larger than output__max_message_bytes: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// Every kind of output opens without connecting, takes a delivery whose time is up, and closes.
func TestOpenOutputs(t *testing.T) {
	event := change.Event{ID: "k-1", Key: []byte(`{"seq":1}`), OrderKey: []byte(`{}`), Row: []byte(`{}`),
		Cursor: change.Cursor(`{"kind":"outbox"}`),
		Outbox: &change.Outbox{AggregateType: "Order", AggregateID: "42", EventType: "OrderPlaced",
			Payload: []byte(`{"a":1}`), JSON: true}}
	for _, c := range []struct {
		name, kind string
		more       []string
		closes     bool
	}{
		{"http", "http", []string{"pollers__orders__output__url=http://127.0.0.1:1/"}, true},
		{"queue", "queue", []string{"TO=UseDevelopmentStorage=true"}, false},
		{"stdout", "stdout", nil, false},
		{"rabbitmq", "rabbitmq", []string{"TO=amqp://guest:guest@127.0.0.1:1/"}, true},
		{"kafka", "kafka", []string{"TO=kafka://127.0.0.1:1"}, true},
		{"kafka, Event Hubs", "kafka", []string{namespaceKey}, true},
		{"kafka, identity", "kafka", []string{"TO__fullyQualifiedNamespace=x.servicebus.windows.net",
			"TO__credential=managedidentity"}, true},
		{"eventhubs", "eventhubs", []string{namespaceKey}, true},
		{"eventhubs, identity", "eventhubs",
			[]string{"TO__fullyQualifiedNamespace=x.servicebus.windows.net", "TO__credential=managedidentity", "TO__clientId=c"},
			true},
		{"eventhubs, one hub", "eventhubs",
			[]string{namespaceKey + ";EntityPath=Hub", "pollers__orders__output__destination=hub"}, true},
		{"servicebus", "servicebus", []string{namespaceKey}, true},
		{"servicebus, principal", "servicebus",
			[]string{"TO__fullyQualifiedNamespace=x.servicebus.windows.net", "TO__tenantId=t", "TO__clientId=c",
				"TO__clientSecret=s"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, p := loadOutput(t, c.kind, c.more...)
			to, err := a.OpenOutput(p, &p.Outputs[0])
			if err != nil {
				t.Fatal(err)
			}
			if n := to.size(&event); n < len(event.Outbox.Payload) {
				t.Errorf("an event of %d bytes is said to take %d", len(event.Outbox.Payload), n)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			var failed *poller.DeliveryError
			if err := to.Deliver(ctx, change.Delivery{Poller: "orders", Events: []change.Event{event}}); !errors.As(err,
				&failed) || failed.Failed[0].Cause != poller.Unavailable {
				t.Errorf("delivery after the end: %v", err)
			}
			if c.closes != (len(a.closers) == 1) {
				t.Fatalf("%d closers", len(a.closers))
			}
			if err := a.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
		})
	}
}

// What config cannot judge is a fault of the setting that holds it, and shows nothing of a secret.
func TestOpenOutputFaults(t *testing.T) {
	for _, c := range []struct{ kind, connection string }{
		{"kafka", "TO=kafka://u:hunter2@localhost"},
		{"kafka", "TO=kafka://u:hunter2@h:9092?tls=perhaps"},
		{"servicebus", "TO=Endpoint=https://h/;SharedAccessKeyName=n;SharedAccessKey=hunter2"},
		{"eventhubs", "TO=Endpoint=sb://h/hunter2;SharedAccessKeyName=n;SharedAccessKey=hunter2"},
		{"eventhubs", namespaceKey + ";EntityPath=hub"},
	} {
		a, p := loadOutput(t, c.kind, c.connection)
		_, err := a.OpenOutput(p, &p.Outputs[0])
		if err == nil || !strings.Contains(err.Error(), "TO") || strings.Contains(err.Error(), "hunter2") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c.connection, err)
		}
		if len(a.closers) > 0 {
			t.Errorf("%s: something is open", c.connection)
		}
	}
}

func TestDestinationFaults(t *testing.T) {
	_, p := loadOutput(t, "rabbitmq", "TO=amqp://h/", "pollers__orders__output__Destination={topic}",
		"pollers__orders__output__destinations__Order.Placed={", "pollers__orders__output__destinations__b=fine")
	w := &Poller{Wired: inspect.Wired{Config: p}}
	w.checkDestinations()
	want := []string{
		`pollers__orders__output__Destination: "{topic}": {topic} is not known: choose of {app}, {poller}, {op}, {aggregate_type}, {aggregate_id}, {event_type}.`,
		`pollers__orders__output__destinations__Order.Placed: "{": a { has no } after it; write {{ for a brace.`,
	}
	if diff := cmp.Diff(want, strings.Split(w.Faults.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
	_, p = loadOutput(t, "stdout")
	w = &Poller{Wired: inspect.Wired{Config: p}}
	if w.checkDestinations(); len(w.Faults) > 0 {
		t.Error(w.Faults)
	}
}

// What output__type and output__source say, and the binary mode, reach the receiver.
func TestCloudEventsAsSet(t *testing.T) {
	got := make(chan *http.Request, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r }))
	defer receiver.Close()
	a, p := loadOutput(t, "http", "pollers__orders__output__url="+receiver.URL,
		"pollers__orders__output__format=cloudevents_binary", "pollers__orders__output__type=com.example.{event_type}",
		"pollers__orders__output__source=https://example.com/shop")
	to, err := a.OpenOutput(p, &p.Outputs[0])
	if err != nil {
		t.Fatal(err)
	}
	event := change.Event{ID: "k-1", Key: []byte(`{"seq":1}`), Cursor: change.Cursor(`{"kind":"outbox","seq":1}`),
		Outbox: &change.Outbox{AggregateType: "Order", AggregateID: "42", EventType: "Paid", Payload: []byte(`{}`),
			JSON: true}}
	d := change.Delivery{App: "shop", Poller: "orders", Events: []change.Event{event}}
	if err := to.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	h := (<-got).Header
	if h.Get("ce-type") != "com.example.Paid" || h.Get("ce-source") != "https://example.com/shop" ||
		h.Get("ce-id") != "k-1" || h.Get("ce-subject") != "Order/42" || h.Get("Content-Type") != "application/json" {
		t.Errorf("%v", h)
	}
	if to.size(&event) <= len("com.example.Paid") {
		t.Errorf("an event takes %d bytes", to.size(&event))
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// TestEntraToken: output__auth=entra asks the endpoint that App Service gives an app, as Azure's library does, and
// after a 401 past that library's cache.
func TestEntraToken(t *testing.T) {
	given, revoked := 0, false
	identity := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("X-Identity-Header") != "h" || q.FormValue("resource") != "api://receiver" ||
			q.FormValue("client_id") != "me" {
			t.Errorf("asked for %s", q.URL.RawQuery)
		}
		given++
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token":"token-%d","expires_on":"4102444800","resource":"r","token_type":"Bearer"}`,
			given)
	}))
	t.Cleanup(identity.Close)
	t.Setenv("IDENTITY_ENDPOINT", identity.URL)
	t.Setenv("IDENTITY_HEADER", "h")
	var seen []string
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		seen = append(seen, q.Header.Get("Authorization"))
		if revoked && q.Header.Get("Authorization") == "Bearer token-1" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(receiver.Close)
	a, p := loadOutput(t, "http", "pollers__orders__output__url="+receiver.URL, "pollers__orders__output__auth=entra",
		"pollers__orders__output__auth_scope=api://receiver/.default", "pollers__orders__output__auth_client_id=me")
	to, err := a.OpenOutput(p, &p.Outputs[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		revoked = i == 2
		if err := to.Deliver(t.Context(), outputtest.Delivery(i, 1)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"Bearer token-1", "Bearer token-1", "Bearer token-1", "Bearer token-2"}
	if !slices.Equal(seen, want) || given != 2 {
		t.Errorf("%d tokens were given, and %q seen", given, seen)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
