package sourcetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/tracking"
)

// history makes a table that keeps every change.
func (f fixture) history(before bool) string {
	f.Helper()
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, v " + f.e.BigInt)
	f.install(name, tracking.Writes{Every: true, Before: before})
	return name
}

// everyTold are events with the row, and the row before where it is told: "update 1=5 (4)".
func (f fixture) everyTold(events []change.Event) string {
	f.Helper()
	type row struct {
		ID     int64  `json:"id"`
		V      *int64 `json:"v"`
		Change int64  `json:"rowrelay_change"`
	}
	value := func(r *row) string {
		if r == nil || r.V == nil {
			return "-"
		}
		return fmt.Sprint(*r.V)
	}
	var out []string
	var last int64
	seen := map[string]bool{}
	for _, e := range events {
		var now, key row
		var before *row
		for _, err := range []error{json.Unmarshal(e.Row, &now), json.Unmarshal(e.Key, &key)} {
			if err != nil {
				f.Fatalf("%s %s: %v", e.Key, e.Row, err)
			}
		}
		text := fmt.Sprintf("%s %d=%s", e.Op, now.ID, value(&now))
		if e.Before != nil {
			if err := json.Unmarshal(e.Before, &before); err != nil {
				f.Fatalf("%s: %v", e.Before, err)
			}
			text += " (" + value(before) + ")"
		}
		if e.Written != nil {
			text += " " + e.Written.Columns + e.Written.Context
		}
		if want := fmt.Sprintf(`{"id":%d}`, key.ID); string(e.OrderKey) != want || key.ID != now.ID {
			f.Errorf("the order key is %s, the key %s, the row %s", e.OrderKey, e.Key, e.Row)
		}
		if seen[e.ID] || key.Change <= last || e.Undated || time.Since(e.Time).Abs() > time.Hour {
			f.Errorf("%s after change %d: id %s, of %v", e.Key, last, e.ID, e.Time)
		}
		seen[e.ID], last = true, key.Change
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// everyChange is told in the order in which it was made, with the row before it.
func everyChange(f fixture) {
	for _, before := range []bool{true, false} {
		name := f.history(before)
		want := "insert 1=1 (-), insert 2=1 (-), insert 3=1 (-), update 1=2 (1) [\"v\"], update 1=3 (2) [\"v\"], update 1=3 (3), " +
			"delete 2=1 (1), insert 2=9 (-), delete 3=1 (1), insert 7=1 (-), update 7=- (1) [\"v\"]"
		readers := map[int]*reader{}
		for rows := 1; rows <= 12; rows += 3 {
			readers[rows] = f.reader(plan.Config{Table: name, EveryChange: true, BeforeImage: before, Start: "latest"})
		}
		f.insert(name, 1, 3, 1)
		f.exec("UPDATE "+name+" SET v = 2 WHERE id = 1", "UPDATE "+name+" SET v = 3 WHERE id = 1",
			"UPDATE "+name+" SET v = 3 WHERE id = 1", "DELETE FROM "+name+" WHERE id = 2",
			"INSERT INTO "+name+" VALUES (2, 9)", "UPDATE "+name+" SET id = 7 WHERE id = 3",
			"UPDATE "+name+" SET v = NULL WHERE id = 7")
		if !before {
			for _, told := range []string{" (-)", " (1)", " (2)", " (3)", ` ["v"]`} {
				want = strings.ReplaceAll(want, told, "")
			}
		}
		for rows, r := range readers {
			f.same(fmt.Sprintf("pages of %d", rows), f.everyTold(r.read(rows)), want)
			f.same("no more", f.everyTold(r.read(rows)), "")
		}
		r := f.reader(plan.Config{Table: name, EveryChange: true, BeforeImage: before})
		f.same("from the beginning", f.everyTold(r.read(5)), want)
		if f.e.Name == "postgres" {
			f.exec("TRUNCATE " + name)
		} else {
			f.exec("DELETE FROM " + name)
		}
		gone := "delete 1=3 (3), delete 2=9 (9), delete 7=- (-)"
		if !before {
			gone = "delete 1=3, delete 2=9, delete 7=-"
		}
		f.same("all of it", sorted(f.everyTold(r.read(2))), gone)
		again, err := r.src.Reread(f.ctx(), [][]byte{r.read1(name)})
		if err != nil || len(again) != 1 || again[0].Op != change.Delete {
			f.Errorf("read again: %v, %v", again, err)
		}
		f.dropHistory(name)
		f.exec("DROP TABLE " + name)
	}
}

// read1 is the key of the last change.
func (r *reader) read1(name string) []byte {
	r.Helper()
	var id, n int64
	err := r.e.DB.QueryRowContext(r.ctx(), "SELECT id, rowrelay_change FROM rowrelay_history_"+name+
		" ORDER BY rowrelay_change DESC LIMIT 1").Scan(&id, &n)
	if err != nil {
		r.Fatal(err)
	}
	return fmt.Appendf(nil, `{"id":%d,"rowrelay_change":%d}`, id, n)
}

func (f fixture) dropHistory(name string) {
	f.Helper()
	conn, err := engines.Parse(f.e.URL)
	if err != nil {
		f.Fatal(err)
	}
	w, err := tracking.Uninstall(f.ctx(), conn, name, "", "orders", tracking.Writes{Every: true})
	if err == nil {
		err = w.Apply(f.ctx(), f.e.DB)
	}
	if err != nil {
		f.Fatal(err)
	}
}

// everyLate: a change that commits late is found, and what overlap promises holds.
func everyLate(f fixture) {
	d := f.describe(f.reader(plan.Config{Table: f.history(false), EveryChange: true}).src)
	want := late.Overlap
	if f.e.Name == "sqlite" {
		want = late.Exact
	}
	if d.Late != want || d.Refused != nil || !d.Coarse || want == late.Overlap && !d.Ordered {
		f.Errorf("late commits: %+v", d)
	}
	f.same("the table", d.Table[strings.LastIndexByte(d.Table, '.')+1:], "t_every_late")
}

// everyChosen leaves changes out.
func everyChosen(f fixture) {
	name := f.history(true)
	cfg := func(change func(*plan.Config)) plan.Config {
		c := plan.Config{Table: name, EveryChange: true, BeforeImage: true, Start: "latest"}
		change(&c)
		return c
	}
	deletes := f.reader(cfg(func(c *plan.Config) { c.Operations = []string{"delete"} }))
	large := f.reader(cfg(func(c *plan.Config) { c.Where = "v > 1" }))
	changed := f.reader(cfg(func(c *plan.Config) { c.Changed = []string{"V"} }))
	f.insert(name, 1, 2, 1)
	f.exec("UPDATE "+name+" SET v = 1 WHERE id = 1", "UPDATE "+name+" SET v = 2 WHERE id = 1",
		"UPDATE "+name+" SET v = NULL WHERE id = 2", "DELETE FROM "+name)
	f.same("deletes", f.everyTold(deletes.read(2)), "delete 1=2 (2), delete 2=- (-)")
	f.same("of a condition", f.everyTold(large.read(2)), `update 1=2 (1) ["v"], delete 1=2 (2)`)
	f.same("of a column", f.everyTold(changed.read(2)),
		`insert 1=1 (-), insert 2=1 (-), update 1=2 (1) ["v"], update 2=- (1) ["v"], delete 1=2 (2), delete 2=- (-)`)
	f.refused(cfg(func(c *plan.Config) { c.Tracked, c.Changed = true, []string{"w"} }), `no column "w"`)
	if f.e.Name == "sqlite" {
		return
	}
	others := f.reader(cfg(func(c *plan.Config) { c.Ignored = "0x0a" }))
	all := f.reader(cfg(func(*plan.Config) {}))
	tx, err := f.e.DB.BeginTx(f.ctx(), nil)
	if err != nil {
		f.Fatal(err)
	}
	own := "SET LOCAL rowrelay.context = '0x0A'"
	after := "SELECT 1"
	if f.e.Name == "mysql" {
		own, after = "SET @rowrelay_context = '0x0A'", "SET @rowrelay_context = NULL"
	}
	for _, s := range []string{own, "INSERT INTO " + name + " VALUES (3, 3)", after} {
		if _, err := tx.ExecContext(f.ctx(), s); err != nil {
			f.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		f.Fatal(err)
	}
	f.insert(name, 4, 4, 4)
	f.same("of others", f.everyTold(others.read(2)), "insert 4=4 (-)")
	f.same("of all", f.everyTold(all.read(2)), "insert 3=3 (-) 0x0a, insert 4=4 (-)")
}

// everyColumn: a column that is added is recorded once the history has it, and writes never fail for it; one that the
// settings leave out may be dropped.
func everyColumn(f fixture) {
	name := f.history(true)
	r := f.reader(plan.Config{Table: name, EveryChange: true, BeforeImage: true})
	f.exec("ALTER TABLE " + name + " ADD COLUMN w " + f.e.BigInt)
	f.exec("INSERT INTO " + name + " VALUES (1, 1, 5)")
	r.restart()
	f.warned(f.describe(r.src).Warnings, "does not record w: rowrelay track install orders")
	f.same("without it", r.last(), `{"id":1,"v":1}`)
	identity := func() string {
		return r.page(r.src, stored(f.T, r.at), poller.Limit{Rows: 1, Bytes: plenty}).Table
	}
	was := identity()
	all := tracking.Writes{Every: true, Before: true}
	f.install(name, all)
	r.restart()
	if d := f.describe(r.src); len(d.Warnings) > 0 && strings.Contains(d.Warnings[0], "record") {
		f.Errorf("after the installation: %q", d.Warnings)
	}
	f.exec("UPDATE " + name + " SET w = 6 WHERE id = 1")
	f.same("with it", r.last(), `{"id":1,"v":1,"w":6} before {"id":1,"v":1,"w":5}`)
	if is := identity(); is != was { // SQLite's is that of the schema
		if warning, err := r.src.Replaced(f.ctx(), r.at, was, is); err != nil || warning != "" {
			f.Errorf("a history with another column: %q, %v", warning, err)
		}
	}

	few := all
	few.Columns = []string{"W"}
	f.install(name, few)
	f.exec("ALTER TABLE " + name + " DROP COLUMN v")
	f.exec("UPDATE " + name + " SET w = 7 WHERE id = 1")
	r.restart()
	f.same("without the other", r.last(), `{"id":1,"w":7} before {"id":1,"w":6}`)
}

// restart has the catalog read again.
func (r *reader) restart() {
	r.src = r.open(plan.Config{Table: r.of, Tracked: true, EveryChange: true, BeforeImage: true})
}

// last is the one change that there is, and the row before it.
func (r *reader) last() string {
	r.Helper()
	events := r.read(10)
	if len(events) != 1 {
		r.Fatalf("told are %d changes", len(events))
	}
	text := string(events[0].Row)
	if b := string(events[0].Before); b != "null" {
		text += " before " + b
	}
	return text
}

// everyBefore: a change that was recorded when nobody asked for the row before it comes without.
func everyBefore(f fixture) {
	name := f.history(false)
	f.insert(name, 1, 1, 1)
	f.exec("UPDATE " + name + " SET v = 2 WHERE id = 1")
	f.install(name, tracking.Writes{Every: true, Before: true})
	f.exec("UPDATE " + name + " SET v = 3 WHERE id = 1")
	for columns, want := range map[string]string{"": `{"id":1,"v":2}`, "v": `{"v":2}`} {
		cfg := plan.Config{Table: name, Tracked: true, EveryChange: true, BeforeImage: true}
		if columns != "" {
			cfg.Columns = []string{columns}
		}
		events := f.drain(f.open(cfg), nil, 10)
		if len(events) != 3 || string(events[1].Before) != "null" || events[1].Written != nil {
			f.Fatalf("%d events, before %s, written %v", len(events), events[1].Before, events[1].Written)
		}
		f.same("with it", string(events[2].Before)+events[2].Written.Columns, want+`["v"]`)
	}
}
