package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/printing"
)

// What check --ddl prints may be run as it is: all but the statements are comments, whatever a fault or a name holds.
func TestDDLIsAScript(t *testing.T) {
	view := Report{Faults: []string{"state__kind: is required.\nDROP TABLE a;"}, Pollers: []*Poller{
		{Poller: "orders", Table: "odd\nname", DDL: "ALTER TABLE o ADD x;\n"},
		{Poller: "audit", Faults: []string{"no such\r\ntable"}},
		{Poller: "items", Late: &inspect.Late{Mode: late.Overlap, Why: "MySQL shows no\nsafe point"}},
	}}
	var b strings.Builder
	if err := view.WriteDDL(&b); err != nil {
		t.Fatal(err)
	}
	const want = `-- state__kind: is required. DROP TABLE a;
-- poller orders, table odd name
ALTER TABLE o ADD x;
-- audit: no such table
-- items: there is nothing to run: late commits are found by overlap, MySQL shows no safe point
`
	if b.String() != want {
		t.Errorf("%s", b.String())
	}
}

// A label that fills its column is followed by a blank all the same, and a value of blanks is none.
func TestPrintedFields(t *testing.T) {
	var b strings.Builder
	p := &printing.Printer{W: &b}
	p.Field("source", " ")
	out := Output{Output: "audit", To: "stdout", Document: "d", Events: []json.RawMessage{[]byte(`{"a":1}`)}}
	out.print(p)
	const want = "  output audit stdout\n    document d\n    would send {\"a\":1}\n"
	if b.String() != want {
		t.Errorf("%q", b.String())
	}
}

// A plan over hundreds of partitions does not push what else check says out of sight.
func TestLongPlan(t *testing.T) {
	for lines, last := range map[int]string{20: "l", 21: "… and 1 more line: --json"} {
		var b strings.Builder
		(&Poller{Plan: strings.TrimSuffix(strings.Repeat("l\n", lines), "\n")}).print(&printing.Printer{W: &b})
		if n := strings.Count(b.String(), " l\n"); n != 20 || !strings.Contains(b.String(), last) {
			t.Errorf("of %d lines %d: %s", lines, n, b.String())
		}
	}
}
