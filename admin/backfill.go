package admin

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
)

// Backfill is a range that is sent again, by the poller itself: what its document says of it.
type Backfill struct {
	ID        string        `json:"id"`
	From      change.Cursor `json:"from"`
	To        change.Cursor `json:"to"`
	At        change.Cursor `json:"at"`
	PerSecond int           `json:"per_second"`
	Done      int64         `json:"done"`
	Total     int64         `json:"total"`
	StartedAt time.Time     `json:"started_at"`
	By        string        `json:"by"`
	// Whole says that it reads the whole table: a snapshot.
	Whole bool `json:"whole_table,omitempty"`
}

// BackfillOf is a backfill as a document has it; nil for none.
func BackfillOf(b *state.Backfill) *Backfill {
	if b == nil {
		return nil
	}
	return &Backfill{b.ID, b.From, b.To, b.At, b.PerSecond, b.Done, b.Total, b.StartedAt, b.By, b.Whole}
}

// String says how far it is.
func (b *Backfill) String() string {
	text := fmt.Sprintf("%s: %d of about %d row(s)", b.ID, b.Done, b.Total)
	if b.Total == 0 {
		text = fmt.Sprintf("%s: %d row(s)", b.ID, b.Done)
	}
	if b.Whole {
		text = "snapshot of the whole table, " + text
	}
	if b.Total > 0 {
		text += fmt.Sprintf(" (%d %%)", min(100, b.Done*100/b.Total))
	}
	if took := time.Since(b.StartedAt); b.Done > 0 && b.Total > b.Done {
		left := time.Duration(float64(took) / float64(b.Done) * float64(b.Total-b.Done))
		text += fmt.Sprintf(", about %s left", left.Round(time.Second))
	}
	return text + fmt.Sprintf(", begun %s by %s", b.StartedAt.UTC().Format(time.RFC3339), b.By)
}

// stopping says that a backfill ends because the source has changed, or another begins; "" where there is none.
func stopping(b *state.Backfill) string {
	if b == nil {
		return ""
	}
	return fmt.Sprintf("\nThe backfill will be stopped: %s.%s", BackfillOf(b), unsent(b))
}

// unsent says what becomes of the rest of a snapshot.
func unsent(b *state.Backfill) string {
	if !b.Whole {
		return ""
	}
	return "\nRows of the table that it has not sent yet are told of when they change."
}

// auditStopped writes to the log that a backfill was stopped.
func (d *Document) auditStopped(b *state.Backfill) {
	if b != nil {
		d.audit("backfill_stopped", "backfill", b.ID, "done", b.Done, "of", b.Total)
	}
}

// Running is the backfill that the document has.
func (d *Document) Running(ctx context.Context) (*Backfill, error) {
	if err := d.load(ctx); err != nil {
		return nil, err
	}
	if b := BackfillOf(d.snap.Doc.Backfill); b != nil {
		return b, nil
	}
	return nil, nothing("no backfill of %s is running", d.address())
}

// StopBackfill ends the backfill that is running. What was sent is sent.
func (d *Document) StopBackfill(ctx context.Context) (*Plan, error) {
	b, err := d.Running(ctx)
	if err != nil {
		return nil, err
	}
	running := d.snap.Doc.Backfill
	p := d.plan("The backfill will be stopped: %s.%s", b, unsent(running))
	p.apply = func(ctx context.Context, r *Result) error {
		_, err := d.Keeper.Amend(ctx, func(doc *state.Document) error {
			if doc.Backfill != nil && doc.Backfill.ID == running.ID {
				doc.Backfill = nil
			}
			return nil
		})
		if err != nil {
			return err
		}
		d.auditStopped(running)
		r.say("stopped")
		return nil
	}
	return &p, nil
}

// Rows is a range that is asked for, and how fast it is sent.
type Rows struct {
	From string // beginning or cursor=VALUE: the rows after it
	To   string // latest or cursor=VALUE: rows of that value included; "" is latest
	Rate int    // the most rows per second; 0 does not throttle
}

func (r *Rows) check() error {
	if r.Rate < 0 {
		return mistake("--rate must not be negative")
	}
	return nil
}

// Started is the plan of a backfill.
type Started struct {
	Plan
	ID string
}

// Backfill asks the poller to send a range again, beside the live rows. Its ticks do so. A row comes as it is now, so
// that nothing newer of it came before. Where several rows share an order key, the plan says that older ones come last.
func (d *Document) Backfill(ctx context.Context, r *Rows) (*Started, error) {
	if err := d.load(ctx); err != nil {
		return nil, err
	}
	if r.From == "" {
		return nil, errNoFrom
	}
	if running := BackfillOf(d.snap.Doc.Backfill); running != nil {
		return nil, &Refusal{Err: fmt.Errorf("a backfill is running (%s)", running), Remedy: "stop it first (--stop)"}
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	from, to, total, err := d.ends(ctx, r, true)
	if err != nil {
		return nil, err
	}
	older, err := d.afterNewer(ctx)
	if err != nil {
		return nil, err
	}
	s := &Started{ID: strings.ToLower(rand.Text()[:8])}
	s.Plan = d.plan("%d row(s) after %s and up to %s will be sent again, beside the live ones.%s%s", total, from, to,
		older, d.afterPause())
	s.apply = func(ctx context.Context, out *Result) error {
		_, err := d.Keeper.Amend(ctx, func(doc *state.Document) error {
			if doc.Backfill != nil && doc.Backfill.ID != s.ID {
				return fmt.Errorf("another backfill was begun meanwhile (%s)", BackfillOf(doc.Backfill))
			}
			doc.Backfill = &state.Backfill{
				ID: s.ID, From: from, To: to, At: from, PerSecond: r.Rate, Total: total, StartedAt: time.Now(), By: d.By,
			}
			return nil
		})
		if err != nil {
			return err
		}
		d.audit("backfill_begun", "backfill", s.ID, "from", from.String(), "to", to.String(), "count", total)
		out.say("backfill %s is asked for; rowrelay backfill %s --status shows how far it is", s.ID, d.address())
		return nil
	}
	return s, nil
}

// afterNewer says that what is sent again comes after newer rows of its order key, as changes of a history do; "" where
// each order key has one row, which is sent as it is now.
func (d *Document) afterNewer(ctx context.Context) (string, error) {
	now, err := d.Source.Describe(ctx)
	if err != nil || !now.Coarse {
		return "", err
	}
	return fmt.Sprintf("\nSeveral rows share an order key: those that are sent again come after newer ones, which do not "+
		"come again. Where the receiver keeps the last that comes, send all from there in order instead: rowrelay state "+
		"reset %s --to beginning, or --to cursor=VALUE.", d.address()), nil
}

// afterPause says that nothing is sent before the poller is resumed; "" where it is not paused by a person.
func (d *Document) afterPause() string {
	p := d.snap.Doc.Paused
	if p == nil || isForReplay(p) {
		return ""
	}
	return fmt.Sprintf("\nThe poller is paused, by %s. It sends nothing before: rowrelay state resume %s.", p.By,
		d.address())
}

var errNoFrom = mistake("say where the range begins: --from beginning or --from cursor=VALUE")

// ends finds both ends of a range and counts its rows, of which there is one at least. again says that only those are
// meant which the poller has come to.
func (d *Document) ends(ctx context.Context, r *Rows, again bool) (from, to change.Cursor, total int64, err error) {
	if from, err = d.end(ctx, "--from", r.From); err != nil {
		return nil, nil, 0, err
	}
	if to, err = d.end(ctx, "--to", r.To); err != nil {
		return nil, nil, 0, err
	}
	none := "the range holds no rows"
	if again {
		if to, err = d.cameTo(ctx, to); err != nil {
			return nil, nil, 0, err
		}
		none += " that the poller has come to"
	}
	total, err = d.upTo(ctx, from, to)
	if err == nil && total == 0 {
		err = nothing("%s: there is nothing to send", none)
	}
	return from, to, total, err
}

// cameTo is the end of a range, or where the poller has come to where that is before it. What follows it delivers by
// itself; what a backfill sent of that would overtake rows of its order key that are still to come. (A position within
// a window between two snapshots ends a range with the window.)
func (d *Document) cameTo(ctx context.Context, end change.Cursor) (change.Cursor, error) {
	reached := d.reached()
	if reached.IsStart() || end.Equal(reached) {
		return reached, nil
	}
	below, err := d.Positions.CountUpTo(ctx, change.Range{After: end, UpTo: reached}, 1)
	if err != nil || below > 0 {
		return end, err
	}
	return reached, nil
}

// end finds one end of a range.
func (d *Document) end(ctx context.Context, flag, text string) (change.Cursor, error) {
	value, isCursor := strings.CutPrefix(text, "cursor=")
	switch {
	case text == "" && flag == "--from":
		return nil, errNoFrom
	case text == "beginning" && flag == "--from":
		return nil, nil
	case (text == "latest" || text == "") && flag == "--to":
		return d.Positions.Latest(ctx)
	case isCursor:
		return d.Positions.Position(ctx, value, nil, "after")
	}
	return nil, mistake("%s %q: --from is beginning or cursor=VALUE, --to is latest or cursor=VALUE", flag, text)
}

// watchEvery is how often the document is read while a backfill is watched.
const watchEvery = time.Second

// Watch tells progress until the backfill ends, somebody stops it, or ctx does. Its result says which.
func (d *Document) Watch(ctx context.Context, id string) (r Result, err error) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			r.say("the backfill goes on; rowrelay backfill %s --status shows how far it is, --stop stops it", d.address())
			return r, nil
		case <-ticker.C:
		}
		s, err := d.Keeper.Load(ctx)
		switch {
		case ctx.Err() != nil:
			continue
		case err != nil:
			return r, err
		case s.Doc.Backfill == nil || s.Doc.Backfill.ID != id:
			r.say("backfill %s has ended", id)
			return r, nil
		}
		if b := BackfillOf(s.Doc.Backfill); d.Progress != nil {
			d.Progress(b.Done, b.Total, b.String())
		}
	}
}
