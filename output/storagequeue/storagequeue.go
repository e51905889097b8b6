// Package storagequeue puts events on an Azure Storage queue: one message for each event, in the single form of
// output__format, as base64 (output__kind=queue).
//
// Base64 is what the queue trigger of Azure Functions expects unless its host.json says
// extensions.queues.messageEncoding "none". A message never expires. A queue takes 64 KiB for each message after
// encoding, which leaves 49,152 bytes for the event: one that is larger is impossible to deliver, and its error says
// so.
//
// A queue keeps no order, and has no headers: poller, batch, token, delivery number, the key's hash and the cursor are
// in the message with the formats cloudevents and rowchange, and are not with sqltrigger and row.
//
// The events of one delivery are sent side by side, and reach the queue in any order. They have distinct order keys, so
// that ordering=key holds; for ordering=source a delivery must hold one event, and the tick sees to that.
package storagequeue

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/poller"
)

// maxMessage is the most that a message takes after encoding, in bytes (Azure Queue Storage, Put Message).
const maxMessage = 64 << 10

const defaultConcurrency = 8

// New checks cfg. Nothing is sent.
func New(cfg Config) (*Output, error) {
	if cfg.Client == nil {
		return nil, errors.New("a queue output needs a client")
	}
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = defaultConcurrency
	}
	u, err := url.Parse(cfg.Client.URL())
	if err != nil { // its text quotes the URL, which may hold a SAS
		return nil, errors.New("the queue's URL cannot be read: check output__connection and output__queue")
	}
	name := path.Base(u.Path)
	if !legalName.MatchString(name) || strings.Contains(name, "--") {
		return nil, fmt.Errorf("output__queue is %q, which is no legal name of an Azure Storage queue: 3 to 63 lower-case letters, digits and single hyphens, a letter or digit at both ends (without the setting it is the poller's name)", name)
	}
	return &Output{cfg: cfg, name: name, places: make(chan struct{}, cfg.Concurrency)}, nil
}

// legalName is the service's rule, but for "--".
var legalName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$`)

// Deliver sends each event of d as a message, once, and none after ctx has ended: the client's own retries are switched
// off, because the tick repeats, and does so only while its right to deliver holds. A crash in here leaves open which
// messages are on the queue.
func (o *Output) Deliver(ctx context.Context, d change.Delivery) error {
	ctx = policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1})
	var down atomic.Bool // one event met an unavailable queue: the others would only wait for the same
	return output.Each(len(d.Events), o.cfg.Concurrency, fmt.Sprintf("sending to queue %q", o.name),
		func(i int) output.Result {
			r := o.try(ctx, &d, i, &down)
			if r.Err != nil && r.Cause == poller.Unavailable {
				down.Store(true)
			}
			// Each event is a message of its own: what refuses it, or makes it impossible, is an answer about this very one.
			r.Named = r.Cause != poller.Unavailable
			return r
		})
}

// try sends event i of d when there is a place, unless ctx has ended or the queue is down. A panic is what became of
// that event: these goroutines are nobody else's to guard.
func (o *Output) try(ctx context.Context, d *change.Delivery, i int, down *atomic.Bool) (r output.Result) {
	defer func() {
		if v := recover(); v != nil {
			// On one line, of which the log shows the beginning: there the stack tells where it was.
			r = output.Result{Err: output.Errorf(nil, "panic: %v: %s", v, debug.Stack())}
		}
	}()
	select {
	case o.places <- struct{}{}:
		defer func() { <-o.places }()
	case <-ctx.Done():
	}
	switch {
	case ctx.Err() != nil:
		return output.Result{Err: context.Cause(ctx)}
	case down.Load():
		return output.Result{Err: output.ErrNotTried}
	}
	return o.send(ctx, &d.Events[i], o.cfg.Format.AppendMessage(nil, d, i))
}

// send sends one event.
func (o *Output) send(ctx context.Context, e *change.Event, body []byte) output.Result {
	if size := base64.StdEncoding.EncodedLen(len(body)); size > maxMessage {
		return output.Result{Cause: poller.Impossible, Err: fmt.Errorf(
			"event %s takes %d bytes as a message (%d bytes of %s in base64), and an Azure Storage queue takes %d: leave columns out with source__columns, take output__format=row, or another output__kind",
			e.ID, size, len(body), o.cfg.Format, maxMessage)}
	}
	message := base64.StdEncoding.EncodeToString(body)
	err := o.enqueue(ctx, message)
	if o.cfg.Create && isMissing(err) {
		// Another worker or instance may create it at the same time, which is the same success.
		if _, err = o.cfg.Client.Create(ctx, nil); err == nil {
			err = o.enqueue(ctx, message)
		}
	}
	if err != nil {
		return o.judge(ctx, err)
	}
	return output.Result{}
}

func (o *Output) enqueue(ctx context.Context, message string) error {
	_, err := o.cfg.Client.EnqueueMessage(ctx, message, &azqueue.EnqueueMessageOptions{TimeToLive: to.Ptr[int32](-1)})
	return err
}
