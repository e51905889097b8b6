package plan

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
)

// TestRemedyOfARefusedType: change tracking reads a table and no query, so that the remedy may not name one.
func TestRemedyOfARefusedType(t *testing.T) {
	odd := engine.Column{Name: "odd", Type: "integer[]", Value: engine.Value{Refused: "an array", Cast: "to_jsonb(%s)"}}
	for _, tracked := range []bool{false, true} {
		r := resolver{cfg: &Config{Tracked: tracked}, plan: &Plan{
			Syntax: engine.Syntax{Quote: func(name string) string { return name }},
			Table:  engine.Table{Name: "orders", Columns: []engine.Column{odd}},
		}}
		r.checkMapped(0)
		text := r.faults[0].Error()
		if strings.Contains(text, "source__query") == tracked || !strings.Contains(text, "leave it out by source__columns") {
			t.Errorf("tracked %v: %s", tracked, text)
		}
	}
}
