package sourcetest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/tracking"
)

// foreignTables: what rowrelay track did not make, or made for another table, it neither uses nor drops.
func foreignTables(f fixture) {
	conn, err := engines.Parse(f.e.URL)
	if err != nil {
		f.Fatal(err)
	}
	plain := "(id " + f.e.BigInt + " NOT NULL PRIMARY KEY, v " + f.e.BigInt + ")"
	f.exec("CREATE TABLE mine "+plain, "CREATE TABLE theirs "+plain, "CREATE TABLE precious "+plain,
		"CREATE TABLE half_state "+plain)
	f.Cleanup(func() {
		for _, name := range []string{"mine", "theirs", "precious", "half_state"} {
			_, _ = f.e.DB.Exec("DROP TABLE " + name)
		}
	})
	if f.e.Name == "sqlserver" { // which keeps no change table
		f.refused(plan.Config{Table: "mine", Tracked: true, TrackTable: "precious"}, "source__track_table", "needs none")
		return
	}
	for _, name := range []string{"precious", "mine", "half"} {
		_, err := tracking.Install(f.ctx(), conn, "mine", name, "orders", tracking.Writes{})
		f.isFault(err, poller.ErrConfig, "source__track_table="+name, "was not made by rowrelay track install")
		_, err = tracking.Uninstall(f.ctx(), conn, "mine", name, "orders", tracking.Writes{})
		f.isFault(err, poller.ErrConfig, "source__track_table="+name)
		_, err = tracking.Uninstall(f.ctx(), conn, "dropped_since", name, "orders", tracking.Writes{})
		f.isFault(err, poller.ErrConfig)
	}
	f.refused(plan.Config{Table: "mine", Tracked: true, TrackTable: "precious"}, "source__track_table=precious")

	f.track("mine")
	defer f.untrack("mine")
	_, err = tracking.Install(f.ctx(), conn, "theirs", "rowrelay_changes_mine", "orders", tracking.Writes{})
	f.isFault(err, poller.ErrConfig, "is that of", "mine", "source__track_table")
}

// oddTables are those that have to be quoted, hold what divides lists, or are as long as the engine allows.
func oddTables(f fixture) {
	for _, name := range []string{"a,b", "a%s", "50%% off", "we.ird 'x'", "Ünï-cødé ünï-cødé", strings.Repeat("n", 63)} {
		f.Run(name, func(t *testing.T) {
			f := fixture{t, f.e}
			quoted := f.e.Quote(name)
			f.exec("CREATE TABLE " + quoted + " (id " + f.e.BigInt + " NOT NULL PRIMARY KEY, v " + f.e.BigInt + ")")
			f.Cleanup(func() { _, _ = f.e.DB.Exec("DROP TABLE " + quoted) })
			f.track(`"` + name + `"`)
			defer f.untrack(`"` + name + `"`)
			r := f.reader(plan.Config{Table: `"` + name + `"`})
			f.insert(quoted, 1, 2, 1)
			f.exec("DELETE FROM " + quoted + " WHERE id = 2")
			f.same("told", told(r.read(1)), "insert 1=1, delete 2")
		})
	}
}

// oddColumns are a key's columns that are called as the variables and aliases of triggers and statements are.
func oddColumns(f fixture) {
	names := []string{"found", "old", "new", "tg_op", "row", "c", "t", "s", "h", "excluded", "sqlstate"}
	var declared, key, values []string
	for i, name := range names {
		key = append(key, f.e.Quote(name))
		declared = append(declared, f.e.Quote(name)+" "+f.e.BigInt+" NOT NULL")
		values = append(values, strconv.Itoa(i))
	}
	for _, w := range []tracking.Writes{{}, {Changed: []string{"id"}}, {Ignored: "0x01"}} {
		if w.Ignored != "" && f.e.Name == "sqlite" { // no writer can say who it is there
			continue
		}
		name := f.table(strings.Join(declared, ", ") + ", id " + f.e.BigInt + " NOT NULL, PRIMARY KEY (" +
			strings.Join(key, ", ") + ")")
		f.install(name, w)
		r := f.reader(plan.Config{Table: name, Changed: w.Changed, Ignored: w.Ignored})
		row := func(last int) string {
			return "(" + strings.Join(values[1:], ", ") + fmt.Sprintf(", %d, 7)", last)
		}
		f.exec("INSERT INTO "+name+" VALUES "+row(1)+", "+row(2),
			"UPDATE "+name+" SET id = 8 WHERE "+f.e.Quote("sqlstate")+" = 1",
			"UPDATE "+name+" SET "+f.e.Quote("found")+" = 9 WHERE "+f.e.Quote("sqlstate")+" = 2")
		events := r.read(1)
		if f.e.Name == "postgres" {
			f.exec("TRUNCATE " + name)
		} else {
			f.exec("DELETE FROM " + name)
		}
		events = append(events, r.read(1)...)
		ops := map[string]int{}
		for _, e := range events {
			ops[e.Op.String()]++
		}
		if ops["insert"] != 2 || ops["delete"] < 2 {
			f.Errorf("%+v: told %v", w, ops)
		}
		f.untrack(name)
		f.exec("DROP TABLE " + name)
	}
}

// oneMoment: a change that stands beside the last one that was read, with its version, is an insert if it is one.
func oneMoment(f fixture) {
	name := f.tracked()
	r := f.reader(plan.Config{Table: name})
	f.insert(name, 1, 1, 1)
	f.same("the first", told(r.read(10)), "insert 1=1")
	if f.e.Name != "mysql" { // elsewhere versions are transactions, or counted
		return
	}
	f.insert(name, 2, 2, 1)
	changes := "rowrelay_changes_" + name
	f.exec("UPDATE " + changes + " c, (SELECT rowrelay_version AS v FROM " + changes +
		" WHERE id = 1) AS f SET rowrelay_version = f.v, rowrelay_created = f.v WHERE id = 2")
	f.same("the second", told(r.read(10)), "insert 2=1")
}

// unseenWrites are those that no trigger sees: check says so of a table that has them, also to a login that may only
// read.
func unseenWrites(f fixture) {
	for _, c := range []struct {
		engine string
		table  []string
		want   string
	}{
		{"postgres", []string{"CREATE UNLOGGED TABLE u (id bigint PRIMARY KEY)"}, "UNLOGGED"},
		{"postgres", []string{"CREATE TABLE u (id bigint PRIMARY KEY) PARTITION BY RANGE (id)"}, "partitioned"},
		{"mysql", []string{"CREATE TABLE w (id bigint PRIMARY KEY)",
			"CREATE TABLE u (id bigint PRIMARY KEY, w bigint, CONSTRAINT `the``key` FOREIGN KEY (w) REFERENCES w (id) ON DELETE SET NULL)"},
			"foreign key the`key "},
		{"mysql", []string{"CREATE TABLE w (id bigint PRIMARY KEY)",
			"CREATE TABLE u (id bigint PRIMARY KEY, w bigint, CONSTRAINT moved FOREIGN KEY (w) REFERENCES w (id) ON UPDATE CASCADE)"},
			"foreign key moved "},
		{"mysql", []string{"CREATE TABLE u (id bigint PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (9))"},
			"partitioned"},
		{"mysql", []string{"CREATE TABLE u (id bigint PRIMARY KEY) ENGINE=MyISAM"}, "MyISAM"},
		{"sqlite", []string{"CREATE TABLE u (id bigint NOT NULL PRIMARY KEY, mail text UNIQUE)"}, "recursive_triggers"},
	} {
		if c.engine != f.e.Name {
			continue
		}
		f.Run(c.want, func(t *testing.T) {
			f := fixture{t, f.e}
			f.exec(c.table...)
			f.Cleanup(func() {
				for _, name := range []string{"w", "u", "w"} { // the one may refer to the other
					_, _ = f.e.DB.Exec("DROP TABLE IF EXISTS " + name)
				}
			})
			f.track("u")
			defer f.untrack("u")
			check, err := f.open(plan.Config{Table: "u", Tracked: true}).Check(f.ctx(), nil, 1, 10)
			if text := strings.Join(check.Warnings, "; "); err != nil || !strings.Contains(text, c.want) {
				f.Errorf("check says %q, %v; it should say %q", text, err, c.want)
			}
		})
	}
}
