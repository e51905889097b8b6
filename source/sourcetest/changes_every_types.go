package sourcetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/tracking"
)

// everyType: a value is told as the table's own column tells it, also where it is the one before.
func everyType(f fixture) {
	for n, b := range f.e.Boundaries {
		f.Run(b.Type, func(t *testing.T) {
			f := fixture{t, f.e}
			name := fmt.Sprintf("t_every_type_%d", n)
			f.exec("CREATE TABLE " + name + " (id " + f.e.BigInt + " NOT NULL PRIMARY KEY, c " + b.Type + " NOT NULL " +
				b.Default + ")")
			t.Cleanup(func() {
				f.dropHistory(name)
				_, _ = f.e.DB.Exec("DROP TABLE " + name)
			})
			f.install(name, tracking.Writes{Every: true, Before: true})
			for i, literal := range b.Literals {
				f.exec(fmt.Sprintf("INSERT INTO %s (id, c) VALUES (%d, %s)", name, i, literal))
			}
			want := f.drain(f.open(plan.Config{Table: name, Cursor: []string{"id"}, LateCommits: "none"}), nil, 100)
			r := f.reader(plan.Config{Table: name, EveryChange: true, BeforeImage: true})
			got := r.read(3)
			f.exec("UPDATE " + name + " SET id = id")
			later := r.read(3)
			if len(want) != len(b.Literals) || len(got) != len(want) || len(later) != len(want) {
				t.Fatalf("%d rows, %d inserts, %d updates", len(want), len(got), len(later))
			}
			before := map[string]string{}
			for i := range later {
				before[string(later[i].Row)] = string(later[i].Before)
			}
			whole := f.reader(plan.Config{Table: name, EveryChange: true, Start: "snapshot"}).whole(2, nothing)
			if len(whole) != len(want) {
				t.Fatalf("%d rows in the table", len(whole))
			}
			for i := range want {
				f.same("in the table", string(whole[i].Row), string(want[i].Row))
				row := string(want[i].Row)
				f.same("inserted", string(got[i].Row), row)
				f.same("before", before[row], row)
			}
		})
	}
}

// everyOdd has names that want quoting, and those that the triggers use themselves.
func everyOdd(f fixture) {
	name := f.e.Quote("Every User")
	var declared, values []string
	for i, column := range []string{"Order [x] `y` \"q\" 'é' select", "found", "old", "new", "tg_op", "row", "t", "r",
		"sqlstate"} {
		declared = append(declared, f.e.Quote(column)+" "+f.e.BigInt+" NOT NULL")
		values = append(values, fmt.Sprint(i))
	}
	f.exec("CREATE TABLE " + name + " (" + strings.Join(declared, ", ") + ", id " + f.e.BigInt + " NOT NULL, v " +
		f.e.Text + ", PRIMARY KEY (" + f.e.Quote("old") + ", " + f.e.Quote("Order [x] `y` \"q\" 'é' select") + ", id))")
	f.Cleanup(func() { _, _ = f.e.DB.Exec("DROP TABLE " + name) })
	f.install(`"Every User"`, tracking.Writes{Every: true, Before: true})
	r := f.reader(plan.Config{Table: `"Every User"`, EveryChange: true, BeforeImage: true})
	f.exec("INSERT INTO "+name+" VALUES ("+strings.Join(values, ", ")+", 1, 'it''s')",
		"UPDATE "+name+" SET v = NULL", "UPDATE "+name+" SET "+f.e.Quote("old")+" = 9", "DELETE FROM "+name)
	var ops []string
	for _, e := range r.read(1) {
		ops = append(ops, e.Op.String())
	}
	f.same("told", strings.Join(ops, " "), "insert update delete insert delete")
	f.exec("INSERT INTO " + name + " VALUES (" + strings.Join(values, ", ") + ", 1, 'it''s')")
	whole := f.reader(plan.Config{Table: `"Every User"`, EveryChange: true, Start: "snapshot"}).whole(1, nothing)
	if len(whole) != 1 || !strings.Contains(string(whole[0].Row), `"v":"it's"`) {
		f.Errorf("in the table: %v", whole)
	}
	f.dropHistory(`"Every User"`)
}
