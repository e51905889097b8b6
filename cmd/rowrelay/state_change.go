package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/status"
)

// operation is one operator's work on one document: what was found, and what is about to be done.
type operation struct {
	*target
	app  *app
	w    *wired
	out  *wiredOutput
	snap *state.Snapshot
}

// begin opens a poller's document. Errors say what is missing; *state.DocumentError is one that cannot be read.
func (t *target) begin(ctx context.Context, name string) (*operation, error) {
	a, w, out, err := t.open(ctx, name)
	if err != nil {
		return nil, err
	}
	op := &operation{target: t, app: a, w: w, out: out}
	op.snap, err = out.keeper.Load(ctx)
	if errors.Is(err, state.ErrNotFound) {
		err = &status.Refusal{Err: fmt.Errorf("%s: there is no state document yet: the first tick that runs creates it", out.key), Missing: true}
	}
	return op, err
}

// end closes connections; what was to be written is written by now.
func (op *operation) end() {
	if op != nil && op.remote == nil {
		_ = op.app.Close()
	}
}

// free refuses while an instance holds the lease.
func (op *operation) free() error {
	if held := op.snap.Held(); held != nil {
		return op.busy(held)
	}
	return nil
}

// busy says that somebody holds the lease, and what to do.
func (op *operation) busy(held *state.HeldError) error {
	if strings.HasPrefix(op.output, backfillPrefix) {
		return fmt.Errorf("%w: stop the process that sends this backfill (Ctrl-C), which gives the lease back; where it has died, wait "+
			"until the lease has run out", held)
	}
	return fmt.Errorf("%w: pause the poller first (rowrelay state pause %s), which makes it give the lease back; "+
		"for a holder that has died, wait, or take the lease from it (rowrelay state reset %[2]s --break-lease)", held, op.address())
}

func (op *operation) name() string { return op.snap.Doc.PollerName }

// address is how commands name the document.
func (op *operation) address() string { return poller.Address(op.name(), op.output) }

// named puts the document into the commands that an error of the source advises.
func (op *operation) named(err error) error { return poller.NameDocument(err, op.address()) }

// say writes a line for the person at the console. With --json standard output is the result's: see done.
func (t *target) say(format string, args ...any) error {
	to := t.out
	if t.json {
		to = t.err
	}
	_, err := fmt.Fprintf(to, format+"\n", args...)
	return err
}

// outcome is what a command that changes something prints with --json: one line.
type outcome struct {
	Done   bool   `json:"done"` // false: nothing was changed and nothing failed, or it was stopped
	Result string `json:"result"`
}

// done says how a command ended that has done what it was for, as its last line.
func (t *target) done(format string, args ...any) error { return t.outcome(true, format, args...) }

// idle says why a command has changed nothing, as its last line.
func (t *target) idle(format string, args ...any) error { return t.outcome(false, format, args...) }

// stopped says as the last line how far a command came that was stopped, which fails.
func (t *target) stopped(format string, args ...any) error {
	if err := t.outcome(false, format, args...); err != nil {
		return err
	}
	return &exitError{fmt.Errorf(format, args...)}
}

func (t *target) outcome(done bool, format string, args ...any) error {
	if t.remote != nil {
		t.remote.said = outcome{done, fmt.Sprintf(format, args...)}
		return nil
	}
	if !t.json {
		return t.say(format, args...)
	}
	return json.NewEncoder(t.out).Encode(outcome{done, fmt.Sprintf(format, args...)})
}

// agreed shows what is about to be done and asks for the poller's name. It is false for a dry run.
func (op *operation) agreed(what string) (bool, error) {
	if err := op.say("%s\n  document  %s\n  delivered as far as  %s", what, op.out.key, op.reached()); err != nil {
		return false, err
	}
	if op.dryRun {
		return false, op.idle("dry run: nothing was changed")
	}
	if op.yes {
		return true, nil
	}
	return true, confirm(op.console, op.name())
}

// edit changes the document where nobody holds the lease.
func (op *operation) edit(ctx context.Context, what string, edit func(*state.Document)) error {
	ok, err := op.agreed(what)
	if err != nil || !ok {
		return err
	}
	if _, err := op.out.keeper.Edit(ctx, op.snap, edit); err != nil {
		return err
	}
	return op.done("done")
}

// audit writes to the log what an operator did: who, what, from where to where.
func (op *operation) audit(event string, args ...any) {
	op.auditLog(op.app.cfg).Warn("an operator changed the state",
		append([]any{"event", event, "poller", op.name(), "output", op.output, "by", op.who()}, args...)...)
}

// operator names the person at the console, as far as the system knows.
func operator() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return name + "@" + host
}

// reached is how far rows were delivered: with overlap the checkpoint is the window's low edge, behind it.
func (op *operation) reached() change.Cursor {
	doc := &op.snap.Doc
	if doc.Late.Mode == string(late.Overlap) && !doc.Late.Frontier.IsStart() {
		return doc.Late.Frontier
	}
	return doc.Checkpoint.Cursor
}

// distance counts the rows between two positions: those that are sent again when the second is the earlier one, and those that
// are skipped when it is the later one. -1: they could not be counted.
type distance struct {
	again, skipped int64
	// atMost says that skipped are all rows up to the new position, because the old one is not one of this source.
	atMost bool
}

func (op *operation) distance(ctx context.Context, from, to change.Cursor) (d distance, err error) {
	count := func(after, upTo change.Cursor) (int64, error) {
		if upTo.IsStart() {
			return 0, nil // nothing lies before the beginning
		}
		return op.w.source.Count(ctx, change.Range{After: after, UpTo: upTo})
	}
	if d.again, err = count(to, from); err != nil {
		if to.IsStart() {
			return distance{again: -1}, err // nothing can be skipped by going there
		}
		return distance{again: -1, skipped: -1}, err
	}
	d.skipped, err = count(from, to)
	if err != nil {
		return distance{again: -1, skipped: -1}, err
	}
	return d, nil
}

func (d distance) String() string {
	switch {
	case d.atMost && d.skipped > 0:
		return fmt.Sprintf("at most %d row(s) up to there will be SKIPPED: they are never delivered, which is data loss where they were not "+
			"delivered before", d.skipped)
	case d.atMost && d.skipped == 0:
		return "every row after that will be delivered"
	case d.again < 0 || d.skipped < 0:
		return "how many rows lie between could not be counted"
	case d.skipped > 0:
		return fmt.Sprintf("%d row(s) will be SKIPPED: they are never delivered, which is data loss", d.skipped)
	default:
		return fmt.Sprintf("%d row(s) will be delivered again", d.again)
	}
}

// skip notes an advance in the document.
func skip(doc *state.Document, from, to change.Cursor, rows int64) {
	doc.Skips = append(doc.Skips, state.Skip{At: time.Now(), By: operator(), From: from, To: to, Rows: rows})
	if n := len(doc.Skips) - state.MaxSkips; n > 0 {
		doc.Skips = doc.Skips[n:]
	}
}

// forget notes rows that were parked and are dropped: nobody sends them any more, wherever the position is.
func forget(doc *state.Document, rows int64) {
	skip(doc, doc.Checkpoint.Cursor, doc.Checkpoint.Cursor, rows)
}

// move puts the checkpoint somewhere else: the memory of late commits belongs to the old position, and is forgotten.
func move(doc *state.Document, to change.Cursor) {
	doc.Checkpoint.Cursor = to
	doc.Late = state.Late{Mode: doc.Late.Mode}
}

// confirm asks for the poller's name. Ctrl-C ends it at once.
func confirm(c *console, name string) error {
	to := c.out
	if c.json {
		to = c.err
	}
	if _, err := fmt.Fprintf(to, "Type the poller's name to go on (%s): ", name); err != nil {
		return err
	}
	if c.lines == nil {
		c.lines = bufio.NewReader(c.in)
	}
	type answer struct {
		line string
		err  error
	}
	answers := make(chan answer, 1)
	go func() { // a read from a terminal cannot be stopped: it ends with the process
		line, err := c.lines.ReadString('\n')
		answers <- answer{line, err}
	}()
	var line string
	var err error
	select {
	case a := <-answers:
		line, err = a.line, a.err
	case <-c.stop:
		if _, err := fmt.Fprintln(to); err != nil {
			return err
		}
		return errors.New("stopped: nothing was changed")
	}
	if strings.TrimSpace(line) == name {
		return nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	return errors.New("not confirmed: nothing was changed (--yes goes on without asking)")
}
