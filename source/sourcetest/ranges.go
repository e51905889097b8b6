package sourcetest

import (
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
)

// within reads a range to its end, page by page.
func (f fixture) within(src *source.Cursor, r change.Range, rows int) []change.Event {
	f.Helper()
	var all []change.Event
	for range 1000 {
		p, err := src.Fetch(f.ctx(), r, poller.Limit{Rows: rows, Bytes: plenty})
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, p.Events...)
		if !p.More {
			return all
		}
		r.After = stored(f.T, p.Events[len(p.Events)-1].Position())
	}
	f.Fatal("the range does not end")
	return nil
}

func (f fixture) counted(src *source.Cursor, r change.Range) int64 {
	f.Helper()
	n, err := src.Count(f.ctx(), r)
	if err != nil {
		f.Fatal(err)
	}
	return n
}

// upTo ends ranges at every row of a table, from every row of it: what comes is what a plain fetch has between the two,
// and as many are counted.
func upTo(f fixture) {
	name := f.table("tenant " + f.e.Text + " NOT NULL, id " + f.e.BigInt + " NOT NULL, major " + f.e.BigInt +
		" NOT NULL, minor " + f.e.BigInt + " NULL, PRIMARY KEY (tenant, id)")
	for i := range 12 {
		f.exec(fmt.Sprintf("INSERT INTO %s (tenant, id, major, minor) VALUES ('%c', %d, %d, %d)", name, 'a'+i%3, i, i/6, i/3))
	}
	f.exec("INSERT INTO " + name + " (tenant, id, major, minor) VALUES ('z', 99, 1, NULL)")
	for _, cfg := range []plan.Config{
		{Table: name, Cursor: []string{"major"}},
		{Table: name, Cursor: []string{"major", "minor"}, Where: "id < 3 OR id > 3"},
		{Query: "SELECT * FROM " + name, Cursor: []string{"minor"}, Key: []string{"tenant", "id"}},
	} {
		src := f.open(cfg)
		all := f.drain(src, nil, 5)
		if len(all) < 11 {
			f.Fatalf("%d rows", len(all))
		}
		for from := -1; from < len(all); from++ {
			for to := max(from, 0); to < len(all); to += 3 {
				r := change.Range{UpTo: stored(f.T, all[to].Cursor)}
				if from >= 0 {
					r.After = stored(f.T, all[from].Cursor)
				}
				want := all[from+1 : to+1]
				f.same(fmt.Sprintf("%v: rows %d to %d", cfg.Cursor, from, to), keys(f.within(src, r, 2)), keys(want))
				if from%4 != 0 {
					continue // each count is a connection of its own
				}
				if n := f.counted(src, r); n != int64(len(want)) {
					f.Errorf("%v: rows %d to %d: %d are counted, not %d", cfg.Cursor, from, to, n, len(want))
				}
			}
		}
		if n := f.counted(src, change.Range{}); n != int64(len(all)) {
			f.Errorf("%v: %d are counted in all, not %d", cfg.Cursor, n, len(all))
		}
	}
}

// upToBoundary ends ranges at values of every cursor type, at full precision, with and without a tie-breaker.
func upToBoundary(f fixture) {
	for n, b := range f.e.Boundaries {
		name := fmt.Sprintf("t_up_to_%d", n)
		f.exec("CREATE TABLE " + name + " (id " + f.e.BigInt + " NOT NULL PRIMARY KEY, c " + b.Type + " NOT NULL " +
			b.Default + ")")
		f.Cleanup(func() { _, _ = f.e.DB.Exec("DROP TABLE " + name) })
		for i, literal := range b.Literals {
			f.exec(fmt.Sprintf("INSERT INTO %s (id, c) VALUES (%d, %s), (%d, %s)", name, 2*i+1, literal, 2*i+2, literal))
		}
		src := f.open(plan.Config{Table: name, Cursor: []string{"c"}, LateCommits: "none"})
		all := f.drain(src, nil, 100)
		if n := f.counted(src, change.Range{After: all[0].Cursor, UpTo: all[len(all)-2].Cursor}); n != int64(len(all)-2) {
			f.Errorf("%s: %d of %d rows are counted", b.Type, n, len(all))
		}
		for i := 0; i < len(all); i += 2 {
			what := b.Type + " " + string(all[i].Cursor)
			f.same(what+", itself", keys(f.within(src, change.Range{UpTo: all[i].Cursor}, 100)), keys(all[:i+1]))
			valueOf := change.Cursor(value(all[i].Cursor) + "}")
			f.same(what+", its value", keys(f.within(src, change.Range{UpTo: valueOf}, 100)), keys(all[:i+2]))
			f.same(what+", after its value", keys(f.within(src, change.Range{After: valueOf}, 100)), keys(all[i+2:]))
			f.same(what+", nothing between", keys(f.within(src, change.Range{After: all[i].Cursor, UpTo: all[i].Cursor}, 100)),
				"")
		}
	}
	src := f.open(plan.Config{Table: "t_up_to_0", Cursor: []string{"c"}, LateCommits: "none"})
	_, err := src.Fetch(f.ctx(), change.Range{UpTo: change.Cursor(`{"kind":"other"}`)},
		poller.Limit{Rows: 1, Bytes: plenty})
	f.isFault(err, poller.ErrConfig, "stored cursor")
	_, err = src.Count(f.ctx(), change.Range{UpTo: change.Cursor(`{"kind":"other"}`)})
	f.isFault(err, poller.ErrConfig, "stored cursor")
}

// other finds a row of another order key, of which some are NULL, whatever the engine calls equal.
func other(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, v " + f.e.BigInt + " NOT NULL, tenant " + f.e.Text +
		" NULL, region " + f.e.BigInt + " NULL")
	f.exec("INSERT INTO " + name +
		" (id, v, tenant, region) VALUES (1, 1, 'a', 1), (2, 2, 'a', NULL), (3, 3, NULL, 1), (4, 4, NULL, NULL), (5, 5, 'b', 1), (6, 6, 'a', 1)")
	src := f.open(plan.Config{Table: name, Cursor: []string{"v"}, OrderKey: []string{"tenant", "region"},
		Columns: []string{"v"}, Where: "id > 0 OR id < 0"})
	all := f.drain(src, nil, 10)
	var avoid [][]byte
	for i := range 5 {
		found, err := src.Other(f.ctx(), nil, avoid)
		if err != nil {
			f.Fatal(err)
		}
		if found == nil || found.ID != all[i].ID || string(found.Cursor) != string(all[i].Cursor) {
			f.Fatalf("avoiding %q: %v, want %s", avoid, found, all[i].Key)
		}
		avoid = append(avoid, all[i].OrderKey)
	}
	if found, err := src.Other(f.ctx(), nil, avoid); found != nil || err != nil {
		f.Errorf("all are avoided: %v, %v", found, err)
	}
	if found, err := src.Other(f.ctx(), all[4].Cursor, avoid[1:]); err != nil || found == nil ||
		string(found.Key) != ids(6) {
		f.Errorf("after the fifth: %v, %v", found, err)
	}
	// A key of another form is no row's: there is nothing to avoid.
	if found, err := src.Other(f.ctx(), nil,
		[][]byte{[]byte(`{"id":1}`), []byte("{"),
			[]byte(`{"tenant":[],"region":{}}`)}); err != nil || found == nil || string(found.Key) != ids(1) {
		f.Errorf("strange keys: %v, %v", found, err)
	}
	// What can never be sent proves nothing.
	f.exec("UPDATE " + name + " SET tenant = '" + strings.Repeat("x", 80) + "' WHERE id = 1")
	narrow := f.open(plan.Config{Table: name, Cursor: []string{"v"}, OrderKey: []string{"region"}, MaxRowBytes: 140})
	if found, err := narrow.Other(f.ctx(), nil, nil); err != nil || found == nil || string(found.Key) != ids(2) {
		f.Errorf("after a broken row: %v, %v", found, err)
	}
}

// broken holds that a row which is too large is an event that says so, and nothing after it waits.
func broken(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, note " + f.e.Text + " NOT NULL")
	f.exec(fmt.Sprintf("INSERT INTO %s (id, note) VALUES (1, 'small'), (2, '%s'), (3, 'small')", name,
		strings.Repeat("x", 95)))
	read := func(limit int) change.Event {
		all := f.drain(f.open(plan.Config{Table: name, Cursor: []string{"id"}, MaxRowBytes: limit}), nil, 2)
		f.same("rows", keys(all), ids(1, 2, 3))
		if all[0].Broken != nil || all[2].Broken != nil {
			f.Errorf("the small rows: %v, %v", all[0].Broken, all[2].Broken)
		}
		return all[1]
	}
	e := read(150)
	if e.Broken == nil || string(e.Row) != "null" || string(e.OrderKey) != ids(2) {
		f.Fatalf("%+v", e)
	}
	for _, word := range []string{`{"id":2}`, "max_row_bytes (150)", "source__columns"} {
		if !strings.Contains(e.Broken.Error(), word) {
			f.Errorf("no %q: %v", word, e.Broken)
		}
	}
	if again := read(160); again.ID != e.ID {
		f.Error("the id of a broken row is another each time")
	}
	if whole := read(1000); whole.Broken != nil || whole.ID == e.ID {
		f.Errorf("with a larger max_row_bytes: %v, id %s", whole.Broken, whole.ID)
	}
	found, err := f.open(plan.Config{Table: name, Cursor: []string{"id"}, MaxRowBytes: 150}).Reread(f.ctx(),
		[][]byte{e.Key})
	if err != nil || len(found) != 1 || found[0].Broken == nil || found[0].ID != e.ID {
		f.Errorf("read again: %+v, %v", found, err)
	}
}
