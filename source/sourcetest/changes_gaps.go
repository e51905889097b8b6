package sourcetest

import (
	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// gap expects a position to be refused, by a page or by the look that accept-gap takes.
func (r *reader) gap(words ...string) {
	r.Helper()
	src := r.open(plan.Config{Table: r.of, Tracked: true}) // as after a restart: it looks at once
	_, err := src.Fetch(r.ctx(), change.Range{After: r.at}, poller.Limit{Rows: 10, Bytes: plenty})
	r.isFault(err, poller.ErrGap, words...)
	r.isFault(src.Gap(r.ctx(), r.at), poller.ErrGap, words...)
}

// changeGaps: a position from before changes that were not recorded, or are not there any more, is a gap.
func changeGaps(f fixture) {
	if f.e.Name == "sqlserver" {
		builtInGaps(f)
		return
	}
	name := f.tracked()
	r := f.reader(plan.Config{Table: name})
	f.insert(name, 1, 3, 1)
	f.same("before", told(r.read(10)), each("insert", 1, 3, "1"))
	old := r.at

	// Between the one installation and the next a row was deleted without a trace.
	f.untrack(name)
	f.exec("DELETE FROM " + name + " WHERE id = 2")
	f.track(name)
	r.gap("installed anew", "rowrelay state reset", "rowrelay state accept-gap")
	f.insert(name, 4, 4, 1)
	r.gap("installed anew")

	// The way on: after the last change that there is now.
	now := f.reader(plan.Config{Table: name, Start: "latest"})
	f.same("accepted", told(now.read(10)), "")
	f.exec("DELETE FROM " + name + " WHERE id = 1")
	f.same("goes on", told(now.read(10)), "delete 1")

	// The same again, and nothing has been recorded since.
	f.track(name)
	now.gap("installed anew")
	now = f.reader(plan.Config{Table: name, Start: "latest"})
	f.same("accepted again", told(now.read(10)), "")
	f.exec("DELETE FROM " + name + " WHERE id = 3")
	f.same("goes on again", told(now.read(10)), "delete 3")

	if r.at = old; f.e.Name != "sqlite" {
		return
	}
	// The file is put back to what it was.
	f.exec("UPDATE rowrelay_changes_" + name + "_state SET rowrelay_version = rowrelay_version - 1")
	now.gap("ahead of the change table", "restored")
}

// retained: a start at the beginning delivers what is retained, tombstones included.
func retained(f fixture) {
	name := f.tracked()
	f.insert(name, 1, 3, 1)
	f.exec("DELETE FROM " + name + " WHERE id = 2")
	r := f.reader(plan.Config{Table: name, Start: "earliest"})
	f.same("earliest", sorted(told(r.read(2))), "delete 2, insert 1=1, insert 3=1")
	f.same("once", told(r.read(2)), "")
}

// builtInGaps: where the engine's own tracking was begun anew, the versions alone may not tell. The table's identity
// does.
func builtInGaps(f fixture) {
	name := f.tracked()
	r := f.reader(plan.Config{Table: name})
	f.insert(name, 1, 3, 1)
	f.same("before", told(r.read(10)), each("insert", 1, 3, "1"))
	identity := func() string {
		f.Helper()
		p, err := r.src.Fetch(f.ctx(), change.Range{After: r.at}, poller.Limit{Rows: 10, Bytes: plenty})
		if err != nil {
			f.Fatal(err)
		}
		return p.Table
	}
	was := identity()
	f.exec("ALTER TABLE "+name+" DISABLE CHANGE_TRACKING", "DELETE FROM "+name+" WHERE id = 2",
		"ALTER TABLE "+name+" ENABLE CHANGE_TRACKING")
	_, err := r.src.Replaced(f.ctx(), r.at, was, identity())
	f.isFault(err, poller.ErrGap, "switched off and on")
	f.insert(name, 4, 4, 1)
	f.same("goes on", told(r.read(10)), "insert 4=1")
	was = identity()
	f.exec("TRUNCATE TABLE " + name)
	_, err = r.src.Replaced(f.ctx(), r.at, was, identity())
	f.isFault(err, poller.ErrGap, "truncated")
}
