package sourcetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
)

func (f fixture) reread(src *source.Cursor, keys ...string) []change.Event {
	f.Helper()
	var stored [][]byte
	for _, k := range keys {
		stored = append(stored, []byte(k))
	}
	events, err := src.Reread(f.ctx(), stored)
	if err != nil {
		f.Fatal(err)
	}
	return events
}

// reread reads rows by their keys: the newest state, in the order asked for, without those that are gone.
func reread(f fixture) {
	name := orders(f)
	cfg := plan.Config{Table: name, Cursor: []string{"v"}, Where: "id < 4 OR id = 4"}
	src := f.open(cfg)
	all := f.drain(src, nil, 10)
	got := f.reread(src, ids(4), ids(77), ids(1), `{ "id" : 3 }`, ids(1))
	f.same("by key", keys(got), ids(4, 1, 3))
	for _, e := range got {
		i := slices.IndexFunc(all, func(a change.Event) bool { return a.ID == e.ID })
		if i < 0 || string(all[i].Cursor) != string(e.Cursor) || string(all[i].Row) != string(e.Row) ||
			string(all[i].OrderKey) != string(e.OrderKey) {
			f.Errorf("read again, %s is another event", e.Key)
		}
	}
	f.same("without a cursor, or outside of source__where", keys(f.reread(src, ids(2), ids(5))), "")
	f.same("none", keys(f.reread(src)), "")
	f.exec("UPDATE "+name+" SET note = 'new' WHERE id = 1", "DELETE FROM "+name+" WHERE id = 3")
	got = f.reread(src, ids(1), ids(3))
	if len(got) != 1 || !strings.Contains(string(got[0].Row), `"note":"new"`) || got[0].ID == all[0].ID {
		f.Errorf("after an update and a delete: %s", keys(got))
	}
	q := f.open(plan.Config{Query: "SELECT id, v FROM " + name, Cursor: []string{"v"}, Key: []string{"id"}})
	f.same("a query", keys(f.reread(q, ids(4), ids(1))), ids(4, 1))
}

// rereadDeleted reads rows again of which one was marked as deleted: its delete is its newest state. One that is gone
// from the table cannot be known.
func rereadDeleted(f fixture) {
	name := orders(f)
	src := f.open(plan.Config{Table: name, Cursor: []string{"v"}, DeleteWhen: "gone"})
	f.exec("UPDATE "+name+" SET gone = "+f.e.True+", v = 30 WHERE id = 1", "DELETE FROM "+name+" WHERE id = 4")
	got := f.reread(src, ids(1), ids(4))
	if len(got) != 1 || got[0].Op != change.Delete || string(got[0].Key) != ids(1) {
		f.Errorf("after one was marked and one removed: %s", keys(got))
	}
}

// rereadMany asks for more keys than a statement takes parameters.
func rereadMany(f fixture) {
	name := f.table("tenant " + f.e.Text + " NOT NULL, id " + f.e.BigInt + " NOT NULL, v " + f.e.BigInt +
		" NOT NULL, PRIMARY KEY (tenant, id)")
	var rows, composite []string
	for i := range 1500 {
		rows = append(rows, fmt.Sprintf("('%s', %d, %d)", f.literal(`o'b\"`), i, i))
		composite = append(composite, fmt.Sprintf(`{"tenant":"o'b\\\"","id":%d}`, i))
	}
	f.exec("INSERT INTO " + name + " (tenant, id, v) VALUES " + strings.Join(rows[:800], ","))
	f.exec("INSERT INTO " + name + " (tenant, id, v) VALUES " + strings.Join(rows[800:], ","))
	src := f.open(plan.Config{Table: name, Cursor: []string{"v"}})
	slices.Reverse(composite)
	f.same("composite", keys(f.reread(src, composite...)), strings.Join(composite, " "))
	q := f.open(plan.Config{Query: "SELECT id, v FROM " + name, Cursor: []string{"v"}, Key: []string{"id"}})
	var simple []string
	for i := range 1500 {
		simple = append(simple, ids(1499-i))
	}
	f.same("simple", keys(f.reread(q, simple...)), strings.Join(simple, " "))
	f.same("with strangers", keys(f.reread(src, `{"tenant":"x","id":1}`, composite[0],
		`{"id":9007199254740993,"tenant":"y"}`)), composite[0])
}

// rereadBoundary reads rows by keys of every type that a cursor can have: a key is equal to itself at full precision.
func rereadBoundary(f fixture) {
	for n, b := range f.e.Boundaries {
		name := fmt.Sprintf("t_reread_%d", n)
		f.exec("CREATE TABLE " + name + " (v " + f.e.BigInt + " NOT NULL, c " + b.Type + " NOT NULL " + b.Default +
			", PRIMARY KEY (c))")
		f.Cleanup(func() { _, _ = f.e.DB.Exec("DROP TABLE " + name) })
		for i, literal := range b.Literals {
			f.exec(fmt.Sprintf("INSERT INTO %s (v, c) VALUES (%d, %s)", name, i, literal))
		}
		src := f.open(plan.Config{Table: name, Cursor: []string{"v"}})
		var want []string
		for _, e := range f.drain(src, nil, 100) {
			want = append(want, string(e.Key))
		}
		slices.Reverse(want)
		f.same(b.Type, keys(f.reread(src, want...)), strings.Join(want, " "))
	}
}

// rereadFolded: a row whose key is written differently now, and equal for the database, is found under the old key.
func rereadFolded(f fixture) {
	name := f.table("k " + f.e.Text + " NOT NULL PRIMARY KEY, v " + f.e.BigInt + " NOT NULL")
	f.exec("INSERT INTO " + name + " (k, v) VALUES ('Cafe', 1), ('Tea', 2), ('water', 3)")
	var equal int
	if err := f.e.DB.QueryRowContext(f.ctx(), "SELECT COUNT(*) FROM "+name+" WHERE k = 'cafe'").Scan(&equal); err != nil {
		f.Fatal(err)
	}
	want := `{"k":"water"}`
	if equal > 0 {
		want = `{"k":"Cafe"} {"k":"water"} {"k":"Tea"}`
	}
	src := f.open(plan.Config{Table: name, Cursor: []string{"v"}})
	f.same("by other cases", keys(f.reread(src, `{"k":"cafe"}`, `{"k":"water"}`, `{"k":"tea"}`)), want)
}

// rereadRefused: whatever stands in a stored object, the error is one of the settings.
func rereadRefused(f fixture) {
	src := f.open(plan.Config{Table: orders(f), Cursor: []string{"v"}})
	for _, k := range []string{"", "null", "7", "{", `{"id":1} x`, `{}`, `{"other":1}`, `{"id":1,"v":2}`, `{"id":null}`,
		`{"id":[1]}`, `{"id":{}}`, `{"id":"x"}`} {
		if f.e.Name == "sqlite" && strings.Contains(k, `"x"`) {
			continue // a column declared bigint may hold text there
		}
		_, err := src.Reread(f.ctx(), [][]byte{[]byte(ids(1)), []byte(k)})
		f.isFault(err, poller.ErrConfig, "stored key", "source__key")
	}
	if f.e.Name == "postgres" { // its own cast refuses it
		_, err := src.Reread(f.ctx(), [][]byte{[]byte(`{"id":"99999999999999999999"}`)})
		f.isFault(err, poller.ErrConfig, "stored key")
	}
}
