package sqlserver

import (
	"strings"

	"github.com/rowrelay/rowrelay/engine"
)

// rowVersionColumn is the column that makes a table readable exactly.
const rowVersionColumn = "rowrelay_rv"

// exactText is the statement that adds it, and its index.
func exactText(t *engine.Table, key []string) string {
	quoted := []string{quote(rowVersionColumn)}
	for _, name := range key {
		quoted = append(quoted, quote(name))
	}
	return "-- Every write sets the column. To add it writes every row once, under a lock. Then set source__cursor=" +
		rowVersionColumn + ".\n" +
		"ALTER TABLE " + t.From + " ADD " + quote(rowVersionColumn) + " rowversion;\nGO\n" +
		"CREATE INDEX " + quote("ix_"+rowVersionColumn) + " ON " + t.From + " (" + strings.Join(quoted, ", ") + ");\n"
}
