package latetest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// This file is the table as a source reads it.

// SafePoint is the lowest cursor that an open transaction holds.
func (t *Table) SafePoint() int64 {
	point := t.Counter + 1
	for _, tx := range t.Open {
		if tx.First > 0 {
			point = min(point, tx.First)
		}
	}
	return point
}

// Fetch returns the committed rows of a range in their order, as a source does; with Safe, those below the safe point.
func (t *Table) Fetch(_ context.Context, r change.Range, limit poller.Limit) (change.Page, error) {
	t.Fetches++
	if t.Fail != nil {
		return change.Page{}, t.Fail
	}
	after, upTo := PositionOf(r.After), PositionOf(r.UpTo)
	page := change.Page{NullCursors: -1, Numbers: t.Numbers}
	if t.Unsaid--; t.Numbers != "" && t.Unsaid < 0 {
		page.Ended = t.Ended()
	}
	if t.Safe && !r.Unsafe {
		page.Safe = Position{"test", t.SafePoint(), 0}.Cursor()
		if r.UpTo.IsStart() {
			upTo, r.UpTo = PositionOf(page.Safe), page.Safe
		}
	}
	if r.Known != nil {
		if t.Counters > 0 {
			page.State = change.State{Counter: uint64(t.Rng.IntN(t.Counters)) + 1, Commits: t.moves}
		}
		if r.Same == nil || !r.Same(page.State) {
			t.again(&page, r, limit)
		}
		if page.AgainMore {
			return page, nil
		}
		r.Since = 0
	}
	at := t.order[t.after(after.place()):]
	if !r.UpTo.IsStart() {
		at = t.between(after, upTo)
	}
	var reached change.Cursor // what is left out up to here is passed
	if t.Few > 0 {
		at, reached, page.More = t.chosen(at, limit)
	} else if page.More = len(at) > limit.Rows; page.More {
		at = at[:limit.Rows]
	}
	for _, p := range at {
		e := t.Event(p.key, t.Rows[p.key])
		if r.Since > 0 && e.Writer != 0 && e.Writer < r.Since {
			page.To = e.Cursor
			continue
		}
		page.To = nil
		page.Events = append(page.Events, e)
	}
	if reached != nil {
		page.To = reached
	}
	return page, nil
}

// Chosen reports whether the source shows a row.
func (t *Table) Chosen(key int) bool { return t.Few == 0 || key%t.Few == 0 }

// chosen goes through a bounded number of rows, and returns those that the source shows of them, a page at most; with
// less than a page how far it went, and whether it went so far as it may.
func (t *Table) chosen(at []place, limit poller.Limit) (some []place, reached change.Cursor, more bool) {
	most := limit.Rows + t.Rng.IntN(10)
	for i, p := range at {
		if i == most {
			return some, reached, true
		}
		if t.Chosen(p.key) {
			if len(some) == limit.Rows {
				return some, nil, true
			}
			some = append(some, p)
		}
		reached = t.Event(p.key, t.Rows[p.key]).Cursor
	}
	return some, reached, false
}

// again reads the rows that a range has again.
func (t *Table) again(page *change.Page, r change.Range, limit poller.Limit) {
	from, to := PositionOf(r.Again), PositionOf(r.After)
	if from.Compare(to) > 0 {
		panic(fmt.Sprintf("rows after %s are read again, but live rows come after %s", r.Again, r.After))
	}
	var at []place
	for _, p := range t.between(from, to) {
		e := t.Event(p.key, t.Rows[p.key])
		left := r.Since > 0 && e.Writer != 0 && e.Writer < r.Since || !t.Chosen(p.key)
		if !left && !r.Known(&e, t.Numbers) {
			at = append(at, p)
		}
	}
	if page.AgainMore = len(at) > limit.Rows; page.AgainMore {
		at = at[:limit.Rows]
	}
	for _, p := range at {
		page.Again = append(page.Again, t.Event(p.key, t.Rows[p.key]))
	}
}

// Horizon returns the database's clock and, if it shows transactions, the oldest one that has written.
func (t *Table) Horizon(context.Context) (change.Horizon, error) {
	t.Asked++
	if t.Fail != nil {
		return change.Horizon{}, t.Fail
	}
	h := change.Horizon{Now: time.Now().Add(t.Skew), Shown: t.Shown}
	if t.Replay != nil {
		h.Replayed = t.Replay()
	}
	for _, tx := range t.Open {
		shown := t.Shown && (t.Idle || len(tx.Writes) > 0)
		if began := tx.Began.Add(t.Skew); shown && (h.Oldest.IsZero() || began.Before(h.Oldest)) {
			h.Oldest, h.By = began, fmt.Sprintf("tx %d", tx.Drawn)
		}
	}
	return h, nil
}

// Reread returns the committed rows of these keys as they are now. Keys without a row are left out.
func (t *Table) Reread(_ context.Context, keys [][]byte) ([]change.Event, error) {
	var events []change.Event
	for _, k := range keys {
		var key struct{ ID int }
		if err := json.Unmarshal(k, &key); err != nil {
			return nil, err
		}
		if row, ok := t.Rows[key.ID]; ok {
			events = append(events, t.Event(key.ID, row))
		}
	}
	return events, nil
}

// Latest returns the position of the last committed row.
func (t *Table) Latest(context.Context) (change.Cursor, error) {
	if len(t.order) == 0 {
		return nil, t.Fail
	}
	p := t.order[len(t.order)-1]
	return Position{"test", p.value, p.key}.Cursor(), t.Fail
}
