package sourcetest

import (
	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// writers: where rows tell who wrote them, a row that is there was written by a transaction that no page before it said
// had ended, and what a range leaves out it has told of before. Elsewhere nothing is told, and nothing is left out.
func writers(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, v " + f.e.BigInt + " NOT NULL")
	f.exec("INSERT INTO " + name + " (id, v) VALUES (1, 1), (2, 1), (3, 1)")
	src := f.open(plan.Config{Table: name, Cursor: []string{"id"}, LateCommits: "overlap"})
	limit := poller.Limit{Rows: 10, Bytes: plenty}
	fetch := func(since uint64) change.Page {
		p, err := src.Fetch(f.ctx(), change.Range{Late: true, Since: since}, limit)
		if err != nil {
			f.Fatal(err)
		}
		return p
	}
	first := fetch(0)
	f.exec("UPDATE " + name + " SET v = 2 WHERE id = 2")
	f.exec("INSERT INTO " + name + " (id, v) VALUES (4, 1)")
	second := fetch(0)
	f.same("all rows", keys(second.Events), ids(1, 2, 3, 4))
	writer := first.Events[0].Writer
	if told := first.Numbers != ""; told != (first.Ended > 0 || writer > 0) || second.Numbers != first.Numbers {
		f.Errorf("numbers %q, ended %d, writer %d; then %q", first.Numbers, first.Ended, writer, second.Numbers)
	}
	for i, written := range []bool{false, true, false, true} {
		if e := &second.Events[i]; written && first.Ended > 0 && e.Writer < first.Ended {
			f.Errorf("row %s was written by %d, and those below %d had ended", e.Key, e.Writer, first.Ended)
		}
	}
	want := ids(1, 2, 3, 4)
	if first.Ended > first.Events[2].Writer {
		want = ids(2, 4)
	}
	if p := fetch(first.Ended); first.Ended > 0 || first.Numbers == "" {
		f.same("rows that are not left out", keys(p.Events), want)
	}
}
