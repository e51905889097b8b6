package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

func newState(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "state",
		Short: "Show or reset a poller's checkpoint",
		Args:  cobra.NoArgs,
	}
	var output string
	cmd.PersistentFlags().StringVar(&output, "output", "", "name of a further output (outputs__<name>); default is the poller's own")
	show := &cobra.Command{
		Use:   "show <poller>",
		Short: "Show position, lease and source of a poller",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return showState(cmd.Context(), c, args[0], output)
		},
	}
	var to string
	var yes bool
	reset := &cobra.Command{
		Use:   "reset <poller> --to beginning|accept-fingerprint|accept-gap",
		Short: "Change a poller's position, or accept a changed source",
		Long: `Reset changes the state document of a poller by one compare-and-swap, and refuses while an instance holds its lease:
stop it first.

  --to beginning           the next tick starts before the first row: every row is delivered again
  --to accept-fingerprint  go on at the stored position although the source definition changed
  --to accept-gap          go on at the stored position although the database was restored, failed over or replaced`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return resetState(cmd.Context(), c, args[0], output, to, yes)
		},
	}
	reset.Flags().StringVar(&to, "to", "", "beginning, accept-fingerprint or accept-gap")
	reset.Flags().BoolVar(&yes, "yes", false, "do not ask")
	_ = reset.MarkFlagRequired("to") // it fails only for a flag that does not exist
	cmd.AddCommand(show, reset)
	return cmd
}

// openState finds the parts of one output of one poller. Other pollers' faults do not matter here.
func openState(c *console, name, output string) (*app, *wired, *wiredOutput, error) {
	cfg, err := load(c)
	if err != nil {
		return nil, nil, nil, err
	}
	a := wire(c, cfg)
	w, err := a.poller(strings.ToLower(name))
	if err != nil {
		return nil, nil, nil, errors.Join(err, a.Close())
	}
	if err := refuse(cfg, []*wired{w}); err != nil {
		return nil, nil, nil, errors.Join(err, a.Close())
	}
	for _, out := range w.outputs {
		if out.cfg.Name == output {
			return a, w, out, nil
		}
	}
	return nil, nil, nil, errors.Join(fmt.Errorf("poller %s has no output %q", name, output), a.Close())
}

// stateView is what `state show --json` prints. Times are UTC.
type stateView struct {
	Document    string        `json:"document"`
	Poller      string        `json:"poller"`
	Position    change.Cursor `json:"position"`
	BatchID     string        `json:"last_successful_batch_id"`
	UpdatedAt   time.Time     `json:"updated_at"`
	Fingerprint string        `json:"source_fingerprint"`
	Incarnation string        `json:"incarnation"`
	Token       uint64        `json:"fencing_token,string"`
	Owner       string        `json:"owner"`
	HeartbeatAt time.Time     `json:"heartbeat_at"`
	ExpiresAt   time.Time     `json:"expires_at"`
	Held        string        `json:"held"` // "" when the lease is free
}

func viewOf(out *wiredOutput, s *state.Snapshot) stateView {
	v := stateView{
		Document: out.key, Poller: s.Doc.PollerName, Position: s.Doc.Checkpoint.Cursor, BatchID: s.Doc.Checkpoint.LastBatchID,
		UpdatedAt: s.Doc.Checkpoint.UpdatedAt, Fingerprint: s.Doc.SourceFingerprint, Incarnation: s.Doc.Checkpoint.Incarnation,
		Token: s.Doc.Lease.FencingToken, Owner: s.Doc.Lease.OwnerID, HeartbeatAt: s.Doc.Lease.HeartbeatAt, ExpiresAt: s.Doc.Lease.ExpiresAt,
	}
	if held := s.Held(); held != nil {
		v.Held = held.Error()
	}
	return v
}

func showState(ctx context.Context, c *console, name, output string) error {
	a, _, out, err := openState(c, name, output)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }() // nothing was written
	s, err := out.keeper.Load(ctx)
	if errors.Is(err, state.ErrNotFound) {
		return fmt.Errorf("%s: there is no state document yet: the first tick that runs creates it", out.key)
	}
	if err != nil {
		return err
	}
	view := viewOf(out, s)
	if c.json {
		return json.NewEncoder(c.out).Encode(view)
	}
	return printState(c.out, &view)
}

func printState(w io.Writer, v *stateView) error {
	lease := "free"
	switch {
	case v.Held != "":
		lease = v.Held
	case v.Owner != "":
		lease = fmt.Sprintf("expired (last held by %s until %s)", v.Owner, v.ExpiresAt.Format(time.RFC3339))
	}
	_, err := fmt.Fprintf(w, `poller       %s
document     %s
position     %s
last batch   %s
committed    %s
source       %s
incarnation  %s
lease        %s
token        %d
`, v.Poller, v.Document, v.Position, orNone(v.BatchID), orNever(v.UpdatedAt), v.Fingerprint, orNone(v.Incarnation), lease, v.Token)
	return err
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func orNever(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func resetState(ctx context.Context, c *console, name, output, to string, yes bool) error {
	a, w, out, err := openState(c, name, output)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }() // the document is written or not by now
	s, err := out.keeper.Load(ctx)
	var unreadable *state.DocumentError
	switch {
	case errors.Is(err, state.ErrNotFound):
		return fmt.Errorf("%s: there is no state document, so there is nothing to reset", out.key)
	case errors.As(err, &unreadable):
		return resetUnreadable(ctx, c, w, out, unreadable, to, yes)
	case err != nil:
		return err
	}
	if held := s.Held(); held != nil {
		return fmt.Errorf("%w: stop that instance first, or wait for the lease to expire", held)
	}
	edit, what, err := editFor(ctx, w.source, s, to)
	if err != nil {
		return err
	}
	if edit == nil {
		_, err := fmt.Fprintln(c.out, what)
		return err
	}
	if _, err := fmt.Fprintf(c.out, "%s\n  document  %s\n  position  %s\n", what, out.key, s.Doc.Checkpoint.Cursor); err != nil {
		return err
	}
	if !yes {
		if err := confirm(c, s.Doc.PollerName); err != nil {
			return err
		}
	}
	if _, err := out.keeper.Edit(ctx, s, edit); err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.out, "done")
	return err
}

// resetUnreadable writes a fresh document over one that cannot be read. One that only a newer binary can read is none.
func resetUnreadable(ctx context.Context, c *console, w *wired, out *wiredOutput, fault *state.DocumentError, to string, yes bool) error {
	if to != "beginning" || fault.Fault == state.OtherVersion || fault.Fault == state.UnknownRequires {
		return fault
	}
	source, err := w.source.Describe(ctx)
	if err != nil {
		return fmt.Errorf("describing the source: %w", err)
	}
	if _, err := fmt.Fprintf(c.out, "%v\nIt will be written anew: every row of the source will be delivered again, from the beginning.\nStop every instance of this poller first: whether one holds the lease cannot be read.\n", fault); err != nil {
		return err
	}
	if !yes {
		if err := confirm(c, w.cfg.Name); err != nil {
			return err
		}
	}
	if _, err := out.keeper.Reset(ctx, source.Fingerprint, "", nil); err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.out, "done")
	return err
}

// editFor returns the change that --to asks for, nil when there is nothing to change, and what it means.
func editFor(ctx context.Context, src poller.Source, s *state.Snapshot, to string) (func(*state.Document), string, error) {
	switch to {
	case "beginning":
		return func(d *state.Document) {
			d.Checkpoint.Cursor, d.Checkpoint.Incarnation = nil, ""
		}, "Every row of the source will be delivered again, from the beginning.", nil
	case "accept-fingerprint":
		source, err := src.Describe(ctx)
		if err != nil {
			return nil, "", fmt.Errorf("describing the source: %w", err)
		}
		if source.Fingerprint == s.Doc.SourceFingerprint {
			return nil, "The stored fingerprint is that of the settings: there is nothing to accept.", nil
		}
		return func(d *state.Document) { d.SourceFingerprint = source.Fingerprint },
			fmt.Sprintf("The poller will go on at the stored position with the source as it is defined now.\n  stored    %s\n  settings  %s\n"+
				"Rows that the new definition has behind that position will not be delivered.", s.Doc.SourceFingerprint, source.Fingerprint), nil
	case "accept-gap":
		if s.Doc.Checkpoint.Incarnation == "" {
			return nil, "The document names no incarnation: there is no gap to accept.", nil
		}
		// The next commit records the incarnation that it finds.
		return func(d *state.Document) { d.Checkpoint.Incarnation = "" },
			"The poller will go on at the stored position in the database as it is now. Rows that were written before the restore or " +
				"failover and have been lost since are not missed; rows that were written again behind the position are not delivered.", nil
	default:
		return nil, "", fmt.Errorf("--to %q is not beginning, accept-fingerprint or accept-gap", to)
	}
}

// confirm asks for the poller's name.
func confirm(c *console, name string) error {
	if _, err := fmt.Fprintf(c.out, "Type the poller's name to go on (%s): ", name); err != nil {
		return err
	}
	line, err := bufio.NewReader(c.in).ReadString('\n')
	if strings.TrimSpace(line) == name {
		return nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	return errors.New("not confirmed: nothing was changed (--yes goes on without asking)")
}
