package source

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/dsn"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/engine/mysql"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// lateTable has every kind of cursor that the choice tells apart.
func lateTable(d engine.Dialect) engine.Table {
	rowVersion, transaction := engine.Value{Kind: engine.KindRowVersion},
		engine.Value{Kind: engine.KindInteger, Transaction: true}
	t := engine.Table{Name: "orders", From: d.Syntax().Quote("orders"), PrimaryKey: []string{"id"},
		Columns: []engine.Column{
			{Name: "id", Type: "bigint", Value: engine.Value{Kind: engine.KindInteger}},
			{Name: "seq", Type: "bigint", Value: engine.Value{Kind: engine.KindInteger}},
			{Name: "created_at", Type: "datetime", Value: engine.Value{Kind: engine.KindDateTime}},
			{Name: "updated_at", Type: "datetime", Value: engine.Value{Kind: engine.KindDateTime}},
			{Name: "stamp", Type: "timestamp", Moving: true, Value: engine.Value{Kind: engine.KindInstant}},
			{Name: "version", Type: "int", Value: engine.Value{Kind: engine.KindInteger}},
			{Name: "rv", Type: "rowversion", Value: rowVersion},
			{Name: "xid", Type: "xid8", Value: transaction},
		}}
	return t
}

// TestLateChoice holds the table of what auto chooses, and what is refused where it is unsafe.
func TestLateChoice(t *testing.T) {
	t.Parallel()
	with := func(change func(*engine.Table)) func(*engine.Table) { return change }
	serial := with(func(t *engine.Table) { t.Columns[0].Serial = true })
	secondary := with(func(t *engine.Table) { t.ReadOnly = true })
	for _, c := range []struct {
		engineName, said, cursor string
		change                   func(*engine.Table)
		want                     late.Mode
		words                    []string // of the refusal, where want is empty; else of why
	}{
		{engineName: dsn.SQLServer, cursor: "rv", want: late.Exact, words: []string{"MIN_ACTIVE_ROWVERSION"}},
		{engineName: dsn.SQLServer, cursor: "rv,id", want: late.Overlap, words: []string{"single column"}},
		{engineName: dsn.SQLServer, cursor: "updated_at", want: late.Overlap, words: []string{"rowversion"}},
		{engineName: dsn.SQLServer, cursor: "rv", change: secondary, want: late.Overlap,
			words: []string{"readable secondary"}},
		{engineName: dsn.SQLServer, cursor: "rv", change: func(t *engine.Table) {
			t.Foreign = true
		}, want: late.Overlap, words: []string{"another database"}},
		{engineName: dsn.SQLServer, cursor: "rv", change: func(t *engine.Table) {
			t.View = true
		}, want: late.Overlap, words: []string{"view"}},
		{engineName: dsn.SQLServer, said: "exact", cursor: "rv", change: func(t *engine.Table) {
			t.View = true
		}, want: late.Exact},
		{engineName: dsn.Postgres, cursor: "xid", want: late.Exact, words: []string{"snapshot"}},
		{engineName: dsn.Postgres, cursor: "xid", change: secondary, want: late.Overlap, words: []string{"standby"}},
		{engineName: dsn.Postgres, cursor: "updated_at", want: late.Overlap, words: []string{"check --ddl"}},
		{engineName: dsn.MySQL, cursor: "id", want: late.Overlap, words: []string{"MySQL"}},
		{engineName: dsn.SQLite, cursor: "id", change: serial, want: late.Exact, words: []string{"AUTOINCREMENT"}},
		{engineName: dsn.SQLite, cursor: "id", want: late.Overlap, words: []string{"AUTOINCREMENT"}},
		{engineName: dsn.SQLite, cursor: "id,seq", change: serial, want: late.Overlap},
		{engineName: dsn.MySQL, said: "none", cursor: "id", want: late.None},
		{engineName: dsn.Postgres, said: "overlap", cursor: "xid", want: late.Overlap, words: []string{"says so"}},
		{engineName: dsn.SQLServer, said: "settle", cursor: "id", want: late.Settle},
		{engineName: dsn.MySQL, said: "settle", cursor: "created_at", want: late.Settle},

		{engineName: dsn.MySQL, said: "exact", cursor: "id", words: []string{"source__late_commits=exact", "use overlap"}},
		{engineName: dsn.Postgres, said: "exact", cursor: "xid", change: secondary,
			words: []string{"standby", "target_session_attrs"}},
		{engineName: dsn.SQLServer, said: "exact", cursor: "rv", change: secondary,
			words: []string{"readable secondary", "ApplicationIntent"}},
		{engineName: dsn.SQLServer, said: "settle", cursor: "rv", words: []string{"rowversion", "use overlap"}},
		{engineName: dsn.Postgres, said: "settle", cursor: "xid", words: []string{"xid8", "use overlap"}},
		{engineName: dsn.MySQL, said: "settle", cursor: "stamp",
			words: []string{"ON UPDATE CURRENT_TIMESTAMP", "use overlap"}},
		{engineName: dsn.MySQL, said: "settle", cursor: "updated_at",
			words: []string{`begins with "updat"`, "modif", "revision", "use overlap"}},
		{engineName: dsn.MySQL, said: "settle", cursor: "version", words: []string{"has a name", "use overlap"}},
		{engineName: dsn.SQLite, said: "settle", cursor: "created_at", words: []string{"SQLite cannot tell", "use overlap"}},
	} {
		t.Run(c.engineName+"/"+c.said+"/"+c.cursor, func(t *testing.T) {
			d, err := engines.Find(c.engineName)
			if err != nil {
				t.Fatal(err)
			}
			tab := lateTable(d)
			if c.change != nil {
				c.change(&tab)
			}
			cfg := plan.Config{Table: "orders", Cursor: strings.Split(c.cursor, ","), Key: []string{"id"}, LateCommits: c.said}
			if err := cfg.Complete(); err != nil {
				t.Fatal(err)
			}
			p, err := plan.New(d, &cfg, "h/d", tab)
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
				said = p.Late.Why
				if p.Late.Mode != c.want || p.Late.Auto != (c.said == "") ||
					(p.Late.Exact != plan.ExactNone) != (c.want == late.Exact) {
					t.Errorf("chosen: %+v, want %s", p.Late, c.want)
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
	t.Parallel()
	cfg := plan.Config{Table: "o"}
	if err := cfg.Complete(); err != nil || cfg.LateCommits != "auto" || cfg.LateWindow != 2*time.Minute {
		t.Errorf("%+v %v", cfg, err)
	}
	for _, c := range []plan.Config{{Table: "o", LateCommits: "exactly"}, {Table: "o", LateWindow: -time.Second}} {
		if err := c.Complete(); err == nil || !strings.Contains(err.Error(), "source__late_") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestCoarse: an order key that is the key in other words is not coarse.
func TestCoarse(t *testing.T) {
	t.Parallel()
	d := mysql.Dialect{}
	for want, keys := range map[bool][2][]string{
		false: {{"id", "seq"}, {"seq", "id"}}, true: {{"id"}, {"version"}},
	} {
		p, err := plan.New(d, &plan.Config{Table: "orders", Cursor: []string{"created_at"}, Key: keys[0], OrderKey: keys[1],
			LateCommits: "overlap"}, "h/d", lateTable(d))
		if err != nil || p.Coarse != want {
			t.Errorf("key %v, order key %v: coarse %v (%v)", keys[0], keys[1], p.Coarse, err)
		}
	}
}
