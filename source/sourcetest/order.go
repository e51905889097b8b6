package sourcetest

import (
	"errors"
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// ordered: a page that reads rows again shows them and those after the position as of one moment, page by page and with
// a limit, whatever is committed while it is read.
func ordered(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, owner " + f.e.BigInt + " NOT NULL")
	src := f.open(plan.Config{Table: name, Cursor: []string{"id"}, OrderKey: []string{"owner"}, LateCommits: "overlap"})
	d, err := src.Describe(f.ctx())
	if err != nil {
		f.Fatal(err)
	}
	if !d.Ordered {
		if !errors.Is(d.Refused, poller.ErrConfig) {
			f.Errorf("no order is kept, and nothing is refused: %v", d.Refused)
		}
		return
	}
	at := func(id int) change.Cursor {
		return change.Cursor(fmt.Sprintf(`{"kind":"integer+pk","value":%d,"tiebreaker":{"id":%[1]d}}`, id))
	}
	insert := func(ids ...int) {
		for _, id := range ids {
			f.exec(fmt.Sprintf("INSERT INTO %s (id, owner) VALUES (%d, 1)", name, id))
		}
	}
	insert(10, 20, 30, 40, 50, 60)
	for _, size := range []int{1, 2, 3, 10} {
		asked, late := 0, 11+size // late commits below the position, then a row after all
		p, err := src.Fetch(f.ctx(), change.Range{After: at(50), Again: at(10), Late: true,
			Known: func(e *change.Event, _ string) bool {
				if asked++; asked == 1 {
					insert(late, late+1000)
				}
				return string(e.Key) != `{"id":30}`
			}}, poller.Limit{Rows: size, Bytes: plenty})
		if err != nil {
			f.Fatal(err)
		}
		f.exec(fmt.Sprintf("DELETE FROM %s WHERE id IN (%d, %d)", name, late, late+1000))
		what := fmt.Sprintf("limit %d", size)
		f.same(what+", again", keys(p.Again), ids(30))
		if p.AgainMore {
			f.same(what+", more is to be read again", keys(p.Events), "")
			continue
		}
		if got := " " + keys(p.Events); len(p.Events) == 0 || string(p.Events[0].Key) != `{"id":60}` {
			f.Errorf("%s: the page begins with%s", what, got)
		}
		for i := range p.Events {
			if string(p.Events[i].Key) == fmt.Sprintf(`{"id":%d}`, late+1000) {
				f.Errorf("%s: the page shows row %d, and not row %d that was committed before it", what, late+1000, late)
			}
		}
	}
	p, err := src.Fetch(f.ctx(), change.Range{After: at(50), Again: at(5), Late: true,
		Known: func(*change.Event, string) bool { return false }}, poller.Limit{Rows: 2, Bytes: plenty})
	if err != nil {
		f.Fatal(err)
	}
	if !p.AgainMore || len(p.Events) > 0 {
		f.Errorf("more than the limit is to be read again: more %v, and %d rows after the position", p.AgainMore, len(p.Events))
	}
	f.same("up to the limit", keys(p.Again), ids(10, 20))
}
