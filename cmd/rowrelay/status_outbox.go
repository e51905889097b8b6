package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/status"
)

const (
	// outboxEvery is how often an outbox is counted for a report, at most: it is counted in the application's own database.
	outboxEvery = 3 * time.Second
	// entriesBound is how long its failed events and dead letters are looked for. Without them the figures are shown all the same.
	entriesBound = 2 * time.Second
)

// outboxParts are the figures of an outbox, with its first dead letters and failed events.
func outboxParts(o publisher.Operator) []status.Part {
	return []status.Part{{
		What: "the outbox", Main: true, Every: outboxEvery,
		Read: func(ctx context.Context) (func(*status.Output), error) { return readOutbox(ctx, o) },
	}}
}

func readOutbox(ctx context.Context, outbox publisher.Operator) (func(*status.Output), error) {
	about, err := outbox.About(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	f := &about.Figures
	ctx, cancel := context.WithTimeoutCause(ctx, entriesBound, fmt.Errorf("there was no answer within %s", entriesBound))
	defer cancel()
	dead, err := entriesIn(ctx, outbox, event.Dead, f.Dead)
	failed, err2 := entriesIn(ctx, outbox, event.Failed, f.Failed)
	err = cmp.Or(err, err2)
	return func(o *status.Output) {
		lag := f.OldestPending.Seconds()
		o.Pending, o.LagSeconds = &f.Pending, &lag
		o.Parked, o.Waiting, o.DeadLetters, o.CountedTo = f.Failed, f.Waiting, f.Dead, f.Bound
		o.Letters, o.Entries = dead, failed
		if about.Paused != "" {
			o.Pause = pauseOf(about.Paused)
		}
		for _, owner := range about.Owners {
			o.Owners = append(o.Owners, status.Lease{Holder: owner.Name, Held: true, Units: owner.Units, ExpiresAt: now.Add(owner.Expires)})
			o.Token = max(o.Token, owner.Token)
		}
		if err != nil {
			o.Problems = append(o.Problems, status.Problem{Text: "the events that failed could not be read: " + plaintext.Line(err.Error())})
		}
	}, nil
}

// entriesIn are the first events in a state; n is how many there are: where there are none, they are not looked for.
func entriesIn(ctx context.Context, outbox publisher.Operator, s event.State, n int64) ([]status.Letter, error) {
	letters := []status.Letter{}
	if n == 0 {
		return letters, nil
	}
	err := outbox.List(ctx, event.Filter{States: []event.State{s}, Limit: status.MaxLetters}, func(e event.Entry) error {
		l := status.Letter{ID: e.ID, Key: e.AggregateType + "/" + e.AggregateID, At: timeOrNil(e.CreatedAt), Attempts: e.Attempts, Reason: plaintext.Line(e.LastError)}
		if s == event.Failed {
			l.Next = timeOrNil(e.NextAttempt)
		}
		letters = append(letters, l)
		return nil
	})
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // whatever the driver calls that
	}
	return letters, err
}

// pauseOf reads what Pause has written: "who at when".
func pauseOf(text string) *status.Pause {
	if at := strings.LastIndex(text, " at "); at >= 0 {
		if when, err := time.Parse(time.RFC3339, text[at+len(" at "):]); err == nil {
			return &status.Pause{At: timeOrNil(when), By: text[:at]}
		}
	}
	return &status.Pause{By: text}
}
