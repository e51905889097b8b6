package source

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/golden"
)

const valuesDoc = "../docs/values.md"

// TestValuesDocument holds docs/values.md against the code's tables; -update writes the tables.
func TestValuesDocument(t *testing.T) {
	data, err := os.ReadFile(valuesDoc)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, engine := range everyDialect {
		d, err := dialectFor(engine)
		if err != nil {
			t.Fatal(err)
		}
		begin, end := "<!-- "+engine+" -->\n", "<!-- /"+engine+" -->"
		before, rest, ok1 := strings.Cut(text, begin)
		_, after, ok2 := strings.Cut(rest, end)
		if !ok1 || !ok2 {
			t.Fatalf("%s has no place for the types of %s", valuesDoc, engine)
		}
		text = before + begin + typesTable(t, d) + end + after
	}
	golden.File(t, valuesDoc, text)
}

// typesTable is one line for each group of types that are alike.
func typesTable(t *testing.T, d dialect) string {
	t.Helper()
	type line struct {
		names []string
		v     value
		note  string
	}
	var lines []line
	seen := map[string]bool{}
	for _, rule := range d.types() {
		if seen[rule.name] {
			t.Errorf("%s lists %q twice", d.engine(), rule.name)
		}
		seen[rule.name] = true
		if (rule.value.refused == "") == (rule.value.kind == kindNone) {
			t.Errorf("%s: %q is neither mapped nor refused", d.engine(), rule.name)
		}
		name := "`" + rule.name + "`"
		if rule.name == "" {
			name = "(none declared)"
		}
		if n := len(lines) - 1; n >= 0 && lines[n].note == rule.note && lines[n].v.refused == rule.value.refused && role(lines[n].v) == role(rule.value) {
			lines[n].names = append(lines[n].names, name)
			continue
		}
		lines = append(lines, line{[]string{name}, rule.value, rule.note})
	}
	var b strings.Builder
	b.WriteString("| type | in an event | as cursor or key |\n|---|---|---|\n")
	for _, l := range lines {
		form := l.note
		if l.v.refused != "" {
			form = "refused: a type " + l.v.refused
			if l.v.cast != "" {
				form += "; write `" + fill(l.v.cast, "x") + "`"
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.Join(l.names, ", "), form, role(l.v))
	}
	return b.String()
}

// role says what a column of a type may be.
func role(v value) string {
	c := column{value: v}
	cursor := cursorRefusal(&c) == ""
	key := v.noKey == "" && v.kind != kindFloat && v.kind != kindJSON && v.kind != kindNone
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
