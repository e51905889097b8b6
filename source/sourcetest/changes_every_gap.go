package sourcetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/tracked"
	"github.com/rowrelay/rowrelay/tracking"
)

// everyGap: changes from before the installation, and those that were purged, are missing to who stands before them.
func everyGap(f fixture) {
	name := f.history(false)
	r := f.reader(plan.Config{Table: name, EveryChange: true})
	f.insert(name, 1, 3, 1)
	f.same("before", f.everyTold(r.read(10)), "insert 1=1, insert 2=1, insert 3=1")
	gap := func(at change.Cursor, words ...string) {
		f.Helper()
		src := f.open(plan.Config{Table: name, Tracked: true, EveryChange: true}) // it looks at once, as after a restart
		_, err := src.Fetch(f.ctx(), change.Range{After: at}, poller.Limit{Rows: 10, Bytes: plenty})
		f.isFault(err, poller.ErrGap, words...)
		f.isFault(src.Gap(f.ctx(), at), poller.ErrGap, words...)
	}
	old := r.at
	f.dropHistory(name)
	f.exec("DELETE FROM " + name + " WHERE id = 2") // without a trace
	f.install(name, tracking.Writes{Every: true})
	gap(old, "triggers were missing", "rowrelay state accept-gap")
	f.insert(name, 4, 4, 1)
	gap(old, "triggers were missing")
	few := f.open(plan.Config{Table: name, Tracked: true, EveryChange: true, Operations: []string{"delete"}})
	_, err := few.Fetch(f.ctx(), change.Range{After: old}, poller.Limit{Rows: 10, Bytes: plenty})
	f.isFault(err, poller.ErrGap, "triggers were missing") // also where a page moves the position only
	r = f.reader(plan.Config{Table: name, EveryChange: true, Start: "latest"})
	f.same("accepted", f.everyTold(r.read(10)), "")
	f.insert(name, 5, 6, 1)
	f.same("and on", f.everyTold(r.read(10)), "insert 5=1, insert 6=1")
	done := r.at

	conn, err := engines.Parse(f.e.URL)
	if err != nil {
		f.Fatal(err)
	}
	purge := func(keep time.Duration, at change.Cursor, more ...*tracked.Needs) (left int) {
		f.Helper()
		var readers []tracking.Reader
		for _, needs := range append(more, &tracked.Needs{At: at}) {
			read, err := r.src.Readers(f.ctx(), needs)
			if err != nil {
				f.Fatal(err)
			}
			readers = append(readers, read...)
		}
		w, err := tracking.Purge(f.ctx(), conn, name, "", "orders", tracking.Writes{Every: true}, readers,
			tracking.Keep{For: keep})
		if err == nil {
			err = w.Apply(f.ctx(), f.e.DB)
		}
		if err == nil {
			err = f.e.DB.QueryRowContext(f.ctx(), "SELECT COUNT(*) FROM rowrelay_history_"+name).Scan(&left)
		}
		if err != nil {
			f.Fatal(err)
		}
		return left
	}
	age := func(age time.Duration) {
		f.Helper()
		at := time.Now().Add(-age).UTC().Format("2006-01-02 15:04:05.000")
		f.exec("UPDATE rowrelay_history_" + name + " SET rowrelay_written = '" + at + f.zone() + "'")
	}
	if left := purge(1000*time.Hour, done); left != 3 {
		f.Errorf("%d changes are left: those of a day stay", left)
	}
	age(48 * time.Hour)
	if left := purge(1000*time.Hour, done, &tracked.Needs{At: old}); left != 3 {
		f.Errorf("%d changes are left: a poller has not read them", left)
	}
	last := r.read1(name) // of the row 6
	for _, needs := range []*tracked.Needs{{At: done, Parked: []change.Cursor{done}},
		{At: done, Waiting: []json.RawMessage{last}}} {
		if left := purge(time.Hour, done, needs); left != 1 || string(r.read1(name)) != string(last) {
			f.Errorf("%d changes are left: that of row 6 is parked, however old it is", left)
		}
	}
	if left := purge(1000*time.Hour, done); left != 0 {
		f.Errorf("%d changes are left, which all have read", left)
	}
	f.same("who has read them goes on", f.everyTold(r.read(10)), "")
	f.insert(name, 8, 8, 1)
	f.same("and reads", f.everyTold(r.read(10)), "insert 8=1")
	f.insert(name, 9, 9, 1)
	age(48 * time.Hour)
	if left := purge(47*time.Hour, done); left != 0 {
		f.Errorf("%d changes are left, although none is kept as long", left)
	}
	gap(done, "it was purged")
	f.insert(name, 10, 10, 1)
	gap(done, "it was purged")

	// The clock has fallen since the numbers were given, and triggers were made anew.
	r = f.reader(plan.Config{Table: name, EveryChange: true, Start: "latest"})
	f.exec(fmt.Sprintf(map[string]string{
		"postgres": "SELECT setval(pg_get_serial_sequence('%s', 'rowrelay_change'), 8000000000000000)",
		"mysql":    "ALTER TABLE %s AUTO_INCREMENT = 8000000000000001",
		"sqlite":   "UPDATE sqlite_sequence SET seq = 8000000000000000 WHERE name = '%s'",
	}[f.e.Name], "rowrelay_history_"+name))
	f.insert(name, 11, 11, 1)
	f.same("ahead of the clock", f.everyTold(r.read(10)), "insert 11=1")
	f.install(name, tracking.Writes{Every: true})
	gap(r.at, "triggers were missing")
	r = f.reader(plan.Config{Table: name, EveryChange: true, Start: "latest"})
	f.insert(name, 12, 12, 1)
	f.same("and on after it", f.everyTold(r.read(10)), "insert 12=1")
}

// everyPurging: a purge raises the floor before it removes the changes below it, and may end in between. Who begins
// with what there is begins after the floor.
func everyPurging(f fixture) {
	name := f.history(false)
	f.insert(name, 1, 5, 1)
	f.exec("UPDATE rowrelay_history_" + name + "_state SET rowrelay_floor = (SELECT rowrelay_change FROM rowrelay_history_" +
		name + " WHERE id = 3)")
	for rows := 1; rows <= 5; rows++ {
		r := f.reader(plan.Config{Table: name, EveryChange: true})
		f.same(fmt.Sprintf("pages of %d", rows), f.everyTold(r.read(rows)), "insert 4=1, insert 5=1")
	}
}

// zone is what a literal of a time in UTC ends with.
func (f fixture) zone() string {
	if f.e.Name == "postgres" {
		return "Z"
	}
	return ""
}
