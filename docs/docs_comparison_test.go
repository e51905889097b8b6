package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestComparisonHasSources: each cell about another tool names a source, each source that is named is defined, and each
// that is defined is used.
func TestComparisonHasSources(t *testing.T) {
	page := read(t, "comparison.md")
	named := regexp.MustCompile(`\[([A-Z]\d)\]`)
	defined := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\[([A-Z]\d)\]: https://\S+$`).FindAllStringSubmatch(page, -1) {
		defined[m[1]] = true
	}
	_, table, ok := strings.Cut(page, "## The table\n\n")
	if !ok || len(defined) == 0 {
		t.Fatal("no table, or no sources")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	columns := strings.Count(rows[0], "|")
	for _, row := range rows[2:] {
		cells := strings.Split(row, "|")
		if len(cells) != columns+1 {
			t.Errorf("a row of %d cells, not %d: %s", len(cells)-2, columns-1, row)
			continue
		}
		for i, cell := range cells[3 : len(cells)-1] {
			if !named.MatchString(cell) {
				t.Errorf("%s: the cell of %s has no source: %s", strings.TrimSpace(cells[1]),
					strings.TrimSpace(strings.Split(rows[0], "|")[3+i]), cell)
			}
		}
	}
	used := map[string]int{}
	for _, m := range named.FindAllStringSubmatch(page, -1) {
		used[m[1]]++
		if !defined[m[1]] {
			t.Errorf("[%s] is not defined", m[1])
		}
	}
	for name := range defined {
		if used[name] < 2 {
			t.Errorf("[%s] is defined and never used", name)
		}
	}
}
