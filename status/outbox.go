package status

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/publisher/event"
)

const (
	// outboxEvery is how often an outbox is counted for a report, at most: it is counted in the application's own
	// database.
	outboxEvery = 3 * time.Second
	// entriesBound is how long its failed events and dead letters are looked for. Without them the figures are shown all
	// the same.
	entriesBound = 2 * time.Second
)

// outboxPart reads the figures of an outbox, with its first dead letters and failed events.
type outboxPart struct{ poller *inspect.Poller }

func (p *outboxPart) read(ctx context.Context) (func(*Output), error) {
	about, err := p.poller.Ask(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	f := &about.Figures
	ctx, cancel := context.WithTimeoutCause(ctx, entriesBound, fmt.Errorf("there was no answer within %s", entriesBound))
	defer cancel()
	dead, err := p.entries(ctx, event.Dead, f.Dead)
	failed, err2 := p.entries(ctx, event.Failed, f.Failed)
	err = cmp.Or(err, err2)
	return func(o *Output) {
		lag := f.OldestPending.Seconds()
		o.Pending, o.LagSeconds = &f.Pending, &lag
		o.Parked, o.Waiting, o.DeadLetters, o.CountedTo = f.Failed, f.HeldUp(), f.Dead, f.Bound
		o.Letters, o.Entries = dead, failed
		if about.Paused != "" {
			o.Pause = pauseOf(about.Paused)
		}
		for _, owner := range about.Owners {
			o.Owners = append(o.Owners, Lease{Holder: owner.Name, Held: true, Units: owner.Units,
				ExpiresAt: now.Add(owner.Expires)})
			o.Token = max(o.Token, owner.Token)
		}
		if err != nil {
			o.Problems = append(o.Problems,
				Problem{Text: "the events that failed could not be read: " + plaintext.Line(err.Error())})
		}
	}, nil
}

// entries are the first events in a state; n is how many there are: where there are none, they are not asked for.
func (p *outboxPart) entries(ctx context.Context, in event.State, n int64) ([]Letter, error) {
	letters := []Letter{}
	if n == 0 {
		return letters, nil
	}
	found, err := p.poller.Entries(ctx, in, MaxLetters)
	for i := range found {
		e := &found[i]
		l := Letter{ID: e.ID, Key: e.AggregateType + "/" + e.AggregateID, At: timeOrNil(e.CreatedAt), Attempts: e.Attempts,
			Reason: plaintext.Line(e.LastError)}
		if in == event.Failed {
			l.Next = timeOrNil(e.NextAttempt)
		}
		letters = append(letters, l)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // whatever the driver calls that
	}
	return letters, err
}

// pauseOf reads what Pause has written: "who at when".
func pauseOf(text string) *Pause {
	if at := strings.LastIndex(text, " at "); at >= 0 {
		if when, err := time.Parse(time.RFC3339, text[at+len(" at "):]); err == nil {
			return &Pause{At: timeOrNil(when), By: text[:at]}
		}
	}
	return &Pause{By: text}
}
