package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"
)

// fanoutQueue takes one message for each partition with work, which a queue-triggered function runs on any instance.
type fanoutQueue struct {
	client *azqueue.QueueClient
	create bool
	// ttl is how long a message lives, in seconds: until the timer's next round, which asks the rows again.
	ttl int32
}

// unknownPeriod is taken for the timer's where function.json does not say it.
const unknownPeriod = time.Minute

func (a *app) openFanout(c *console, w *wired) (*fanoutQueue, error) {
	s := &w.cfg.Source
	client, err := queueClient(&s.Fanout, s.FanoutQueue)
	if err != nil {
		return nil, err
	}
	period := timerPeriod(c, w.cfg.Name)
	return &fanoutQueue{
		client: client, create: s.Fanout.Development || a.cfg.State.Create,
		ttl: int32(max(1, min(period, 7*24*time.Hour)/time.Second)), //nolint:gosec // at most a week
	}, nil
}

// timerPeriod is the longest time between two rounds of a poller's timer function.
func timerPeriod(c *console, name string) time.Duration {
	timer, err := readFunction(appRoot(c), name)
	if err != nil {
		return unknownPeriod
	}
	s, _, _ := timerSchedule(c, timer.Schedule, name)
	if s == nil {
		return unknownPeriod
	}
	if gap, ok := s.LongestGap(); ok {
		return gap
	}
	return unknownPeriod
}

// send puts one message on the queue, in base64 as queue triggers expect it.
func (q *fanoutQueue) send(ctx context.Context, message []byte) error {
	text := base64.StdEncoding.EncodeToString(message)
	options := &azqueue.EnqueueMessageOptions{TimeToLive: to.Ptr(q.ttl)}
	_, err := q.client.EnqueueMessage(ctx, text, options)
	if q.create && queueerror.HasCode(err, queueerror.QueueNotFound) {
		// Another instance may create it at the same time, which is the same success.
		if _, err = q.client.Create(ctx, nil); err == nil {
			_, err = q.client.EnqueueMessage(ctx, text, options)
		}
	}
	return fanoutError(err)
}

// fanoutError says what Azure Storage answered, in one line and without the URL, which may hold a SAS.
func fanoutError(err error) error {
	var answer *azcore.ResponseError
	var inURL *url.Error
	switch {
	case err == nil:
		return nil
	case queueerror.HasCode(err, queueerror.QueueNotFound):
		return errors.New("source__fanout_queue does not exist: create it, or set state__create=true")
	case errors.As(err, &answer):
		return fmt.Errorf("source__fanout_connection: Azure Storage answered %d %s: check what the setting names, and the identity's role, "+
			"Storage Queue Data Message Sender", answer.StatusCode, answer.ErrorCode)
	case errors.As(err, &inURL):
		return fmt.Errorf("reaching source__fanout_connection: %w", inURL.Err)
	default:
		return fmt.Errorf("reaching source__fanout_connection: %w", err)
	}
}
