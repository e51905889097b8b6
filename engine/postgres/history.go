package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
)

// histories keep every change by the triggers that keep a change table. Changes are numbered by a sequence: of one row
// the later has the higher number, because whoever writes it has waited for the one before.
func histories() *engine.Histories {
	return &engine.Histories{Install: installHistory, Differ: differ, Younger: func(seconds int64) string {
		return fmt.Sprintf("%s >= now() - interval '%d seconds'", quote(engine.HistoryWritten), seconds)
	}}
}

// differ compares texts: there are types without an operator for equality.
func differ(a, b string) string { return a + "::text IS DISTINCT FROM " + b + "::text" }

func installHistory(c *engine.ChangeTable, declared []string, anew bool) []string {
	history, state := c.In(quote, c.Name), c.In(quote, c.State())
	number, floor := quote(engine.HistoryChange), quote(engine.StateFloor)
	names, types := c.Wanted(declared)
	lacks, loses := c.History.Altered(names)
	statements := []string{"SET LOCAL lock_timeout = '10s'"} // as for a change table
	if c.History.Has == nil {
		var columns strings.Builder
		for i, name := range names {
			columns.WriteString(",\n\t" + quote(name) + " " + types[i])
			if slices.Contains(c.Key, name) {
				columns.WriteString(" NOT NULL")
			}
		}
		statements = append(statements, "CREATE TABLE "+history+" (\n\t"+number+
			" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,\n\t"+quote(engine.HistoryOperation)+" text NOT NULL,\n\t"+
			quote(engine.HistoryWritten)+" timestamptz NOT NULL DEFAULT clock_timestamp(),\n\t"+
			quote(engine.HistoryContext)+" text"+columns.String()+"\n)")
	}
	for _, i := range lacks {
		statements = append(statements, "ALTER TABLE "+history+" ADD COLUMN "+quote(names[i])+" "+types[i])
	}
	if anew { // triggers of an older version have other names
		statements = append(statements, "DROP FUNCTION IF EXISTS "+c.In(quote, c.Trigger("keep"))+"() CASCADE")
	}
	statements = append(statements, historyFunction(c), keepToOwner(c))
	if anew {
		sequence := "pg_get_serial_sequence('" + strings.ReplaceAll(history, "'", "''") + "', '" + engine.HistoryChange +
			"')::regclass"
		statements = append(statements, "CREATE TABLE IF NOT EXISTS "+state+
			" (\n\tone boolean PRIMARY KEY DEFAULT true CHECK (one),\n\t"+floor+" bigint NOT NULL\n)")
		statements = append(append(statements, trackingTriggers(c)...), "INSERT INTO "+state+" ("+floor+") SELECT setval("+
			sequence+", GREATEST(nextval("+sequence+"),\n\t(extract(epoch FROM clock_timestamp()) * 1000000)::bigint))\n\t"+
			"ON CONFLICT (one) DO UPDATE SET "+floor+" = excluded."+floor)
	}
	for _, name := range loses {
		statements = append(statements, "ALTER TABLE "+history+" DROP COLUMN "+quote(name))
	}
	return statements
}

// historyFunction is what the triggers do.
func historyFunction(c *engine.ChangeTable) string {
	old, now := engine.Names(quote, "OLD.", c.Key), engine.Names(quote, "NEW.", c.Key)
	into := func(operation, row, was, from string) string {
		names, values := c.Recording(quote, row, was)
		return "INSERT INTO " + c.In(quote, c.Name) + " (" + quote(engine.HistoryOperation) + ", " +
			quote(engine.HistoryContext) + ", " + names + ")\n\t\tSELECT '" + operation + "', rowrelay_own, " + values + from +
			";\n"
	}
	moved := "TG_OP = 'UPDATE' AND (" + old + ") IS DISTINCT FROM (" + now + ")"
	return "CREATE OR REPLACE FUNCTION " + c.In(quote, c.Trigger("keep")) + "() RETURNS trigger\n" +
		"LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $rowrelay$" + namesColumns +
		"DECLARE\n\trowrelay_own CONSTANT text := nullif(lower(current_setting('rowrelay.context', true)), '');\nBEGIN\n" +
		"\tIF TG_OP = 'TRUNCATE' THEN\n\t\t" +
		into("delete", "t.", "", " FROM "+c.Of+" AS t ORDER BY "+engine.Names(quote, "t.", c.Key)) +
		"\t\tRETURN NULL;\n\tEND IF;\n" +
		"\tIF TG_OP = 'DELETE' OR " + moved + " THEN\n\t\t" + into("delete", "OLD.", "", "") + "\tEND IF;\n" +
		"\tIF TG_OP = 'INSERT' OR " + moved + " THEN\n\t\t" + into("insert", "NEW.", "", "") +
		"\tELSIF TG_OP = 'UPDATE' THEN\n\t\t" + into("update", "NEW.", "OLD.", "") +
		"\tEND IF;\n\tRETURN NULL;\nEND $rowrelay$"
}
