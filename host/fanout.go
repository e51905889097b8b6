//go:build !small

package host

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

// Fanout takes one message for each partition with work. A queue-triggered function runs each, on any instance.
type Fanout struct {
	client *azqueue.QueueClient
	create bool
	// ttl is how long a message lives, in seconds: until the timer's next round, which asks the rows again.
	ttl int32
}

// NewFanout returns the queue of an outbox's partitions. period is the timer's; create says that a missing queue is
// made.
func NewFanout(client *azqueue.QueueClient, period time.Duration, create bool) *Fanout {
	return &Fanout{client: client, create: create, ttl: int32(max(1, min(period, 7*24*time.Hour)/time.Second))} //nolint:gosec // at most a week
}

// Send puts one message on the queue, in base64 as queue triggers expect it.
func (q *Fanout) Send(ctx context.Context, message []byte) error {
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
