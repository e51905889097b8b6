package keyset

import "github.com/rowrelay/rowrelay/engine"

// Pick returns the columns at some indexes.
func Pick(columns []engine.Column, at []int) []engine.Column {
	picked := make([]engine.Column, len(at))
	for n, i := range at {
		picked[n] = columns[i]
	}
	return picked
}

// ColumnNames returns the names of columns.
func ColumnNames(columns []engine.Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

// Comma stands before the i-th member of a list.
func Comma(i int) string {
	if i == 0 {
		return ""
	}
	return ", "
}
