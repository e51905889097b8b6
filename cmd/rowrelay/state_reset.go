package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/status"
)

// reset is what the flags of `state reset` say.
type reset struct {
	to         string            // beginning, latest, cursor=…, file=…
	key        map[string]string // --key column=value
	ties       string            // --ties before|after
	parked     string            // --parked keep|drop
	breakLease bool
}

func newStateReset(t *target) *cobra.Command {
	var r reset
	cmd := t.flags(&cobra.Command{
		Use:   "reset <poller> --to beginning|latest|cursor=VALUE|file=PATH",
		Short: "Put a poller's position somewhere else",
		Long: `Reset moves the checkpoint by one compare-and-swap. It forgets the memory of late commits, and asks what shall become
of parked events. Where the source's definition or source__late_commits has changed since, it accepts what the settings have now.
It is refused while an instance holds the lease: pause the poller first.

  --to beginning     before the first row: every row is delivered again
  --to latest        after the last row that there is now: what lies between is skipped
  --to cursor=VALUE  with --key for every key column: after exactly that row;
                     with --ties=after: after all rows of that value; with --ties=before: before them
  --to file=PATH     what "rowrelay state export" wrote

Rows that are skipped are never delivered. That is data loss: it is logged as checkpoint_advanced_manually, counted by
rowrelay_skipped_rows_total, and listed by "rowrelay state show".

--break-lease takes the lease away from whoever holds it, raises the fencing token, and delivers nothing. It is for a holder
that is known to be dead: one that is alive may go on delivering for a moment, under the lower token, beside the next one.
Pause the poller first. Alone, without --to, it does only that.`,
		Example: `  rowrelay state reset orders --to beginning --dry-run
  rowrelay state reset orders --to cursor=2026-04-07T01:23:45Z --ties before
  rowrelay state reset orders --to cursor=4711 --key id=12 --key line=3`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return t.reset(cmd.Context(), args[0], &r) },
	})
	cmd.Flags().StringVar(&r.to, "to", "", "beginning, latest, cursor=VALUE or file=PATH")
	cmd.Flags().StringToStringVar(&r.key, "key", nil, "a key column and its value, as `column=value`, for --to cursor=; once for each")
	cmd.Flags().Lookup("key").DefValue = "" // none, which help need not say as []
	cmd.Flags().StringVar(&r.ties, "ties", "", "before or after all rows of the value of --to cursor=")
	cmd.Flags().StringVar(&r.parked, "parked", "", "keep or drop the parked events (asked for where there are some)")
	cmd.Flags().BoolVar(&r.breakLease, "break-lease", false, "take the lease away from a holder that is dead")
	return cmd
}

func (t *target) reset(ctx context.Context, name string, r *reset) error {
	if r.to == "" && !r.breakLease {
		return errors.New("say where to: --to beginning, latest, cursor=VALUE or file=PATH")
	}
	op, err := t.begin(ctx, name)
	defer op.end()
	var unreadable *state.DocumentError
	if errors.As(err, &unreadable) {
		return op.rewrite(ctx, unreadable, r.to)
	}
	if err != nil {
		return err
	}
	// Everything is found out before anything is changed, the lease included.
	held := op.snap.Held()
	if held != nil && !r.breakLease {
		return op.free()
	}
	var what []string
	if held != nil {
		what = append(what, fmt.Sprintf("The lease will be taken away: %v.\nIf that instance is alive, it may deliver for a moment longer under token %d.",
			held, held.Token))
	}
	if r.to == "" {
		if held == nil {
			return op.idle("nobody holds the lease: there is nothing to break")
		}
		ok, err := op.agreed(what[0])
		if err != nil || !ok {
			return err
		}
		if err := op.breakLease(ctx, held); err != nil {
			return err
		}
		return op.done("the lease is free, the token is %d", op.snap.Doc.Lease.FencingToken)
	}
	m, err := op.plan(ctx, r)
	if err != nil {
		return err
	}
	ok, err := op.agreed(strings.Join(append(what, m.String()), "\n"))
	if err != nil || !ok {
		return err
	}
	if held != nil {
		if err := op.breakLease(ctx, held); err != nil {
			return err
		}
		if err := op.say("the lease is free, the token is %d", op.snap.Doc.Lease.FencingToken); err != nil {
			return err
		}
	}
	if err := op.carryOut(ctx, m); err != nil {
		return err
	}
	op.forgetNote(ctx)
	return nil
}

// forgetNote deletes what ticks have noted for the status page: it tells of the position of before. It is for looking at. Where it
// cannot be deleted, the next tick that does something replaces it.
func (op *operation) forgetNote(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, statusBound)
	defer cancel()
	key := status.NoteKey(op.app.cfg.State.AppName, op.w.cfg.Name, op.output)
	if found, err := op.app.store.Load(ctx, key); err == nil {
		_ = op.app.store.Delete(ctx, key, found.Version) // else a tick has just written another
	}
}

// position finds where --to leads.
func (op *operation) position(ctx context.Context, r *reset) (change.Cursor, error) {
	value, isCursor := strings.CutPrefix(r.to, "cursor=")
	path, isFile := strings.CutPrefix(r.to, "file=")
	if !isCursor && (len(r.key) > 0 || r.ties != "") {
		return nil, errors.New("--key and --ties belong to --to cursor=VALUE")
	}
	switch {
	case r.to == "beginning":
		return nil, nil
	case r.to == "latest":
		return op.w.source.Latest(ctx)
	case isCursor:
		return op.w.source.Position(ctx, value, r.key, r.ties)
	case isFile:
		return op.exported(ctx, path)
	}
	return nil, fmt.Errorf("--to %q is not beginning, latest, cursor=VALUE or file=PATH", r.to)
}

// exported reads the position that `state export` wrote.
func (op *operation) exported(ctx context.Context, path string) (change.Cursor, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--to file=: %w", err)
	}
	var x export
	if err := json.Unmarshal(data, &x); err != nil || x.Format != exportFormat {
		return nil, fmt.Errorf("--to file=%s: this is not what `rowrelay state export` writes", path)
	}
	source, err := op.w.source.Describe(ctx)
	if err != nil {
		return nil, fmt.Errorf("describing the source: %w", err)
	}
	if x.Fingerprint != source.Fingerprint {
		return nil, fmt.Errorf("--to file=%s: it was written for another source definition (its fingerprint is %s, that of the settings %s)",
			path, x.Fingerprint, source.Fingerprint)
	}
	_, incarnation, err := op.w.source.Start(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking the database which one it is: %w", err)
	}
	if relation, _ := op.w.source.Compare(x.Incarnation, incarnation); relation != checkpointed.SameDatabase {
		return nil, fmt.Errorf("--to file=%s: it was written in another database, or before this one was restored or failed over "+
			"(incarnation %s, now %s): what lies behind that position here is not what was delivered. Use --to beginning, or --to "+
			"cursor=VALUE where you know what was; to go on at the stored position: rowrelay state accept-gap %s",
			path, x.Incarnation, incarnation, op.address())
	}
	return x.Position, nil
}

// dropParked decides what becomes of parked events.
func (op *operation) dropParked(flag string) (bool, error) {
	n := op.snap.Doc.Parked.Count
	switch {
	case flag == "keep" || flag == "" && n == 0:
		return false, nil
	case flag == "drop":
		return true, nil
	case flag != "":
		return false, fmt.Errorf("--parked %q is not keep or drop", flag)
	}
	return false, fmt.Errorf("%d event(s) are parked: say --parked keep (they are tried again as they are due) or --parked drop "+
		"(they are forgotten: right where the new position brings their rows again, or where source__key has changed)", n)
}

// breakLease takes the lease away.
func (op *operation) breakLease(ctx context.Context, held *state.HeldError) (err error) {
	token := op.snap.Doc.Lease.FencingToken
	if op.snap, err = op.out.keeper.BreakLease(ctx, op.snap); err != nil {
		return err
	}
	op.audit("lease_broken_manually", "holder", held.Owner, "token_before", token, "token", op.snap.Doc.Lease.FencingToken)
	return nil
}

// rewrite writes a fresh document over one that cannot be read. One that only a newer binary can read is none.
func (op *operation) rewrite(ctx context.Context, fault *state.DocumentError, to string) error {
	if to != "beginning" || fault.Fault == state.OtherVersion || fault.Fault == state.UnknownRequires {
		return fault
	}
	source, err := op.w.source.Describe(ctx)
	if err != nil {
		return fmt.Errorf("describing the source: %w", err)
	}
	if err := op.say("%v\nIt will be written anew: every row of the source will be delivered again, from the beginning.\n"+
		"Stop every instance of this poller first: whether one holds the lease cannot be read.", fault); err != nil {
		return err
	}
	if op.dryRun {
		return op.idle("dry run: nothing was changed")
	}
	if !op.yes {
		if err := confirm(op.console, op.w.cfg.Name); err != nil {
			return err
		}
	}
	if _, err := op.out.keeper.Reset(ctx, source.Fingerprint, "", nil); err != nil {
		return err
	}
	op.forgetNote(ctx)
	return op.done("done")
}
