// Package latetest is a table with transactions, for tests of late commits.
package latetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// Table is a table in memory with transactions: a row's cursor is drawn when its statement runs (or its transaction
// begins), and it becomes visible when the transaction commits. A row that a transaction has written is locked until
// its end.
type Table struct {
	Rng     *rand.Rand
	Rows    map[int]Row // committed; Put and Remove change them
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

	Few int // the source chooses each so many-th key, and leaves the others out; 0 for all

	order []place      // of Rows
	made  map[int]made // the last event that was made of each key: rows are read many times
}

type made struct {
	row   Row
	event change.Event
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
	return &Table{
		Rng: rng, Rows: map[int]Row{}, Locks: map[int]*Tx{}, Written: map[int]int{}, Counter: 1, made: map[int]made{},
	}
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
	for _, key := range slices.Sorted(maps.Keys(tx.Writes)) { // mostly the order of their places
		row := tx.Writes[key]
		delete(t.Locks, key)
		if commit {
			row.Ended = t.moment
			t.Put(key, row)
			t.Written[key]++
		}
	}
}

// Put makes a row what everybody sees.
func (t *Table) Put(key int, row Row) {
	t.forget(key)
	t.Rows[key] = row
	t.order = slices.Insert(t.order, t.after(place{row.Cursor, key}), place{row.Cursor, key})
}

// Remove deletes a row.
func (t *Table) Remove(key int) {
	t.forget(key)
	delete(t.Rows, key)
}

// forget takes a row out of the order.
func (t *Table) forget(key int) {
	if row, ok := t.Rows[key]; ok {
		i := t.after(place{row.Cursor, key})
		t.order = slices.Delete(t.order, i-1, i)
	}
}

// after is the index in order of the first row after a place.
func (t *Table) after(p place) int {
	i, found := slices.BinarySearchFunc(t.order, p, place.compare)
	if found {
		i++
	}
	return i
}

// between returns the rows after a place, up to another.
func (t *Table) between(from, to Position) []place {
	begin := t.after(from.place())
	return t.order[begin:max(begin, t.after(to.place()))]
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
	if c.IsStart() {
		return Position{}
	}
	if p, ok := asWritten(c); ok {
		return p
	}
	var p Position
	if err := json.Unmarshal(c, &p); err != nil {
		panic(err)
	}
	return p
}

// asWritten reads a cursor that stands as Cursor wrote it. Reading it as JSON was a third of a long test's time.
func asWritten(c change.Cursor) (p Position, ok bool) {
	text, ok := strings.CutPrefix(string(c), `{"kind":"test","value":`)
	value, key, ok2 := strings.Cut(text, `,"key":`)
	if !ok || !ok2 {
		return p, false
	}
	n, err := strconv.ParseInt(value, 10, 64)
	k, err2 := strconv.Atoi(strings.TrimSuffix(key, "}"))
	return Position{"test", n, k}, err == nil && err2 == nil
}

// Compare orders positions by cursor, then by key.
func (p Position) Compare(q Position) int {
	return p.place().compare(q.place())
}

// place is a position without its words, of which a page looks at many.
type place struct {
	value int64
	key   int
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.value, q.value), cmp.Compare(p.key, q.key))
}

func (p Position) place() place { return place{p.Value, p.Key} }

// Event is the row as the feed delivers it.
func (t *Table) Event(key int, row Row) change.Event {
	m := t.made[key]
	if m.row != row || m.event.ID == "" {
		m = made{row, t.event(key, row)}
		t.made[key] = m
	}
	m.event.Time = time.Now()
	return m.event
}

func (t *Table) event(key int, row Row) change.Event {
	k := fmt.Appendf(nil, `{"id":%d}`, key)
	e := change.Event{Key: k, OrderKey: k, Row: fmt.Appendf(nil, `{"id":%d,"text":%q}`, key, row.Text),
		Writer: row.Writer, Cursor: Position{"test", row.Cursor, key}.Cursor()}
	if t.Groups > 0 {
		e.OrderKey = fmt.Appendf(nil, `{"group":%d}`, key%t.Groups)
	}
	e.ID = change.EventID("orders", change.Upsert, e.Key, e.Cursor, e.Row)
	return e
}
