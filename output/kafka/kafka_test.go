package kafka_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/output/kafka"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/poller"
)

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

// Without an aggregate there is no key: such events share no partition by force, and a topic that is compacted, which
// would keep the last of all of them, refuses them.
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
	err := testenv.Await(20*time.Second, func() error {
		if n := runtime.NumGoroutine(); n > before {
			return fmt.Errorf("%d goroutines are left, of %d before", n, before)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
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
