package source

import (
	"strings"

	"github.com/rowrelay/rowrelay/checkpointed/late"
)

// The columns that make a table readable exactly (source__late_commits=exact).
const (
	transactionColumn = "rowrelay_xid"
	rowVersionColumn  = "rowrelay_rv"
)

// ddl is the text that makes an exact cursor for the table, with what to set afterwards: for people to read and to run.
// "" where the table has one, for a query or view, and where the engine has none.
func (p *plan) ddl() string {
	if p.late.mode == late.Exact || p.table.view || p.table.from == "" {
		return ""
	}
	var key []string
	for _, i := range p.key {
		key = append(key, p.sel.columns[i].name)
	}
	switch d := p.dialect; d.engine() {
	case enginePostgres:
		if p.table.noTransactions {
			return "-- PostgreSQL before version 13 has no type xid8: exact takes an upgrade. Until then source__late_commits=overlap is safe.\n"
		}
		return "-- The column holds the transaction that wrote a row last. Then set source__cursor=" + transactionColumn + ".\n" +
			strings.Join(postgresDDL(&p.table, transactionColumn, key), ";\n") + ";\n"
	case engineSQLServer:
		quoted := []string{d.quote(rowVersionColumn)}
		for _, name := range key {
			quoted = append(quoted, d.quote(name))
		}
		return "-- Every write sets the column. To add it writes every row once, under a lock. Then set source__cursor=" + rowVersionColumn + ".\n" +
			"ALTER TABLE " + p.table.from + " ADD " + d.quote(rowVersionColumn) + " rowversion;\nGO\n" +
			"CREATE INDEX " + d.quote("ix_"+rowVersionColumn) + " ON " + p.table.from + " (" + strings.Join(quoted, ", ") + ");\n"
	}
	return ""
}
