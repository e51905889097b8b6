package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
)

// backfill is what the flags of `rowrelay backfill` say.
type backfill struct {
	from, to string
	name     string
	rate     int
	stop     bool
	status   bool
	detach   bool
}

func newBackfill(c *console) *cobra.Command {
	t := &target{console: c}
	var b backfill
	cmd := t.flags(&cobra.Command{
		Use:   "backfill <poller>",
		Short: "Send a range of rows again, beside the live ones",
		Long: `Backfill sends the rows of a range again: those after --from, up to and including --to. The poller itself does it: its ticks
send chunks of the range between the live rows, in the same lanes, so that the order of each key holds and no row is ever
followed by an older state of itself. The position of the live rows is not touched. Progress is kept in the state document,
so that it survives restarts; one backfill at a time.

The poller has to be running (under the host, or rowrelay run). This command asks for the backfill and shows how far it is;
Ctrl-C leaves it running.

With --name the range is sent from this process instead, with a state document of its own; its requests carry the name
(Rowrelay-Backfill, rowrelaybackfill). That is OUTSIDE the order promise: the live poller may send a newer state of a row
first. Started again under its name, without --from and --to or with the same, it goes on where it was. What it gives up are
dead letters of its own: rowrelay deadletter list orders --output backfill-NAME.`,
		Example: `  rowrelay backfill orders --from beginning --to latest --rate 500
  rowrelay backfill orders --from cursor=2026-04-07T00:00:00Z --to cursor=2026-04-08T00:00:00Z
  rowrelay backfill orders --status
  rowrelay backfill orders --stop`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return t.backfill(cmd.Context(), args[0], &b) },
	})
	cmd.PreRun = t.remember
	cmd.Flags().StringVar(&t.output, "output", "", "name of a further output (outputs__<name>); default is the poller's own")
	cmd.Flags().StringVar(&b.from, "from", "", "where the range begins: beginning or cursor=VALUE (rows after it)")
	cmd.Flags().StringVar(&b.to, "to", "", "where it ends: latest (the last row that there is now) or cursor=VALUE (rows of that value included); default is latest")
	cmd.Flags().IntVar(&b.rate, "rate", 0, "the most rows per second; 0 does not throttle")
	cmd.Flags().StringVar(&b.name, "name", "", "send it from here, under a name and a position of its own, outside the order promise")
	cmd.Flags().BoolVar(&b.status, "status", false, "show the backfill that is running")
	cmd.Flags().BoolVar(&b.stop, "stop", false, "stop it; what was sent is sent")
	cmd.Flags().BoolVar(&b.detach, "detach", false, "do not wait for its end")
	cmd.MarkFlagsMutuallyExclusive("status", "stop", "from")
	return cmd
}

// backfillView is a backfill as commands show it.
type backfillView struct {
	ID        string        `json:"id"`
	From      change.Cursor `json:"from"`
	To        change.Cursor `json:"to"`
	At        change.Cursor `json:"at"`
	PerSecond int           `json:"per_second"`
	Done      int64         `json:"done"`
	Total     int64         `json:"total"`
	StartedAt time.Time     `json:"started_at"`
	By        string        `json:"by"`
}

func backfillOf(b *state.Backfill) backfillView {
	return backfillView{b.ID, b.From, b.To, b.At, b.PerSecond, b.Done, b.Total, b.StartedAt, b.By}
}

func (v backfillView) String() string {
	text := fmt.Sprintf("%s: %d of about %d row(s)", v.ID, v.Done, v.Total)
	if v.Total > 0 {
		text += fmt.Sprintf(" (%d %%)", min(100, v.Done*100/v.Total))
	}
	if took := time.Since(v.StartedAt); v.Done > 0 && v.Total > v.Done {
		left := time.Duration(float64(took) / float64(v.Done) * float64(v.Total-v.Done))
		text += fmt.Sprintf(", about %s left", left.Round(time.Second))
	}
	return text + fmt.Sprintf(", begun %s by %s", v.StartedAt.UTC().Format(time.RFC3339), v.By)
}

func (t *target) backfill(ctx context.Context, name string, b *backfill) error {
	op, err := t.begin(ctx, name)
	defer op.end()
	if err != nil {
		return err
	}
	running := op.snap.Doc.Backfill
	switch {
	case b.status && running == nil, b.stop && running == nil:
		return op.idle("no backfill of %s is running", op.name())
	case b.status:
		if t.json {
			return json.NewEncoder(t.out).Encode(backfillOf(running))
		}
		return op.say("%s", backfillOf(running))
	case b.stop:
		return op.stopBackfill(ctx, running)
	case b.from == "" && b.name == "":
		return errors.New("say where the range begins: --from beginning or --from cursor=VALUE")
	case running != nil && b.name == "":
		return fmt.Errorf("a backfill is running (%s): stop it first (--stop)", backfillOf(running))
	case b.rate < 0:
		return errors.New("--rate must not be negative")
	}
	if b.name != "" {
		return op.namedBackfill(ctx, b)
	}
	return op.startBackfill(ctx, b)
}

// errNoRows is why there is nothing to send.
var errNoRows = errors.New("the range holds no rows: there is nothing to send")

// edges find both ends of the range and count its rows. errNoRows where there are none.
func (op *operation) edges(ctx context.Context, b *backfill) (from, to change.Cursor, total int64, err error) {
	if from, err = op.edge(ctx, "--from", b.from); err != nil {
		return nil, nil, 0, err
	}
	if to, err = op.edge(ctx, "--to", b.to); err != nil {
		return nil, nil, 0, err
	}
	if to.IsStart() {
		return nil, nil, 0, errNoRows
	}
	total, err = op.w.source.Count(ctx, change.Range{After: from, UpTo: to})
	if err == nil && total == 0 {
		err = errNoRows
	}
	return from, to, total, err
}

// edge finds one end of the range.
func (op *operation) edge(ctx context.Context, flag, text string) (change.Cursor, error) {
	value, isCursor := strings.CutPrefix(text, "cursor=")
	switch {
	case text == "" && flag == "--from":
		return nil, errors.New("say where the range begins: --from beginning or --from cursor=VALUE")
	case text == "beginning" && flag == "--from":
		return nil, nil
	case (text == "latest" || text == "") && flag == "--to":
		return op.w.source.Latest(ctx)
	case isCursor:
		return op.w.source.Position(ctx, value, nil, "after")
	}
	return nil, fmt.Errorf("%s %q is not beginning (--from), latest (--to) or cursor=VALUE", flag, text)
}

func (op *operation) startBackfill(ctx context.Context, b *backfill) error {
	from, to, total, err := op.edges(ctx, b)
	if errors.Is(err, errNoRows) {
		return op.idle("%v", err)
	}
	if err != nil {
		return err
	}
	ok, err := op.agreed(fmt.Sprintf("%d row(s) after %s and up to %s will be sent again, beside the live ones.", total, from, to))
	if err != nil || !ok {
		return err
	}
	id := strings.ToLower(rand.Text()[:8])
	_, err = op.out.keeper.Amend(ctx, func(doc *state.Document) error {
		if doc.Backfill != nil && doc.Backfill.ID != id {
			return fmt.Errorf("another backfill was begun meanwhile (%s)", backfillOf(doc.Backfill))
		}
		doc.Backfill = &state.Backfill{ID: id, From: from, To: to, At: from, PerSecond: b.rate, Total: total, StartedAt: time.Now(), By: operator()}
		return nil
	})
	if err != nil {
		return err
	}
	op.audit("backfill_begun", "backfill", id, "from", from.String(), "to", to.String(), "count", total)
	if b.detach {
		return op.done("backfill %s is asked for; rowrelay backfill %s --status shows how far it is", id, op.name())
	}
	return op.watchBackfill(ctx, id)
}

func (op *operation) stopBackfill(ctx context.Context, running *state.Backfill) error {
	ok, err := op.agreed(fmt.Sprintf("The backfill will be stopped: %s.", backfillOf(running)))
	if err != nil || !ok {
		return err
	}
	_, err = op.out.keeper.Amend(ctx, func(doc *state.Document) error {
		if doc.Backfill != nil && doc.Backfill.ID == running.ID {
			doc.Backfill = nil
		}
		return nil
	})
	if err != nil {
		return err
	}
	op.audit("backfill_stopped", "backfill", running.ID, "done", running.Done, "of", running.Total)
	return op.done("stopped")
}

// watchEvery is how often the document is read while a backfill is watched.
const watchEvery = time.Second

// watchBackfill shows progress until the backfill ends, somebody stops it, or ctx does.
func (op *operation) watchBackfill(ctx context.Context, id string) error {
	bar := newProgress(op.console)
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			bar.end()
			return op.done("the backfill goes on; rowrelay backfill %s --status shows how far it is, --stop stops it", op.name())
		case <-ticker.C:
		}
		s, err := op.out.keeper.Load(ctx)
		switch {
		case ctx.Err() != nil:
			continue
		case err != nil:
			bar.end()
			return err
		case s.Doc.Backfill == nil || s.Doc.Backfill.ID != id:
			bar.end()
			return op.done("backfill %s has ended", id)
		}
		bar.show(s.Doc.Backfill.Done, s.Doc.Backfill.Total, backfillOf(s.Doc.Backfill).String())
	}
}
