package source

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/engine/enginetest/typerules"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/internal/testfile"
	"github.com/rowrelay/rowrelay/source/plan"
)

const valuesDoc = "../docs/values.md"

// TestValuesDocument holds docs/values.md against the code's tables; -update writes the tables.
func TestValuesDocument(t *testing.T) {
	t.Parallel()
	data := testfile.Read(t, valuesDoc)
	text := string(data)
	for _, engineName := range everyDialect {
		d, err := engines.Find(engineName)
		if err != nil {
			t.Fatal(err)
		}
		begin, end := "<!-- "+engineName+" -->\n", "<!-- /"+engineName+" -->"
		before, rest, ok1 := strings.Cut(text, begin)
		_, after, ok2 := strings.Cut(rest, end)
		if !ok1 || !ok2 {
			t.Fatalf("%s has no place for the types of %s", valuesDoc, engineName)
		}
		text = before + begin + typesTable(t, d) + end + after
	}
	golden.File(t, valuesDoc, text)
}

// typesTable is one line for each group of types that are alike.
func typesTable(t *testing.T, d engine.Dialect) string {
	t.Helper()
	type line struct {
		names []string
		v     engine.Value
		note  string
	}
	var lines []line
	seen := map[string]bool{}
	for _, rule := range typerules.Of(d) {
		if seen[rule.Name] {
			t.Errorf("%s lists %q twice", d.Syntax().Name, rule.Name)
		}
		seen[rule.Name] = true
		if (rule.Value.Refused == "") == (rule.Value.Kind == engine.KindNone) {
			t.Errorf("%s: %q is neither mapped nor refused", d.Syntax().Name, rule.Name)
		}
		name := "`" + rule.Name + "`"
		if rule.Name == "" {
			name = "(none declared)"
		}
		if n := slices.IndexFunc(lines, func(l line) bool {
			return l.note == rule.Note && l.v.Refused == rule.Value.Refused && l.v.Cast == rule.Value.Cast &&
				role(l.v) == role(rule.Value)
		}); n >= 0 {
			lines[n].names = append(lines[n].names, name)
			continue
		}
		lines = append(lines, line{[]string{name}, rule.Value, rule.Note})
	}
	var b strings.Builder
	b.WriteString("| type | in an event | as cursor or key |\n|---|---|---|\n")
	for _, l := range lines {
		form := l.note
		if l.v.Refused != "" {
			form = "refused: a type " + l.v.Refused
			if l.v.Cast != "" {
				form += "; write `" + engine.Fill(l.v.Cast, "x") + "`"
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.Join(l.names, ", "), form, role(l.v))
	}
	return b.String()
}

// role says what a column of a type may be.
func role(v engine.Value) string {
	c := engine.Column{Value: v}
	cursor := plan.CursorRefusal(&c) == ""
	key := v.NoKey == "" && v.Kind != engine.KindFloat && v.Kind != engine.KindJSON && v.Kind != engine.KindNone
	switch {
	case cursor && key:
		return "cursor, key"
	case cursor:
		return "cursor"
	case key:
		return "key"
	default:
		return "–"
	}
}
