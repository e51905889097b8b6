// Package kafka produces events to Apache Kafka, and to Event Hubs through its Kafka endpoint: one record for each
// event (output__kind=kafka).
//
// A record's value is the single form of output__format, its key is change.Event.MessageKey (the aggregate's id, or the
// row's order key), which the Java client's hash maps to a partition, its headers are change.Delivery.Attributes and
// content-type, and its topic is the event's destination. An event without an aggregate has the key null: it may go to
// any partition, and a topic that is compacted, which would keep one event of all those, refuses it.
//
// # Order
//
// Kafka keeps the order of a key within its partition. The events of one key in a delivery are one batch of records
// (windows), which a broker takes as a whole or not at all, and the tick sends the next ones when these are confirmed
// by all in-sync replicas, so that order holds whatever the client does in between: several producers, a reconnection,
// a new producer id. It ends where the number of a topic's partitions is changed, as for every producer.
//
// # One producer for each delivery under way
//
// Kafka's producers are made for streams: one client gathers the records of all callers in batches, a batch is refused
// as a whole, and what is in flight cannot be called back. Here each delivery has a producer to itself, taken from a
// pool. So the records of one delivery are one request for each broker, a refusal is about this delivery's events only,
// and when the right to deliver ends the producer is closed with all it holds: nothing is sent after that. What was on
// its way may still be written, late, as with every output; the header rowrelay_token is what a receiver can refuse it
// by.
//
// Within a delivery the producer is idempotent: what it repeats by itself, after a lost connection or a new leader, is
// written once. It does so until output__timeout or the end of the right to deliver. A producer that ends in doubt is
// thrown away, and the next delivery has a new producer id: its repetition may then be a duplicate, which
// idempotency_key shows.
//
// # Time
//
// A record's time is the event's own, but for one that is more than an hour from now: see recordTime.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output"
)

const (
	defaultMaxMessage = 1_000_000
	maxMaxMessage     = 90 << 20 // a request takes 100 MiB: socket.request.max.bytes
	defaultTimeout    = 30 * time.Second
)

// New checks cfg. Nothing is sent, and no connection made, before the first Deliver. Errors never hold a secret.
func New(cfg Config) (*Output, error) {
	if len(cfg.Connection.Brokers) == 0 {
		return nil, errors.New("a kafka output needs a broker: " + connectionForm)
	}
	if cfg.MaxMessage == 0 {
		cfg.MaxMessage = defaultMaxMessage
	}
	if cfg.MaxMessage < 1<<10 || cfg.MaxMessage > maxMaxMessage {
		return nil, fmt.Errorf("the largest message of a kafka output is %d bytes: choose between 1 KiB and 90 MiB",
			cfg.MaxMessage)
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	security, err := securityOf(cfg)
	if err != nil {
		return nil, err
	}
	o := &Output{cfg: cfg, security: security}
	if err := kgo.ValidateOpts(o.options()...); err != nil {
		return nil, o.failure(err, "the kafka output's settings: %v", err)
	}
	return o, nil
}

// options are those of one client: some hold a slice that the client changes.
func (o *Output) options() []kgo.Opt {
	return append([]kgo.Opt{
		kgo.ClientID("rowrelay"),
		kgo.SeedBrokers(o.cfg.Connection.Brokers...),
		kgo.DialTimeout(5 * time.Second),
		kgo.DisableClientMetrics(),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		// Event Hubs takes no compressed batches in its lower tiers. A topic's compression.type compresses where it is
		// stored.
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerBatchMaxBytes(int32(o.cfg.MaxMessage)), //nolint:gosec // New has checked it
		kgo.MaxBufferedRecords(1 << 30),                    // a delivery is bounded by output__batch and …batch_bytes
		kgo.ManualFlushing(),                               // all records first, then one request for each broker
		kgo.ProducerLinger(0),
		kgo.ProduceRequestTimeout(min(o.cfg.Timeout, defaultTimeout)),
		// It may take twice as long until one is closed, and Event Hubs drops those without a request for 4 minutes.
		kgo.ConnIdleTimeout(90 * time.Second),
		// Within a delivery there is little time: look again soon, for a new leader or a topic that was created a moment ago.
		kgo.MetadataMinAge(100 * time.Millisecond),
		// Partitions that are added move keys, and no answer of a broker tells of them: each producer has to look. Until all
		// of the pool have, a key goes to and fro.
		kgo.MetadataMaxAge(10 * time.Second),
		kgo.UnknownTopicRetries(1),
		// After some five seconds, what a partition lacks (a leader, replicas) is told instead of waited for until the time
		// is up: other topics may work. What may have been written is repeated until then all the same.
		kgo.RecordRetries(8),
		kgo.RetryBackoffFn(backoff),
	}, o.security...)
}

// backoff is how long the client waits before it repeats something for the n-th time.
func backoff(n int) time.Duration { return min(50*time.Millisecond<<min(max(n-1, 0), 5), time.Second) }

// errClosed is what Deliver returns after Close.
var errClosed = errors.New("the kafka output is closed")

// Deliver produces the events of d and waits until each is confirmed by all in-sync replicas, or is not going to be. A
// crash in here leaves open which of them were written.
func (o *Output) Deliver(ctx context.Context, d change.Delivery) error {
	ctx, cancel := context.WithTimeoutCause(ctx, o.cfg.Timeout,
		fmt.Errorf("no confirmation within %s (output__timeout)", o.cfg.Timeout))
	defer cancel()
	all := o.encode(&d)
	o.send(ctx, sendable(all))
	return o.sum(ctx, all)
}

// send produces records by a producer of the pool, or by a new one.
func (o *Output) send(ctx context.Context, records []*sent) {
	if len(records) == 0 {
		return
	}
	p, err := o.take(ctx)
	if err != nil {
		fail(records, err)
		return
	}
	for _, window := range windows(records, o.cfg.MaxMessage) {
		p.produce(ctx, window)
		if missing := without(window, missingTopic); o.cfg.Create && len(missing) > 0 {
			if created := p.create(ctx, missing); len(created) > 0 {
				p.produce(ctx, created)
			}
		}
	}
	o.give(p, records)
}

// take returns a producer that no other delivery has.
func (o *Output) take(ctx context.Context) (*producer, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return nil, errClosed
	}
	if last := len(o.idle) - 1; last >= 0 {
		p := o.idle[last]
		o.idle[last], o.idle = nil, o.idle[:last]
		o.mu.Unlock()
		return p, nil
	}
	o.mu.Unlock()
	return connect(ctx, o.options())
}

// give puts a producer back that has brought records, unless one of them met anything but an answer about its batch:
// then the producer may hold a sequence in doubt, a fenced producer id, a topic that it asks for again and again, or a
// dead connection. Where a topic is missing, those that rest know it as it was, and would miss the new one of its name.
func (o *Output) give(p *producer, records []*sent) {
	for _, s := range records {
		if s.err != nil && !refusesBatch(s.err) && !errors.Is(s.err, output.ErrBehind) {
			p.close()
			if len(without(records, missingTopic)) > 0 {
				o.closeIdle()
			}
			return
		}
	}
	o.mu.Lock()
	closed := o.closed
	if !closed {
		o.idle = append(o.idle, p)
	}
	o.mu.Unlock()
	if closed {
		p.close()
	}
}

// Close closes the connections of producers that are not in use; those in use follow when their deliveries have ended.
func (o *Output) Close() error {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.closeIdle()
	return nil
}

func (o *Output) closeIdle() {
	o.mu.Lock()
	idle := o.idle
	o.idle = nil
	o.mu.Unlock()
	for _, p := range idle {
		p.close()
	}
}
