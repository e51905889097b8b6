package source

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
)

// lateTable has every kind of cursor that the choice tells apart.
func lateTable(d dialect) table {
	rowVersion, transaction := value{kind: kindRowVersion}, value{kind: kindInteger, transaction: true}
	t := table{name: "orders", from: d.quote("orders"), primaryKey: []string{"id"}, columns: []column{
		{name: "id", typ: "bigint", value: value{kind: kindInteger}},
		{name: "seq", typ: "bigint", value: value{kind: kindInteger}},
		{name: "created_at", typ: "datetime", value: value{kind: kindDateTime}},
		{name: "updated_at", typ: "datetime", value: value{kind: kindDateTime}},
		{name: "stamp", typ: "timestamp", moving: true, value: value{kind: kindInstant}},
		{name: "version", typ: "int", value: value{kind: kindInteger}},
		{name: "rv", typ: "rowversion", value: rowVersion},
		{name: "xid", typ: "xid8", value: transaction},
	}}
	return t
}

// TestLateChoice holds the table of what auto chooses, and what is refused where it is unsafe.
func TestLateChoice(t *testing.T) {
	with := func(change func(*table)) func(*table) { return change }
	serial := with(func(t *table) { t.columns[0].serial = true })
	secondary := with(func(t *table) { t.readOnly = true })
	for _, c := range []struct {
		engine, said, cursor string
		change               func(*table)
		want                 late.Mode
		words                []string // of the refusal, where want is empty; else of why
	}{
		{engine: engineSQLServer, cursor: "rv", want: late.Exact, words: []string{"MIN_ACTIVE_ROWVERSION"}},
		{engine: engineSQLServer, cursor: "rv,id", want: late.Overlap, words: []string{"single column"}},
		{engine: engineSQLServer, cursor: "updated_at", want: late.Overlap, words: []string{"rowversion"}},
		{engine: engineSQLServer, cursor: "rv", change: secondary, want: late.Overlap, words: []string{"readable secondary"}},
		{engine: engineSQLServer, cursor: "rv", change: func(t *table) { t.foreign = true }, want: late.Overlap, words: []string{"another database"}},
		{engine: engineSQLServer, cursor: "rv", change: func(t *table) { t.view = true }, want: late.Overlap, words: []string{"view"}},
		{engine: engineSQLServer, said: "exact", cursor: "rv", change: func(t *table) { t.view = true }, want: late.Exact},
		{engine: enginePostgres, cursor: "xid", want: late.Exact, words: []string{"snapshot"}},
		{engine: enginePostgres, cursor: "xid", change: secondary, want: late.Overlap, words: []string{"standby"}},
		{engine: enginePostgres, cursor: "updated_at", want: late.Overlap, words: []string{"check --ddl"}},
		{engine: engineMySQL, cursor: "id", want: late.Overlap, words: []string{"MySQL"}},
		{engine: engineSQLite, cursor: "id", change: serial, want: late.Exact, words: []string{"AUTOINCREMENT"}},
		{engine: engineSQLite, cursor: "id", want: late.Overlap, words: []string{"AUTOINCREMENT"}},
		{engine: engineSQLite, cursor: "id,seq", change: serial, want: late.Overlap},
		{engine: engineMySQL, said: "none", cursor: "id", want: late.None},
		{engine: enginePostgres, said: "overlap", cursor: "xid", want: late.Overlap, words: []string{"says so"}},
		{engine: engineSQLServer, said: "settle", cursor: "id", want: late.Settle},
		{engine: engineMySQL, said: "settle", cursor: "created_at", want: late.Settle},

		{engine: engineMySQL, said: "exact", cursor: "id", words: []string{"source__late_commits=exact", "use overlap"}},
		{engine: enginePostgres, said: "exact", cursor: "xid", change: secondary, words: []string{"standby", "target_session_attrs"}},
		{engine: engineSQLServer, said: "exact", cursor: "rv", change: secondary, words: []string{"readable secondary", "ApplicationIntent"}},
		{engine: engineSQLServer, said: "settle", cursor: "rv", words: []string{"rowversion", "use overlap"}},
		{engine: enginePostgres, said: "settle", cursor: "xid", words: []string{"xid8", "use overlap"}},
		{engine: engineMySQL, said: "settle", cursor: "stamp", words: []string{"ON UPDATE CURRENT_TIMESTAMP", "use overlap"}},
		{engine: engineMySQL, said: "settle", cursor: "updated_at", words: []string{`begins with "updat"`, "modif", "revision", "use overlap"}},
		{engine: engineMySQL, said: "settle", cursor: "version", words: []string{"has a name", "use overlap"}},
		{engine: engineSQLite, said: "settle", cursor: "created_at", words: []string{"SQLite cannot tell", "use overlap"}},
	} {
		t.Run(c.engine+"/"+c.said+"/"+c.cursor, func(t *testing.T) {
			d, err := dialectFor(c.engine)
			if err != nil {
				t.Fatal(err)
			}
			tab := lateTable(d)
			if c.change != nil {
				c.change(&tab)
			}
			cfg := Config{Table: "orders", Cursor: strings.Split(c.cursor, ","), Key: []string{"id"}, LateCommits: c.said}
			if err := cfg.complete(); err != nil {
				t.Fatal(err)
			}
			p, err := newPlan(d, &cfg, "h/d", tab)
			said := ""
			if err != nil {
				said = err.Error()
				if !errors.Is(err, poller.ErrConfig) {
					t.Errorf("no fault of the settings: %v", err)
				}
			}
			if refused := err != nil; refused != (c.want == "") {
				t.Fatalf("want %q, got %v", c.want, err)
			}
			if err == nil {
				said = p.late.why
				if p.late.mode != c.want || p.late.auto != (c.said == "") || (p.late.exact != exactNone) != (c.want == late.Exact) {
					t.Errorf("chosen: %+v, want %s", p.late, c.want)
				}
			}
			for _, word := range c.words {
				if !strings.Contains(said, word) {
					t.Errorf("%q is not said: %s", word, said)
				}
			}
		})
	}
}

// TestLateSettings: the zero values are the defaults, and what is no mode is named.
func TestLateSettings(t *testing.T) {
	cfg := Config{Table: "o"}
	if err := cfg.complete(); err != nil || cfg.LateCommits != "auto" || cfg.LateWindow != 2*time.Minute {
		t.Errorf("%+v %v", cfg, err)
	}
	for _, c := range []Config{{Table: "o", LateCommits: "exactly"}, {Table: "o", LateWindow: -time.Second}} {
		if err := c.complete(); err == nil || !strings.Contains(err.Error(), "source__late_") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestCoarse: an order key that is the key in other words is not coarse.
func TestCoarse(t *testing.T) {
	d := mySQL{}
	for want, keys := range map[bool][2][]string{
		false: {{"id", "seq"}, {"seq", "id"}}, true: {{"id"}, {"version"}},
	} {
		p, err := newPlan(d, &Config{Table: "orders", Cursor: []string{"created_at"}, Key: keys[0], OrderKey: keys[1]}, "h/d", lateTable(d))
		if err != nil || p.coarse != want {
			t.Errorf("key %v, order key %v: coarse %v (%v)", keys[0], keys[1], p.coarse, err)
		}
	}
}
