package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// BackfillPrefix is what a named backfill's document, side objects and dead letters have before its name where an
// output's have the output's. No output can be called so.
const BackfillPrefix = "backfill-"

var backfillName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// Range is what a named backfill sends. It is written once, before the backfill's document, and stays: started again
// under its name, a backfill goes on with this range and no other.
type Range struct {
	Version int `json:"version"` // 1
	// Output is the name of the poller's output that it sends to.
	Output string `json:"output"`
	// FromText and ToText are what was asked for, From and To the positions that this meant then.
	FromText  string        `json:"from_text"`
	ToText    string        `json:"to_text"`
	From      change.Cursor `json:"from"`
	To        change.Cursor `json:"to"`
	StartedAt time.Time     `json:"started_at"`
	By        string        `json:"by"`
}

const rangeVersion = 1

// rangePatience bounds a read or write of a Range.
const rangePatience = 30 * time.Second

// Ranges are those of the named backfills of a poller. They lie at backfills/{app}/{poller}/{name}.json.
type Ranges struct {
	Store       state.Store
	App, Poller string
}

func (r Ranges) key(name string) string {
	return "backfills/" + r.App + "/" + r.Poller + "/" + name + ".json"
}

// Load reads the range of a named backfill; state.ErrNotFound where none of this name was begun.
func (r Ranges) Load(ctx context.Context, name string) (*Range, error) {
	ctx, cancel := context.WithTimeout(ctx, rangePatience)
	defer cancel()
	stored, err := r.Store.Load(ctx, r.key(name))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", r.key(name), err)
	}
	var found Range
	if err := json.Unmarshal(stored.Data, &found); err != nil {
		return nil, fmt.Errorf("reading %s: %w: begin under another --name", r.key(name), err)
	}
	if found.Version != rangeVersion {
		return nil, fmt.Errorf("reading %s: its version is %d, which this binary does not know: begin under another --name",
			r.key(name), found.Version)
	}
	return &found, nil
}

// OutputOf is the output that a named backfill was begun for.
func (r Ranges) OutputOf(ctx context.Context, name string) (string, error) {
	if !backfillName.MatchString(name) {
		return "", fmt.Errorf("%q is no name of a backfill: it is a lower-case name of letters, digits and _", name)
	}
	found, err := r.Load(ctx, name)
	if errors.Is(err, state.ErrNotFound) {
		return "", fmt.Errorf("poller %s has no backfill %q (%s)", r.Poller, name, r.key(name))
	}
	if err != nil {
		return "", err
	}
	return found.Output, nil
}

// create writes the range of a backfill that begins. An error may leave it written: the next start finds it.
func (r Ranges) create(ctx context.Context, name string, begun *Range) error {
	ctx, cancel := context.WithTimeout(ctx, rangePatience)
	defer cancel()
	data, err := json.Marshal(begun)
	if err == nil {
		_, err = r.Store.Create(ctx, r.key(name), append(data, '\n'))
	}
	if errors.Is(err, state.ErrConflict) {
		return fmt.Errorf("writing %s: a backfill of this name was begun meanwhile: start this one again, or under another "+
			"--name", r.key(name))
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", r.key(name), err)
	}
	return nil
}

// part is a range of a source, as a source of its own. Its rows are history: what commits late is the live poller's.
type part struct {
	checkpointed.Source
	from, to change.Cursor
}

// Describe says what the source is. A memory of late rows would be of no use in a range that is read once.
func (p part) Describe(ctx context.Context) (checkpointed.Description, error) {
	d, err := p.Source.Describe(ctx)
	d.Late, d.Dates = late.None, nil
	return d, err
}

// Start is where the range begins.
func (p part) Start(ctx context.Context) (change.Cursor, string, error) {
	_, incarnation, err := p.Source.Start(ctx)
	return p.from, incarnation, err
}

// Fetch ends at the range's end.
func (p part) Fetch(ctx context.Context, r change.Range, limit poller.Limit) (change.Page, error) {
	r.UpTo, r.Unsafe = p.to, true
	return p.Source.Fetch(ctx, r, limit)
}

// Named is a backfill that is sent from this process, under a name, and with a state document and a lease of its own.
// Its requests carry its name, because its events are outside the order promise: the live poller may send a newer state
// of a row first. It goes on where it was when it is started again under its name; its range is fixed by its first
// start.
type Named struct {
	Rows
	Name string
	// Open makes what sends the rows of a source, and keeps how far it is.
	Open func(src checkpointed.Source) (*Sender, error)
}

// Sender sends the rows of a named backfill.
type Sender struct {
	Relay interface {
		Tick(ctx context.Context) poller.Report
	}
	Keeper *state.Keeper
	Key    string // of its document
}

// NamedBackfill sends a range from this process. Apply returns when all is sent, or ctx ends.
func (d *Document) NamedBackfill(ctx context.Context, b *Named) (*Plan, error) {
	if err := d.load(ctx); err != nil {
		return nil, err
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	if !backfillName.MatchString(b.Name) {
		return nil, mistake("--name %q: write a lower-case name of letters, digits and _", b.Name)
	}
	ranges := Ranges{d.Store, d.App, d.Poller}
	r, err := ranges.Load(ctx, b.Name)
	fresh := errors.Is(err, state.ErrNotFound)
	var total int64
	switch {
	case fresh:
		r = &Range{Version: rangeVersion, Output: d.Output, FromText: b.From, ToText: b.To, StartedAt: time.Now().UTC(),
			By: d.By}
		if r.ToText == "" {
			r.ToText = "latest"
		}
		r.From, r.To, total, err = d.ends(ctx, &b.Rows, false)
	case err == nil:
		err = d.resumes(ctx, b, r)
	}
	if err != nil {
		return nil, err
	}
	to, err := b.Open(part{d.Source, r.From, r.To})
	if err != nil {
		return nil, err
	}
	at := r.From
	if !fresh {
		if at, total, err = d.left(ctx, to, r); err != nil {
			return nil, err
		}
	}
	p := d.plan("%d row(s) after %s and up to %s will be sent from here, marked as backfill %s, OUTSIDE the order "+
		"promise.", total, at, r.To, b.Name)
	p.apply = func(ctx context.Context, out *Result) error {
		if fresh {
			if err := ranges.create(ctx, b.Name, r); err != nil {
				return err
			}
		}
		d.audit("backfill_begun", "backfill", b.Name, "from", at.String(), "to", r.To.String(), "count", total)
		return d.send(ctx, b, to, total, out)
	}
	return &p, nil
}

// resumes refuses another range, or another output, under the name of a backfill that was begun.
func (d *Document) resumes(ctx context.Context, b *Named, r *Range) error {
	same := func(flag, text, stored string, at change.Cursor) (bool, error) {
		if text == "" || text == stored {
			return true, nil // what "latest" meant is what it means
		}
		cursor, err := d.end(ctx, flag, text)
		return bytes.Equal(cursor, at) && text != "latest", err
	}
	from, err := same("--from", b.From, r.FromText, r.From)
	if err != nil {
		return err
	}
	to, err := same("--to", b.To, r.ToText, r.To)
	if err != nil {
		return err
	}
	if from && to && r.Output == d.Output {
		return nil
	}
	return fmt.Errorf("%s began the backfill %s on %s with --from %s --to %s for output %q (the rows after %s and up to "+
		"%s): without --from and --to it goes on; for another range give another --name", r.By,
		b.Name, r.StartedAt.UTC().Format(time.RFC3339), r.FromText, r.ToText, r.Output, r.From, r.To)
}

// left is where a backfill that was begun goes on, and how many rows there are from there on.
func (d *Document) left(ctx context.Context, to *Sender, r *Range) (at change.Cursor, rows int64, err error) {
	at = r.From
	s, err := to.Keeper.Load(ctx)
	switch {
	case err == nil:
		at = s.Doc.Checkpoint.Cursor
	case !errors.Is(err, state.ErrNotFound): // it ended before its first tick
		return nil, 0, err
	}
	rows, err = d.Positions.Count(ctx, change.Range{After: at, UpTo: r.To})
	return at, rows, err
}

// send runs ticks until the range is sent, and what was parked of it is sent or given up.
func (d *Document) send(ctx context.Context, b *Named, to *Sender, total int64, out *Result) error {
	begun, done, givenUp := time.Now(), int64(0), 0
	for ctx.Err() == nil {
		r := to.Relay.Tick(ctx)
		done = min(done+int64(r.Rows), max(total, 1)) // what was parked counts again
		givenUp += len(r.DeadLettered)
		if d.Progress != nil {
			d.Progress(done, total, (&Backfill{ID: b.Name, Done: done, Total: total, StartedAt: begun, By: d.By}).String())
		}
		// With ordering=source a tick fails while it waits for the next attempt of the row that was refused.
		waits := r.Parked > 0 && (!r.Failed() || d.Ordering == poller.OrderSource &&
			r.Event == poller.HandlerFailed && !slices.Contains(poller.OutageReasons(), r.Reason))
		switch {
		case ctx.Err() != nil:
		case r.Event == poller.LeaseAcquireSkipped:
			return fmt.Errorf("%w: this backfill is sent by another process", r.Err)
		case r.Failed() && !waits:
			return fmt.Errorf("%s: %w: start it again under the same name to go on", r.Event, r.Err)
		case r.Event == poller.FetchEmpty && !waits:
			out.say("done: %d row(s)%s; its position is kept in %s", done, d.givenUp(b, givenUp), to.Key)
			return nil
		case r.Event == poller.FetchEmpty, r.Failed():
			_ = clock.Sleep(ctx, time.Second)
		case b.Rate > 0:
			_ = clock.Sleep(ctx, time.Duration(r.Rows)*time.Second/time.Duration(b.Rate))
		}
	}
	out.say("stopped after %d row(s)%s; start it again under the same name to go on", done, d.givenUp(b, givenUp))
	return nil
}

// givenUp says where the dead letters of a named backfill are; "" where there are none.
func (d *Document) givenUp(b *Named, n int) string {
	switch {
	case n == 0:
		return ""
	case d.Queue != "":
		return fmt.Sprintf(", of which %d were given up: their dead letters are in the queue %s "+
			"(dead_letter__kind=queue)", n, d.Queue)
	}
	return fmt.Sprintf(", of which %d were given up: rowrelay deadletter list %s --output %s%s shows them",
		n, d.Poller, BackfillPrefix, b.Name)
}

// backfill is the name of the backfill whose document this is; "" for that of an output.
func (d *Document) backfill() string {
	name, ok := strings.CutPrefix(d.Output, BackfillPrefix)
	if !ok {
		return ""
	}
	return name
}
