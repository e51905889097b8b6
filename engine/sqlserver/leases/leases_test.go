package leases

import (
	"database/sql"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/internal/tsqltest"
)

// scheme is what this package writes; which errors there are, the engine knows.
func scheme() *engine.Leasing { return New(func(error, int32) bool { return false }, engine.Value{}) }

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
	own, tables := scheme(), sharedTables()
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

// TestBindingTexts pins what SQL Server is sent where all is done as the binding does it.
func TestBindingTexts(t *testing.T) {
	var b strings.Builder
	own, tables := scheme().Binding, sharedTables()
	const begun = "PredicateSet PredicateSet SetTransactionIsolationLevel BeginTransaction DeclareVariable "
	for _, text := range []struct{ name, text, statements string }{
		{"take", own.Before(tables) + "SELECT TOP (200) r.[id] FROM " + own.Rows(tables) + " AS r" + own.After(tables),
			begun + "DeclareTableVariable If Select SetVariable CommitTransaction"},
		{"renew", own.Renew(tables), begun + "Execute If DeclareVariable Update SetVariable SetVariable CommitTransaction"},
		{"settle", own.Settle(tables), begun + "Execute If DeclareVariable DeclareTableVariable Insert SetVariable Update " +
			"Update Insert Select If Select If SetVariable CommitTransaction"},
		{"show", own.Show(tables), begun + "Select If SetVariable CommitTransaction"},
	} {
		types := strings.Fields(text.statements)
		for i := range types {
			types[i] += "Statement"
		}
		tsqltest.Is(t, strings.ReplaceAll(text.text, " COLLATE Latin1_General_CI_AS = ", " = "), types...)
		b.WriteString("-- " + text.name + "\n" + text.text + "\n\n")
	}
	golden.Pin(t, "leases_binding.sql", b.String())
}

// TestLeaseKeysOfAnyName: columns of a key may be called as the columns of our own in a batch's table might be.
func TestLeaseKeysOfAnyName(t *testing.T) {
	tables := sharedTables()
	for _, name := range []string{"version", "place", "v", "created", "attempts"} {
		tables.Changes.Key = append(tables.Changes.Key, name)
		tables.Key = append(tables.Key, engine.KeyColumn{Name: name, Type: "bigint"})
	}
	ours := regexp.MustCompile(`(?i)(?:TABLE \(|WITH \(|, |,\s)(\w+) (?:bigint|int|bit|nvarchar\(1000\)) N`)
	own := scheme()
	for name, text := range map[string]string{"take": own.Before(tables),
		"take as the binding": own.Binding.Before(tables), "settle as the binding": own.Binding.Settle(tables)} {
		found := ours.FindAllStringSubmatch(text, -1)
		for _, m := range found {
			if slices.Contains(tables.Changes.Key, m[1]) {
				t.Errorf("%s: two columns are called %s", name, m[1])
			}
		}
		if len(found) < 3 {
			t.Errorf("%s: found %q only", name, found)
		}
	}
}

// TestLeaseFaults: whatever is missing is told, all of it at once, each with what to run.
func TestLeaseFaults(t *testing.T) {
	const schema, tables = "GRANT CREATE SCHEMA TO [app]", "GRANT CREATE TABLE TO [app]"
	const in = " ON SCHEMA::az_func TO [app]"
	type rights = [4]bool
	all := rights{true, true, true, true}
	for name, c := range map[string]struct {
		there, makesSchema, makesTables, alters bool
		rights                                  rights
		made                                    bool
		level                                   int
		want                                    []string
	}{
		"all is well":      {true, false, false, false, all, true, 150, nil},
		"new, and may":     {false, true, true, true, all, false, 150, nil},
		"new, and may not": {false, false, false, false, all, false, 150, []string{schema, tables}},
		"below 130":        {true, true, true, true, all, true, 120, []string{"compatibility level is 120"}},
		"may make none":    {true, true, true, false, all, false, 150, []string{"GRANT ALTER" + in}},
		"may write nothing": {true, true, true, true, rights{true}, true, 150,
			[]string{"GRANT INSERT" + in, "GRANT UPDATE" + in, "GRANT DELETE" + in}},
		"may not read there": {true, true, true, true, rights{false, true, true, true}, true, 150,
			[]string{"GRANT SELECT" + in}},
	} {
		db := sql.OpenDB(tsqltest.Told{leaseRightsSQL: {{c.there, c.makesSchema, c.makesTables, c.alters,
			c.rights[0], c.rights[1], c.rights[2], c.rights[3], c.made, int64(c.level), "app"}}})
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, err := leaseFaults(t.Context(), conn, sharedTables())
		if err != nil || !slices.EqualFunc(got, c.want, strings.Contains) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err := errors.Join(conn.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	}
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
	own, tables := scheme(), sharedTables()
	for name, text := range map[string]string{"renew": own.Renew(tables), "settle": own.Settle(tables)} {
		if strings.Contains(text, "SYSDATETIME()") || !strings.Contains(text, "SYSUTCDATETIME()") {
			t.Errorf("%s: %s", name, text)
		}
	}
}
