package poller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// DeadLetter is an event that is given up, with its history.
type DeadLetter struct {
	App, Poller, Output string
	Engine, Table       string
	Fingerprint         string       // of the source, as deliveries of the event had it
	Event               change.Event // Row is null where it could not be encoded
	Cause               Cause
	Status              int
	Reason              string
	Attempts            int
	First, Last         time.Time // of the attempts that failed
	Blocks              bool      // its order key waits until an operator acts
}

// Reported is what a tick's report keeps of a dead letter. Thousands may be given up in one tick: the copy holds
// neither the row, nor the memory that the row shares with the event's other parts.
func (d DeadLetter) Reported() DeadLetter {
	e := &d.Event
	d.Event = change.Event{ID: e.ID, Op: e.Op, Key: bytes.Clone(e.Key), Cursor: bytes.Clone(e.Cursor), Time: e.Time,
		Undated: e.Undated}
	return d
}

// DeadLetters keeps what is given up.
type DeadLetters interface {
	// Put stores a dead letter durably, named by its event id: the same one again replaces or repeats it. It is called
	// before the commit that releases the event, so that a crash in between repeats it, and never loses it.
	Put(ctx context.Context, d DeadLetter) error
}

// Dead letters are written before the commit that releases their events, and every other event of the settlement waits
// for that commit. So a place for dead letters that hangs, or is slow, may delay the others, and never stop them.
const (
	// deadLetterTime is what the dead letters of one settlement may take together.
	deadLetterTime = 10 * time.Second
	// deadLetterPatience is what those that cannot be written may take of one session.
	deadLetterPatience = 5 * time.Second
	// commitTime is what they leave of the settlement's time, for the commit.
	commitTime = 5 * time.Second
)

// ErrNoAnswer says that a dead letter took the time that was left, and was not written. Its event has to wait longer
// than those that came to errNoTimeLeft by it: else it would come before them each time.
var ErrNoAnswer = errors.New("there was no answer in time")

var errNoTimeLeft = errors.New("too many others had to be tried first in this tick")

// DeadLetterWriter writes the dead letters of one session within a bounded time. Its settlements come one after the
// other.
type DeadLetterWriter struct {
	until  time.Time     // when the settlement stops writing
	failed time.Duration // spent on those that could not be written
}

// Begin begins a settlement, which ctx bounds.
func (w *DeadLetterWriter) Begin(ctx context.Context) {
	w.until = time.Now().Add(deadLetterTime)
	if deadline, ok := ctx.Deadline(); ok && deadline.Add(-commitTime).Before(w.until) {
		w.until = deadline.Add(-commitTime)
	}
}

// Put writes a dead letter in the time that is left for all of the settlement. After an error the event is not given
// up: it comes again.
func (w *DeadLetterWriter) Put(ctx context.Context, to DeadLetters, d DeadLetter) error {
	begun := time.Now()
	left := min(w.until.Sub(begun), deadLetterPatience-w.failed)
	if left <= 0 {
		return errNoTimeLeft
	}
	ctx, cancel := context.WithTimeoutCause(ctx, left, ErrNoAnswer)
	defer cancel()
	err := to.Put(ctx, d)
	if err == nil {
		return nil
	}
	w.failed += time.Since(begun)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// Bury is Put for an event whose row, or lease, waits for it; to is nil where nothing else takes dead letters. Its
// error is a *Fault.
func (w *DeadLetterWriter) Bury(ctx context.Context, to DeadLetters, d DeadLetter) error {
	if to == nil {
		return nil
	}
	if err := w.Put(ctx, to, d); err != nil {
		return &Fault{HandlerFailed,
			fmt.Errorf("the dead letter of event %s could not be written, it is tried again: %w", d.Event.ID, err)}
	}
	return nil
}
