package source_test

import (
	"cmp"
	"database/sql/driver"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestBuiltInReadCommitted: where no snapshot holds a change and its row together, a receiver that drops every id it
// had ends with the table all the same, whatever commits while a page, a chunk or a parked row is read. An update with
// the values of a row that is gone never comes, nor a delete of one that is there.
func TestBuiltInReadCommitted(t *testing.T) {
	t.Parallel()
	for seed := range quick.Runs[uint64](300, 100) {
		random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test's
		m := newTracked()
		m.torn = random
		for range 4 {
			m.writeAny(random)
		}
		f := m.follow(t, plan.Config{Start: "snapshot", ReadCommitted: true})
		f.drops = true
		rows := f.snapshot()
		more := !rows.UpTo.IsStart()
		step := func(n int) (err error) {
			switch {
			case n < 2 && more:
				more = f.chunk(&rows, 1+random.IntN(3))
			case n < 4:
				f.again(int64(random.IntN(8)))
			default:
				_, err = f.page(1 + random.IntN(4))
			}
			return err
		}
		for range 40 {
			stored := f.at
			m.meanwhile[0] = func() { m.writeAny(random) }
			m.during = func() { m.writeAny(random) }
			if err := step(random.IntN(8)); err != nil {
				t.Fatal(err)
			}
			if random.IntN(10) == 0 {
				f.at = stored // it crashed
			}
		}
		for m.during, m.meanwhile[0] = nil, nil; more; {
			more = f.chunk(&rows, 3)
		}
		f.read(3)
		want := map[string]string{}
		for id, v := range m.Rows {
			want[fmt.Sprint(id)] = fmt.Sprint(v)
		}
		maps.DeleteFunc(f.got, func(_, v string) bool { return v == "" })
		if !maps.Equal(f.got, want) {
			t.Fatalf("seed %d: the receiver has %v, the table %v", seed, f.got, want)
		}
	}
}

// again has a parked row read again.
func (f *follower) again(id int64) {
	f.Helper()
	events, err := f.src.Reread(f.Context(), [][]byte{fmt.Appendf(nil, `{"id":%d}`, id)})
	if err != nil {
		f.Fatal(err)
	}
	for i := range events {
		f.take(&events[i])
	}
}

// seen is what a page's statement sees of the changes after a version.
func (m *tracked) seen(text string, since int64) [][]driver.Value {
	if !strings.HasPrefix(text, begin+"READ COMMITTED;") {
		return m.changes(since)
	}
	before, rows, gone := m.changes(since), maps.Clone(m.Rows), m.gone()
	m.commits()
	after := m.changes(since)
	maps.Copy(gone, m.gone())
	of := map[int64][][]driver.Value{}
	for _, c := range slices.Concat(before, after) {
		of[c[0].(int64)] = append(of[c[0].(int64)], c)
	}
	var seen [][]driver.Value
	for _, id := range slices.Sorted(maps.Keys(of)) {
		either := of[id]
		if len(either) == 1 && !has(before, id) && m.torn.IntN(2) == 0 {
			continue // it was written behind the scan
		}
		c := either[m.torn.IntN(len(either))]
		m.tear(c, rows)
		m.move(c, rows)
		everything := !strings.Contains(text, "WHERE c.[rowrelay_gone] = 1 OR t.[id] IS NOT NULL")
		if everything || c[4] != nil || gone[[2]int64{id, c[2].(int64)}] {
			seen = append(seen, c)
		}
	}
	slices.SortStableFunc(seen, func(a, b []driver.Value) int { return cmp.Compare(a[2].(int64), b[2].(int64)) })
	return seen
}

func has(rows [][]driver.Value, id int64) bool {
	return slices.ContainsFunc(rows, func(r []driver.Value) bool { return r[0] == id })
}

// newest is what is read of some rows, each with its last version.
func (m *tracked) newest(text string, ids []int64) (seen [][]driver.Value) {
	head := m.Current
	m.once(0)
	version := func(id int64) (last int64) {
		for _, w := range m.Log {
			if w.ID == id {
				last = w.Version
			}
		}
		return last
	}
	committed := strings.HasPrefix(text, begin+"READ COMMITTED;")
	rows, versions := maps.Clone(m.Rows), map[int64]int64{}
	for _, id := range ids {
		versions[id] = version(id)
	}
	if committed {
		m.commits()
	}
	for _, id := range ids {
		last := versions[id]
		if committed && m.torn.IntN(2) == 0 {
			last = version(id)
		}
		if last > head && strings.Contains(text, "n.SYS_CHANGE_VERSION <= @head") {
			last = 0
		}
		row := m.row(id, last, 0)
		if committed {
			m.tear(row, rows)
			if strings.Contains(text, "TOP (") { // not by its key
				m.move(row, rows)
			}
		}
		seen = append(seen, row)
	}
	return seen
}

// tear has a row be as it was before, or as it is.
func (m *tracked) tear(row []driver.Value, before map[int64]int64) {
	rows := []map[int64]int64{before, m.Rows}[m.torn.IntN(2)]
	row[1], row[4] = nil, nil
	if v, there := rows[row[0].(int64)]; there {
		row[1], row[4] = v, row[0]
	}
}

// move has a row escape a scan that goes by another index, in which it was moved meanwhile.
func (m *tracked) move(row []driver.Value, before map[int64]int64) {
	id := row[0].(int64)
	if v, there := m.Rows[id]; there && v != before[id] && m.torn.IntN(3) == 0 {
		row[1], row[4] = nil, nil
	}
}

// gone are the writes, by key and version, that deleted.
func (m *tracked) gone() map[[2]int64]bool {
	gone := map[[2]int64]bool{}
	for _, w := range m.Log {
		gone[[2]int64{w.ID, w.Version}] = w.Op == 'd'
	}
	return gone
}

func (m *tracked) commits() {
	if m.during != nil {
		m.during()
	}
}
