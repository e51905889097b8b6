package checkpointed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// lateTable is a table in memory with transactions: a row's cursor is drawn when its statement runs (or its transaction
// begins), and it becomes visible when the transaction commits. A row that a transaction has written is locked until its
// end.
type lateTable struct {
	rng     *rand.Rand
	rows    map[int]lateRow // committed
	locks   map[int]*lateTx
	open    []*lateTx
	counter int64
	nextKey int
	skew    time.Duration // of the database's clock
	shown   bool
	safe    bool // keep below a safe point, as exact does
	fail    error
	asked   int              // Horizon
	replay  func() time.Time // on a replica: how far it has come
	fetches int
	written map[int]int // versions committed, by key
}

type lateRow struct {
	cursor int64
	text   string
}

type lateTx struct {
	began  time.Time
	drawn  int64 // at its beginning
	ends   time.Time
	writes map[int]lateRow
	first  int64 // the lowest cursor that it holds
}

func newLateTable(rng *rand.Rand) *lateTable {
	return &lateTable{rng: rng, rows: map[int]lateRow{}, locks: map[int]*lateTx{}, written: map[int]int{}, counter: 1}
}

func (t *lateTable) draw() int64 { t.counter++; return t.counter }

func (t *lateTable) begin(lasts time.Duration) *lateTx {
	tx := &lateTx{began: time.Now(), drawn: t.draw(), ends: time.Now().Add(lasts), writes: map[int]lateRow{}}
	if t.safe {
		tx.first = tx.drawn // the database knows of it from the beginning
	}
	t.open = append(t.open, tx)
	return tx
}

// insert writes a new row.
func (t *lateTable) insert(tx *lateTx) int {
	t.nextKey++
	t.write(tx, t.nextKey, t.draw())
	return t.nextKey
}

// update writes a row unless another transaction has it locked. A cursor of 0 is drawn now.
func (t *lateTable) update(tx *lateTx, key int, cursor int64) bool {
	if other := t.locks[key]; other != nil && other != tx {
		return false
	}
	if cursor == 0 {
		cursor = t.draw()
	}
	t.write(tx, key, cursor)
	return true
}

func (t *lateTable) write(tx *lateTx, key int, cursor int64) {
	t.locks[key] = tx
	tx.writes[key] = lateRow{cursor, fmt.Sprintf("%d of %s", t.draw(), time.Now().Format("15:04:05.000"))}
	if tx.first == 0 || cursor < tx.first {
		tx.first = cursor
	}
}

func (t *lateTable) end(tx *lateTx, commit bool) {
	t.open = slices.DeleteFunc(t.open, func(other *lateTx) bool { return other == tx })
	for key, row := range tx.writes {
		delete(t.locks, key)
		if commit {
			t.rows[key] = row
			t.written[key]++
		}
	}
}

// settle ends the transactions whose time has come; all of them says everything.
func (t *lateTable) settle(all bool) {
	for _, tx := range slices.Clone(t.open) {
		if all || !time.Now().Before(tx.ends) {
			t.end(tx, t.rng.IntN(5) > 0)
		}
	}
}

type latePosition struct {
	Kind  string `json:"kind"`
	Value int64  `json:"value"`
	Key   int    `json:"key"`
}

func (p latePosition) cursor() change.Cursor {
	data, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return data
}

func latePositionOf(c change.Cursor) latePosition {
	var p latePosition
	if !c.IsStart() {
		if err := json.Unmarshal(c, &p); err != nil {
			panic(err)
		}
	}
	return p
}

func (p latePosition) compare(q latePosition) int {
	return cmp.Or(cmp.Compare(p.Value, q.Value), cmp.Compare(p.Key, q.Key))
}

func (t *lateTable) event(key int, row lateRow) change.Event {
	k := fmt.Appendf(nil, `{"id":%d}`, key)
	e := change.Event{Key: k, OrderKey: k, Row: fmt.Appendf(nil, `{"id":%d,"text":%q}`, key, row.text), Time: time.Now(),
		Cursor: latePosition{"test", row.cursor, key}.cursor()}
	e.ID = change.EventID("orders", change.Upsert, e.Key, e.Cursor, e.Row)
	return e
}

// safePoint is the lowest cursor that an open transaction holds.
func (t *lateTable) safePoint() int64 {
	point := t.counter + 1
	for _, tx := range t.open {
		if tx.first > 0 {
			point = min(point, tx.first)
		}
	}
	return point
}

func (t *lateTable) Fetch(_ context.Context, r change.Range, limit poller.Limit) (change.Page, error) {
	t.fetches++
	if t.fail != nil {
		return change.Page{}, t.fail
	}
	after, upTo := latePositionOf(r.After), latePositionOf(r.UpTo)
	page := change.Page{NullCursors: -1}
	if t.safe && !r.Unsafe {
		page.Safe = latePosition{"test", t.safePoint(), 0}.cursor()
		if r.UpTo.IsStart() {
			upTo, r.UpTo = latePositionOf(page.Safe), page.Safe
		}
	}
	var at []latePosition
	for key, row := range t.rows {
		p := latePosition{"test", row.cursor, key}
		if p.compare(after) > 0 && (r.UpTo.IsStart() || p.compare(upTo) <= 0) {
			at = append(at, p)
		}
	}
	slices.SortFunc(at, latePosition.compare)
	if page.More = len(at) > limit.Rows; page.More {
		at = at[:limit.Rows]
	}
	for _, p := range at {
		page.Events = append(page.Events, t.event(p.Key, t.rows[p.Key]))
	}
	return page, nil
}

func (t *lateTable) Horizon(context.Context) (Horizon, error) {
	t.asked++
	if t.fail != nil {
		return Horizon{}, t.fail
	}
	h := Horizon{Now: time.Now().Add(t.skew), Shown: t.shown}
	if t.replay != nil {
		h.Replayed = t.replay()
	}
	for _, tx := range t.open {
		if began := tx.began.Add(t.skew); t.shown && len(tx.writes) > 0 && (h.Oldest.IsZero() || began.Before(h.Oldest)) {
			h.Oldest, h.By = began, fmt.Sprintf("tx %d", tx.drawn)
		}
	}
	return h, nil
}

// Compare implements Source.
func (*lateTable) Compare(was, is string) (Relation, string) { return compareLives(was, is) }

// Replaced implements Source.
func (*lateTable) Replaced(context.Context, change.Cursor, string, string) (string, error) {
	return "", nil
}

func (t *lateTable) Describe(context.Context) (Description, error) {
	return Description{Fingerprint: "sha256:test", Engine: "test", Table: "orders", Late: LateOverlap}, nil
}

func (t *lateTable) Start(context.Context) (change.Cursor, string, error) { return nil, "", nil }

func (t *lateTable) Reread(_ context.Context, keys [][]byte) ([]change.Event, error) {
	var events []change.Event
	for _, k := range keys {
		var key struct{ ID int }
		if err := json.Unmarshal(k, &key); err != nil {
			return nil, err
		}
		if row, ok := t.rows[key.ID]; ok {
			events = append(events, t.event(key.ID, row))
		}
	}
	return events, nil
}

func (t *lateTable) Other(context.Context, change.Cursor, [][]byte) (*change.Event, error) {
	return nil, errors.ErrUnsupported
}
