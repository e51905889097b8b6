package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/state"
)

func newStateShow(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "show <poller>",
		Short: "Show position, lease, parked events, skips and source of a poller",
		Args:  cobra.ExactArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return t.show(cmd.Context(), args[0]) },
	}
}

// stateView is what `state show --json` prints. Times are UTC.
type stateView struct {
	Document    string          `json:"document"`
	Poller      string          `json:"poller"`
	Position    change.Cursor   `json:"position"`
	BatchID     string          `json:"last_successful_batch_id"`
	UpdatedAt   time.Time       `json:"updated_at"`
	Fingerprint string          `json:"source_fingerprint"`
	Incarnation string          `json:"incarnation"`
	Token       uint64          `json:"fencing_token,string"`
	Owner       string          `json:"owner"`
	HeartbeatAt time.Time       `json:"heartbeat_at"`
	ExpiresAt   time.Time       `json:"expires_at"`
	Held        string          `json:"held"` // "" when the lease is free
	Late        *lateView       `json:"late_commits,omitempty"`
	Paused      *pausedView     `json:"paused,omitempty"`
	Backfill    *admin.Backfill `json:"backfill,omitempty"`
	Parked      []parking.Entry `json:"parked"`
	Skips       []skipView      `json:"skips"`
}

// lateView tells how late commits are handled. With overlap, the position is the window's low edge.
type lateView struct {
	Mode       string        `json:"mode"`
	Frontier   change.Cursor `json:"frontier,omitempty"`
	Remembered int           `json:"remembered"`
}

type pausedView struct {
	At    time.Time `json:"at"`
	Until time.Time `json:"until,omitzero"` // when it ends by itself
	By    string    `json:"by"`
}

type skipView struct {
	At   time.Time     `json:"at"`
	By   string        `json:"by"`
	From change.Cursor `json:"from"`
	To   change.Cursor `json:"to"`
	Rows int64         `json:"rows"` // -1 when they could not be counted
}

func viewOf(out *inspect.WiredOutput, s *state.Snapshot) stateView {
	doc := &s.Doc
	v := stateView{
		Document: out.Key, Poller: doc.PollerName, Position: doc.Checkpoint.Cursor, BatchID: doc.Checkpoint.LastBatchID,
		UpdatedAt: doc.Checkpoint.UpdatedAt, Fingerprint: doc.SourceFingerprint, Incarnation: doc.Checkpoint.Incarnation,
		Token: doc.Lease.FencingToken, Owner: doc.Lease.OwnerID, HeartbeatAt: doc.Lease.HeartbeatAt,
		ExpiresAt: doc.Lease.ExpiresAt,
		Backfill:  admin.BackfillOf(doc.Backfill), Parked: []parking.Entry{}, Skips: []skipView{},
	}
	if held := s.Held(); held != nil {
		v.Held = held.Error()
	}
	if doc.Late.Mode != "" {
		v.Late = &lateView{Mode: doc.Late.Mode, Frontier: doc.Late.Frontier, Remembered: doc.Late.Memory.Count}
		if doc.Late.Mode == string(late.Overlap) {
			v.Late.Frontier = checkpointed.Frontier(doc)
		}
	}
	if p := s.Paused(); p != nil {
		v.Paused = &pausedView{At: p.At, Until: p.Until, By: p.By}
	}
	for _, s := range doc.Skips {
		v.Skips = append(v.Skips, skipView{At: s.At, By: s.By, From: s.From, To: s.To, Rows: s.Rows})
	}
	return v
}

func (t *target) show(ctx context.Context, name string) error {
	return t.onDocument(ctx, name, func(d *managedDocument) error {
		s, err := d.Snapshot(ctx)
		if err != nil {
			return err
		}
		view := viewOf(d.out, s)
		if view.Parked, err = parking.Read(ctx, d.Keeper, &s.Doc); err != nil {
			return err
		}
		if t.json {
			encoder := json.NewEncoder(t.out)
			encoder.SetEscapeHTML(false)
			return encoder.Encode(view)
		}
		return printState(t.out, &view)
	})
}

func printState(w io.Writer, v *stateView) error {
	lease := "free"
	switch {
	case v.Held != "":
		lease = v.Held
	case v.Owner != "":
		lease = fmt.Sprintf("expired (last held by %s until %s)", v.Owner, v.ExpiresAt.Format(time.RFC3339))
	}
	p := &printer{w: w}
	p.line("poller       %s", v.Poller)
	p.line("document     %s", v.Document)
	p.line("position     %s", v.Position)
	if v.Late != nil {
		mode := v.Late.Mode
		if v.Late.Mode == string(late.Overlap) {
			mode += fmt.Sprintf(": the position is the window's low edge; delivered as far as %s, %d row(s) remembered",
				v.Late.Frontier, v.Late.Remembered)
		}
		p.line("late commits %s", mode)
	}
	p.line("last batch   %s", cmp.Or(v.BatchID, "none"))
	p.line("committed    %s", orNever(v.UpdatedAt))
	p.line("source       %s", v.Fingerprint)
	p.line("incarnation  %s", cmp.Or(v.Incarnation, "none"))
	p.line("lease        %s", lease)
	p.line("token        %d", v.Token)
	if v.Paused != nil {
		ends := ""
		if !v.Paused.Until.IsZero() {
			ends = ", until " + v.Paused.Until.UTC().Format(time.RFC3339) + " at the latest"
		}
		p.line("paused       since %s by %s%s", v.Paused.At.UTC().Format(time.RFC3339), v.Paused.By, ends)
	}
	if v.Backfill != nil {
		p.line("backfill     %s", v.Backfill)
	}
	for _, e := range v.Parked {
		p.line("parked       %s", parkedLine(&e))
	}
	for _, s := range v.Skips {
		rows := fmt.Sprintf("%d row(s)", s.Rows)
		if s.Rows < 0 {
			rows = "rows that could not be counted"
		}
		p.line("SKIPPED      %s by %s on %s: from %s to %s", rows, s.By, s.At.UTC().Format(time.RFC3339), s.From, s.To)
	}
	return p.err
}

func parkedLine(e *parking.Entry) string {
	text := fmt.Sprintf("%s: %d attempt(s)", e.Key, e.Attempts)
	switch {
	case e.Blocked:
		text += ", dead-lettered and blocked until it is replayed or purged"
	default:
		text += ", next " + e.Next.UTC().Format(time.RFC3339)
	}
	if n := len(e.Followers); n > 0 {
		text += fmt.Sprintf(", %d row(s) of %s wait behind it", n, e.OrderKey)
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

func orNever(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339Nano)
}
