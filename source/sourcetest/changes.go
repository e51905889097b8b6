package sourcetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/tracking"
)

// track puts triggers on a table.
func (f fixture) track(table string) {
	f.Helper()
	f.install(table, tracking.Writes{})
}

// install puts triggers on a table that record which writes count.
func (f fixture) install(table string, writes tracking.Writes) {
	f.Helper()
	conn, err := engines.Parse(f.e.URL)
	if err != nil {
		f.Fatal(err)
	}
	w, err := tracking.Install(f.ctx(), conn, table, "", "orders", writes)
	if err != nil {
		f.Fatal(err)
	}
	if err := w.Apply(f.ctx(), f.e.DB); err != nil {
		f.Fatalf("%v\n%s", err, strings.Join(w.Statements, ";\n"))
	}
}

// tracked makes a table with triggers on it.
func (f fixture) tracked() string {
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, v " + f.e.BigInt + " NOT NULL")
	f.track(name)
	return name
}

// insert writes the rows from..to, each with the value v.
func (f fixture) insert(table string, from, to, v int) {
	f.Helper()
	var rows []string
	for i := from; i <= to; i++ {
		rows = append(rows, fmt.Sprintf("(%d, %d)", i, v))
	}
	f.exec("INSERT INTO " + table + " (id, v) VALUES " + strings.Join(rows, ", "))
}

// reader follows changes as a poller does.
type reader struct {
	fixture
	src *source.Cursor
	at  change.Cursor
	of  string // the table
}

func (f fixture) reader(cfg plan.Config) *reader {
	f.Helper()
	cfg.Tracked = true
	src := f.open(cfg)
	f.describe(src)
	at, _, err := src.Start(f.ctx())
	if err != nil {
		f.Fatal(err)
	}
	return &reader{f, src, at, cfg.Table}
}

// read takes everything that there is now, in pages of so many rows.
func (r *reader) read(rows int) []change.Event {
	r.Helper()
	return r.pages(rows, func(int) {})
}

// pages is read; after each page something is done.
func (r *reader) pages(rows int, then func(page int)) (all []change.Event) {
	r.Helper()
	for n := range 10_000 {
		p := r.page(r.src, stored(r.T, r.at), poller.Limit{Rows: rows, Bytes: plenty})
		all = append(all, p.Events...)
		if end := p.End(); end != nil {
			r.at = end
		}
		if len(p.Events) == 0 && !p.More {
			return all
		}
		then(n + 1)
	}
	r.Fatal("the source does not end")
	return nil
}

// told are events as op, key and the value of the row: "insert 1=5".
func told(events []change.Event) string {
	var out []string
	for _, e := range events {
		row := string(e.Row)
		if e.Op == change.Delete {
			row = ""
			if string(e.Row) != string(e.Key) {
				row = "with the row " + string(e.Row)
			}
		}
		row = strings.TrimSuffix(row[strings.LastIndexByte(row, ':')+1:], "}")
		id := strings.TrimSuffix(strings.TrimPrefix(string(e.Key), `{"id":`), "}")
		out = append(out, strings.TrimSuffix(e.Op.String()+" "+id+"="+row, "="))
	}
	return strings.Join(out, ", ")
}

// sorted puts what one statement did to several rows in an order: the engines' own differ.
func sorted(told string) string {
	parts := strings.Split(told, ", ")
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// each writes the same for a range of keys.
func each(op string, from, to int, v string) string {
	var out []string
	for i := from; i <= to; i++ {
		text := fmt.Sprintf("%s %d", op, i)
		if v != "" {
			text += "=" + v
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func singleOperations(f fixture) {
	name := f.tracked()
	r := f.reader(plan.Config{Table: name})
	f.same("nothing yet", told(r.read(100)), "")
	f.insert(name, 1, 30, 1)
	f.same("inserts", told(r.read(100)), each("insert", 1, 30, "1"))
	f.exec("UPDATE " + name + " SET v = 2 WHERE id <= 20")
	f.same("updates", told(r.read(100)), each("update", 1, 20, "2"))
	f.exec("DELETE FROM " + name + " WHERE id >= 11")
	f.same("deletes", told(r.read(100)), each("delete", 11, 30, ""))
	f.same("no more", told(r.read(100)), "")
}

func netChange(f fixture) {
	name := f.tracked()
	f.insert(name, 8, 9, 1)
	r := f.reader(plan.Config{Table: name, Start: "latest"})
	f.same("latest", told(r.read(10)), "")
	f.insert(name, 1, 3, 1)
	f.exec("UPDATE "+name+" SET v = 2 WHERE id = 1", "UPDATE "+name+" SET v = 3 WHERE id = 1") // insert, update, update
	f.exec("UPDATE "+name+" SET v = 2 WHERE id = 8", "UPDATE "+name+" SET v = 3 WHERE id = 8") // update, update
	f.exec("UPDATE "+name+" SET v = 2 WHERE id = 2", "DELETE FROM "+name+" WHERE id = 2")      // insert, update, delete
	f.exec("DELETE FROM "+name+" WHERE id = 9", "INSERT INTO "+name+" VALUES (9, 5)")          // delete, insert
	got := told(r.read(10))
	if f.e.Name == "sqlserver" { // which may call that an update
		got = strings.Replace(got, "update 9", "insert 9", 1)
	}
	f.same("the net changes", got, "insert 3=1, insert 1=3, update 8=3, delete 2, insert 9=5")
}

// changePages has more changes than a page holds, of rows that were written after they were inserted.
func changePages(f fixture) {
	name := f.tracked()
	for rows := 1; rows <= 7; rows++ {
		r := f.reader(plan.Config{Table: name, Start: "latest"})
		f.insert(name, 1, 9, 1)
		f.exec("UPDATE " + name + " SET v = 2 WHERE id <= 6")
		f.exec("DELETE FROM " + name + " WHERE id = 4")
		f.same(fmt.Sprintf("pages of %d", rows), told(r.read(rows)),
			"insert 7=1, insert 8=1, insert 9=1, insert 1=2, insert 2=2, insert 3=2, insert 5=2, insert 6=2, delete 4")
		f.exec("UPDATE " + name + " SET v = 3 WHERE id = 7")
		f.same("a later update", told(r.read(rows)), "update 7=3")
		f.exec("DELETE FROM " + name)
	}
}

func keyChange(f fixture) {
	name := f.tracked()
	f.insert(name, 1, 3, 1)
	r := f.reader(plan.Config{Table: name, Start: "latest"})
	f.exec("UPDATE " + name + " SET id = 7 WHERE id = 2")
	f.same("a key", told(r.read(10)), "delete 2, insert 7=1")
	f.exec("UPDATE " + name + " SET id = id + 100")
	f.same("all keys", sorted(told(r.read(10))), "delete 1, delete 3, delete 7, insert 101=1, insert 103=1, insert 107=1")
}

func rolledBack(f fixture) {
	name := f.tracked()
	r := f.reader(plan.Config{Table: name})
	tx, err := f.e.DB.BeginTx(f.ctx(), nil)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := tx.ExecContext(f.ctx(), "INSERT INTO "+name+" VALUES (1, 1)"); err != nil {
		f.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		f.Fatal(err)
	}
	f.same("nothing", told(r.read(10)), "")
	f.insert(name, 2, 2, 1)
	f.same("what was committed", told(r.read(10)), "insert 2=1")
}

func twoPollers(f fixture) {
	name := f.tracked()
	a, b := f.reader(plan.Config{Table: name, Poller: "a"}), f.reader(plan.Config{Table: name, Poller: "b"})
	f.insert(name, 1, 3, 1)
	f.same("a", told(a.read(2)), each("insert", 1, 3, "1"))
	f.exec("UPDATE " + name + " SET v = 2 WHERE id = 2")
	f.same("a later", told(a.read(2)), "update 2=2")
	f.same("b", told(b.read(2)), "insert 1=1, insert 3=1, insert 2=2")
}

func operations(f fixture) {
	name := f.tracked()
	for _, op := range plan.Operations {
		r := f.reader(plan.Config{Table: name, Start: "latest", Operations: []string{op}})
		f.insert(name, 1, 9, 1)
		got := []string{told(r.read(2))}
		f.exec("UPDATE " + name + " SET v = 2 WHERE id <= 3")
		got = append(got, told(r.read(2)))
		f.exec("DELETE FROM " + name)
		got = append(got, told(r.read(2)))
		want := []string{"", "", ""}
		switch op {
		case "insert":
			want[0] = each("insert", 1, 9, "1")
		case "update":
			want[1] = each("update", 1, 3, "2")
		default:
			want[2] = each("delete", 1, 9, "")
		}
		f.same(op, strings.Join(got, "|"), strings.Join(want, "|"))
	}
}

// onlyInserts: an insert is told although its row was written again before it could be read, also where no update is
// wanted; and a row that was told is not told again with its next write.
func onlyInserts(f fixture) {
	name := f.tracked()
	for _, start := range []string{"latest", "earliest"} {
		f.exec("DELETE FROM " + name)
		cfg := plan.Config{Table: name, Start: "latest", Operations: []string{"insert"}}
		r := f.reader(cfg)
		f.insert(name, 1, 9, 1)
		if cfg.Start = start; start == "earliest" {
			r = f.reader(cfg)
		}
		all := r.pages(3, func(page int) {
			switch page { // the row leaves the window, and then the next one
			case 1:
				f.exec("UPDATE " + name + " SET v = 2 WHERE id IN (6, 8)")
				f.insert(name, 10, 14, 1)
			case 5:
				f.exec("UPDATE " + name + " SET v = 3 WHERE id = 8")
			}
		})
		ids, newest := map[string]string{}, map[string]string{}
		for _, e := range all {
			if id, told := ids[string(e.Key)]; told && id != e.ID {
				f.Errorf("%s: %s is told twice, with two ids", start, e.Key)
			}
			ids[string(e.Key)], newest[string(e.Key)] = e.ID, e.Op.String()
		}
		for i := 1; i <= 14; i++ {
			if op := newest[fmt.Sprintf(`{"id":%d}`, i)]; op != "insert" {
				f.Errorf("%s: of row %d was told %q", start, i, op)
			}
		}
		r.read(3)
		f.exec("UPDATE " + name + " SET v = 4")
		f.same(start+": updates", told(r.read(3)), "")
	}
}

func whereOfChanges(f fixture) {
	name := f.tracked()
	r := f.reader(plan.Config{Table: name, Where: "v > 1"})
	f.insert(name, 1, 2, 1)
	f.insert(name, 3, 4, 2)
	f.same("rows", told(r.read(10)), "insert 3=2, insert 4=2")
	f.exec("DELETE FROM " + name)
	f.same("every delete", told(r.read(10)), each("delete", 1, 4, ""))
}

// rereadChanges: the newest state of a key is its delete where it is gone, and the id of a row that was not written
// since is the same.
func rereadChanges(f fixture) {
	name := f.tracked()
	r := f.reader(plan.Config{Table: name})
	f.insert(name, 1, 3, 1)
	f.exec("UPDATE " + name + " SET v = 2 WHERE id = 3")
	first := r.read(10)
	f.exec("DELETE FROM " + name + " WHERE id = 2")
	again, err := r.src.Reread(f.ctx(), [][]byte{[]byte(`{"id":1}`), []byte(`{"id":2}`), []byte(`{"id":3}`),
		[]byte(`{"id":4}`)})
	if err != nil {
		f.Fatal(err)
	}
	want := "insert 1=1, delete 2, update 3=2, delete 4" // a key of which nothing is recorded is gone
	if f.e.Name == "sqlserver" {                         // it does not say when a row by its key was inserted
		want = strings.Replace(want, "insert", "update", 1)
	}
	f.same("the newest", told(again), want)
	ids := map[string]string{}
	for _, e := range first {
		ids[string(e.Key)] = e.ID
	}
	if again[0].ID != ids[`{"id":1}`] || again[2].ID != ids[`{"id":3}`] || again[1].ID == ids[`{"id":2}`] {
		f.Errorf("the ids were %v, and are %s, %s, %s", ids, again[0].ID, again[1].ID, again[2].ID)
	}
	f.same("the delete", again[1].ID, r.read(10)[0].ID)
}

// changesFew holds that no page reads further than its limit where few changes meet the condition, and that the
// position passes the others.
func changesFew(f fixture) {
	name := f.tracked()
	r := f.reader(plan.Config{Table: name, Start: "latest", Where: "id IN (7, 50, 120)"})
	f.insert(name, 1, 100, 1)
	pages := 0
	all := r.pages(10, func(int) { pages++ })
	f.same("chosen", sorted(told(all)), "insert 50=1, insert 7=1")
	if pages < 10 {
		f.Errorf("100 changes were read in %d pages of 10", pages)
	}
	if p := r.page(r.src, stored(f.T, r.at), poller.Limit{Rows: 10, Bytes: plenty}); len(p.Events) > 0 || p.More {
		f.Errorf("at %s there is more: %v", r.at, p)
	}
	f.insert(name, 101, 119, 1)
	f.insert(name, 120, 120, 1)
	f.exec("DELETE FROM "+name+" WHERE id = 101", "UPDATE "+name+" SET v = 2 WHERE id = 7")
	f.same("after it", sorted(told(r.read(10))), "delete 101, insert 120=1, update 7=2")
	within := f.within(r.src, change.Range{UpTo: stored(f.T, r.at)}, 10)
	slices.SortFunc(within, func(a, b change.Event) int { return cmp.Compare(string(a.Key), string(b.Key)) })
	f.same("within a range", keys(within), ids(101, 120, 50, 7))
}
