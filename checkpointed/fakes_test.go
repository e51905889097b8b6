package checkpointed

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// shop is a Source over rows in memory that are inserted, updated and deleted. Each write takes the next number as the
// row's cursor.
type shop struct {
	mu        sync.Mutex
	rows      map[int]*shopRow
	ordered   []*shopRow // by cursor; nil when it has to be made anew
	writes    int
	describe  Description
	described func() // is called when somebody asks for it
	// table is the table's identity. asked records how Replaced was asked, which answers rebuilt and anew.
	table, rebuilt string
	asked          []string
	anew           error
	start          int // where Start begins
	incarnation    string
	err            error // of Fetch
	windows        bool  // a page that is the last ends where the writes do
	deletes        bool  // rows that are removed are shown as deletes
	fetched        []change.Range
}

type shopRow struct {
	id     int
	tenant string
	text   string
	cursor int
	gone   bool
	made   change.Event // of what madeOf says: rows are read many times
	madeOf shopMade
}

type shopMade struct {
	text   string
	coarse bool
}

func newShop() *shop {
	return &shop{rows: map[int]*shopRow{},
		describe: Description{Fingerprint: "sha256:shop", Engine: "test", Table: "orders", Ranges: true}}
}

// put inserts or updates a row.
func (s *shop) put(id int, tenant, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	was, is := s.rows[id], &shopRow{id: id, tenant: tenant, text: text, cursor: s.writes}
	s.rows[id] = is
	if s.ordered != nil { // the new one is the last
		if was != nil {
			s.ordered = slices.DeleteFunc(s.ordered, func(r *shopRow) bool { return r == was })
		}
		s.ordered = append(s.ordered, is)
	}
}

// fill inserts rows, each of a tenant of its own.
func (s *shop) fill(from, to int) {
	for id := from; id <= to; id++ {
		s.put(id, fmt.Sprint("t", id), "new")
	}
}

// newRows returns a shop with rows, one for each order key.
func newRows(orderKeys ...string) *shop {
	s := newShop()
	s.describe.Coarse = true
	s.add(orderKeys...)
	return s
}

// add inserts a row for each order key.
func (s *shop) add(orderKeys ...string) {
	for _, key := range orderKeys {
		s.put(s.writes+1, key, "new")
	}
}

func (s *shop) remove(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.rows[id]
	delete(s.rows, id)
	if s.ordered = nil; s.deletes {
		s.writes++
		s.rows[id] = &shopRow{id: id, tenant: was.tenant, cursor: s.writes, gone: true}
	}
}

func rowKey(id int) []byte { return fmt.Appendf(nil, `{"id":%d}`, id) }

func (s *shop) event(r *shopRow) change.Event {
	if of := (shopMade{r.text, s.describe.Coarse}); r.made.ID == "" || r.madeOf != of {
		r.made, r.madeOf = s.make(r), of
	}
	r.made.Time = time.Now()
	return r.made
}

func (s *shop) make(r *shopRow) change.Event {
	e := change.Event{Key: rowKey(r.id), Row: fmt.Appendf(nil, `{"text":%q}`, r.text), Cursor: position(r.cursor)}
	e.OrderKey = e.Key
	if s.describe.Coarse {
		e.OrderKey = fmt.Appendf(nil, `{"tenant":%q}`, r.tenant)
	}
	if r.gone {
		e.Op = change.Delete
	}
	e.ID = change.EventID("orders", e.Op, e.Key, e.Cursor, e.Row)
	return e
}

// after returns the rows with a larger cursor, in its order.
func (s *shop) after(cursor int) []*shopRow {
	if s.ordered == nil {
		for _, r := range s.rows {
			s.ordered = append(s.ordered, r)
		}
		slices.SortFunc(s.ordered, func(a, b *shopRow) int { return cmp.Compare(a.cursor, b.cursor) })
	}
	i, _ := slices.BinarySearchFunc(s.ordered, cursor+1, func(r *shopRow, c int) int { return cmp.Compare(r.cursor, c) })
	return s.ordered[i:]
}

func position(i int) change.Cursor {
	if i == 0 {
		return nil
	}
	return change.Cursor(fmt.Sprintf(`{"kind":"test","value":%d}`, i))
}

func index(c change.Cursor) int {
	n := 0
	if !c.IsStart() {
		n = number(string(c), `{"kind":"test","value":`)
	}
	return n
}

// number reads what stands between a text and a brace: Sscanf took much of the time of long tests.
func number(text, before string) int {
	digits, ok := strings.CutPrefix(text, before)
	n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(digits, "}")))
	if !ok || err != nil {
		panic(fmt.Sprintf("%s does not begin with %s and a number: %v", text, before, err))
	}
	return n
}

func (s *shop) Describe(context.Context) (Description, error) {
	if s.described != nil {
		s.described()
	}
	return s.describe, nil
}

func (s *shop) Compare(was, is string) (Relation, string) { return compareLives(was, is) }

// compareLives takes what follows a slash for what a failover changes.
func compareLives(was, is string) (Relation, string) {
	a, _, _ := strings.Cut(was, "/")
	b, _, _ := strings.Cut(is, "/")
	switch {
	case was == is:
		return SameDatabase, is
	case a == b:
		return FailedOver, is
	default:
		return AnotherDatabase, is
	}
}

func (s *shop) Replaced(_ context.Context, at change.Cursor, was, is string) (string, error) {
	s.asked = append(s.asked, was+" "+is+" "+string(at))
	return s.rebuilt, s.anew
}

func (s *shop) Start(context.Context) (change.Cursor, string, error) {
	return position(s.start), s.incarnation, nil
}

func (s *shop) Fetch(_ context.Context, r change.Range, limit poller.Limit) (change.Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return change.Page{}, s.err
	}
	s.fetched = append(s.fetched, r)
	page := change.Page{Incarnation: s.incarnation, Table: s.table, NullCursors: -1}
	from, end := index(r.After), index(r.UpTo)
	for _, row := range s.after(from) {
		if end > 0 && row.cursor > end {
			break
		}
		if len(page.Events) == limit.Rows {
			page.More = true
			break
		}
		page.Events = append(page.Events, s.event(row))
	}
	if s.windows && !page.More && end == 0 {
		page.To = position(s.writes)
	}
	return page, nil
}

func (s *shop) Reread(_ context.Context, keys [][]byte) ([]change.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var events []change.Event
	for _, key := range keys {
		if row := s.rows[idOf(&change.Event{Key: key})]; row != nil {
			events = append(events, s.event(row))
		}
	}
	return events, nil
}

func (s *shop) Other(_ context.Context, after change.Cursor, avoid [][]byte) (*change.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, row := range s.after(index(after)) {
		e := s.event(row)
		if !slices.ContainsFunc(avoid, func(key []byte) bool { return bytes.Equal(key, e.OrderKey) }) {
			return &e, nil
		}
	}
	return nil, nil
}

func (s *shop) Horizon(context.Context) (change.Horizon, error) {
	return change.Horizon{Now: time.Now()}, nil
}

// deadLetters keeps dead letters in memory.
type deadLetters struct {
	mu      sync.Mutex
	letters []poller.DeadLetter
	put     func(poller.DeadLetter) error // before it is kept
}

func (g *deadLetters) Put(_ context.Context, d poller.DeadLetter) error {
	if g.put != nil {
		if err := g.put(d); err != nil {
			return err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.letters = append(g.letters, d)
	return nil
}
