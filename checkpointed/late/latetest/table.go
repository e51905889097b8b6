// Package latetest is a table with transactions, for tests of late commits.
package latetest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// Table is a table in memory with transactions: a row's cursor is drawn when its statement runs (or its transaction
// begins), and it becomes visible when the transaction commits. A row that a transaction has written is locked until
// its end.
type Table struct {
	Rng     *rand.Rand
	Rows    map[int]Row // committed
	Locks   map[int]*Tx
	Open    []*Tx
	Counter int64
	NextKey int
	Skew    time.Duration // of the database's clock
	Shown   bool
	Safe    bool // keep below a safe point, as exact does
	Fail    error
	Asked   int              // Horizon
	Replay  func() time.Time // on a replica: how far it has come
	Fetches int
	Written map[int]int // versions committed, by key

	Groups int  // of order keys that several rows share; 0 for none
	Idle   bool // transactions are shown before they write
	moment int64

	Numbers string // not empty: rows tell who wrote them, by numbers of this history
	Number  uint64 // the last that a transaction or savepoint took
	Unsaid  int    // so many fetches do not say which transactions have ended

	Counters int   // of commits, by which pages tell their state; 0 for none. One transaction writes at a time then.
	moves    int64 // of the counters
}

// Row is one version of a row.
type Row struct {
	Cursor int64
	Text   string
	Writer uint64
	// Began and Ended order transactions: one that begins after another has ended has a larger Began than its Ended.
	Began, Ended int64
}

// Tx is a transaction that has not ended.
type Tx struct {
	Began  time.Time
	Drawn  int64 // at its beginning
	Ends   time.Time
	Writes map[int]Row
	First  int64 // the lowest cursor that it holds
	Number uint64
	Moment int64 // of its beginning
	anew   bool
}

// New returns an empty table. rng decides which transactions commit.
func New(rng *rand.Rand) *Table {
	return &Table{Rng: rng, Rows: map[int]Row{}, Locks: map[int]*Tx{}, Written: map[int]int{}, Counter: 1}
}

// Draw takes the next cursor; each is drawn once.
func (t *Table) Draw() int64 { t.Counter++; return t.Counter }

// Begin opens a transaction, which Settle ends after lasts.
func (t *Table) Begin(lasts time.Duration) *Tx {
	tx := &Tx{Began: time.Now(), Drawn: t.Draw(), Ends: time.Now().Add(lasts), Writes: map[int]Row{}}
	t.moment++
	tx.Moment = t.moment
	if t.Safe {
		tx.First = tx.Drawn // the database knows of it from the beginning
	}
	t.Open = append(t.Open, tx)
	return tx
}

// Insert writes a new row.
func (t *Table) Insert(tx *Tx) int {
	t.NextKey++
	t.Write(tx, t.NextKey, t.Draw())
	return t.NextKey
}

// Update writes a row unless another transaction has it locked. A cursor of 0 is drawn now.
func (t *Table) Update(tx *Tx, key int, cursor int64) bool {
	if other := t.Locks[key]; other != nil && other != tx {
		return false
	}
	if cursor == 0 {
		cursor = t.Draw()
	}
	t.Write(tx, key, cursor)
	return true
}

// Write writes a row in tx under this cursor and locks it, whoever held the lock.
func (t *Table) Write(tx *Tx, key int, cursor int64) {
	t.Locks[key] = tx
	tx.Writes[key] = Row{Cursor: cursor, Text: fmt.Sprintf("%d of %s", t.Draw(), time.Now().Format("15:04:05.000")),
		Writer: t.number(tx), Began: tx.Moment}
	if tx.First == 0 || cursor < tx.First {
		tx.First = cursor
	}
}

// Anew lets a transaction begin the log anew, which moves the counters of commits. It can do so once.
func (t *Table) Anew(tx *Tx) {
	if !tx.anew {
		tx.anew = true
		t.moves++
	}
}

// number is the number that a write of a transaction bears: its own, which it takes with its first write, or that of a
// savepoint, which takes a later one.
func (t *Table) number(tx *Tx) uint64 {
	if t.Numbers == "" {
		return 0
	}
	if tx.Number == 0 {
		t.Number++
		tx.Number = t.Number
	} else if t.Rng.IntN(3) == 0 {
		t.Number++
		return t.Number
	}
	return tx.Number
}

// Ended is the number below which every transaction has ended.
func (t *Table) Ended() uint64 {
	ended := t.Number + 1
	for _, tx := range t.Open {
		if tx.Number > 0 {
			ended = min(ended, tx.Number)
		}
	}
	return ended
}

// FailOver makes the database another one, which gives the last numbers again; what was open is gone.
func (t *Table) FailOver(numbers string, lost uint64) {
	for len(t.Open) > 0 {
		t.End(t.Open[0], false)
	}
	t.Numbers, t.Number = numbers, t.Number-min(lost, t.Number)
}

// End commits a transaction or rolls it back, and releases its locks.
func (t *Table) End(tx *Tx, commit bool) {
	t.Open = slices.DeleteFunc(t.Open, func(other *Tx) bool { return other == tx })
	t.moment++
	if commit && len(tx.Writes) > 0 {
		t.moves++
	}
	for key, row := range tx.Writes {
		delete(t.Locks, key)
		if commit {
			row.Ended = t.moment
			t.Rows[key] = row
			t.Written[key]++
		}
	}
}

// Settle ends the transactions whose time has come, or with all every one. It rolls back about one in five.
func (t *Table) Settle(all bool) {
	for _, tx := range slices.Clone(t.Open) {
		if all || !time.Now().Before(tx.Ends) {
			t.End(tx, t.Rng.IntN(5) > 0)
		}
	}
}

// Position is what a cursor of this table says: the row's cursor, then its key.
type Position struct {
	Kind  string `json:"kind"`
	Value int64  `json:"value"`
	Key   int    `json:"key"`
}

// Cursor is the position as the feed stores it.
func (p Position) Cursor() change.Cursor {
	data, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return data
}

// PositionOf reads a cursor of this table: the zero position for the start.
func PositionOf(c change.Cursor) Position {
	var p Position
	if !c.IsStart() {
		if err := json.Unmarshal(c, &p); err != nil {
			panic(err)
		}
	}
	return p
}

// Compare orders positions by cursor, then by key.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Value, q.Value), cmp.Compare(p.Key, q.Key))
}

// Event is the row as the feed delivers it.
func (t *Table) Event(key int, row Row) change.Event {
	k := fmt.Appendf(nil, `{"id":%d}`, key)
	e := change.Event{Key: k, OrderKey: k, Row: fmt.Appendf(nil, `{"id":%d,"text":%q}`, key, row.Text), Time: time.Now(),
		Writer: row.Writer, Cursor: Position{"test", row.Cursor, key}.Cursor()}
	if t.Groups > 0 {
		e.OrderKey = fmt.Appendf(nil, `{"group":%d}`, key%t.Groups)
	}
	e.ID = change.EventID("orders", change.Upsert, e.Key, e.Cursor, e.Row)
	return e
}

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
	var at []Position
	for key, row := range t.Rows {
		p := Position{"test", row.Cursor, key}
		if p.Compare(after) > 0 && (r.UpTo.IsStart() || p.Compare(upTo) <= 0) {
			at = append(at, p)
		}
	}
	slices.SortFunc(at, Position.Compare)
	if page.More = len(at) > limit.Rows; page.More {
		at = at[:limit.Rows]
	}
	for _, p := range at {
		e := t.Event(p.Key, t.Rows[p.Key])
		if r.Since > 0 && e.Writer != 0 && e.Writer < r.Since {
			page.To = e.Cursor
			continue
		}
		page.To = nil
		page.Events = append(page.Events, e)
	}
	return page, nil
}

// again reads the rows that a range has again.
func (t *Table) again(page *change.Page, r change.Range, limit poller.Limit) {
	from, to := PositionOf(r.Again), PositionOf(r.After)
	if from.Compare(to) > 0 {
		panic(fmt.Sprintf("rows after %s are read again, but live rows come after %s", r.Again, r.After))
	}
	var at []Position
	for key, row := range t.Rows {
		if p := (Position{"test", row.Cursor, key}); p.Compare(from) > 0 && p.Compare(to) <= 0 {
			e := t.Event(key, row)
			if left := r.Since > 0 && e.Writer != 0 && e.Writer < r.Since; !left && !r.Known(&e, t.Numbers) {
				at = append(at, p)
			}
		}
	}
	slices.SortFunc(at, Position.Compare)
	if page.AgainMore = len(at) > limit.Rows; page.AgainMore {
		at = at[:limit.Rows]
	}
	for _, p := range at {
		page.Again = append(page.Again, t.Event(p.Key, t.Rows[p.Key]))
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
	var last Position
	for key, row := range t.Rows {
		if p := (Position{"test", row.Cursor, key}); p.Compare(last) > 0 {
			last = p
		}
	}
	if last.Kind == "" {
		return nil, t.Fail
	}
	return last.Cursor(), t.Fail
}
