package admin

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
)

// State is what a document says, as `rowrelay state show --json` prints it. Times are UTC.
type State struct {
	Document    string          `json:"document"`
	Poller      string          `json:"poller"`
	Position    change.Cursor   `json:"position"`
	BatchID     string          `json:"last_successful_batch_id"`
	UpdatedAt   time.Time       `json:"updated_at"`
	Fingerprint string          `json:"source_fingerprint"`
	Incarnation string          `json:"incarnation"`
	Gap         string          `json:"gap,omitempty"` // found by a tick; the poller stops until somebody decides
	Token       uint64          `json:"fencing_token,string"`
	Owner       string          `json:"owner"`
	HeartbeatAt time.Time       `json:"heartbeat_at"`
	ExpiresAt   time.Time       `json:"expires_at"`
	Held        string          `json:"held"` // "" when the lease is free
	Late        *Late           `json:"late_commits,omitempty"`
	Paused      *Paused         `json:"paused,omitempty"`
	Backfill    *Backfill       `json:"backfill,omitempty"`
	Apart       []Apart         `json:"apart,omitempty"`
	Parked      []parking.Entry `json:"parked"`
	Skips       []Skip          `json:"skips"`
}

// Late tells how late commits are handled. With overlap, the position is the window's low edge.
type Late struct {
	Mode       string        `json:"mode"`
	Frontier   change.Cursor `json:"frontier,omitempty"`
	Remembered int           `json:"remembered"`
}

// Paused tells who paused a poller, and when.
type Paused struct {
	At    time.Time `json:"at"`
	Until time.Time `json:"until,omitzero"` // when it ends by itself
	By    string    `json:"by"`
}

// Apart tells of an order key with a backlog: the position has passed its rows, and those after At are delivered beside
// the others'.
type Apart struct {
	OrderKey json.RawMessage `json:"order_key"`
	At       change.Cursor   `json:"at"`
}

// Skip are rows that somebody moved the position past.
type Skip struct {
	At   time.Time     `json:"at"`
	By   string        `json:"by"`
	From change.Cursor `json:"from"`
	To   change.Cursor `json:"to"`
	Rows int64         `json:"rows"` // -1 when they could not be counted
}

// State reads the document, and the parked events beside it.
func (d *Document) State(ctx context.Context) (*State, error) {
	if err := d.load(ctx); err != nil {
		return nil, err
	}
	parked, err := d.readParked(ctx)
	if err != nil {
		return nil, err
	}
	doc := &d.snap.Doc
	v := &State{
		Parked:   parked,
		Document: d.Key, Poller: doc.PollerName, Position: doc.Checkpoint.Cursor, BatchID: doc.Checkpoint.LastBatchID,
		UpdatedAt: doc.Checkpoint.UpdatedAt, Fingerprint: doc.SourceFingerprint, Incarnation: doc.Checkpoint.Incarnation,
		Gap: doc.Checkpoint.Gap, Token: doc.Lease.FencingToken, Owner: doc.Lease.OwnerID, HeartbeatAt: doc.Lease.HeartbeatAt,
		ExpiresAt: doc.Lease.ExpiresAt,
		Backfill:  BackfillOf(doc.Backfill), Skips: []Skip{},
	}
	if held := d.snap.Held(); held != nil {
		v.Held = held.Error()
	}
	if doc.Late.Mode != "" {
		v.Late = &Late{Mode: doc.Late.Mode, Frontier: doc.Late.Frontier, Remembered: doc.Late.Memory.Count}
		if doc.Late.Mode == string(late.Overlap) {
			v.Late.Frontier = checkpointed.Frontier(doc)
		}
	}
	if p := d.snap.Paused(); p != nil {
		v.Paused = &Paused{At: p.At, Until: p.Until, By: p.By}
	}
	for _, a := range doc.Apart {
		v.Apart = append(v.Apart, Apart(a))
	}
	for _, s := range doc.Skips {
		v.Skips = append(v.Skips, Skip{At: s.At, By: s.By, From: s.From, To: s.To, Rows: s.Rows})
	}
	return v, nil
}
