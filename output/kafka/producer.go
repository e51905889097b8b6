package kafka

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rowrelay/rowrelay/output"
)

// trouble remembers why the last connection was not made. The client goes on trying by itself, and when a delivery's
// time is up it would only say that it is.
type trouble struct{ last atomic.Pointer[error] }

// OnBrokerConnect implements kgo.HookBrokerConnect.
func (t *trouble) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err == nil {
		t.last.Store(nil)
		return
	}
	t.last.Store(&err)
}

// connect makes a producer and proves that a broker answers it: brokers that cannot be reached are found out at once,
// and by a plain error.
func connect(ctx context.Context, options []kgo.Opt) (*producer, error) {
	p := &producer{trouble: &trouble{}}
	var err error
	p.client, err = kgo.NewClient(append(options, kgo.WithHooks(p.trouble))...)
	if err != nil {
		return nil, err
	}
	if err := p.client.Ping(ctx); err != nil {
		p.close()
		return nil, p.explain(ctx, err)
	}
	return p, nil
}

// close drops all that the client holds, and its connections. What was buffered or in flight fails.
func (p *producer) close() {
	if !p.closed {
		p.closed = true
		p.client.Close()
	}
}

// produce sends records and notes in each what became of it.
//
// Brokers take or refuse a batch, the records of one partition, as a whole: one that is too large for its topic takes
// its neighbours with it. Those are sent again in halves until the one at fault is alone, and nothing of its order key
// behind it.
func (p *producer) produce(ctx context.Context, records []*sent) {
	if records = fit(records); len(records) == 0 {
		return
	}
	p.window(ctx, records)
	first, second := halves(records)
	if len(first) > 0 && ctx.Err() == nil {
		p.produce(ctx, first)
		p.produce(ctx, second)
	}
}

// halves returns what has to be sent again, because its batch was refused, so that the records of each topic are in
// both parts; a record that is the only such one of its topic is not, but marked to be at fault.
func halves(records []*sent) (first, second []*sent) {
	byTopic := make(map[string][]*sent)
	var topics []string // in order: the same delivery is cut in the same way
	for _, s := range without(records, refusesBatch) {
		topic := s.record.Topic
		if byTopic[topic] == nil {
			topics = append(topics, topic)
		}
		byTopic[topic] = append(byTopic[topic], s)
	}
	for _, topic := range topics {
		refused := byTopic[topic]
		if len(refused) == 1 {
			refused[0].alone = true
			continue
		}
		first = append(first, refused[:len(refused)/2]...)
		second = append(second, refused[len(refused)/2:]...)
	}
	return first, second
}

// window sends records as one request for each broker, and returns when each is answered or ctx has ended. Then it
// closes the client, so that nothing is sent any more; a record that was under way is in doubt.
func (p *producer) window(ctx context.Context, records []*sent) {
	w := &window{left: len(records), done: make(chan struct{}), errs: make([]error, len(records))}
	for i := range w.errs {
		w.errs[i] = errInDoubt
	}
	for i, s := range records {
		p.client.Produce(ctx, s.record, func(_ *kgo.Record, err error) { w.answer(i, err) })
	}
	// Its error is that ctx has ended. When it has returned, the client begins no request, nor repeats one.
	_ = p.client.Flush(ctx)
	select {
	case <-w.done:
	case <-ctx.Done():
		p.close()
		select { // the client answers for all that it held
		case <-w.done:
		case <-time.After(answerTime):
		}
	}
	for i, err := range w.take() {
		records[i].err = p.explain(ctx, err)
	}
}

// answerTime is how long a client that was closed is given to answer for what it held: it does so at once. Without a
// bound, a fault of the client could hold the tick for ever.
const answerTime = 2 * time.Second

var errInDoubt = errors.New("the client did not say what became of the record")

// explain says why the client gave up where it only knows that its time was up.
func (p *producer) explain(ctx context.Context, err error) error {
	gaveUp := errors.Is(err, kgo.ErrClientClosed) || errors.Is(err, errInDoubt) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if !gaveUp || ctx.Err() == nil {
		return err
	}
	cause := context.Cause(ctx)
	if last := p.trouble.last.Load(); last != nil {
		return output.Errorf(cause, "%v; the last connection failed: %v", cause, *last)
	}
	return cause
}

// window gathers the answers for some records, which come from the client's goroutines.
type window struct {
	mu   sync.Mutex
	left int
	errs []error
	done chan struct{}
}

func (w *window) answer(i int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs[i] = err
	if w.left--; w.left == 0 {
		close(w.done)
	}
}

// take returns the answers; one that comes later is not seen any more.
func (w *window) take() []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	errs := w.errs
	w.errs = make([]error, len(errs))
	return errs
}

// create creates the topics of records, with the brokers' own number of partitions and replicas, and waits until the
// brokers know them; it returns the records whose topics are there then, and notes in the others why not. Another
// instance may create one at the same time, which is the same success.
func (p *producer) create(ctx context.Context, records []*sent) []*sent {
	req, known := kmsg.NewPtrCreateTopicsRequest(), kmsg.NewPtrMetadataRequest()
	asked := make(map[string]bool)
	for _, s := range records {
		if asked[s.record.Topic] {
			continue
		}
		asked[s.record.Topic] = true
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = s.record.Topic, -1, -1
		req.Topics = append(req.Topics, topic)
	}
	resp, err := req.RequestWith(ctx, p.client)
	if err != nil {
		fail(records, output.Errorf(err, "creating topic %q: %v", records[0].record.Topic, p.explain(ctx, err)))
		return nil
	}
	refused := make(map[string]error)
	for _, topic := range resp.Topics {
		if err := kerr.ErrorForCode(topic.ErrorCode); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			refused[topic.Topic] = misplaced{output.Errorf(err, "creating topic %q: %v", topic.Topic, err)}
			continue
		}
		look := kmsg.NewMetadataRequestTopic()
		look.Topic = &topic.Topic
		known.Topics = append(known.Topics, look)
	}
	var created []*sent
	for _, s := range records {
		if s.err = refused[s.record.Topic]; s.err == nil {
			created = append(created, s)
		}
	}
	if err := p.await(ctx, known); err != nil {
		fail(created, err)
		return nil
	}
	return created
}

// await waits until the brokers know topics, and all their partitions have a leader.
func (p *producer) await(ctx context.Context, topics *kmsg.MetadataRequest) error {
	for len(topics.Topics) > 0 { // without any it would ask for all
		found, err := topics.RequestWith(ctx, p.client)
		if err == nil && !slices.ContainsFunc(found.Topics, notReady) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lookAgain):
		}
	}
	return nil
}

const lookAgain = 50 * time.Millisecond

// notReady reports whether a topic, or one of its partitions, has no leader yet.
func notReady(t kmsg.MetadataResponseTopic) bool {
	return t.ErrorCode != 0 || slices.ContainsFunc(t.Partitions, func(p kmsg.MetadataResponseTopicPartition) bool {
		return p.ErrorCode != 0
	})
}
