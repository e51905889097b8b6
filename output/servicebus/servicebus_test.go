package servicebus_test

import (
	"testing"

	"github.com/rowrelay/rowrelay/internal/amqptest"
	"github.com/rowrelay/rowrelay/output/servicebus"
)

// service keeps an aggregate's events together by a session, whose id is the partition key too.
var service = amqptest.Service[*servicebus.Output]{
	New: servicebus.New,
	Key: func(t testing.TB, m amqptest.Message) string {
		t.Helper()
		if m.Group == "" || m.Annotations["x-opt-partition-key"] != m.Group {
			t.Errorf("message %s has the session %q and the partition key %v", m.ID, m.Group,
				m.Annotations["x-opt-partition-key"])
		}
		return m.Group
	},
}

func TestConformance(t *testing.T) { amqptest.Conformance(t, service) }

func TestMessage(t *testing.T) {
	amqptest.Wire(t, service, amqptest.Message{Group: "order-17", Subject: "OrderPlaced", Envelope: map[string]any{}})
}

func TestLongAggregateID(t *testing.T) { amqptest.LongAggregateID(t, service) }

func BenchmarkDeliver(b *testing.B) { amqptest.Benchmark(b, service) }
