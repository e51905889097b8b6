package kafka_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/output/kafka"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/poller"
)

func destinations(t testing.TB, byDefault string, byType map[string]string) output.Destinations {
	t.Helper()
	d, err := output.ParseDestinations(byDefault, byType)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// open makes an output that produces to topic, unless change says otherwise.
func open(t testing.TB, broker, topic string, change func(*kafka.Config)) *kafka.Output {
	t.Helper()
	cfg := kafka.Config{Connection: kafka.Connection{Brokers: []string{broker}}, Destinations: destinations(t, topic, nil)}
	if change != nil {
		change(&cfg)
	}
	o, err := kafka.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return o
}

func header(r *kgo.Record, name string) string {
	for _, h := range r.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

func messages(records []*kgo.Record) []outputtest.Message {
	all := make([]outputtest.Message, len(records))
	for i, r := range records {
		all[i] = outputtest.Message{Destination: r.Topic, Body: r.Value, Key: string(r.Key), Attributes: map[string]string{}}
		for _, h := range r.Headers {
			if h.Key == "content-type" {
				all[i].ContentType = string(h.Value)
				continue
			}
			all[i].Attributes[h.Key] = string(h.Value)
		}
	}
	return all
}

// failed asserts that err names exactly these events.
func failed(t *testing.T, err error, want ...poller.FailedEvent) {
	t.Helper()
	var failure *poller.DeliveryError
	if !errors.As(err, &failure) {
		t.Fatalf("Deliver returned %v, want a *poller.DeliveryError", err)
	}
	if diff := cmp.Diff(want, failure.Failed); diff != "" {
		t.Fatalf("failed events (-want +got):\n%s\n%v", diff, err)
	}
}

func contains(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
}

func TestConformance(t *testing.T) {
	broker := testenv.OwnKafka(t)
	p := newProxy(t, broker)
	outputtest.Run(t, func(t *testing.T) outputtest.Fixture {
		p.set(pass)
		topic, other, missing := broker.Topic(t, 3), broker.Topic(t, 1), broker.TopicName(t)
		return outputtest.Fixture{
			Output: open(t, broker.Proxied, topic, func(c *kafka.Config) {
				c.Destinations = destinations(t, topic, map[string]string{"misplaced": missing})
			}),
			Misplace:    func(d *change.Delivery, i int) { d.Events[i].Outbox = &change.Outbox{EventType: "misplaced"} },
			Unreachable: open(t, "127.0.0.1:1", topic, nil),
			Received: func(t *testing.T) [][]byte {
				var bodies [][]byte
				for _, r := range broker.Records(t, topic) {
					bodies = append(bodies, r.Value)
				}
				return bodies
			},
			TooLarge: 1_000_000,
			Spoil: func(d *change.Delivery, i int) poller.Cause {
				d.Events[i].Row = fmt.Appendf(nil, `{"x":"%s"}`, strings.Repeat("x", 1_000_000))
				return poller.Impossible
			},
			Hang: func(*testing.T) <-chan struct{} {
				p.set(hold)
				return p.arrived
			},
			Messages: func(t *testing.T) []outputtest.Message {
				return messages(append(broker.Records(t, topic), broker.Records(t, other)...))
			},
			Payloads: open(t, broker.Proxied, topic, func(c *kafka.Config) {
				c.Format, c.Destinations = change.Payload, destinations(t, topic, map[string]string{"OrderShipped": other})
			}),
			Default: topic, Other: other,
		}
	})
}

// outbox returns a delivery of n events, of aggregates first, first+1, …
func outbox(first, n int) change.Delivery {
	d := outputtest.Delivery(first, n)
	for i := range d.Events {
		e := &d.Events[i]
		e.Outbox = &change.Outbox{
			AggregateType: "Order", AggregateID: fmt.Sprint(first + i), EventType: "OrderPlaced",
			IdempotencyKey: fmt.Sprintf("key-%d", first+i), Payload: fmt.Appendf(nil, `{"id":%d}`, first+i), JSON: true, CreatedAt: time.Now(),
		}
		e.ID = e.Outbox.IdempotencyKey
	}
	return d
}

func TestEqualKeysShareAPartition(t *testing.T) {
	server := testenv.Kafka(t)
	topic := server.Topic(t, 5)
	// Two outputs, as two instances have.
	for range 2 {
		o := open(t, server.Address, topic, nil)
		for range 2 {
			if err := o.Deliver(t.Context(), outbox(0, 20)); err != nil {
				t.Fatal(err)
			}
		}
	}
	partition, used := map[string]int32{}, map[int32]bool{}
	records := server.Records(t, topic)
	for _, r := range records {
		if p, again := partition[string(r.Key)]; again && p != r.Partition {
			t.Errorf("key %s is in the partitions %d and %d", r.Key, p, r.Partition)
		}
		partition[string(r.Key)], used[r.Partition] = r.Partition, true
	}
	if len(records) != 80 || len(partition) != 20 || len(used) < 2 {
		t.Errorf("%d records of %d keys in %d partitions", len(records), len(partition), len(used))
	}
}

func TestTimeIsTheEventsUnlessRetentionOrBrokersWouldMind(t *testing.T) {
	server := testenv.Kafka(t)
	topic := server.Topic(t, 1)
	now := time.Now()
	d := outbox(0, 5)
	d.Events[0].Outbox.CreatedAt = now.Add(-50 * time.Minute)
	d.Events[1].Outbox.CreatedAt = now.Add(-24 * 365 * time.Hour)
	d.Events[2].Outbox.CreatedAt = now.Add(48 * time.Hour) // more than the hour that brokers allow
	d.Events[3].Outbox.CreatedAt, d.Events[3].Time = time.Time{}, now.Add(-5*time.Minute)
	d.Events[4].Outbox, d.Events[4].Time = nil, now.Add(-10*time.Minute)
	if err := open(t, server.Address, topic, nil).Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	want := []time.Time{now.Add(-50 * time.Minute), now, now, now.Add(-5 * time.Minute), now.Add(-10 * time.Minute)}
	records := server.Records(t, topic)
	for i, r := range records {
		if off := r.Timestamp.Sub(want[i]).Abs(); off > 30*time.Second {
			t.Errorf("event %d has the time %s, want %s", i, r.Timestamp, want[i])
		}
	}
	if len(records) != len(want) {
		t.Errorf("%d records", len(records))
	}
}

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

// Without an aggregate there is no key: such events share no partition by force, and a topic that is compacted, which would
// keep the last of all of them, refuses them.
func TestNoAggregateNoKey(t *testing.T) {
	server := testenv.Kafka(t)
	topic, compacted := server.Topic(t, 3), server.Topic(t, 1, "cleanup.policy=compact")
	o := open(t, server.Address, topic, func(c *kafka.Config) {
		c.Destinations = destinations(t, topic, map[string]string{"OrderShipped": compacted})
	})
	d := outbox(0, 4)
	for i := range 3 {
		d.Events[i].Outbox.AggregateID = ""
	}
	d.Events[2].Outbox.EventType, d.Events[3].Outbox.EventType = "OrderShipped", "OrderShipped"
	failed(t, o.Deliver(t.Context(), d), poller.FailedEvent{Index: 2, Cause: poller.Refused, Named: true})
	records := append(server.Records(t, topic), server.Records(t, compacted)...)
	arrivedOnce(t, records, d, 2)
	for _, r := range records {
		if want := header(r, "aggregate_id"); string(r.Key) != want || (r.Key == nil) != (want == "") {
			t.Errorf("the key is %q (null: %t), want %q", r.Key, r.Key == nil, want)
		}
	}
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
	failed(t, err, poller.FailedEvent{Index: 7, Cause: poller.Impossible, Named: true}, poller.FailedEvent{Index: 17, Cause: poller.Impossible, Named: true})
	contains(t, err, "MESSAGE_TOO_LARGE", "max.message.bytes")
	arrivedOnce(t, append(server.Records(t, topic), server.Records(t, other)...), d, 7, 17)
}

// arrivedOnce asserts that all events of d but some are among the records, each once.
func arrivedOnce(t *testing.T, records []*kgo.Record, d change.Delivery, but ...int) {
	t.Helper()
	got, want := map[string]int{}, map[string]int{}
	for _, r := range records {
		got[header(r, "idempotency_key")]++
	}
	for i := range d.Events {
		want[d.Events[i].ID] = 1
	}
	for _, i := range but {
		delete(want, d.Events[i].ID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events that arrived (-want +got):\n%s", diff)
	}
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

func TestClosed(t *testing.T) {
	server := testenv.Kafka(t)
	topic := server.Topic(t, 1)
	o := open(t, server.Address, topic, nil)
	if err := o.Deliver(t.Context(), outbox(0, 1)); err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	err := o.Deliver(t.Context(), outbox(0, 1))
	failed(t, err, poller.FailedEvent{Index: 0})
	contains(t, err, "closed")
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	server := testenv.Kafka(t)
	topic := server.Topic(t, 1)
	before := runtime.NumGoroutine()
	o := open(t, server.Address, topic, nil)
	var wg sync.WaitGroup
	for k := range 8 {
		wg.Go(func() {
			if err := o.Deliver(t.Context(), outbox(k, 1)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines are left, of %d before", runtime.NumGoroutine(), before)
		}
	}
}

func TestNewChecks(t *testing.T) {
	for _, cfg := range []kafka.Config{
		{},
		{Connection: kafka.Connection{Brokers: []string{"h:1"}}, MaxMessage: 1},
		{Connection: kafka.Connection{Brokers: []string{"h:1"}}, MaxMessage: 1 << 30},
		{Connection: kafka.Connection{Brokers: []string{"h:1"}, TLS: true, CAFile: "/nowhere/ca.pem"}},
		{Connection: kafka.Connection{Brokers: []string{"h:1"}, SASL: "gssapi"}},
	} {
		if o, err := kafka.New(cfg); err == nil {
			t.Errorf("New takes %+v: %v", cfg, o)
		}
	}
}

// BenchmarkDeliver has 8 deliveries under way at once, of 1 and of 100 events.
func BenchmarkDeliver(b *testing.B) {
	server := testenv.Kafka(b)
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("%d", n), func(b *testing.B) {
			topic := server.Topic(b, 8)
			o := open(b, server.Address, topic, func(c *kafka.Config) { c.Format = change.Payload })
			var wg sync.WaitGroup
			each := func(deliveries int) {
				var next atomic.Int64
				for lane := range 8 {
					d := outbox(lane*n, n)
					wg.Go(func() {
						for next.Add(1) <= int64(deliveries) {
							if err := o.Deliver(b.Context(), d); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
			}
			each(100) // connects
			b.ReportAllocs()
			b.ResetTimer()
			each(b.N)
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
