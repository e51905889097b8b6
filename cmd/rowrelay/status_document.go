package main

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/status"
)

// documentEvery is how often a state document is read for a report, at most: all that look at one instance share its reads.
const documentEvery = 2 * time.Second

// documentParts are what a state document says, and the dead letters beside it.
func documentParts(a *app, w *wired, out *wiredOutput, slots chan struct{}) []status.Part {
	d := &documentPart{out: out}
	l := newLettersPart(a, w, out.cfg.Name, slots)
	return []status.Part{
		{What: "the state document", Main: true, Stored: true, Every: documentEvery, Read: d.read},
		{What: "the dead letters", Stored: true, Every: lettersEvery, Read: l.read},
	}
}

// documentPart reads a state document, and its parked events: those once for each object, which never changes.
type documentPart struct {
	out *wiredOutput

	mu      sync.Mutex
	object  string
	entries []poller.ParkedEntry
}

func (d *documentPart) read(ctx context.Context) (func(*status.Output), error) {
	s, err := d.out.keeper.Load(ctx)
	if err != nil {
		return nil, err
	}
	v := viewOf(d.out, s)
	now := s.Now()
	l := &s.Doc.Lease
	lease := &status.Lease{Holder: l.OwnerID, Held: s.Held() != nil, ExpiresAt: l.ExpiresAt}
	if !l.HeartbeatAt.IsZero() {
		lease.HeartbeatSeconds = max(now.Sub(l.HeartbeatAt), 0).Seconds()
	}
	var problem *status.Problem
	d.mu.Lock()
	defer d.mu.Unlock()
	if name := s.Doc.Parked.Object; name != d.object {
		if d.entries, err = admin.Parked(ctx, d.out.keeper, &s.Doc); err != nil {
			d.object, problem = "", &status.Problem{Text: flat(err).Error()}
		} else {
			d.object = name
		}
	}
	entries := d.entries
	return func(o *status.Output) {
		o.Position, o.Token, o.Lease = v.Position.String(), v.Token, lease
		o.CommittedAt, o.Untouched = timeOrNil(v.UpdatedAt), v.BatchID == ""
		if v.Paused != nil {
			o.Pause = &status.Pause{At: timeOrNil(v.Paused.At), Until: timeOrNil(v.Paused.Until), By: v.Paused.By}
		}
		if v.Late != nil {
			o.Late = &status.Late{Mode: v.Late.Mode, Remembered: v.Late.Remembered}
			if !v.Late.Frontier.IsStart() {
				o.Late.Frontier = v.Late.Frontier.String()
			}
		}
		if v.Backfill != nil {
			o.Backfill = v.Backfill.String()
		}
		for i := range v.Skips {
			if v.Skips[i].Rows < 0 { // not known how many
				o.Skipped++
			}
			o.Skipped += max(v.Skips[i].Rows, 0)
		}
		if problem != nil {
			o.Parked = int64(s.Doc.Parked.Count)
			o.Problems = append(o.Problems, *problem)
			return
		}
		o.Parked = int64(len(entries))
		o.Waiting = int64(admin.ParkedRows(entries) - len(entries))
		o.Entries = parkedLetters(entries)
	}, nil
}

// parkedLetters are the parked events that have waited longest.
func parkedLetters(entries []poller.ParkedEntry) []status.Letter {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(x, y poller.ParkedEntry) int { return cmp.Compare(x.First.UnixNano(), y.First.UnixNano()) })
	letters := []status.Letter{}
	for i := range entries[:min(len(entries), status.MaxLetters)] {
		e := &entries[i]
		l := status.Letter{ID: e.ID, Key: string(e.Key), At: timeOrNil(e.First), Attempts: e.Attempts, Reason: e.Reason, Blocked: e.Blocked, Waiting: len(e.Followers)}
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
