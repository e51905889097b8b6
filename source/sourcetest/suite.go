package sourcetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
)

// Run runs the whole suite.
func Run(t *testing.T, e Engine) {
	for _, c := range []struct {
		name string
		test func(fixture)
	}{
		{"reference", reference}, {"ties", ties}, {"composite", composite}, {"boundaries", boundaries},
		{"nulls", nulls}, {"nulls_fail", nullsFail}, {"where", where}, {"where_breakout", whereBreakout},
		{"where_few", whereFew},
		{"odd_names", oddNames}, {"projection", projection}, {"bytes", batchBytes}, {"broken", broken},
		{"large_rows", largeRows},
		{"deletes", deletes}, {"tombstones", tombstones}, {"query", query}, {"query_duplicates", queryDuplicates},
		{"query_folded", queryFolded},
		{"query_refused", queryRefused}, {"no_key", noKey}, {"view", view}, {"key_not_unique", keyNotUnique},
		{"refused", refused}, {"start", start}, {"fingerprint", fingerprint}, {"identity", eventIdentity},
		{"foreign_cursor", foreignCursor}, {"index", indexes}, {"insert_only", insertOnly},
		{"date_cursor", dateCursor}, {"check", check},
		{"schema_change", schemaChange}, {"concurrent", concurrent},
		{"up_to", upTo}, {"up_to_boundary", upToBoundary}, {"other", other}, {"reread", reread},
		{"reread_deleted", rereadDeleted}, {"reread_many", rereadMany},
		{"reread_boundary", rereadBoundary}, {"reread_folded", rereadFolded}, {"reread_refused", rereadRefused},
		{"writers", writers}, {"ordered", ordered}, {"position", position}, {"patience", patience},
		{"round_trips", roundTrips}, {"cut", cut}, {"login", login},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(fixture{t, e}) })
	}
}

// reference is the reference behaviour of a polling trigger, as given, when and then.
func reference(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, v " + f.e.BigInt + " NOT NULL")
	f.exec("INSERT INTO " + name + " (id, v) VALUES (1, 100), (2, 100), (3, 200), (4, 200), (5, 300)")
	src := f.open(plan.Config{Table: name, Cursor: []string{"v"}})
	f.describe(src)
	p := f.page(src, change.Cursor(`{"kind":"integer+pk","value":100,"tiebreaker":{"id":1}}`),
		poller.Limit{Rows: 100, Bytes: plenty})
	f.same("after (100,1)", keys(p.Events), ids(2, 3, 4, 5))
	if p.More {
		f.Error("the page holds the last row, and says that there is more")
	}
	p = f.page(src, p.Events[3].Cursor, poller.Limit{Rows: 100, Bytes: plenty})
	f.same("after (300,5)", keys(p.Events), "")
	p = f.page(src, nil, poller.Limit{Rows: 2, Bytes: plenty})
	f.same("the first two", keys(p.Events), ids(1, 2))
	if !p.More {
		f.Error("the page stopped at its limit, and does not say that there is more")
	}
	e := p.Events[0]
	f.same("row", string(e.Row), `{"id":1,"v":100}`)
	f.same("cursor", string(e.Cursor), `{"kind":"integer+pk","value":100,"tiebreaker":{"id":1}}`)
	f.same("order key", string(e.OrderKey), `{"id":1}`)
	if e.Op != change.Upsert || e.Time.IsZero() || !e.Undated {
		f.Errorf("op %v, time %v, undated %v", e.Op, e.Time, e.Undated)
	}
}

// ties has more rows under one cursor value than any page holds: each comes exactly once, whatever the page size.
func ties(f fixture) {
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, v " + f.e.BigInt + " NOT NULL")
	var values, want []string
	for i := 1; i <= 23; i++ {
		values = append(values, fmt.Sprintf("(%d, %d)", i, i/9))
		want = append(want, fmt.Sprintf(`{"id":%d}`, i))
	}
	f.exec("INSERT INTO " + name + " (id, v) VALUES " + strings.Join(values, ", "))
	src := f.open(plan.Config{Table: name, Cursor: []string{"v"}})
	for size := 1; size <= 25; size++ {
		f.same(fmt.Sprintf("pages of %d", size), keys(f.drain(src, nil, size)), strings.Join(want, " "))
	}
}

// composite pages by a composite cursor and a composite key of different types.
func composite(f fixture) {
	name := f.table("tenant " + f.e.Text + " NOT NULL, id " + f.e.BigInt + " NOT NULL, major " + f.e.BigInt +
		" NOT NULL, minor " + f.e.BigInt +
		" NOT NULL, PRIMARY KEY (tenant, id)")
	var want []string
	for major := range 3 {
		for minor := range 3 {
			for _, tenant := range []string{"a", "b'; --", "z\\"} {
				for id := range 2 {
					row := fmt.Sprintf("('%s', %d, %d, %d)", f.literal(tenant), 100*major+10*minor+id, major, minor)
					f.exec("INSERT INTO " + name + " (tenant, id, major, minor) VALUES " + row)
					want = append(want, string(change.AppendString([]byte(`{"tenant":`), tenant))+
						fmt.Sprintf(`,"id":%d}`, 100*major+10*minor+id))
				}
			}
		}
	}
	src := f.open(plan.Config{Table: name, Cursor: []string{"major", "minor"}})
	for _, size := range []int{1, 2, 3, 5, 7, 54, 55} {
		f.same(fmt.Sprintf("pages of %d", size), keys(f.drain(src, nil, size)), strings.Join(want, " "))
	}
	e := f.page(src, nil, poller.Limit{Rows: 1, Bytes: plenty}).Events[0]
	f.same("cursor", string(e.Cursor), `{"kind":"composite+pk","value":[0,0],"tiebreaker":{"tenant":"a","id":0}}`)
}

// literal escapes text for a literal of the writer.
func (f fixture) literal(text string) string {
	text = strings.ReplaceAll(text, "'", "''")
	if f.e.Name == "mysql" {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	return text
}

// boundaries puts rows exactly at the boundary of a page, for every cursor type at its full precision.
func boundaries(f fixture) {
	for n, b := range f.e.Boundaries {
		f.Run(b.Type, func(t *testing.T) {
			f := fixture{t, f.e}
			name := fmt.Sprintf("t_boundary_%d", n)
			f.exec("CREATE TABLE " + name + " (id " + f.e.BigInt + " NOT NULL PRIMARY KEY, c " + b.Type + " NOT NULL " +
				b.Default + ")")
			t.Cleanup(func() { _, _ = f.e.DB.Exec("DROP TABLE " + name) })
			var want []int
			for i, literal := range b.Literals {
				f.exec(fmt.Sprintf("INSERT INTO %s (id, c) VALUES (%d, %s), (%d, %s), (%d, %s)", name, 3*i+2, literal, 3*i+1,
					literal, 3*i+3, literal))
				want = append(want, 3*i+1, 3*i+2, 3*i+3)
			}
			src := f.open(plan.Config{Table: name, Cursor: []string{"c"}, LateCommits: "none"})
			for _, size := range []int{1, 2, 3, 4} {
				all := f.drain(src, nil, size)
				f.same(fmt.Sprintf("pages of %d", size), keys(all), ids(want...))
				for i := 3; i < len(all); i += 3 {
					if value(all[i].Cursor) == value(all[i-1].Cursor) {
						f.Errorf("two values became one: %s and %s", all[i-1].Cursor, all[i].Cursor)
					}
					if value(all[i-1].Cursor) != value(all[i-2].Cursor) {
						f.Errorf("one value became two: %s and %s", all[i-1].Cursor, all[i-2].Cursor)
					}
				}
			}
			f.lookUp(src, name)
		})
	}
}

// lookUp checks that source__start=latest finds the last row of a boundary table that is not dated beyond the
// database's clock.
func (f fixture) lookUp(src *source.Cursor, name string) {
	d, err := src.Describe(f.ctx())
	if err != nil {
		f.Fatal(err)
	}
	all := f.drain(src, nil, 10)
	n := len(all)
	for d.Dates != nil {
		at, _, ok := d.Dates.Span(all[n-1].Cursor)
		if !ok || at.Before(time.Now().Add(24*time.Hour)) {
			break
		}
		n--
	}
	latest := f.open(plan.Config{Table: name, Cursor: []string{"c"}, Start: "latest", LateCommits: "none"})
	at, _, err := latest.Start(f.ctx())
	if err != nil {
		f.Fatal(err)
	}
	if !at.Equal(all[n-1].Cursor) {
		f.Errorf("latest is %s, not %s", at, all[n-1].Cursor)
	}
	f.same("after the latest", keys(f.drain(latest, at, 10)), keys(all[n:]))
}

// value is a cursor up to its tie-breaker.
func value(c change.Cursor) string {
	v, _, _ := strings.Cut(string(c), `,"tiebreaker"`)
	return v
}
