package amqptest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/output/azmessaging"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/poller"
)

// Output is what the outputs to Service Bus and to Event Hubs both are.
type Output interface {
	poller.Output
	Close(ctx context.Context) error
}

// Service is one of them.
type Service[O Output] struct {
	New func(azmessaging.Config) (O, error)
	// Key reads from a message by what the service keeps the events of one aggregate together. A message without it fails
	// the test.
	Key func(t testing.TB, m Message) string
}

// Config is that of an output which sends what names no other destination to the one given.
func Config(t testing.TB, connection, destination string, byType map[string]string) azmessaging.Config {
	t.Helper()
	c, err := azmessaging.ParseConnection(connection)
	if err != nil {
		t.Fatal(err)
	}
	destinations, err := output.ParseDestinations(destination, byType)
	if err != nil {
		t.Fatal(err)
	}
	return azmessaging.Config{Connection: c, Destinations: destinations}
}

// Open opens an output, which is closed when the test ends.
func Open[O Output](t testing.TB, open func(azmessaging.Config) (O, error), cfg azmessaging.Config) O {
	t.Helper()
	o, err := open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Close(t, o) })
	return o
}

// Close closes an output, for which it has ten seconds.
func Close(t testing.TB, o Output) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := o.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// Conformance runs the suite of all outputs over the peer.
func Conformance[O Output](t *testing.T, s Service[O]) {
	t.Helper()
	outputtest.Run(t, func(t *testing.T) outputtest.Fixture {
		peer := Start(t)
		var refused []string
		peer.Set("missing", Rule{Attach: &Condition{Condition: "amqp:not-found"}})
		payloads := Config(t, peer.Connection(), "{aggregate_type}-events", map[string]string{"OrderShipped": "shipped"})
		payloads.Format = change.Payload
		return outputtest.Fixture{
			Messages: func(t *testing.T) []outputtest.Message {
				return s.messages(t, peer, "orders", "order-events", "shipped")
			},
			Payloads: Open(t, s.New, payloads), Default: "order-events", Other: "shipped",
			Output:      Open(t, s.New, Config(t, peer.Connection(), "orders", map[string]string{"misplaced": "missing"})),
			Misplace:    func(d *change.Delivery, i int) { d.Events[i].Outbox = &change.Outbox{EventType: "misplaced"} },
			Unreachable: Open(t, s.New, Config(t, Unreachable, "orders", nil)),
			Received: func(*testing.T) [][]byte {
				var bodies [][]byte
				for _, m := range peer.Received("orders") {
					bodies = append(bodies, m.Body)
				}
				return bodies
			},
			TooLarge: 262144,
			Spoil: func(d *change.Delivery, i int) poller.Cause {
				refused = append(refused, d.Events[i].ID)
				peer.Set("orders", Rule{Do: Reject, Condition: Condition{Condition: "amqp:not-allowed"}, Only: refused})
				return poller.Refused
			},
			Hang: func(*testing.T) <-chan struct{} {
				peer.Set("orders", Rule{Do: Hold})
				return peer.Arrived(1)
			},
		}
	})
}

// messages returns what the addresses hold.
func (s Service[O]) messages(t *testing.T, peer *Peer, addresses ...string) []outputtest.Message {
	t.Helper()
	var all []outputtest.Message
	for _, address := range addresses {
		for _, m := range peer.Received(address) {
			attributes := map[string]string{}
			for name, value := range m.Properties {
				attributes[name], _ = value.(string)
			}
			all = append(all, outputtest.Message{
				Destination: address, Body: m.Body, ID: m.ID, Type: m.Subject, ContentType: m.ContentType, Key: s.Key(t, m),
				Attributes: attributes,
			})
		}
	}
	return all
}

// OutboxDelivery is one event of an outbox, OrderPlaced, whose aggregate has that id.
func OutboxDelivery(aggregate string) change.Delivery {
	d := outputtest.Delivery(0, 1)
	d.Events[0].Outbox = &change.Outbox{
		AggregateType: "Order", AggregateID: aggregate, EventType: "OrderPlaced", IdempotencyKey: d.Events[0].ID,
		Payload: []byte(`{"total":"12.50"}`), JSON: true, CreatedAt: time.Date(2026, 11, 21, 8, 49, 37, 123456000, time.UTC),
		TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
	return d
}

// Wire compares what stands on the wire for OutboxDelivery("order-17"), as an implementation of AMQP reads it that is
// not the SDK's, with what both outputs write and, in own, what only this one does.
func Wire[O Output](t *testing.T, s Service[O], own Message) {
	t.Helper()
	peer := Start(t)
	cfg := Config(t, peer.Connection(), "{aggregate_type}-events", nil)
	cfg.Format = change.Payload
	d := OutboxDelivery("order-17")
	if err := Open(t, s.New, cfg).Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	want := own
	want.ID, want.ContentType, want.Body = d.Events[0].ID, "application/json", []byte(`{"total":"12.50"}`)
	want.Annotations = map[string]any{"x-opt-partition-key": "order-17"}
	want.Properties = map[string]any{}
	for _, a := range d.Attributes(nil, &d.Events[0]) {
		want.Properties[a.Name] = a.Value
	}
	if diff := cmp.Diff([]Message{want}, peer.Received("order-events")); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	for _, audience := range peer.Stats().Audiences {
		if kind := audience[1]; kind != "servicebus.windows.net:sastoken" || audience[2] != true {
			t.Errorf("a token of type %v was put", kind)
		}
	}
}

// LongAggregateID checks that an aggregate has one key however long its id is, and that no other has it.
func LongAggregateID[O Output](t *testing.T, s Service[O]) {
	t.Helper()
	peer := Start(t)
	o := Open(t, s.New, Config(t, peer.Connection(), "orders", nil))
	long := strings.Repeat("é", 200)
	for _, aggregate := range []string{long, long, long + "x"} {
		if err := o.Deliver(t.Context(), OutboxDelivery(aggregate)); err != nil {
			t.Fatal(err)
		}
	}
	var keys []string
	for _, m := range peer.Received("orders") {
		key := s.Key(t, m)
		if n := len([]rune(key)); n > 128 {
			t.Errorf("a key of %d characters: %q", n, key)
		}
		keys = append(keys, key)
	}
	if len(keys) != 3 || keys[0] != keys[1] || keys[0] == keys[2] {
		t.Fatalf("keys: %q", keys)
	}
}

// Benchmark delivers 100 events at a time.
func Benchmark[O Output](b *testing.B, s Service[O]) {
	b.Helper()
	peer := Start(b)
	o := Open(b, s.New, Config(b, peer.Connection(), "orders", nil))
	d := outputtest.Delivery(0, 100)
	for b.Loop() {
		if err := o.Deliver(b.Context(), d); err != nil {
			b.Fatal(err)
		}
	}
}
