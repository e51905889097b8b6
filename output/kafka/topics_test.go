package kafka_test

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/output/kafka"
	"github.com/rowrelay/rowrelay/poller"
)

func TestMissingTopic(t *testing.T) {
	server := testenv.Kafka(t)
	topic, missing := server.Topic(t, 1), server.TopicName(t)
	o := open(t, server.Address, topic, func(c *kafka.Config) {
		c.Destinations = destinations(t, topic, map[string]string{"OrderShipped": missing})
	})
	d := outbox(0, 3)
	d.Events[1].Outbox.EventType = "OrderShipped"
	err := o.Deliver(t.Context(), d)
	failed(t, err, poller.FailedEvent{Index: 1, Cause: poller.Misplaced, Named: true})
	contains(t, err, missing, "kafka-topics.sh", "--create --topic "+missing, "auto.create.topics.enable", "1 of 3 events")
	if got := len(server.Records(t, topic)); got != 2 {
		t.Errorf("%d events arrived at the other topic, want 2", got)
	}
	// The mend is enough: no restart.
	server.Create(t, missing, 1)
	d.Events = d.Events[1:2]
	if err := o.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if got := len(server.Records(t, missing)); got != 1 {
		t.Errorf("%d events arrived, want 1", got)
	}
}

// TestTopicMadeAnew: each producer at rest knows a topic that was deleted and made anew as it was, and failed once
// more, each after a longer pause of the poller.
func TestTopicMadeAnew(t *testing.T) {
	server := testenv.Kafka(t)
	topic := server.Topic(t, 2)
	o := open(t, server.Address, topic, nil)
	var wg sync.WaitGroup
	for k := range 16 { // at once, so that there are several producers
		wg.Go(func() {
			if err := o.Deliver(t.Context(), outbox(10*k, 2)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	server.Delete(t, topic)
	failed(t, o.Deliver(t.Context(), outbox(0, 1)), poller.FailedEvent{Index: 0, Cause: poller.Misplaced, Named: true})
	server.Create(t, topic, 2)
	if err := o.Deliver(t.Context(), outbox(0, 1)); err != nil {
		t.Error(err)
	}
	server.Delete(t, topic) // and nobody looks meanwhile
	server.Create(t, topic, 2)
	if err := o.Deliver(t.Context(), outbox(0, 1)); err != nil {
		failed(t, err, poller.FailedEvent{Index: 0, Cause: poller.Misplaced, Named: true})
	}
	if err := o.Deliver(t.Context(), outbox(0, 1)); err != nil {
		t.Error(err)
	}
}

// TestAddedPartitions: no answer of a broker tells of them, and producers heard of them after up to five minutes, each
// at a time of its own: keys went to and fro, also where the poller had been paused meanwhile.
func TestAddedPartitions(t *testing.T) {
	quick.Skip(t)
	server := testenv.Kafka(t)
	topic := server.Topic(t, 1)
	o := open(t, server.Address, topic, nil)
	if err := o.Deliver(t.Context(), outbox(0, 1)); err != nil {
		t.Fatal(err)
	}
	more := kmsg.NewCreatePartitionsRequestTopic()
	more.Topic, more.Count = topic, 8
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Topics = append(req.Topics, more)
	server.Do(t, req)
	programtest.UntilWithin(t, time.Minute, "keys go to the partitions that were added", func() bool {
		if err := o.Deliver(t.Context(), outbox(0, 16)); err != nil {
			t.Error(err)
		}
		return slices.ContainsFunc(server.Records(t, topic), func(r *kgo.Record) bool { return r.Partition > 0 })
	})
}

func TestCreate(t *testing.T) {
	server := testenv.Kafka(t)
	topic := server.TopicName(t)
	var wg sync.WaitGroup
	for k := range 3 { // instances that meet it at the same time
		o := open(t, server.Address, topic, func(c *kafka.Config) { c.Create = true })
		wg.Go(func() {
			if err := o.Deliver(t.Context(), outbox(10*k, 2)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := len(server.Records(t, topic)); got != 6 {
		t.Errorf("%d events arrived, want 6", got)
	}
}

func TestIllegalTopicIsImpossible(t *testing.T) {
	server := testenv.Kafka(t)
	topic := server.Topic(t, 1)
	o := open(t, server.Address, "unused", func(c *kafka.Config) {
		c.Destinations = destinations(t, "{aggregate_type}", map[string]string{"OrderPlaced": topic})
	})
	names := []string{"order item", "ä", ".", "..", strings.Repeat("x", 250), "a/b", ""}
	d := outbox(0, len(names)+1)
	var want []poller.FailedEvent
	for i, name := range names {
		d.Events[i].Outbox.AggregateType, d.Events[i].Outbox.EventType = name, "other"
		want = append(want, poller.FailedEvent{Index: i, Cause: poller.Impossible, Named: true})
	}
	err := o.Deliver(t.Context(), d)
	failed(t, err, want...)
	contains(t, err, "order item", "output__destination")
	if got := len(server.Records(t, topic)); got != 1 {
		t.Errorf("%d events arrived, want 1", got)
	}
}

// TestTooLargeForTheTopic: the client does not know the topic's limit, and the broker refuses a batch as a whole.
func TestTooLargeForTheTopic(t *testing.T) {
	server := testenv.Kafka(t)
	topic, other := server.Topic(t, 1, "max.message.bytes=20000"), server.Topic(t, 1, "max.message.bytes=5000")
	o := open(t, server.Address, topic, func(c *kafka.Config) {
		c.Format = change.Payload
		c.Destinations = destinations(t, topic, map[string]string{"OrderShipped": other})
	})
	d := outbox(0, 31)
	for i := range d.Events {
		d.Events[i].Outbox.Payload = bytes.Repeat([]byte("x"), 2000)
	}
	d.Events[7].Outbox.Payload, d.Events[7].Outbox.EventType = bytes.Repeat([]byte("x"), 6000), "OrderShipped"
	d.Events[8].Outbox.EventType = "OrderShipped"
	d.Events[17].Outbox.Payload = bytes.Repeat([]byte("x"), 30000)
	err := o.Deliver(t.Context(), d)
	failed(t, err, poller.FailedEvent{Index: 7, Cause: poller.Impossible, Named: true},
		poller.FailedEvent{Index: 17, Cause: poller.Impossible, Named: true})
	contains(t, err, "MESSAGE_TOO_LARGE", "max.message.bytes")
	arrivedOnce(t, append(server.Records(t, topic), server.Records(t, other)...), d, 7, 17)
}

func TestRecordThatTheBrokerRefuses(t *testing.T) {
	server := testenv.Kafka(t)
	topic := server.Topic(t, 1, "message.timestamp.before.max.ms=600000")
	d := outbox(0, 9)
	d.Events[3].Outbox.CreatedAt = time.Now().Add(-30 * time.Minute)
	err := open(t, server.Address, topic, nil).Deliver(t.Context(), d)
	failed(t, err, poller.FailedEvent{Index: 3, Cause: poller.Refused, Named: true})
	contains(t, err, "INVALID_TIMESTAMP")
	arrivedOnce(t, server.Records(t, topic), d, 3)
}

// TestMaxMessageBytes: an event of 3 MB reaches a topic that takes it, once the output is told to send as much.
func TestMaxMessageBytes(t *testing.T) {
	server := testenv.Kafka(t)
	topic := server.Topic(t, 1, "max.message.bytes=4000000")
	d := outbox(0, 3)
	d.Events[1].Outbox.Payload = bytes.Repeat([]byte("x"), 3_000_000)
	err := open(t, server.Address, topic, func(c *kafka.Config) { c.Format = change.Payload }).Deliver(t.Context(), d)
	failed(t, err, poller.FailedEvent{Index: 1, Cause: poller.Impossible, Named: true})
	contains(t, err, "output__max_message_bytes")
	o := open(t, server.Address, topic, func(c *kafka.Config) { c.Format, c.MaxMessage = change.Payload, 4_000_000 })
	if err := o.Deliver(t.Context(), change.Delivery{Token: d.Token, Events: d.Events[1:2]}); err != nil {
		t.Fatal(err)
	}
	arrivedOnce(t, server.Records(t, topic), d)
}
