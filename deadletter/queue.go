package deadletter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// Queue sends records to a queue: one message for each, which is the record's JSON. It implements poller.DeadLetters.
type Queue struct {
	output poller.Output
	store  *Store
}

// NewQueue returns a Queue over an output to that queue, whose format must be change.Row: a record travels as the row
// of an event with the id of the one that was given up. What the output says is impossible to send for its size is put
// in store.
func NewQueue(output poller.Output, store *Store) *Queue { return &Queue{output: output, store: store} }

// Put sends the record of d. One that is too large for its queue is stored first, and then sent without its row and
// with payload_ref: a crash in between leaves the stored one, and the event is given up again. The same record may come
// more than once. It tries a few times, within about half a minute.
func (q *Queue) Put(ctx context.Context, d poller.DeadLetter) error {
	r := New(d, time.Now())
	err := q.send(ctx, r)
	if !impossible(err) {
		return err
	}
	small := *r
	if small.PayloadRef, err = q.store.put(ctx, r); err != nil {
		return fmt.Errorf("a dead letter too large for its queue: %w", err)
	}
	small.Row, small.Before = nil, nil
	if err := q.send(ctx, &small); err != nil {
		return fmt.Errorf("%w (the record itself is in %s)", err, small.PayloadRef)
	}
	return nil
}

// send sends one message, a few times while its error may mend itself.
func (q *Queue) send(ctx context.Context, r *Record) error {
	body, err := r.Encode()
	if err != nil {
		return err
	}
	delivery := change.Delivery{
		App: r.App, Poller: r.Poller, Engine: r.Engine, Table: r.Table,
		// without the line's end
		Events: []change.Event{{ID: r.ID, Key: r.Key, OrderKey: r.OrderKey, Row: body[:len(body)-1], Cursor: r.Cursor,
			Time: r.Time}},
	}
	wait := &backoff.ExponentialBackOff{InitialInterval: 100 * time.Millisecond, MaxInterval: 2 * time.Second,
		Multiplier: 3, RandomizationFactor: 0.5}
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		delivery.Attempt++
		ctx, cancel := context.WithTimeoutCause(ctx, patience, errSilent)
		defer cancel()
		err := q.output.Deliver(ctx, delivery)
		var failure *poller.DeliveryError
		if errors.As(err, &failure) && len(failure.Failed) > 0 && failure.Failed[0].Cause != poller.Unavailable {
			return struct{}{}, backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(tries), backoff.WithMaxElapsedTime(patience))
	if err != nil {
		return fmt.Errorf("sending the dead letter %s to its queue (dead_letter__queue, dead_letter__connection): %w", r.ID,
			err)
	}
	return nil
}

var errSilent = errors.New("the dead letters' queue did not answer within 10s")

// impossible reports whether err says that the message cannot be sent as it is.
func impossible(err error) bool {
	var failure *poller.DeliveryError
	return errors.As(err, &failure) && len(failure.Failed) > 0 && failure.Failed[0].Cause == poller.Impossible
}
