package sourcetest

import (
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/tracking"
)

// everyWhole reads the rows of a table beside its history, by a key of two columns, and again by their keys.
func everyWhole(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL, v " + f.e.BigInt + ", tenant " + f.e.Text + " NOT NULL, w " +
		f.e.BigInt + ", PRIMARY KEY (tenant, id)")
	f.exec("INSERT INTO " + name + " (tenant, id, v) VALUES ('b', 1, 1), ('a', 2, 1), ('a', 1, 1), ('b', 3, 2), ('b', 2, 1), " +
		"('it''s', 1, 1)")
	f.install(name, tracking.Writes{Every: true, Before: true})
	f.exec("INSERT INTO " + name + " (tenant, id, v) VALUES ('c', 1, 1)")
	cfg := plan.Config{Table: name, EveryChange: true, BeforeImage: true, Start: "snapshot", Where: "v = 1",
		OrderKey: []string{"tenant"}, Columns: []string{"v", "id"}}
	r := f.reader(cfg)
	s, err := r.src.Snapshot(f.ctx())
	if err != nil || s.Count != 6 {
		f.Fatalf("about %d rows, %v", s.Count, err)
	}
	var first []change.Event
	for rows := 1; rows <= 7; rows++ {
		events := r.whole(rows, nothing)
		if first == nil {
			first = events
		}
		f.same(fmt.Sprintf("chunks of %d", rows), idsOf(events), idsOf(first))
	}
	beside := strings.TrimSuffix(strings.TrimPrefix(string(s.Rows.After), `{"kind":"table+pk","read":`), "}")
	key := func(tenant string, id int) string {
		return fmt.Sprintf(`{"tenant":"%s","id":%d,"rowrelay_read":%s}`, tenant, id, beside)
	}
	f.same("keys", keys(first), strings.Join([]string{key("a", 1), key("a", 2), key("b", 1), key("b", 2), key("c", 1),
		key("it's", 1)}, " "))
	e := &first[5]
	f.same("a row", fmt.Sprintf("%s %s before %s of %s, undated %t", e.Op, e.Row, e.Before, e.OrderKey, e.Undated),
		`insert {"id":1,"v":1} before null of {"tenant":"it's"}, undated true`)
	if _, known, err := r.src.Before(f.ctx(), e.Cursor); known || err != nil {
		f.Errorf("a position that brings the row: %t, %v", known, err)
	}
	f.exec("INSERT INTO " + name + " (tenant, id, v) VALUES ('d', 4, 1)")
	f.same("a change beside them", string(r.read(5)[0].Row), `{"id":4,"v":1}`)

	f.exec("DELETE FROM "+name+" WHERE tenant = 'a' AND id = 2", "UPDATE "+name+" SET v = 9 WHERE tenant = 'b' AND id = 2",
		"UPDATE "+name+" SET w = 3 WHERE id = 1")
	deleted := r.read(5)[0].Key
	again, err := r.src.Reread(f.ctx(), [][]byte{first[0].Key, first[1].Key, deleted, first[3].Key, first[4].Key})
	if err != nil {
		f.Fatal(err)
	}
	f.same("by key: neither what is gone nor what source__where leaves out", keys(again),
		key("a", 1)+" "+string(deleted)+" "+key("c", 1))
	f.same("the same event", again[0].ID, first[0].ID)
	f.same("the change", again[1].Op.String(), "delete")
	for _, key := range []string{`{"tenant":"a","id":1,"rowrelay_read":"1; DROP"}`,
		`{"tenant":"a","id":1,"rowrelay_read":-1}`, `{"tenant":"a","rowrelay_read":1}`} {
		_, err = r.src.Reread(f.ctx(), [][]byte{[]byte(key)})
		f.isFault(err, poller.ErrConfig)
	}

	if second := f.reader(cfg).whole(7, nothing); len(second) != 5 {
		f.Errorf("at another time: %s", keys(second))
	}
	_, err = f.open(plan.Config{Table: name, Tracked: true, Start: "snapshot", EveryChange: true}).Fetch(f.ctx(),
		change.Range{After: plan.AfterRow(nil, nil), UpTo: s.Rows.UpTo}, poller.Limit{Rows: 1, Bytes: plenty})
	f.isFault(err, poller.ErrConfig, "another kind (source__every_change)", "reset <poller> --to snapshot")
}

func idsOf(events []change.Event) string {
	var all []string
	for i := range events {
		all = append(all, events[i].ID)
	}
	return strings.Join(all, " ")
}
