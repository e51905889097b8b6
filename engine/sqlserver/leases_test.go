package sqlserver

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/internal/tsqltest"
)

func sharedTables() *engine.LeaseTables {
	return &engine.LeaseTables{
		Changes: &engine.ChangeTable{Of: "[dbo].[or'ders]", OfParts: []string{"dbo", "or'ders"},
			Key: []string{"tenant", "id"}},
		Function: "b5e6db7c2a5cc573", Leases: "Leases_b5e6db7c2a5cc573_901578250", Lock: "_az_func_Trigger",
		Key: []engine.KeyColumn{{Name: "tenant", Type: "nvarchar(20)", Collation: "Latin1_General_CI_AS"},
			{Name: "id", Type: "bigint"}},
	}
}

// TestLeaseTexts pins what SQL Server is sent about shared leases.
func TestLeaseTexts(t *testing.T) {
	var b strings.Builder
	own, tables := leasing(), sharedTables()
	add := func(name, text string, types ...string) {
		tsqltest.Is(t, strings.ReplaceAll(text, " COLLATE Latin1_General_CI_AS = ", " = "), types...)
		b.WriteString("-- " + name + "\n" + text + "\n\n")
	}
	const set, level, begin, declare, exec, check, end = "PredicateSetStatement", "SetTransactionIsolationLevelStatement",
		"BeginTransactionStatement", "DeclareVariableStatement", "ExecuteStatement", "IfStatement",
		"CommitTransactionStatement"
	const table, assign, insert, update, read = "DeclareTableVariableStatement", "SetVariableStatement", "InsertStatement",
		"UpdateStatement", "SelectStatement"
	add("make", own.Make(tables), set, set, level, begin, declare, exec, check, check, check,
		check, check, declare, check, check,
		check, exec, check, assign, end)
	tables.Latest = true
	add("make, from the latest on", own.Make(tables), set, set, level, begin, declare, exec, check, check, check,
		check, check,
		declare, check, check, check, exec, check, assign, end)
	tables.Legacy, tables.LegacyLeases = "0a1b2c3d4e5f6071", "Leases_0a1b2c3d4e5f6071_901578250"
	add("make, with an older id", own.Make(tables), set, set, level, begin, declare, exec, check, check, check,
		check, check,
		declare, check, check, check, check, exec, check, assign, end)
	add("take", own.Before(tables)+"SELECT TOP (100) r.[id] FROM "+own.Rows(tables)+" AS r"+own.After(tables), set, set,
		level,
		begin, declare, table, check, read, assign, end)
	add("renew", own.Renew(tables), set, set, level, begin, declare, exec, check, declare, declare, update, assign, update,
		assign, end)
	add("settle", own.Settle(tables), set, set, level, begin, declare, exec, check, declare, table, insert, assign,
		read, check,
		assign, end)
	add("show", own.Show(tables), set, set, level, begin, declare, read, check, assign, end)
	add("reset", own.Reset(tables), set, set, level, begin, declare, exec, check, declare, read, assign,
		check, assign, end)
	add("dead letters", own.Dead(tables), read)
	add("key", leaseKeySQL, read)
	add("rights", leaseRightsSQL, read)
	golden.Pin(t, "leases.sql", b.String())
}

// TestLeaseKeysCompareByTheColumnsCollation: the binding's table has the database's, so that a comparison without one
// is refused (its issue 1036). Columns are listed everywhere, so that the order of a composite key cannot mix them up
// (855).
func TestLeaseKeysCompareByTheColumnsCollation(t *testing.T) {
	text := takeLeases(sharedTables())
	if !strings.Contains(text, "l.[tenant] COLLATE Latin1_General_CI_AS = c.[tenant] AND l.[id] = c.[id]") {
		t.Error(text)
	}
	if !strings.Contains(text, ".[Leases_b5e6db7c2a5cc573_901578250] ([tenant], [id], [_az_func_ChangeVersion],") {
		t.Error(text)
	}
}

// TestLeaseTimesAreUTC: a lease of ours is in UTC, so that daylight saving moves none; only one that is not ours is
// held against the server's local time, in which the binding writes it.
func TestLeaseTimesAreUTC(t *testing.T) {
	own, tables := leasing(), sharedTables()
	for name, text := range map[string]string{"renew": own.Renew(tables), "settle": own.Settle(tables)} {
		if strings.Contains(text, "SYSDATETIME()") || !strings.Contains(text, "SYSUTCDATETIME()") {
			t.Errorf("%s: %s", name, text)
		}
	}
}
