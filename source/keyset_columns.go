package source

import "github.com/rowrelay/rowrelay/engine"

func pick(columns []engine.Column, at []int) []engine.Column {
	picked := make([]engine.Column, len(at))
	for n, i := range at {
		picked[n] = columns[i]
	}
	return picked
}

// columnNames returns the names of columns.
func columnNames(columns []engine.Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ", "
}
