package source_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// snapshot begins one, and returns the range of the rows.
func (f *follower) snapshot() change.Range {
	f.Helper()
	s, err := f.src.Snapshot(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	f.at = s.After
	return s.Rows
}

// chunk takes the next rows of a snapshot, and reports whether there are more.
func (f *follower) chunk(rows *change.Range, limit int) bool {
	f.Helper()
	at := f.at
	p, err := f.src.Fetch(f.Context(), *rows, poller.Limit{Rows: limit, Bytes: 1 << 20})
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range p.Events {
		f.take(&e)
		rows.After = e.Position()
	}
	f.at = at
	return p.More
}

// TestBuiltInSnapshot: rows from before the tracking come in chunks, each as an insert, and with the id of its last
// change where the server still knows that.
func TestBuiltInSnapshot(t *testing.T) {
	t.Parallel()
	m := newTracked()
	m.Commit("i 1 1", "i 2 1", "i 3 1")
	m.Clean(m.Current)
	m.Commit("u 2 2", "i 4 1")
	f := m.follow(t, plan.Config{Start: "snapshot"})
	rows := f.snapshot()
	ids := map[string]string{}
	for more := true; more; {
		p, err := f.src.Fetch(t.Context(), rows, poller.Limit{Rows: 3, Bytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if p.Table != "object 7/0/0" {
			t.Errorf("the chunk is of %q", p.Table)
		}
		for _, e := range p.Events {
			f.take(&e)
			ids[string(e.Key)] = e.ID
			rows.After = e.Position()
		}
		more = p.More
	}
	f.want("the table", strings.Join(f.told, ", "), "insert 1=1, insert 2=2, insert 3=1, insert 4=1")
	again, err := f.src.Reread(t.Context(), [][]byte{[]byte(`{"id":1}`), []byte(`{"id":2}`)})
	if err != nil || again[0].ID != ids[`{"id":1}`] || again[1].ID != ids[`{"id":2}`] {
		t.Errorf("read again: %v, %v, before: %v", again, err, ids)
	}
	f.told = nil
	f.want("no change since", f.read(10), "")
	m.Rows[1] = 9 // and nobody knows of that: the id is another all the same
	if again, err = f.src.Reread(t.Context(), [][]byte{[]byte(`{"id":1}`)}); err != nil || again[0].ID == ids[`{"id":1}`] {
		t.Errorf("another state has the id %s, %v", ids[`{"id":1}`], err)
	}
}

// TestBuiltInSnapshotOfNothing: there is no range, and changes come.
func TestBuiltInSnapshotOfNothing(t *testing.T) {
	t.Parallel()
	m := newTracked()
	f := m.follow(t, plan.Config{Start: "snapshot"})
	if rows := f.snapshot(); !rows.UpTo.IsStart() {
		t.Errorf("an empty table has rows up to %s", rows.UpTo)
	}
	m.Commit("i 1 1")
	f.want("a change", f.read(10), "insert 1=1")
}

// TestBuiltInSnapshotAmongWriters: whatever is written between chunks and pages, and however they alternate, the
// receiver ends with the table.
func TestBuiltInSnapshotAmongWriters(t *testing.T) {
	t.Parallel()
	for seed := range quick.Runs[uint64](500, 100) {
		rng := rand.New(rand.NewPCG(seed, 1))
		m := newTracked()
		write := func() {
			for range rng.IntN(4) {
				id := int64(1 + rng.IntN(12))
				op := "i"
				if _, there := m.Rows[id]; there {
					op = []string{"u", "d"}[rng.IntN(2)]
				}
				m.Commit(fmt.Sprintf("%s %d %d", op, id, rng.IntN(100)))
			}
		}
		for range 5 {
			write()
		}
		m.Clean(rng.Int64N(m.Current + 1))
		f := m.follow(t, plan.Config{Start: "snapshot"})
		rows := f.snapshot()
		for more := !rows.UpTo.IsStart(); more; write() {
			if rng.IntN(2) == 0 {
				more = f.chunk(&rows, 1+rng.IntN(3))
			} else if _, err := f.page(1 + rng.IntN(3)); err != nil {
				t.Fatal(err)
			}
		}
		f.read(1 + rng.IntN(3))
		want := map[string]string{}
		for id, v := range m.Rows {
			want[strconv.FormatInt(id, 10)] = strconv.FormatInt(v, 10)
		}
		maps.DeleteFunc(f.got, func(_, v string) bool { return v == "" })
		if !maps.Equal(f.got, want) {
			t.Fatalf("seed %d: the receiver has %v, the table %v", seed, f.got, want)
		}
	}
}

// TestBuiltInSnapshotSeesAnotherTable: a chunk tells which table it is of, so that a session finds the gap.
func TestBuiltInSnapshotSeesAnotherTable(t *testing.T) {
	t.Parallel()
	m := newTracked()
	m.Commit("i 1 1", "i 2 1")
	f := m.follow(t, plan.Config{Start: "snapshot"})
	rows := f.snapshot()
	f.chunk(&rows, 1)
	m.again()
	p, err := f.src.Fetch(t.Context(), rows, poller.Limit{Rows: 1, Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.src.Replaced(t.Context(), f.at, "object 7/0/0", p.Table); !errors.Is(err, poller.ErrGap) {
		t.Errorf("%s: %v", p.Table, err)
	}
}
