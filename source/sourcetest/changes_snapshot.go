package sourcetest

import (
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// whole reads the table in chunks of so many rows, from a position in it that went through its stored form each time.
// After each chunk something is done.
func (r *reader) whole(rows int, then func(chunk int)) (all []change.Event) {
	r.Helper()
	s, err := r.src.Snapshot(r.ctx())
	if err != nil {
		r.Fatal(err)
	}
	if s.Rows.UpTo.IsStart() {
		return nil
	}
	at, end := s.Rows.After, stored(r.T, s.Rows.UpTo)
	for n := range 10_000 {
		p, err := r.src.Fetch(r.ctx(), change.Range{After: stored(r.T, at), UpTo: end},
			poller.Limit{Rows: rows, Bytes: plenty})
		if err != nil {
			r.Fatal(err)
		}
		all = append(all, p.Events...)
		if n := len(p.Events); n > 0 {
			at = p.Events[n-1].Position()
		}
		if !p.More {
			return all
		}
		then(n + 1)
	}
	r.Fatal("the table does not end")
	return nil
}

func nothing(int) {}

// wholeTable: every row that there is comes once, in the order of its key, whether it was ever written since the
// tracking began or not; what is written meanwhile comes as a change.
func wholeTable(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, v " + f.e.BigInt + " NOT NULL")
	for rows := 1; rows <= 6; rows++ {
		f.insert(name, 1, 6, 1)
		f.track(name)
		f.exec("UPDATE "+name+" SET v = 2 WHERE id = 2", "DELETE FROM "+name+" WHERE id = 4")
		r := f.reader(plan.Config{Table: name, Start: "snapshot"})
		f.same("no change yet", told(r.read(10)), "")
		s, err := r.src.Snapshot(f.ctx())
		if err != nil || s.Count != 5 {
			f.Errorf("about %d rows, %v", s.Count, err)
		}
		f.same(fmt.Sprintf("chunks of %d", rows), told(r.whole(rows, func(chunk int) {
			if chunk == 1 {
				f.insert(name, 7, 8, 1) // beyond the highest key of the begin
			}
		})), "insert 1=1, insert 2=2, insert 3=1, insert 5=1, insert 6=1")
		f.untrack(name)
		f.exec("DELETE FROM " + name)
	}
}

// wholeIDs: a row that was not written since has the same id each time, in a chunk, as a change and read again by its
// key; one that was written has another.
func wholeIDs(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, v " + f.e.BigInt + " NOT NULL")
	f.insert(name, 1, 3, 1)
	f.track(name)
	r := f.reader(plan.Config{Table: name, Start: "latest"})
	f.exec("UPDATE " + name + " SET v = 2 WHERE id = 3")
	ids := func(events []change.Event) map[string]string {
		f.Helper()
		byKey := map[string]string{}
		for _, e := range events {
			byKey[string(e.Key)] = e.ID
		}
		if len(byKey) != 3 {
			f.Fatalf("%d events, not 3: %s", len(byKey), told(events))
		}
		return byKey
	}
	first := ids(r.whole(2, nothing))
	f.same("again", fmt.Sprint(ids(r.whole(1, nothing))), fmt.Sprint(first))
	again, err := r.src.Reread(f.ctx(), [][]byte{[]byte(`{"id":1}`), []byte(`{"id":2}`), []byte(`{"id":3}`)})
	if err != nil {
		f.Fatal(err)
	}
	f.same("by key", fmt.Sprint(ids(again)), fmt.Sprint(first))
	f.same("the change", r.read(10)[0].ID, first[`{"id":3}`])
	f.exec("UPDATE " + name + " SET v = v + 1 WHERE id <> 2")
	second := ids(r.whole(5, nothing))
	if second[`{"id":1}`] == first[`{"id":1}`] || second[`{"id":2}`] != first[`{"id":2}`] ||
		second[`{"id":3}`] == first[`{"id":3}`] {
		f.Errorf("the ids were %v, and are %v", first, second)
	}
	f.untrack(name)
	f.exec("UPDATE " + name + " SET v = 9 WHERE id = 2") // nobody sees it
	f.track(name)
	if last := ids(r.whole(5, nothing)); last[`{"id":2}`] == first[`{"id":2}`] {
		f.Errorf("another state of row 2 has the id %s", last[`{"id":2}`])
	}
}

// wholeComposite has many rows of one value in the key's first column, which is not the table's first, and text in it.
func wholeComposite(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL, v " + f.e.BigInt + ", tenant " + f.e.Text +
		" NOT NULL, PRIMARY KEY (tenant, id)")
	f.exec("INSERT INTO " + name + " (tenant, id, v) VALUES ('b', 1, 1), ('a', 2, 1), ('a', 1, 1), ('b', 3, 2), ('b', 2, 1), " +
		"('it''s', 1, 1)")
	f.track(name)
	for rows := 1; rows <= 6; rows++ {
		r := f.reader(plan.Config{Table: name, Start: "snapshot", Where: "v = 1", OrderKey: []string{"tenant"}})
		events := r.whole(rows, nothing)
		f.same(fmt.Sprintf("chunks of %d", rows), keys(events), `{"tenant":"a","id":1} {"tenant":"a","id":2} `+
			`{"tenant":"b","id":1} {"tenant":"b","id":2} {"tenant":"it's","id":1}`)
		f.same("an order key", string(events[0].OrderKey), `{"tenant":"a"}`)
	}
}

// wholeOfInserts: where only inserts are wanted, a row is told of once, however it was found.
func wholeOfInserts(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, v " + f.e.BigInt + " NOT NULL")
	f.insert(name, 1, 2, 1)
	f.track(name)
	r := f.reader(plan.Config{Table: name, Start: "snapshot", Operations: []string{"insert"}})
	f.insert(name, 3, 4, 1)
	f.exec("UPDATE " + name + " SET v = 2 WHERE id IN (2, 4)")
	chunks := r.whole(1, nothing)
	f.same("the table", told(chunks), "insert 1=1, insert 2=2, insert 3=1, insert 4=2")
	ids := map[string]string{}
	for _, e := range chunks {
		ids[string(e.Key)] = e.ID
	}
	live := r.read(1)
	f.same("changes", sorted(told(live)), "insert 3=1, insert 4=2")
	for _, e := range live {
		if e.ID != ids[string(e.Key)] && f.e.Name != "sqlserver" { // which does not say when a row by its key was inserted
			f.Errorf("%s has the id %s, and had %s", e.Key, e.ID, ids[string(e.Key)])
		}
	}
	again, err := r.src.Reread(f.ctx(), [][]byte{[]byte(`{"id":2}`)})
	if err != nil {
		f.Fatal(err)
	}
	f.same("read again", told(again), "insert 2=2")
}

// wholeBroken: a row that is too large is told of as that, and holds up no other.
func wholeBroken(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, v " + f.e.Text)
	f.exec("INSERT INTO " + name + " VALUES (1, 'a'), (2, '" + strings.Repeat("b", 90) + "'), (3, 'c')")
	f.track(name)
	r := f.reader(plan.Config{Table: name, Start: "snapshot", MaxRowBytes: 150})
	var got []string
	for _, e := range r.whole(2, nothing) {
		got = append(got, fmt.Sprintf("%s %t", e.Key, e.Broken != nil))
	}
	f.same("rows", strings.Join(got, ", "), `{"id":1} false, {"id":2} true, {"id":3} false`)
}

// wholeOfNothing: an empty table has no range.
func wholeOfNothing(f fixture) {
	name := f.tracked()
	r := f.reader(plan.Config{Table: name, Start: "snapshot"})
	f.same("rows", told(r.whole(1, nothing)), "")
	f.insert(name, 1, 1, 1)
	f.same("a change", told(r.read(10)), "insert 1=1")
	_, err := f.open(plan.Config{Table: name, Cursor: []string{"id"}}).Snapshot(f.ctx())
	f.isFault(err, poller.ErrConfig, "source__mode=changetracking")
}
