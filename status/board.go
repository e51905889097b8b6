package status

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// Board is the Reader over the outputs that it is given. It asks for all of them at once, but of the state store for
// mostReads at a time, each part within Bound; what does not answer is named among the output's problems, and is not
// asked again while it still hangs.
type Board struct {
	cfg BoardConfig
	all []*row
}

// BoardConfig is what newBoard needs.
type BoardConfig struct {
	App, Version, Instance string
	Faults                 []Problem
	Outputs                []Subject
	// Store has the notes; nil where there is none. Seen is what this process's own ticks told; nil in one that does not
	// tick.
	Store state.Store
	Seen  *Recorder
	Bound time.Duration
	// PerWorker is how many unprocessed changes make one worker more.
	PerWorker int
	// Backfill says how far a backfill is, for people.
	Backfill func(*state.Backfill) string
}

// Subject is one output to be reported.
type Subject struct {
	// Base has the names, and whatever else never changes.
	Base Output
	// Faults are those of its settings. With any, its parts are read all the same.
	Faults []Problem
	Parts  []Part
	// DeadLetters counts them for metrics; nil where they do not lie in the state store.
	DeadLetters func(context.Context) (int64, error)
	// Next is when its next tick is due; nil where that is not known.
	Next func(time.Time) (time.Time, bool)
	// Limit is how long no tick may succeed before that is a sign; 0 where the schedule is not known. Ticks says that this
	// process ticks it by its schedule, so that its own silence is one.
	Limit time.Duration
	Ticks bool
}

// Part reads some of the figures of an output.
type Part struct {
	What string // "the state document", for the problem that it could not be read
	// Main says that nothing is known of the output without it.
	Main bool
	// Every is how long what was read may be shown again: what costs more is read more rarely.
	Every time.Duration
	// Stored says that it is read from the state store: not too many such reads are made at a time.
	Stored bool
	// Measured says that metrics have it too: see Board.Measured.
	Measured bool
	// Read returns what puts the figures into a report. state.ErrNotFound with Main: it has never run.
	Read func(ctx context.Context) (func(*Output), error)
}

// row is one output with the reads of its parts.
type row struct {
	Subject
	parts   []*reading[func(*Output)]
	note    *reading[*Note]
	letters *reading[int64]
}

// noteShown is how long a note that was read may be shown again. Those who look at one instance at a time share its
// reads.
const noteShown = 2 * time.Second

// newBoard returns a Board.
func newBoard(cfg BoardConfig) *Board {
	b := &Board{cfg: cfg}
	stored := make(turns, mostReads)
	for _, s := range cfg.Outputs {
		r := &row{Subject: s}
		for _, p := range s.Parts {
			line := stored
			if !p.Stored {
				line = nil
			}
			r.parts = append(r.parts, newReading(cfg.Bound, p.Every, line, p.Read))
		}
		if s.DeadLetters != nil {
			r.letters = newReading(cfg.Bound, lettersEvery, stored, s.DeadLetters)
		}
		if cfg.Store != nil {
			key := NoteKey(cfg.App, s.Base.Poller, s.Base.Output)
			r.note = newReading(cfg.Bound, noteShown, stored, func(ctx context.Context) (*Note, error) {
				return readNote(ctx, cfg.Store, key)
			})
		}
		b.all = append(b.all, r)
	}
	return b
}

// Report implements Reader.
func (b *Board) Report(ctx context.Context) Report {
	r := Report{App: b.cfg.App, Version: b.cfg.Version, Instance: b.cfg.Instance,
		Faults: append([]Problem{}, b.cfg.Faults...), Outputs: make([]Output, len(b.all))}
	var wg sync.WaitGroup
	for i := range b.all {
		wg.Go(func() { r.Outputs[i] = b.report(ctx, b.all[i]) })
	}
	wg.Wait()
	r.At = time.Now().UTC()
	return r
}

// Forget makes the next report read everything of a poller anew: something was done to it.
func (b *Board) Forget(name string) {
	for _, r := range b.all {
		if r.Base.Poller != name {
			continue
		}
		for _, p := range r.parts {
			p.forget()
		}
		if r.note != nil {
			r.note.forget()
		}
		if r.letters != nil {
			r.letters.forget()
		}
	}
}

// answer is what came of reading one part.
type answer struct {
	put func(*Output)
	at  time.Time // of what was read last, where this read failed
	err error
}

// report reads one output. A bug in a part, or in a judgement, is one of its problems: it ends no process.
func (b *Board) report(ctx context.Context, r *row) (o Output) {
	defer func() {
		if p := recover(); p != nil {
			o = r.Base
			o.Letters, o.Entries = []Letter{}, []Letter{}
			o.Problems = []Problem{{Text: said(fmt.Sprintf("reporting panicked: %v", p))}}
			o.Health, o.Says = Failing, "How it is doing cannot be said: "+first(o.Problems)
		}
	}()
	answers := make([]answer, len(r.parts))
	var stored *Note
	var noteAt time.Time
	var noteErr error
	var wg sync.WaitGroup
	for i, p := range r.parts {
		wg.Go(func() { answers[i].put, answers[i].at, answers[i].err = p.get(ctx) })
	}
	if r.note != nil {
		wg.Go(func() { stored, noteAt, noteErr = r.note.get(ctx) })
	}
	wg.Wait()
	own, good := b.cfg.Seen.seen(r.Base.Poller, r.Base.Output)
	if stored.hadDocument() || own.hadDocument() {
		r.again(ctx, answers)
	}

	o = r.Base
	o.Problems = append([]Problem{}, r.Faults...)
	o.Letters, o.Entries = []Letter{}, []Letter{}
	f := facts{now: time.Now(), faults: len(r.Faults), shared: b.cfg.Faults, exists: true, alone: r.note == nil,
		limit: r.Limit}
	o.Unread = len(answers) == 0 // its settings have faults
	for i, a := range answers {
		main := r.Parts[i].Main
		switch {
		case a.err == nil:
			a.put(&o)
		case isAbsent(a.err) && main:
			f.exists = false
		default:
			o.unread(&f, r.Parts[i].What, a.at, a.err)
			if main {
				f.unread = true
				o.Problems[len(o.Problems)-1].blameStore(o.Mode, a.err)
			}
			if a.put != nil {
				a.put(&o)
			} else if main {
				o.Unread = true
			}
		}
	}
	if noteErr != nil && !f.unread {
		o.unread(&f, "the note of its last tick", noteAt, noteErr)
	}
	o.Letters, o.Entries = withoutAnswers(o.Letters), withoutAnswers(o.Entries)
	if r.Ticks {
		f.good = good
	}
	if own != nil {
		f.own = own.LastSuccess
	}
	if !f.exists && stored != nil && f.now.Sub(stored.At) > strangersNote {
		stored = nil
	}
	if r.Ticks && stored != nil && stored.Stopped != nil { // another process has ended, this one has not
		goesOn := *stored
		goesOn.Stopped, stored = nil, &goesOn
	}
	f.note = join(own, stored)
	o.noted(f.note, f.now)
	if !f.exists && f.note.hadDocument() && o.Mode.Can(mode.Document) {
		o.LastError = &Problem{Event: string(poller.StateGone), Text: gone(*o.LastSuccess)}
		f.gone = true
	}
	if f.note != nil && f.note.overdue(f.now, &o) {
		o.SilentSince = &f.note.At
		if o.LagSeconds != nil && *o.LagSeconds == 0 && !o.Mode.Can(mode.Figures) {
			o.LagSeconds = nil // nobody knows whether rows wait
		}
	}
	if r.Next != nil && !f.onceOnly(&o) && !f.stopped() {
		if next, ok := r.Next(f.now); ok {
			o.NextRun = &next
		}
	}
	o.Health, o.Says = judge(&o, &f)
	return o
}

// again reads once more what is not there although a tick has succeeded: the tick may have made it since.
func (r *row) again(ctx context.Context, answers []answer) {
	for i := range answers {
		if a := &answers[i]; r.Parts[i].Main && isAbsent(a.err) {
			r.parts[i].forget()
			a.put, a.at, a.err = r.parts[i].get(ctx)
		}
	}
}

// unread tells of a part that could not be read. What was read of it before is shown, and from when that is.
func (o *Output) unread(f *facts, what string, at time.Time, err error) {
	text := fmt.Sprintf("%s could not be read: %v", what, err)
	if !at.IsZero() {
		text += "; what is shown of it was read at " + stamp(at)
	}
	text = said(text)
	o.Problems = append(o.Problems, Problem{Text: text})
	f.gaps = append(f.gaps, text)
}

// noted puts into the output what its ticks have told, and what has become of it by now.
func (o *Output) noted(n *Note, now time.Time) {
	if n == nil {
		return
	}
	// CommittedAt is none: what a failed tick had settled is committed too
	o.LastSuccess = n.LastSuccess
	if o.LagSeconds == nil && !o.Mode.Can(mode.Figures) { // else the source was asked now
		o.LagSeconds = n.lagAt(now)
	}
	if !o.Mode.Can(mode.Figures) {
		o.WaitingSince = n.WaitingSince
	}
	o.HeldBack, o.LastError = n.HeldBack, n.problem()
	o.Rate = n.rate(now)
	o.NotedAt, o.History = &n.At, n.History
}

// withoutAnswers are letters whose reasons are without what destinations answered: it may echo a row. The given ones
// are left as they are, since other reports may be made of them at the same time.
func withoutAnswers(letters []Letter) []Letter {
	shown := append([]Letter{}, letters...)
	for i := range shown {
		shown[i].Answered, shown[i].Reason = shown[i].Reason, poller.WithoutAnswers(shown[i].Reason)
	}
	return shown
}

// lettersEvery is how often dead letters are counted for metrics, at most: each count is a list of the state store,
// and metrics are read several times a minute.
const lettersEvery = 5 * time.Minute
