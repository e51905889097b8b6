package source

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/internal/golden"
)

// pinPage pins a page's statement under further conditions, and returns it.
func pinPage(t *testing.T, p *plan, name string, also ...condition) string {
	t.Helper()
	var all strings.Builder
	for _, n := range []int{0, len(p.sel.order)} {
		st := p.sel.page(501, span{after: n, also: also})
		all.WriteString("-- after " + []string{"the beginning", "a row"}[min(n, 1)] + "\n" + st.text + "\n")
		for _, param := range p.shown(st).Params {
			all.WriteString("-- parameter: " + param.Name + " " + param.Type + "\n")
		}
	}
	golden.Pin(t, filepath.Join(p.dialect.engine(), name+".sql"), all.String())
	return p.sel.page(501, span{after: len(p.sel.order), also: also}).text
}

// latePlan is a plan over a table with the columns id, note, and a cursor of a type.
func latePlan(t *testing.T, d dialect, cfg Config, typ typeRule) *plan {
	t.Helper()
	cfg.Table, cfg.Cursor = "orders", []string{"c"}
	if err := cfg.complete(); err != nil {
		t.Fatal(err)
	}
	p, err := newPlan(d, &cfg, "h/d", table{name: "orders", from: d.quote("orders"), primaryKey: []string{"id"}, columns: []column{
		goldenColumn(t, d, "id", kindInteger, false), goldenColumn(t, d, "note", kindText, true), {name: "c", typ: typ.sample, value: typ.value},
	}})
	if err != nil {
		t.Fatalf("%s: %v", typ.name, err)
	}
	return p
}

func ruleOf(t *testing.T, d dialect, name string) typeRule {
	t.Helper()
	for _, rule := range d.types() {
		if rule.name == name {
			return rule
		}
	}
	t.Fatalf("%s has no type %s", d.engine(), name)
	return typeRule{}
}

// TestGoldenSettle pins the edge of settle, in the column's own type, with and without a zone.
func TestGoldenSettle(t *testing.T) {
	zone := time.FixedZone("UTC+2", 7200)
	for engine, types := range map[string][]string{
		engineSQLServer: {"datetime2", "datetime", "smalldatetime", "datetimeoffset", "date"},
		enginePostgres:  {"timestamptz", "timestamp", "date"},
		engineMySQL:     {"timestamp", "datetime", "date"},
	} {
		d, err := dialectFor(engine)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range types {
			p := latePlan(t, d, Config{LateCommits: "settle", LateWindow: 90 * time.Second, TimeZone: zone}, ruleOf(t, d, name))
			c := &Cursor{cfg: Config{LateWindow: 90 * time.Second, TimeZone: zone}, dialect: d}
			if !p.settlesByClock() {
				t.Errorf("%s %s has no age", engine, name)
			}
			text := pinPage(t, p, "settle_"+name, c.settled(p))
			if engine == engineSQLServer {
				isTSQL(t, text, "SelectStatement")
			}
		}
	}
}

// TestGoldenWatermark pins the batch that reads rowversions below the watermark: two statements before the page.
func TestGoldenWatermark(t *testing.T) {
	d := sqlServer{}
	p := latePlan(t, d, Config{Where: "note <> 'x' OR note IS NULL"}, ruleOf(t, d, "timestamp"))
	if p.late.exact != exactWatermark || p.late.mode != late.Exact {
		t.Fatalf("%+v", p.late)
	}
	var w watermark
	text := pinPage(t, p, "watermark", w.below)
	isTSQL(t, text, "DeclareVariableStatement", "SetVariableStatement", "SelectStatement")

	for told, want := range map[string]string{
		"2001 2000 READ_WRITE": "",
		"2001 2001 READ_WRITE": `{"kind":"rowversion+pk","value":"AAAAAAAAB9A="}`,
		"256 2001 READ_WRITE":  `{"kind":"rowversion+pk","value":"AAAAAAAAAP8="}`,
	} {
		safe, last, err := (&watermark{told}).read()
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if safe <= last {
			got = string(p.belowRowVersion(safe))
			if _, err := p.decode([]byte(got)); err != nil {
				t.Errorf("the safe point is no position: %v", err)
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", told, got, want)
		}
	}
	for _, told := range []string{"", "0x07 0x08 READ_WRITE", "7 READ_WRITE", "7 7 READ_ONLY"} {
		if _, _, err := (&watermark{told}).read(); err == nil {
			t.Errorf("%q is taken for a watermark", told)
		}
	}
}
