package eventhubs_test

import (
	"testing"

	"github.com/rowrelay/rowrelay/internal/amqptest"
	"github.com/rowrelay/rowrelay/output/eventhubs"
	"github.com/rowrelay/rowrelay/output/outputtest"
)

// service keeps an aggregate's events together by the partition key, which stands on the batch.
var service = amqptest.Service[*eventhubs.Output]{
	New: eventhubs.New,
	Key: func(t testing.TB, m amqptest.Message) string {
		t.Helper()
		key, _ := m.Envelope["x-opt-partition-key"].(string)
		if key == "" {
			t.Errorf("message %s has the partition key %v", m.ID, m.Envelope["x-opt-partition-key"])
		}
		return key
	},
}

func TestConformance(t *testing.T) { amqptest.Conformance(t, service) }

func TestMessage(t *testing.T) {
	amqptest.Wire(t, service, amqptest.Message{Batch: true, Envelope: map[string]any{"x-opt-partition-key": "order-17"}})
}

func TestLongAggregateID(t *testing.T) { amqptest.LongAggregateID(t, service) }

// An event without an aggregate has no partition key: it goes to any partition.
func TestNoAggregateNoKey(t *testing.T) {
	peer := amqptest.Start(t)
	o := amqptest.Open(t, eventhubs.New, amqptest.Config(t, peer.Connection(), "orders", nil))
	if err := o.Deliver(t.Context(), amqptest.OutboxDelivery("")); err != nil {
		t.Fatal(err)
	}
	got := peer.Received("orders")
	if len(got) != 1 {
		t.Fatalf("%d messages arrived", len(got))
	}
	if key, has := got[0].Envelope["x-opt-partition-key"]; has {
		t.Errorf("the partition key is %v", key)
	}
}

// A connection string for one hub names it; the SDK must not be told twice.
func TestEntityPath(t *testing.T) {
	peer := amqptest.Start(t)
	o := amqptest.Open(t, eventhubs.New, amqptest.Config(t, peer.Connection()+";EntityPath=orders", "orders", nil))
	if err := o.Deliver(t.Context(), outputtest.Delivery(0, 1)); err != nil {
		t.Fatal(err)
	}
	if got := peer.Received("orders"); len(got) != 1 {
		t.Errorf("%d messages arrived", len(got))
	}
}

func BenchmarkDeliver(b *testing.B) { amqptest.Benchmark(b, service) }
