package source

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/dsn"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/engine/enginetest/typerules"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/internal/tsqltest"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
)

// pinPage pins a page's statement under further conditions, and returns it.
func pinPage(t *testing.T, p *plan.Plan, name string, also ...keyset.Condition) string {
	t.Helper()
	var all strings.Builder
	for _, n := range []int{0, len(p.Sel.Order)} {
		st := p.Sel.Page(501, keyset.Span{After: n, Also: also})
		all.WriteString("-- after " + []string{"the beginning", "a row"}[min(n, 1)] + "\n" + st.Text + "\n")
		for _, param := range shown(p, st).Params {
			all.WriteString("-- parameter: " + param.Name + " " + param.Type + "\n")
		}
	}
	golden.Pin(t, filepath.Join(p.Dialect.Syntax().Name, name+".sql"), all.String())
	return p.Sel.Page(501, keyset.Span{After: len(p.Sel.Order), Also: also}).Text
}

// latePlan is a plan over a table with the columns id, note, and a cursor of a type.
func latePlan(t *testing.T, d engine.Dialect, cfg plan.Config, typ typerules.Rule) *plan.Plan {
	t.Helper()
	cfg.Table, cfg.Cursor = "orders", []string{"c"}
	if err := cfg.Complete(); err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(d, &cfg, "h/d",
		engine.Table{Name: "orders", From: d.Syntax().Quote("orders"), PrimaryKey: []string{"id"}, Columns: []engine.Column{
			goldenColumn(t, d, "id", engine.KindInteger, false), goldenColumn(t, d, "note", engine.KindText, true),
			{Name: "c", Type: typ.Sample, Value: typ.Value},
		}})
	if err != nil {
		t.Fatalf("%s: %v", typ.Name, err)
	}
	return p
}

func ruleOf(t *testing.T, d engine.Dialect, name string) typerules.Rule {
	t.Helper()
	for _, rule := range typerules.Of(d) {
		if rule.Name == name {
			return rule
		}
	}
	t.Fatalf("%s has no type %s", d.Syntax().Name, name)
	return typerules.Rule{}
}

// TestGoldenSettle pins the edge of settle, in the column's own type, with and without a zone.
func TestGoldenSettle(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("UTC+2", 7200)
	for engineName, types := range map[string][]string{
		dsn.SQLServer: {"datetime2", "datetime", "smalldatetime", "datetimeoffset", "date"},
		dsn.Postgres:  {"timestamptz", "timestamp", "date"},
		dsn.MySQL:     {"timestamp", "datetime", "date"},
	} {
		d, err := engines.Find(engineName)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range types {
			p := latePlan(t, d, plan.Config{LateCommits: "settle", LateWindow: 90 * time.Second, TimeZone: zone},
				ruleOf(t, d, name))
			c := &Cursor{cfg: plan.Config{LateWindow: 90 * time.Second, TimeZone: zone}, dialect: d}
			if !p.SettlesByClock() {
				t.Errorf("%s %s has no age", engineName, name)
			}
			text := pinPage(t, p, "settle_"+name, c.settled(p))
			if engineName == dsn.SQLServer {
				tsqltest.Is(t, text, "SelectStatement")
			}
		}
	}
}

// TestGoldenWatermark pins the batch that reads rowversions below the watermark: two statements before the page.
func TestGoldenWatermark(t *testing.T) {
	t.Parallel()
	d := sqlserver.Dialect{}
	p := latePlan(t, d, plan.Config{Where: "note <> 'x' OR note IS NULL"}, ruleOf(t, d, "timestamp"))
	if p.Late.Exact != plan.ExactWatermark || p.Late.Mode != late.Exact {
		t.Fatalf("%+v", p.Late)
	}
	var w plan.Watermark
	text := pinPage(t, p, "watermark", w.Below)
	tsqltest.Is(t, text, "DeclareVariableStatement", "SetVariableStatement", "SelectStatement")

	for told, want := range map[string]string{
		"2001 2000 READ_WRITE": "",
		"2001 2001 READ_WRITE": `{"kind":"rowversion+pk","value":"AAAAAAAAB9A="}`,
		"256 2001 READ_WRITE":  `{"kind":"rowversion+pk","value":"AAAAAAAAAP8="}`,
	} {
		safe, err := (&plan.Watermark{Told: told}).Safe(p)
		if err != nil {
			t.Fatal(err)
		}
		if safe != nil {
			if _, err := p.Decode(safe); err != nil {
				t.Errorf("the safe point is no position: %v", err)
			}
		}
		if got := string(safe); got != want {
			t.Errorf("%s: %s, want %s", told, got, want)
		}
	}
	for _, told := range []string{"", "0x07 0x08 READ_WRITE", "7 READ_WRITE", "7 7 READ_ONLY"} {
		if _, err := (&plan.Watermark{Told: told}).Safe(p); err == nil {
			t.Errorf("%q is taken for a watermark", told)
		}
	}
}
