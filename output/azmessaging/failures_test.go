package azmessaging_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/amqptest"
	"github.com/rowrelay/rowrelay/output/azmessaging"
	"github.com/rowrelay/rowrelay/output/eventhubs"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/output/servicebus"
	"github.com/rowrelay/rowrelay/poller"
)

// services are both outputs, over their SDKs.
var services = []struct {
	name, entity, role string
	busy               time.Duration
	open               func(azmessaging.Config) (amqptest.Output, error)
}{
	{"servicebus", "queue or topic", "Azure Service Bus Data Sender", 10 * time.Second,
		func(c azmessaging.Config) (amqptest.Output, error) { return servicebus.New(c) }},
	{"eventhubs", "event hub", "Azure Event Hubs Data Sender", 4 * time.Second,
		func(c azmessaging.Config) (amqptest.Output, error) { return eventhubs.New(c) }},
}

// is says whether f is this, with an error of its own where the service named the event.
func is(f poller.FailedEvent, index int, cause poller.Cause, named bool) bool {
	return f.Index == index && f.Cause == cause && f.Status == 0 && f.Named == named && (f.Err != nil) == named
}

// deliver returns the account of the one event of d.
func deliver(t *testing.T, o poller.Output, d change.Delivery) (*poller.DeliveryError, poller.FailedEvent) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("the test's deadline"))
	defer cancel()
	err := o.Deliver(ctx, d)
	var failure *poller.DeliveryError
	if !errors.As(err, &failure) || len(failure.Failed) != 1 || failure.Failed[0].Index != 0 {
		t.Fatalf("Deliver returned %v, want that event 0 failed", err)
	}
	return failure, failure.Failed[0]
}

// What the peer answers, and what it means: to the event, and to the operator. What passes is sent again, on the same
// output.
func TestFailures(t *testing.T) {
	reject := func(condition string) amqptest.Rule {
		return amqptest.Rule{Do: amqptest.Reject,
			Condition: amqptest.Condition{Condition: condition, Description: "said the peer"}}
	}
	detach := func(condition string) amqptest.Rule {
		r := reject(condition)
		r.Do = amqptest.Detach
		return r
	}
	attach := func(condition string) amqptest.Rule {
		return amqptest.Rule{Attach: &amqptest.Condition{Condition: condition, Description: "said the peer"}}
	}
	peers := map[string]*amqptest.Peer{}
	for _, s := range services {
		peers[s.name] = amqptest.Start(t)
	}
	for name, c := range map[string]struct {
		rule  amqptest.Rule
		cause poller.Cause
		named bool
		text  string
		busy  bool
	}{
		"there is none": {rule: attach("amqp:not-found"), cause: poller.Misplaced, named: true,
			text: `; create it, or correct output__destination`},
		"link refused": {rule: attach("amqp:unauthorized-access"), cause: poller.Misplaced, named: true,
			text: "ROLE"},
		"link refused otherwise": {rule: attach("amqp:invalid-field"), text: "said the peer"},
		"token refused": {rule: amqptest.Rule{Token: 401}, cause: poller.Misplaced, named: true,
			text: "ROLE"},
		"no entity for a token": {rule: amqptest.Rule{Token: 404}, cause: poller.Misplaced, named: true,
			text: `; create it, or correct output__destination`},
		"token service down": {rule: amqptest.Rule{Token: 503}, text: "503"},
		"throttled":          {rule: reject("com.microsoft:server-busy"), text: "throttled", busy: true},
		"full": {rule: reject("amqp:resource-limit-exceeded"), cause: poller.Misplaced, named: true,
			text: "is full"},
		"disabled": {rule: reject("com.microsoft:entity-disabled"), cause: poller.Misplaced, named: true,
			text: "enable it"},
		"timeout of the service": {rule: reject("com.microsoft:timeout"), text: "said the peer"},
		"fault of the service":   {rule: reject("amqp:internal-error"), text: "said the peer"},
		"refused": {rule: reject("amqp:not-allowed"), cause: poller.Refused, named: true,
			text: "said the peer"},
		"refused in other words": {rule: reject("amqp:invalid-field"), cause: poller.Refused, text: "said the peer"},
		"refused without a word": {rule: reject(""), cause: poller.Refused, text: "rejected"},
		"too large, the service finds": {rule: reject("amqp:link:message-size-exceeded"), cause: poller.Impossible,
			named: true, text: "source__columns"},
		"released":   {rule: amqptest.Rule{Do: amqptest.Release}, text: "without accepting it"},
		"modified":   {rule: amqptest.Rule{Do: amqptest.Modify}, text: "without accepting it"},
		"link ended": {rule: detach("amqp:link:detach-forced"), text: ""},
		"link ended, deleted": {rule: detach("amqp:not-found"), cause: poller.Misplaced, named: true,
			text: `; create it, or correct output__destination`},
		"link ended, no right any more": {rule: detach("amqp:unauthorized-access"), cause: poller.Misplaced, named: true,
			text: "ROLE"},
		"connection lost": {rule: amqptest.Rule{Do: amqptest.Cut}, text: ""},
	} {
		for _, s := range services {
			t.Run(name+"/"+s.name, func(t *testing.T) {
				peer, address := peers[s.name], strings.ReplaceAll(name, " ", "-")
				o := amqptest.Open(t, s.open, amqptest.Config(t, peer.Connection(), address, nil))
				peer.Set(address, c.rule)
				d := outputtest.Delivery(0, 1)
				failure, event := deliver(t, o, d)
				text := failure.Error()
				want := strings.ReplaceAll(c.text, "ROLE", "the role "+s.role)
				if !is(event, 0, c.cause, c.named) || !strings.Contains(text, want) {
					t.Errorf("%s (named: %t): %q\nwant %s (named: %t) with %q", event.Cause, event.Named, text, c.cause, c.named, want)
				}
				if strings.ContainsAny(text, "\r\n") || strings.Contains(text, "cGxhbnRlZA") {
					t.Errorf("the error is not fit for a log: %q", text)
				}
				if got := failure.RetryAfter; (got == s.busy) != c.busy || (got != 0) != c.busy {
					t.Errorf("RetryAfter is %s", got)
				}
				if got := peer.Received(address); len(got) > 0 {
					t.Fatalf("%d messages were accepted", len(got))
				}

				peer.Set(address, amqptest.Rule{})
				if err := o.Deliver(t.Context(), d); err != nil {
					t.Fatalf("it does not heal: %v", err)
				}
				if got := peer.Received(address); len(got) != 1 || got[0].ID != d.Events[0].ID {
					t.Errorf("received %v", got)
				}
			})
		}
	}
}
