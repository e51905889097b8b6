// Package azmessaging is what the outputs servicebus and eventhubs share: connection strings, an open link for each
// destination, the sending of a delivery's events in batches, side by side, and what errors of the SDKs and of AMQP say
// about an event.
package azmessaging

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/poller"
)

// Config is what an Output needs.
type Config struct {
	// Connection is output__connection: the namespace, and as whom.
	Connection Connection
	// Destinations are output__destination and output__destinations__….
	Destinations output.Destinations
	// Format is output__format: each message holds its single form.
	Format change.Format
	// Concurrency is how many batches are under way at once, of all deliveries together; 0 means 32.
	Concurrency int
	// MaxMessage is the most that a message's body takes, in bytes, where that is less than what the service says; 0 means
	// what the service says.
	MaxMessage int
}

const defaultConcurrency = 32

// Output implements poller.Output over a Service. It is safe for concurrent use.
type Output[L any] struct {
	cfg     Config
	service Service[L]
	links   *links[L]
	places  chan struct{} // holds one for each batch under way
}

// New checks cfg. Nothing is sent.
func New[L any](cfg Config, service Service[L]) (*Output[L], error) {
	if cfg.Connection.Namespace == "" {
		return nil, fmt.Errorf("an output of %s needs a connection: set output__connection", service.Name)
	}
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = defaultConcurrency
	}
	return &Output[L]{cfg: cfg, service: service, links: newLinks(service.Open, service.Close),
		places: make(chan struct{}, cfg.Concurrency)}, nil
}

// Close ends all links, those in use when their messages are answered, and waits for it no longer than ctx.
func (o *Output[L]) Close(ctx context.Context) error { return o.links.shut(ctx) }

// Deliver sends the events of d, and none after ctx has ended. Those of one order key are one batch, which the service
// takes as a whole or not at all; so are those that have none. A crash in here leaves open which of them arrived.
func (o *Output[L]) Deliver(ctx context.Context, d change.Delivery) error {
	c := &call[L]{output: o, d: &d, started: time.Now(), results: make([]output.Result, len(d.Events))}
	groups := c.groups()
	output.Beside(len(groups), o.cfg.Concurrency, func(i int) { c.deliver(ctx, groups[i]) })
	return output.Sum(c.results, fmt.Sprintf("sending to %s %s", o.service.Name, o.cfg.Connection))
}

// call is one Deliver.
type call[L any] struct {
	output  *Output[L]
	d       *change.Delivery
	started time.Time
	results []output.Result // by event; each is written by the one who sends it
	// what the destinations that were down said, an output.Result: the other events for one would only hear the same
	down sync.Map
}

// group are events, by their indices: those of an order key, or those for a destination that have none.
type group struct {
	ordered bool
	events  []int
}

// groups divides the events. An event whose destination cannot be written is found here.
func (c *call[L]) groups() []group {
	var all []group
	known := map[string]int{}
	for i := range c.d.Events {
		e := &c.d.Events[i]
		ordered := e.MessageKey() != ""
		name := string(e.OrderKey)
		if !ordered {
			name, _ = c.output.cfg.Destinations.Of(c.d, e) // what is wrong with it is told when it is sent
		}
		name = fmt.Sprint(ordered, name)
		n, is := known[name]
		if !is {
			n = len(all)
			known[name], all = n, append(all, group{ordered: ordered})
		}
		all[n].events = append(all[n].events, i)
	}
	return all
}

// deliver sends a group, in as few batches as it takes. Of an order key nothing is sent after a failure.
func (c *call[L]) deliver(ctx context.Context, g group) {
	for rest := g.events; len(rest) > 0; {
		n, r := c.begin(ctx, rest)
		if n > 1 && (r.Cause == poller.Refused || r.Cause == poller.Impossible) {
			r.Cause, r.Named = poller.Refused, false // which of them is at fault is not known
		}
		for _, i := range rest[:n] {
			c.results[i] = r
		}
		if rest = rest[n:]; g.ordered && r.Err != nil {
			for _, i := range rest {
				c.results[i] = output.Result{Err: output.ErrBehind}
			}
			return
		}
	}
}

// begin sends the first events of a group as one batch, and returns how many they are and what became of them.
func (c *call[L]) begin(ctx context.Context, events []int) (int, output.Result) {
	destination, err := c.output.cfg.Destinations.Of(c.d, &c.d.Events[events[0]])
	if err != nil {
		return 1, output.Result{Cause: poller.Impossible, Named: true,
			Err: fmt.Errorf("event %s: %w", c.d.Events[events[0]].ID, err)}
	}
	var batch []*Message
	for _, i := range events {
		e := &c.d.Events[i]
		if at, err := c.output.cfg.Destinations.Of(c.d, e); err != nil || at != destination {
			break
		}
		m := c.message(i)
		if most := c.output.cfg.MaxMessage; most > 0 && len(m.Body) > most {
			if len(batch) > 0 {
				break
			}
			return 1, output.Result{Cause: poller.Impossible, Named: true, Err: fmt.Errorf(
				"event %s takes %d bytes of %s, and a message %d: leave columns out with source__columns", e.ID, len(m.Body),
				c.output.cfg.Format, most)}
		}
		batch = append(batch, m)
	}
	return c.try(ctx, destination, batch)
}

// sent is what became of the first messages of a batch.
type sent struct {
	output.Result
	n int
}

// try sends a batch when there is a place, unless ctx has ended or its destination is down.
func (c *call[L]) try(ctx context.Context, destination string, batch []*Message) (int, output.Result) {
	select {
	case c.output.places <- struct{}{}:
	case <-ctx.Done():
		return len(batch), output.Result{Err: context.Cause(ctx)}
	}
	if said, isDown := c.down.Load(destination); isDown {
		<-c.output.places
		r, _ := said.(output.Result)
		return len(batch), output.Result{Cause: r.Cause, Named: r.Named, Err: output.ErrNotTried}
	}
	// The SDKs wait on locks, and for tokens, without looking at ctx: their call is not waited for beyond it. It sends
	// nothing any more then, because it does look before it sends; the place stays taken as long as it lasts.
	done := make(chan sent, 1)
	go func() {
		defer func() { <-c.output.places }()
		done <- c.send(ctx, destination, batch)
	}()
	r := sent{n: len(batch)}
	select {
	case r = <-done:
	case <-ctx.Done():
		select {
		case r = <-done: // it came in the same moment
		default:
			r.Err = context.Cause(ctx)
		}
	}
	if r.Err != nil && (r.Cause == poller.Unavailable || r.Cause == poller.Misplaced) {
		c.down.Store(destination, r.Result)
	}
	return r.n, r.Result
}

// send sends messages over the destination's link. A link that an earlier delivery opened may have died since, which
// shows only when it is used (the services end idle ones): then they are sent again, once, over a new one. Where the
// service had taken them all the same, it has them twice, with the same ids.
func (c *call[L]) send(ctx context.Context, destination string, batch []*Message) sent {
	all := func(r output.Result) sent { return sent{r, len(batch)} }
	for {
		l, err := c.output.links.acquire(ctx, destination)
		if err != nil {
			return all(c.output.service.judgeOpening(ctx, destination, err))
		}
		if ctx.Err() != nil {
			c.output.links.release(l, false)
			return all(output.Result{Err: context.Cause(ctx)})
		}
		n, err := guarded(func() (int, error) { return c.output.service.Send(ctx, l.link, batch) })
		if n = max(n, 1); err == nil {
			c.output.links.release(l, false)
			return sent{n: n}
		}
		v := c.output.service.judge(ctx, destination, err)
		c.output.links.release(l, v.lost)
		if v.Cause == poller.Impossible && n == 1 {
			v.Err = fmt.Errorf("event %s, with a body of %d bytes: %w", batch[0].ID, len(batch[0].Body), v.Err)
		}
		if !v.lost || v.Cause == poller.Refused || v.Cause == poller.Impossible || !l.opened.Before(c.started) ||
			ctx.Err() != nil {
			return sent{v.Result, n}
		}
	}
}

// message makes event i's message.
func (c *call[L]) message(i int) *Message {
	e, format := &c.d.Events[i], c.output.cfg.Format
	m := &Message{
		ID: Key(e.ID), Key: Key(e.MessageKey()), ContentType: format.ContentTypeOf(e),
		Properties: map[string]any{}, Body: format.AppendEvent(nil, c.d, i),
	}
	for _, a := range c.d.Attributes(nil, e) {
		m.Properties[a.Name] = strings.ToValidUTF8(a.Value, "\uFFFD") // AMQP takes nothing else
		if a.Name == "event_type" {
			m.Type = cut(a.Value, maxKey)
		}
	}
	return m
}
