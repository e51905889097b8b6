package status

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/state"
)

// documentEvery is how often a state document is read for a report, at most: all that look at one instance share its
// reads.
const documentEvery = 2 * time.Second

// documentPart reads a state document, and its parked events: those once for each object, which never changes.
type documentPart struct {
	out      *inspect.Output
	backfill func(*state.Backfill) string

	mu      sync.Mutex
	object  string
	entries []parking.Entry
}

func (d *documentPart) read(ctx context.Context) (func(*Output), error) {
	s, err := d.out.Read(ctx)
	if err != nil {
		return nil, err
	}
	var problem *Problem
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.Doc.Parked.Object != d.object {
		if d.entries, s, err = d.out.ParkedEvents(ctx, s); err != nil {
			d.object, problem = "", &Problem{Text: said(err.Error())}
		} else {
			d.object = s.Doc.Parked.Object
		}
	}
	doc, paused := &s.Doc, s.Paused()
	now := s.Now()
	l := &doc.Lease
	lease := &Lease{Holder: l.OwnerID, Held: s.Held() != nil, ExpiresAt: l.ExpiresAt}
	if !l.HeartbeatAt.IsZero() {
		lease.HeartbeatSeconds = max(now.Sub(l.HeartbeatAt), 0).Seconds()
	}
	entries := d.entries
	return func(o *Output) {
		o.Position, o.Token, o.Lease = doc.Checkpoint.Cursor.String(), doc.Lease.FencingToken, lease
		o.CommittedAt, o.Untouched = timeOrNil(doc.Checkpoint.UpdatedAt), doc.Checkpoint.LastBatchID == ""
		if paused != nil {
			o.Pause = &Pause{At: timeOrNil(paused.At), Until: timeOrNil(paused.Until), By: paused.By}
		}
		if doc.Late.Mode != "" {
			o.Late = &Late{Mode: doc.Late.Mode, Remembered: doc.Late.Memory.Count}
			frontier := doc.Late.Frontier
			if doc.Late.Mode == string(late.Overlap) {
				frontier = checkpointed.Frontier(doc)
			}
			if !frontier.IsStart() {
				o.Late.Frontier = frontier.String()
			}
		}
		for _, a := range doc.Apart {
			o.Apart = append(o.Apart, Apart{a.OrderKey, a.At.String()})
		}
		if doc.Backfill != nil {
			o.Backfill, o.Progress = d.backfill(doc.Backfill), progressOf(doc.Backfill)
		}
		for i := range doc.Skips {
			if doc.Skips[i].Rows < 0 { // not known how many
				o.Skipped++
			}
			o.Skipped += max(doc.Skips[i].Rows, 0)
		}
		if problem != nil {
			o.Parked = int64(doc.Parked.Count)
			o.Problems = append(o.Problems, *problem)
			return
		}
		o.Parked = int64(len(entries))
		for i := range entries {
			o.Waiting += int64(len(entries[i].Followers))
		}
		o.Entries = parkedLetters(entries)
	}, nil
}

// parkedLetters are the parked events that have waited longest.
func parkedLetters(entries []parking.Entry) []Letter {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(x, y parking.Entry) int {
		return cmp.Compare(x.First.UnixNano(), y.First.UnixNano())
	})
	letters := []Letter{}
	for i := range entries[:min(len(entries), MaxLetters)] {
		e := &entries[i]
		l := Letter{ID: e.ID, Key: string(e.Key), At: timeOrNil(e.First), Attempts: e.Attempts, Reason: e.Reason,
			Blocked: e.Blocked, Waiting: len(e.Followers)}
		if !e.Blocked {
			l.Next = timeOrNil(e.Next)
		}
		letters = append(letters, l)
	}
	return letters
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
