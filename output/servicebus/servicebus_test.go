package servicebus_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/amqptest"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/output/azmessaging"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/output/servicebus"
	"github.com/rowrelay/rowrelay/poller"
)

func open(t testing.TB, connection, destination string, change func(*servicebus.Config)) *servicebus.Output {
	t.Helper()
	c, err := azmessaging.ParseConnection(connection)
	if err != nil {
		t.Fatal(err)
	}
	destinations, err := output.ParseDestinations(destination, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := servicebus.Config{Connection: c, Destinations: destinations}
	if change != nil {
		change(&cfg)
	}
	o, err := servicebus.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := o.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return o
}

func bodies(messages []amqptest.Message) [][]byte {
	var all [][]byte
	for _, m := range messages {
		all = append(all, m.Body)
	}
	return all
}

// messages returns what the addresses hold.
func messages(peer *amqptest.Peer, addresses ...string) []outputtest.Message {
	var all []outputtest.Message
	for _, address := range addresses {
		for _, m := range peer.Received(address) {
			attributes := map[string]string{}
			for name, value := range m.Properties {
				attributes[name], _ = value.(string)
			}
			all = append(all, outputtest.Message{
				Destination: address, Body: m.Body, ID: m.ID, Type: m.Subject, ContentType: m.ContentType, Key: m.Group, Attributes: attributes,
			})
		}
	}
	return all
}

func TestConformance(t *testing.T) {
	outputtest.Run(t, func(t *testing.T) outputtest.Fixture {
		peer := amqptest.Start(t)
		var refused []string
		destinations, err := output.ParseDestinations("{aggregate_type}-events", map[string]string{"OrderShipped": "shipped"})
		if err != nil {
			t.Fatal(err)
		}
		missing, err := output.ParseDestinations("orders", map[string]string{"misplaced": "missing"})
		if err != nil {
			t.Fatal(err)
		}
		peer.Set("missing", amqptest.Rule{Attach: &amqptest.Condition{Condition: "amqp:not-found"}})
		return outputtest.Fixture{
			Messages: func(*testing.T) []outputtest.Message { return messages(peer, "orders", "order-events", "shipped") },
			Payloads: open(t, peer.Connection(), "orders", func(c *servicebus.Config) {
				c.Destinations, c.Format = destinations, change.Payload
			}),
			Default: "order-events", Other: "shipped",
			Output:      open(t, peer.Connection(), "orders", func(c *servicebus.Config) { c.Destinations = missing }),
			Misplace:    func(d *change.Delivery, i int) { d.Events[i].Outbox = &change.Outbox{EventType: "misplaced"} },
			Unreachable: open(t, amqptest.Unreachable, "orders", nil),
			Received:    func(*testing.T) [][]byte { return bodies(peer.Received("orders")) },
			TooLarge:    262144,
			Spoil: func(d *change.Delivery, i int) poller.Cause {
				refused = append(refused, d.Events[i].ID)
				peer.Set("orders", amqptest.Rule{Do: amqptest.Reject, Condition: amqptest.Condition{Condition: "amqp:not-allowed"}, Only: refused})
				return poller.Refused
			},
			Hang: func(*testing.T) <-chan struct{} {
				peer.Set("orders", amqptest.Rule{Do: amqptest.Hold})
				return peer.Arrived(1)
			},
		}
	})
}

// outboxDelivery is one event of an outbox whose aggregate has that id.
func outboxDelivery(aggregate string) change.Delivery {
	d := outputtest.Delivery(0, 1)
	d.Events[0].Outbox = &change.Outbox{
		AggregateType: "Order", AggregateID: aggregate, EventType: "OrderPlaced", IdempotencyKey: d.Events[0].ID,
		Payload: []byte(`{"total":"12.50"}`), JSON: true, CreatedAt: time.Date(2026, 11, 21, 8, 49, 37, 123456000, time.UTC),
		TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
	return d
}

// What stands on the wire, as an implementation of AMQP reads it that is not the SDK's.
func TestMessage(t *testing.T) {
	peer := amqptest.Start(t)
	o := open(t, peer.Connection(), "{aggregate_type}-events", func(c *servicebus.Config) { c.Format = change.Payload })
	d := outboxDelivery("order-17")
	if err := o.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	properties := map[string]any{}
	for _, a := range d.Attributes(nil, &d.Events[0]) {
		properties[a.Name] = a.Value
	}
	want := []amqptest.Message{{
		ID: d.Events[0].ID, Group: "order-17", Subject: "OrderPlaced", ContentType: "application/json",
		Properties: properties, Annotations: map[string]any{"x-opt-partition-key": "order-17"},
		Body: []byte(`{"total":"12.50"}`), Envelope: map[string]any{},
	}}
	if diff := cmp.Diff(want, peer.Received("order-events")); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	for _, audience := range peer.Stats().Audiences {
		if kind := audience[1]; kind != "servicebus.windows.net:sastoken" || audience[2] != true {
			t.Errorf("a token of type %v was put", kind)
		}
	}
}

// An aggregate has one session however long its id is, and no other has it.
func TestLongAggregateID(t *testing.T) {
	peer := amqptest.Start(t)
	o := open(t, peer.Connection(), "orders", nil)
	long := strings.Repeat("é", 200)
	for _, aggregate := range []string{long, long, long + "x"} {
		if err := o.Deliver(t.Context(), outboxDelivery(aggregate)); err != nil {
			t.Fatal(err)
		}
	}
	got := peer.Received("orders")
	if len(got) != 3 || got[0].Group != got[1].Group || got[0].Group == got[2].Group {
		t.Fatalf("sessions: %v", got)
	}
	for _, m := range got {
		if n := len([]rune(m.Group)); n > 128 || m.Annotations["x-opt-partition-key"] != m.Group {
			t.Errorf("a session of %d characters, %q, with the partition key %q", n, m.Group, m.Annotations["x-opt-partition-key"])
		}
	}
}

func BenchmarkDeliver(b *testing.B) {
	peer := amqptest.Start(b)
	o := open(b, peer.Connection(), "orders", nil)
	d := outputtest.Delivery(0, 100)
	for b.Loop() {
		if err := o.Deliver(b.Context(), d); err != nil {
			b.Fatal(err)
		}
	}
}
