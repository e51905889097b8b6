// Package storagequeue puts events on an Azure Storage queue: one message for each event, in the single form of
// output__format, as base64 (output__kind=queue).
//
// Base64 is what the queue trigger of Azure Functions expects unless its host.json says
// extensions.queues.messageEncoding "none". A message never expires. A queue takes 64 KiB for each message after encoding,
// which leaves 49,152 bytes for the event: one that is larger is impossible to deliver, and its error says so.
//
// A queue keeps no order, and has no headers: poller, batch, token, delivery number, the key's hash and the cursor are in
// the message with the formats cloudevents and rowchange, and are not with sqltrigger and row.
//
// The events of one delivery are sent in parallel, which breaks no promise: they have distinct order keys.
package storagequeue

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/poller"
)

// Config is what an Output needs.
type Config struct {
	// Client is the queue's, from output__connection and output__queue. Its retries are not used: see Deliver.
	Client *azqueue.QueueClient
	// Format is output__format.
	Format change.Format
	// Timeout is output__timeout: for all messages of one delivery. 0 means 30 seconds.
	Timeout time.Duration
	// Concurrency is how many messages of one delivery are sent at once; 0 means 8.
	Concurrency int
	// Create creates a queue that does not exist: on Azurite, or with state__create=true.
	Create bool
}

// Output implements poller.Output. It is safe for concurrent use.
type Output struct {
	cfg  Config
	name string // of the queue
}

// MaxMessage is the most that a message takes after encoding, in bytes (Azure Queue Storage, Put Message).
const MaxMessage = 64 << 10

const (
	defaultTimeout     = 30 * time.Second
	defaultConcurrency = 8
)

// New checks cfg. Nothing is sent.
func New(cfg Config) (*Output, error) {
	if cfg.Client == nil {
		return nil, errors.New("a queue output needs a client")
	}
	if cfg.Timeout < 0 {
		return nil, fmt.Errorf("output__timeout is %s: it must be positive", cfg.Timeout)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
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
	return &Output{cfg: cfg, name: name}, nil
}

// legalName is the service's rule, but for "--".
var legalName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$`)

// errTimeout is the cause of a delivery that took too long.
type errTimeout struct{ after time.Duration }

func (e *errTimeout) Error() string {
	return fmt.Sprintf("no answer within %s (output__timeout)", e.after)
}

// errNotTried is what became of the events that were left when the queue turned out to be unavailable.
var errNotTried = errors.New("not tried, because the queue was unavailable for an earlier one")

// result is what became of one event; its zero value: sent.
type result struct {
	cause  poller.Cause
	status int
	after  time.Duration // Retry-After
	err    error
}

// Deliver sends each event of d as a message, once: the client's own retries are switched off, because the tick repeats,
// and does so only while its right to deliver holds. A crash in here leaves open which messages are on the queue.
func (o *Output) Deliver(ctx context.Context, d change.Delivery) error {
	ctx, cancel := context.WithTimeoutCause(ctx, o.cfg.Timeout, &errTimeout{o.cfg.Timeout})
	defer cancel()
	ctx = policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1})
	results := make([]result, len(d.Events))
	var next atomic.Int64
	var down atomic.Bool // one event met an unavailable queue: the others would only wait for the same
	work := func() {
		var buf []byte
		for {
			i := int(next.Add(1)) - 1
			switch {
			case i >= len(results):
				return
			case ctx.Err() != nil:
				results[i] = result{err: context.Cause(ctx)}
			case down.Load():
				results[i] = result{err: errNotTried}
			default:
				buf = o.cfg.Format.AppendEvent(buf[:0], &d, i)
				results[i] = o.send(ctx, &d.Events[i], buf)
				if r := &results[i]; r.err != nil && r.cause == poller.Unavailable {
					down.Store(true)
				}
			}
		}
	}
	var workers sync.WaitGroup
	for range min(o.cfg.Concurrency, len(results)) - 1 {
		workers.Go(work)
	}
	work()
	workers.Wait()
	return o.sum(results)
}

// send sends one event.
func (o *Output) send(ctx context.Context, e *change.Event, body []byte) result {
	if size := base64.StdEncoding.EncodedLen(len(body)); size > MaxMessage {
		return result{cause: poller.Impossible, err: fmt.Errorf(
			"event %s takes %d bytes as a message (%d bytes of %s in base64), and an Azure Storage queue takes %d: leave columns out with source__columns, take output__format=row, or another output__kind",
			e.ID, size, len(body), o.cfg.Format, MaxMessage)}
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
	return result{}
}

func (o *Output) enqueue(ctx context.Context, message string) error {
	_, err := o.cfg.Client.EnqueueMessage(ctx, message, &azqueue.EnqueueMessageOptions{TimeToLive: to.Ptr[int32](-1)})
	return err
}

// sum turns the results into Deliver's error.
func (o *Output) sum(results []result) error {
	var failure poller.DeliveryError
	var first error
	for i := range results {
		r := &results[i]
		if r.err == nil {
			continue
		}
		failure.Failed = append(failure.Failed, poller.FailedEvent{Index: i, Cause: r.cause, Status: r.status})
		failure.RetryAfter = max(failure.RetryAfter, r.after)
		if first == nil || errors.Is(first, errNotTried) {
			first = r.err
		}
	}
	if first == nil {
		return nil
	}
	failure.Err = output.Errorf(first, "sending to queue %q: %d of %d events failed: %v", o.name, len(failure.Failed), len(results), first)
	return &failure
}
