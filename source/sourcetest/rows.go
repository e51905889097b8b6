package sourcetest

import (
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// orders creates a table with a nullable cursor and some rows.
func orders(f fixture) string {
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, v " + f.e.BigInt + " NULL, note " + f.e.Text +
		" NULL, gone " + f.e.Bool + " NULL")
	f.exec(fmt.Sprintf("INSERT INTO %s (id, v, note, gone) VALUES (1, 10, 'a', %s), (2, NULL, 'b', NULL), (3, 20, NULL, %s), (4, 20, 'd', NULL), (5, NULL, 'e', %s)",
		name, f.e.False, f.e.True, f.e.True))
	return name
}

func nulls(f fixture) {
	name := orders(f)
	src := f.open(plan.Config{Table: name, Cursor: []string{"v"}})
	p := f.page(src, nil, poller.Limit{Rows: 10, Bytes: plenty})
	f.same("rows with a cursor", keys(p.Events), ids(1, 3, 4))
	if p.NullCursors != 2 {
		f.Errorf("%d NULL cursors are counted, there are 2", p.NullCursors)
	}
	f.warned(p.Warnings, "2 row(s) with a NULL cursor")
	p = f.page(src, p.Events[2].Cursor, poller.Limit{Rows: 10, Bytes: plenty})
	if p.NullCursors != -1 || len(p.Warnings) > 0 {
		f.Errorf("the next fetch counted again: %d, %q", p.NullCursors, p.Warnings)
	}
}

func nullsFail(f fixture) {
	src := f.open(plan.Config{Table: orders(f), Cursor: []string{"v"}, NullCursor: "fail"})
	_, err := src.Fetch(f.ctx(), change.Range{After: nil}, poller.Limit{Rows: 10, Bytes: plenty})
	f.isFault(err, poller.ErrNormalize, "2 row(s) with a NULL cursor", "source__null_cursor")
}

// where holds that an OR in the user's condition does not swallow the position.
func where(f fixture) {
	name := orders(f)
	src := f.open(plan.Config{Table: name, Cursor: []string{"v"}, Where: "note = 'a' OR r.note = 'd' -- (not the others"})
	f.same("filtered", keys(f.drain(src, nil, 1)), ids(1, 4))
}

// whereFew holds that a page of a condition that few rows meet ends within a bounded number of rows, that the position
// passes those that do not, and that none is lost which does.
func whereFew(f fixture) {
	const rows, batch = 9000, 500
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, v " + f.e.BigInt + " NOT NULL")
	f.exec("CREATE INDEX few ON " + name + " (v, id)")
	for first := 1; first <= rows; first += batch {
		values := make([]string, batch)
		for i := range values {
			id := first + i
			values[i] = fmt.Sprintf("(%d, %d)", id, id/2)
		}
		f.exec("INSERT INTO " + name + " (id, v) VALUES " + strings.Join(values, ", "))
	}
	few := plan.Config{Table: name, Cursor: []string{"v"}, Where: "id IN (2, 5000, 8999, 9002)"}
	src := f.open(few)
	limit := poller.Limit{Rows: 10, Bytes: plenty}
	read := func(r change.Range) (found []change.Event, pages int, at change.Cursor) {
		f.Helper()
		for more := true; more; pages++ {
			p, err := src.Fetch(f.ctx(), r, limit)
			if err != nil || pages > 100 {
				f.Fatalf("page %d: %v", pages, err)
			}
			found = append(found, p.Events...)
			if end := p.End(); end != nil {
				r.After = stored(f.T, end)
			}
			more = p.More
		}
		return found, pages, r.After
	}
	found, pages, at := read(change.Range{})
	f.same("all", keys(found), ids(2, 5000, 8999))
	if pages < 2 {
		f.Error("one page went through the whole table")
	}
	found, pages, again := read(change.Range{After: at})
	f.same("nothing new", keys(found), ids())
	if !again.Equal(at) || pages != 1 {
		f.Errorf("%d pages without a row moved the position from %s to %s", pages, at, again)
	}
	f.exec(fmt.Sprintf("INSERT INTO %s (id, v) VALUES (9001, 5000), (9002, 5001), (9003, 5002)", name))
	found, _, _ = read(change.Range{After: at})
	f.same("after it", keys(found), ids(9002))
	for _, held := range []bool{false, true} {
		src = f.open(few) // which goes through few rows at first
		found, pages, _ = read(change.Range{UpTo: at, Unsafe: held})
		if f.same("up to it", keys(found), ids(2, 5000, 8999)); pages < 2 {
			f.Errorf("one page went through the whole range (what is held back, too: %v)", held)
		}
	}
}

func whereBreakout(f fixture) {
	name := orders(f)
	for _, c := range []struct{ where, word string }{
		{"1=1) OR (1=1", "parenthesis"}, {"(1=1", "parenthes"}, {"1=1; DROP TABLE " + name, "semicolon"},
		{"1=1 /* not closed", "comment that does not end"}, {"note = 'not closed", "quote that does not end"},
		{"WHERE 1=1", "begins with WHERE"},
		{"1=1 ORDER BY id", "ORDER BY"}, {"-- nothing", "no condition"},
	} {
		f.refused(plan.Config{Table: name, Cursor: []string{"v"}, Where: c.where}, "source__where", c.word)
	}
	src := f.open(plan.Config{Table: name, Cursor: []string{"v"}, Where: "note = ')' OR note = 'a' /* ( */"})
	f.same("quoted parentheses", keys(f.drain(src, nil, 10)), ids(1))
	_, err := f.open(plan.Config{Table: name, Cursor: []string{"v"}, Where: "nosuch = 1"}).Fetch(f.ctx(), change.Range{},
		poller.Limit{Rows: 1, Bytes: plenty})
	f.isFault(err, poller.ErrConfig, "nosuch", "source__where")
	_, err = f.open(plan.Config{Table: name, Cursor: []string{"v"}, Where: "note = = 1"}).Fetch(f.ctx(), change.Range{},
		poller.Limit{Rows: 1, Bytes: plenty})
	f.isFault(err, poller.ErrConfig, "source__where")
}

// oddNames uses names that need quoting in every way at once.
func oddNames(f fixture) {
	odd := "Order [x] `y` \"q\" 'é' "
	table, id, v := odd+"T", odd+"Id", odd+"select"
	q := f.e.Quote
	f.exec("CREATE TABLE " + q(table) + " (" + q(id) + " " + f.e.BigInt + " NOT NULL PRIMARY KEY, " + q(v) + " " +
		f.e.BigInt + " NOT NULL)")
	f.Cleanup(func() { _, _ = f.e.DB.Exec("DROP TABLE " + q(table)) })
	f.exec("INSERT INTO " + q(table) + " VALUES (1, 7), (2, 7), (3, 8)")
	// The setting quotes in the standard's way, whatever the engine's own is.
	src := f.open(plan.Config{Table: `"` + strings.ReplaceAll(table, `"`, `""`) + `"`, Cursor: []string{v}})
	all := f.drain(src, nil, 2)
	if len(all) != 3 {
		f.Fatalf("%d rows", len(all))
	}
	f.same("key", string(all[0].Key), string(change.AppendString([]byte("{"), id))+":1}")
}

func projection(f fixture) {
	name := orders(f)
	src := f.open(plan.Config{Table: name, Cursor: []string{"V"}, Columns: []string{"note"}, OrderKey: []string{"note"},
		DeleteWhen: "gone"})
	all := f.drain(src, nil, 10)
	f.same("keys", keys(all), ids(1, 3, 4))
	f.same("row", string(all[0].Row), `{"note":"a"}`)
	f.same("a row with NULL", string(all[1].Row), `{"note":null}`)
	f.same("order key", string(all[0].OrderKey), `{"note":"a"}`)
}

func batchBytes(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, note " + f.e.Text + " NOT NULL")
	var want []int
	for i := 1; i <= 40; i++ {
		size := 50
		if i == 20 {
			size = 90
		}
		f.exec(fmt.Sprintf("INSERT INTO %s (id, note) VALUES (%d, '%s')", name, i, strings.Repeat("x", size)))
		want = append(want, i)
	}
	src := f.open(plan.Config{Table: name, Cursor: []string{"id"}})
	for _, limit := range []int{1, 150, 400, 1000, 100_000} {
		var all []change.Event
		var after change.Cursor
		for {
			p := f.page(src, after, poller.Limit{Rows: 15, Bytes: limit})
			size := 0
			for _, e := range p.Events {
				size += e.Size()
			}
			if size > limit && len(p.Events) > 1 {
				f.Fatalf("a page of %d rows takes %d bytes, the limit is %d", len(p.Events), size, limit)
			}
			if !p.More && len(all)+len(p.Events) < len(want) {
				f.Fatalf("the page after %s says that it is the last", after)
			}
			if len(p.Events) == 0 {
				break
			}
			all = append(all, p.Events...)
			after = p.Events[len(p.Events)-1].Cursor
		}
		f.same(fmt.Sprintf("within %d bytes", limit), keys(all), ids(want...))
	}
}

func deletes(f fixture) {
	src := f.open(plan.Config{Table: orders(f), Cursor: []string{"v"}, DeleteWhen: "gone"})
	var ops []string
	for _, e := range f.drain(src, nil, 10) {
		ops = append(ops, e.Op.String())
	}
	f.same("false, true, NULL", strings.Join(ops, " "), "upsert delete upsert")
	remedy := "CASE"
	if f.e.Name == "sqlite" { // what a query computes has no type there
		remedy = "generated column"
	}
	f.refused(plan.Config{Table: orders2(f), Cursor: []string{"v"}, DeleteWhen: "note"}, "source__delete_when", "note",
		remedy)
}

// orders2 is a second table for tests that need one.
func orders2(f fixture) string {
	f.exec("CREATE TABLE t_second (id " + f.e.BigInt + " NOT NULL PRIMARY KEY, v " + f.e.BigInt + " NOT NULL, note " +
		f.e.Text + ")")
	f.Cleanup(func() { _, _ = f.e.DB.Exec("DROP TABLE t_second") })
	return "t_second"
}

func tombstones(f fixture) {
	src := f.open(plan.Config{Table: orders(f), Cursor: []string{"v"}, Op: "delete"})
	for _, e := range f.drain(src, nil, 10) {
		if e.Op != change.Delete {
			f.Errorf("%s is %v", e.Key, e.Op)
		}
	}
}

func query(f fixture) {
	name := orders(f)
	src := f.open(plan.Config{Query: "SELECT a.id, a.v, b.note AS other\nFROM " + name + " a JOIN " + name +
		" b ON a.id = b.id -- a comment at the end",
		Cursor: []string{"v"}, Key: []string{"id"}, Where: "id > 1 OR 1 = 0"})
	d := f.describe(src)
	f.warned(d.Warnings, "not provable")
	f.same("table", d.Table, "query")
	for _, size := range []int{1, 2, 3} {
		all := f.drain(src, nil, size)
		f.same("rows", keys(all), ids(3, 4))
		f.same("row", string(all[1].Row), `{"id":4,"v":20,"other":"d"}`)
	}
}

// queryDuplicates has two rows with one (cursor, key): wherever the page ends, neither is passed over.
func queryDuplicates(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, k " + f.e.BigInt + " NOT NULL, v " + f.e.BigInt +
		" NOT NULL")
	f.exec("INSERT INTO " + name + " (id, k, v) VALUES (1, 1, 1), (2, 2, 1), (3, 3, 2), (4, 3, 2), (5, 4, 3)")
	for size := 1; size <= 5; size++ {
		src := f.open(plan.Config{Query: "SELECT k, v, id FROM " + name, Cursor: []string{"v"}, Key: []string{"k"}})
		var got []change.Event
		var after change.Cursor
		var err error
		for range 6 {
			var p change.Page
			if p, err = src.Fetch(f.ctx(), change.Range{After: after}, poller.Limit{Rows: size, Bytes: plenty}); err != nil {
				break
			}
			got = append(got, p.Events...)
			after = got[len(got)-1].Cursor
		}
		f.isFault(err, poller.ErrNormalize, "same cursor and key", `{"k":3}`, "source__key")
		f.same(fmt.Sprintf("before the duplicates, pages of %d", size), keys(got), `{"k":1} {"k":2}`)
	}
}

func queryRefused(f fixture) {
	name := orders(f)
	for _, c := range []struct{ query, word string }{
		{"SELECT id, v FROM " + name + " ORDER BY id", "ORDER BY"},
		{"SELECT id, v FROM " + name + ";", "semicolon"},
		{"SELECT id, v FROM " + name + "; DROP TABLE " + name, "semicolon"},
		{"SELECT id, v FROM (SELECT id, v FROM " + name + ") x) AS r, (SELECT 1 AS one", "parenthesis"},
		{"DELETE FROM " + name, "one SELECT"},
		{"SELECT id, v FROM " + name + " LIMIT 3", "LIMIT"},
	} {
		f.refused(plan.Config{Query: c.query, Cursor: []string{"v"}, Key: []string{"id"}}, "source__query", c.word)
	}
	f.refused(plan.Config{Query: "SELECT id, v FROM " + name, Cursor: []string{"v"}},
		"source__key is required for a query")
	f.refused(plan.Config{Query: "SELECT id, v FROM t_nosuch", Cursor: []string{"v"}, Key: []string{"id"}}, "t_nosuch",
		"source__query")
	var n int
	if err := f.e.DB.QueryRowContext(f.ctx(), "SELECT COUNT(*) FROM "+name).Scan(&n); err != nil || n != 5 {
		f.Errorf("the table has %d rows (%v)", n, err)
	}
}

// queryFolded has keys that differ in case only, in a query: whether or not the database holds them equal, none is
// passed over at the end of a page.
func queryFolded(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, k " + f.e.Text + " NOT NULL, v " + f.e.BigInt +
		" NOT NULL")
	f.exec("INSERT INTO " + name +
		" (id, k, v) VALUES (1, 'a', 1), (2, 'b', 1), (3, 'B', 1), (4, 'c', 1), (5, 'B', 2), (6, 'd', 2)")
	for size := 2; size <= 6; size++ {
		src := f.open(plan.Config{Query: "SELECT k, v, id FROM " + name, Cursor: []string{"v"}, Key: []string{"k"}})
		seen := map[string]bool{}
		for _, e := range f.drain(src, nil, size) {
			seen[string(e.Row)] = true
		}
		if len(seen) != 6 {
			f.Errorf("pages of %d bring %d of 6 rows", size, len(seen))
		}
	}
}

// largeRows has far more bytes than a page may hold: what is not taken is not read to the end either, and the pages
// that follow ask for fewer rows.
func largeRows(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, note " + f.e.Text + " NOT NULL")
	var values []string
	var want []int
	for i := 1; i <= 300; i++ {
		values = append(values, fmt.Sprintf("(%d, '%s')", i, strings.Repeat("x", 90)))
		want = append(want, i)
	}
	f.exec("INSERT INTO " + name + " (id, note) VALUES " + strings.Join(values, ", "))
	src := f.open(plan.Config{Table: name, Cursor: []string{"id"}})
	var all []change.Event
	var after change.Cursor
	for {
		p := f.page(src, after, poller.Limit{Rows: 1000, Bytes: 800})
		all = append(all, p.Events...)
		if !p.More {
			break
		}
		after = p.Events[len(p.Events)-1].Cursor
	}
	f.same("rows", keys(all), ids(want...))
}
