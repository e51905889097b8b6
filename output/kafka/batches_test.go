package kafka_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/output/kafka"
	"github.com/rowrelay/rowrelay/poller"
)

// ofKeys is outbox, of events of so many aggregates in turn, with payloads of so many bytes.
func ofKeys(n, aggregates, size int) change.Delivery {
	d := outbox(0, n)
	for i := range d.Events {
		e := &d.Events[i]
		e.Outbox.AggregateID = fmt.Sprint("a", i%aggregates)
		e.OrderKey = fmt.Appendf(nil, `{"aggregate_type":"Order","aggregate_id":%q}`, e.Outbox.AggregateID)
		e.Outbox.Payload = bytes.Repeat([]byte("x"), size)
	}
	return d
}

// inOrder fails where the events of an aggregate are not among the records in the order of the delivery, each once.
func inOrder(t *testing.T, records []*kgo.Record, d change.Delivery) {
	t.Helper()
	last := map[string]int{}
	for _, r := range records {
		i := slices.IndexFunc(d.Events, func(e change.Event) bool { return e.ID == header(r, "idempotency_key") })
		if before, seen := last[string(r.Key)]; seen && before >= i {
			t.Errorf("event %d of %s came after %d", i, r.Key, before)
		}
		last[string(r.Key)] = i
	}
}

// TestSeveralOfOneKey: what has one order key arrives in order, also where it takes several batches.
func TestSeveralOfOneKey(t *testing.T) {
	server := testenv.Kafka(t)
	topic := server.Topic(t, 3)
	o := open(t, server.Address, topic, func(c *kafka.Config) { c.Format, c.MaxMessage = change.Payload, 20_000 })
	d := ofKeys(100, 7, 2000)
	if err := o.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	records := server.Records(t, topic)
	arrivedOnce(t, records, d)
	inOrder(t, records, d)
}

// TestNothingBehindARefusedOne: the broker refuses one of several events of an order key. Those before it arrive, those
// behind it do not, and other keys do.
func TestNothingBehindARefusedOne(t *testing.T) {
	server := testenv.Kafka(t)
	for _, partitions := range []int{1, 3} {
		topic := server.Topic(t, partitions, "max.message.bytes=20000")
		o := open(t, server.Address, topic, func(c *kafka.Config) { c.Format = change.Payload })
		d := ofKeys(24, 3, 2000)
		d.Events[7].Outbox.Payload = bytes.Repeat([]byte("x"), 30_000) // of a1, as 10, 13, 16, 19 and 22
		want := []poller.FailedEvent{{Index: 7, Cause: poller.Impossible, Named: true}}
		but := []int{7}
		for i := 10; i < 24; i += 3 {
			want, but = append(want, poller.FailedEvent{Index: i}), append(but, i)
		}
		err := o.Deliver(t.Context(), d)
		failed(t, err, want...)
		contains(t, err, "MESSAGE_TOO_LARGE")
		records := server.Records(t, topic)
		arrivedOnce(t, records, d, but...)
		inOrder(t, records, d)
		if err := o.Deliver(t.Context(), ofKeys(6, 3, 10)); err != nil {
			t.Error("a delivery after it:", err)
		}
	}
}

// TestNothingBehindAMissingTopic: the first event of an order key is for a topic that does not exist, and so those that
// are for one which does wait; as do those behind one that no record can be.
func TestNothingBehindAMissingTopic(t *testing.T) {
	server := testenv.Kafka(t)
	topic := server.Topic(t, 1)
	o := open(t, server.Address, topic, func(c *kafka.Config) {
		c.Format = change.Payload
		c.Destinations = destinations(t, topic, map[string]string{"Lost": topic + "-lost", "Never": "no topic"})
	})
	d := ofKeys(9, 3, 10)
	d.Events[1].Outbox.EventType, d.Events[5].Outbox.EventType = "Lost", "Never"
	failed(t, o.Deliver(t.Context(), d), poller.FailedEvent{Index: 1, Cause: poller.Misplaced, Named: true},
		poller.FailedEvent{Index: 4}, poller.FailedEvent{Index: 5, Cause: poller.Impossible, Named: true},
		poller.FailedEvent{Index: 7}, poller.FailedEvent{Index: 8})
	arrivedOnce(t, server.Records(t, topic), d, 1, 4, 5, 7, 8)
}
