package sourcetest

import (
	"context"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
)

// position makes positions of what a person types, and reads on from there.
func position(f fixture) {
	name := f.table("tenant " + f.e.Text + " NOT NULL, id " + f.e.BigInt + " NOT NULL, v " + f.e.BigInt +
		" NOT NULL, PRIMARY KEY (tenant, id)")
	f.exec("INSERT INTO " + name +
		" (tenant, id, v) VALUES ('a', 1, 10), ('a', 2, 20), ('b', 3, 20), ('b', 4, 20), ('c', 5, 30)")
	src := f.open(plan.Config{Table: name, Cursor: []string{"v"}})
	for _, c := range []struct {
		cursor string
		key    map[string]string
		ties   string
		want   string
	}{
		{"20", map[string]string{"tenant": "b", "id": "3"}, "", "4 5"},
		{"20", map[string]string{"TENANT": "aa", "Id": "99"}, "", "3 4 5"},
		{"20", nil, source.TiesBefore, "2 3 4 5"}, {"20", nil, source.TiesAfter, "5"},
		{"10", nil, source.TiesBefore, "1 2 3 4 5"},
		{"25", nil, source.TiesBefore, "5"}, {"25", nil, source.TiesAfter, "5"}, {"99", nil, source.TiesBefore, ""},
		{"30", nil, source.TiesAfter, ""},
	} {
		at, err := src.Position(f.ctx(), c.cursor, c.key, c.ties)
		if err != nil {
			f.Errorf("%+v: %v", c, err)
			continue
		}
		var got []string
		for _, e := range f.drain(src, at, 2) {
			_, id, _ := strings.Cut(string(e.Key), `"id":`)
			got = append(got, strings.TrimSuffix(id, "}"))
		}
		f.same(c.cursor+" "+c.ties, strings.Join(got, " "), c.want)
	}
	for _, c := range []struct {
		cursor string
		key    map[string]string
		ties   string
		words  []string
	}{
		{"20", nil, "", []string{"tenant, id", "before", "after"}},
		{"20", map[string]string{"tenant": "a"}, "", []string{`no "id"`, "tenant, id"}},
		{"20", map[string]string{"tenant": "a", "id": "1", "v": "2"}, "", []string{`"v"`}},
		{"20", map[string]string{"tenant": "a", "id": "x"}, "", []string{"id", `"x"`}},
		{"20", map[string]string{"tenant": "a", "id": "1"}, source.TiesAfter, []string{"one of them"}},
		{"20", nil, "middle", []string{"middle"}},
		{"x", nil, source.TiesAfter, []string{`"x"`, `"v"`}},
	} {
		_, err := src.Position(f.ctx(), c.cursor, c.key, c.ties)
		f.isFault(err, poller.ErrConfig, c.words...)
	}
	at, err := src.Latest(f.ctx())
	if err != nil || string(at) != `{"kind":"integer+pk","value":30,"tiebreaker":{"tenant":"c","id":5}}` {
		f.Errorf("the latest is %s, %v", at, err)
	}

	composite := f.open(plan.Config{Table: name, Cursor: []string{"v", "id"}})
	at, err = composite.Position(f.ctx(), `[20, "2"]`, map[string]string{"tenant": "a"}, "")
	if err != nil || string(at) != `{"kind":"composite+pk","value":[20,2],"tiebreaker":{"tenant":"a","id":2}}` {
		f.Errorf("a key column in the cursor: %s, %v", at, err)
	}
	_, err = composite.Position(f.ctx(), `[20,2]`, map[string]string{"tenant": "a", "id": "3"}, "")
	f.isFault(err, poller.ErrConfig, "one column")
	_, err = composite.Position(f.ctx(), "20", nil, source.TiesAfter)
	f.isFault(err, poller.ErrConfig, "JSON array", "2 members")
	if at, err = composite.Position(f.ctx(), `[20,3]`, nil, source.TiesBefore); err != nil ||
		string(at) != `{"kind":"composite+pk","value":[20,2],"tiebreaker":{"tenant":"a","id":2}}` {
		f.Errorf("before a composite value: %s, %v", at, err)
	}

	f.exec("DELETE FROM " + name)
	if at, err = src.Latest(f.ctx()); err != nil || !at.IsStart() {
		f.Errorf("the latest of an empty table is %s, %v", at, err)
	}
}

// patience: an operator's count is bounded by its context, not by source__timeout.
func patience(f fixture) {
	name := orders(f)
	// longer than the timeout, for a table of three rows
	slow := map[string]string{"postgres": "(SELECT 1 FROM pg_sleep(3.2)) = 1", "mysql": "SLEEP(1.1) = 0"}[f.e.Name]
	if slow == "" {
		return
	}
	src := f.open(plan.Config{Table: name, Cursor: []string{"v"}, Where: slow, Timeout: 3 * time.Second, Connections: 1})
	f.describe(src) // a session is kept
	if n := f.counted(src, change.Range{}); n != 3 {
		f.Errorf("%d rows", n)
	}
	ctx, cancel := context.WithTimeout(f.ctx(), 50*time.Millisecond)
	defer cancel()
	if n, err := src.Count(ctx, change.Range{}); err == nil {
		f.Errorf("%d rows, although the context had ended", n)
	}
}
