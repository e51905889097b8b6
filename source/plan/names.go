package plan

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rowrelay/rowrelay/engine"
)

// findColumn finds a column by the name in a setting: as it is written, else in another case where that is unambiguous.
func findColumn(columns []engine.Column, name string) (int, error) {
	found := -1
	for i := range columns {
		if columns[i].Name == name {
			return i, nil
		}
		if strings.EqualFold(columns[i].Name, name) {
			if found >= 0 {
				return 0, fmt.Errorf("column %q could be %q or %q: write it exactly", name, columns[found].Name, columns[i].Name)
			}
			found = i
		}
	}
	if found >= 0 {
		return found, nil
	}
	return 0, fmt.Errorf("there is no column %q; there are: %s", name, listNames(columns))
}

// listNames lists the columns for a message, not endlessly.
func listNames(columns []engine.Column) string {
	var b strings.Builder
	for i, c := range columns {
		if i == 40 {
			fmt.Fprintf(&b, " and %d more", len(columns)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.Name)
	}
	return b.String()
}

// validName reports whether a name can stand in JSON and in a statement at all.
func validName(name string) bool { return utf8.ValidString(name) && !strings.ContainsRune(name, 0) }
