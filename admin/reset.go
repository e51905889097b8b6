package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/status"
)

// Reset says where a position is moved to.
type Reset struct {
	To         string            // beginning, latest, snapshot, cursor=VALUE, file=PATH; "" only breaks the lease
	Key        map[string]string // with cursor=: of exactly this row
	Ties       string            // with cursor=: before or after all rows of the value
	Parked     string            // keep or drop the parked events; it has to be said where there are some
	BreakLease bool              // take the lease from whoever holds it
}

// Reset moves the position, and forgets the memory of late commits. Where the source has changed since, it accepts what
// the settings have now. A document that cannot be read is written anew, at the beginning. Where only the lease is
// broken, the move is zero but for its plan.
func (d *Document) Reset(ctx context.Context, r *Reset) (*Move, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	err := d.load(ctx)
	var unreadable *state.DocumentError
	if errors.As(err, &unreadable) {
		return d.rewrite(ctx, unreadable.Fault, poller.NameDocument(unreadable, d.address()), r.To)
	}
	if err != nil {
		return nil, err
	}
	// Everything is found out before anything is changed, the lease included.
	held := d.snap.Held()
	switch {
	case held != nil && !r.BreakLease:
		return nil, d.busy(held)
	case held == nil && r.To == "":
		return nil, nothing("nobody holds the lease: there is nothing to break")
	case r.To == "":
		return &Move{Plan: d.breaking(held)}, nil
	}
	m, err := d.move(ctx, r)
	if err != nil {
		return m, err
	}
	texts := []string{m.text()}
	m.apply = func(ctx context.Context, _ *Result) error { return m.carryOut(ctx) }
	if held != nil {
		first := d.breaking(held)
		texts = append([]string{first.What}, texts...)
		m.apply = func(ctx context.Context, r *Result) error {
			if err := first.apply(ctx, r); err != nil {
				return err
			}
			r.note("%s", r.Text)
			r.Text = ""
			return m.carryOut(ctx)
		}
	}
	p := d.plan("%s", strings.Join(texts, "\n"))
	m.What, m.Key, m.Reached = p.What, p.Key, p.Reached
	return m, nil
}

// check refuses what makes no sense, whatever the document says.
func (r *Reset) check() error {
	form, _, _ := strings.Cut(r.To, "=")
	switch {
	case r.To == "" && !r.BreakLease:
		return mistake("say where to: --to beginning, latest, snapshot, cursor=VALUE or file=PATH")
	case r.To == "" && (len(r.Key) > 0 || r.Ties != "" || r.Parked != ""):
		return mistake("--key, --ties and --parked belong to --to: --break-lease alone moves no position")
	case r.To == "" || r.To == "beginning" || r.To == "latest" || r.To == "snapshot":
	case r.To == "accept-fingerprint" || r.To == "accept-gap": // as it was written once
		return mistake("%[1]s is a command of its own now: rowrelay state %[1]s <poller>", r.To)
	case form == r.To || form != "cursor" && form != "file":
		return mistake("--to %q is not beginning, latest, snapshot, cursor=VALUE or file=PATH", r.To)
	}
	if form != "cursor" && (len(r.Key) > 0 || r.Ties != "") {
		return mistake("--key and --ties belong to --to cursor=VALUE")
	}
	if r.Ties != "" && r.Ties != "before" && r.Ties != "after" {
		return mistake("--ties %q is not before or after", r.Ties)
	}
	return nil
}

// breaking takes the lease away from whoever holds it, and raises the fencing token.
func (d *Document) breaking(held *state.HeldError) Plan {
	p := d.plan("The lease will be taken away: %v.\nIf that instance is alive, it may deliver for a moment longer, under "+
		"token %d.", held, held.Token)
	p.apply = func(ctx context.Context, r *Result) error {
		before := d.snap.Doc.Lease.FencingToken
		after, err := d.Keeper.BreakLease(ctx, d.snap)
		if err != nil {
			return err
		}
		d.snap = after
		token := after.Doc.Lease.FencingToken
		d.audit("lease_broken_manually", "holder", held.Owner, "token_before", before, "token", token)
		r.say("the lease is free, the token is %d", token)
		return nil
	}
	return p
}

// rewrite writes a new document over one that cannot be read, for the reason why. It does not touch one that a newer
// binary can read.
func (d *Document) rewrite(ctx context.Context, fault state.DocumentFault, why error, to string) (*Move, error) {
	if to != "beginning" || fault == state.OtherVersion || fault == state.UnknownRequires {
		return nil, why
	}
	source, err := d.Source.Describe(ctx)
	if err != nil {
		return nil, err
	}
	m := &Move{d: d}
	m.What = fmt.Sprintf("%v\nIt will be written anew: every row of the source will be delivered again, from the "+
		"beginning.\nStop every instance of this poller first: whether one holds the lease cannot be read.", why)
	m.apply = func(ctx context.Context, _ *Result) error {
		if _, err := d.Keeper.Reset(ctx, source.Fingerprint, "", nil); err != nil {
			return err
		}
		d.forgetNote(ctx)
		return nil
	}
	return m, nil
}

// drops decides what becomes of n parked events.
func drops(parked string, n int) (bool, error) {
	switch {
	case parked == "keep" || parked == "" && n == 0:
		return false, nil
	case parked == "drop":
		return true, nil
	case parked != "":
		return false, mistake("--parked %q is not keep or drop", parked)
	}
	return false, &Refusal{Err: fmt.Errorf("%d event(s) are parked", n),
		Remedy: "say --parked keep (they are tried again as they " +
			"are due) or --parked drop (they are forgotten: right where the new position brings their rows again, or where " +
			"source__key has changed)"}
}

// auditDropped writes to the log which parked rows were dropped.
func (d *Document) auditDropped(entries []parking.Entry) {
	for i := range entries {
		e := &entries[i]
		d.audit("parked_dropped_manually", "id", e.ID, "key", string(e.Key), "order_key", string(e.OrderKey),
			"cursor", string(e.Cursor), "followers", len(e.Followers))
	}
}

// noteBound is how long it is tried to delete a note.
const noteBound = 5 * time.Second

// forgetNote deletes what ticks have noted for the status page: it tells of the position of before. It is for looking
// at: where it cannot be deleted, the next tick that does something replaces it.
func (d *Document) forgetNote(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, noteBound)
	defer cancel()
	key := status.NoteKey(d.App, d.Poller, d.Output)
	if found, err := d.Store.Load(ctx, key); err == nil {
		_ = d.Store.Delete(ctx, key, found.Version) // else a tick has just written another
	}
}
