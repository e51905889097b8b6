package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
)

// histories keep every change by triggers. There is one writer at a time, so that the order of the numbers is that of
// the commits.
func histories() *engine.Histories {
	return &engine.Histories{Install: installHistory, Differ: differ, Ahead: ahead, Younger: func(seconds int64) string {
		return fmt.Sprintf("%s >= strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '-%d seconds')", quote(engine.HistoryWritten),
			seconds)
	}}
}

// differ compares byte by byte, whatever the column's collation.
func differ(a, b string) string { return a + " COLLATE BINARY IS NOT " + b }

func installHistory(c *engine.ChangeTable, declared []string, anew bool) []string {
	history, state := quote(c.Name), quote(c.State())
	floor := quote(engine.StateFloor)
	names, types := c.Wanted(declared)
	lacks, loses := c.History.Altered(names)
	column := func(i int) string { return strings.TrimSpace(quote(names[i]) + " " + types[i]) }
	var statements []string
	if c.History.Has == nil {
		var columns strings.Builder
		for i, name := range names {
			columns.WriteString(",\n\t" + column(i))
			if slices.Contains(c.Key, name) {
				columns.WriteString(" NOT NULL")
			}
		}
		statements = append(statements, "CREATE TABLE "+history+" (\n\t"+quote(engine.HistoryChange)+
			" INTEGER PRIMARY KEY AUTOINCREMENT,\n\t"+quote(engine.HistoryOperation)+" TEXT NOT NULL,\n\t"+
			quote(engine.HistoryWritten)+" DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f', 'now'))"+
			columns.String()+"\n)")
	}
	for _, event := range trackingEvents {
		statements = append(statements, "DROP TRIGGER IF EXISTS "+quote(c.Trigger(event)))
	}
	for _, i := range lacks {
		statements = append(statements, "ALTER TABLE "+history+" ADD COLUMN "+column(i))
	}
	for _, name := range loses {
		statements = append(statements, "ALTER TABLE "+history+" DROP COLUMN "+quote(name))
	}
	for _, event := range trackingEvents {
		statements = append(statements, historyTrigger(c, event))
	}
	if !anew {
		return statements
	}
	name := "'" + strings.ReplaceAll(c.Name, "'", "''") + "'"
	return append(statements,
		"CREATE TABLE IF NOT EXISTS "+state+" (\n\tone INTEGER PRIMARY KEY CHECK (one = 1),\n\t"+floor+
			" INTEGER NOT NULL\n)",
		"INSERT INTO "+state+" SELECT 1, max("+microseconds+",\n\t\tcoalesce((SELECT seq FROM sqlite_sequence WHERE name = "+
			name+"), 0) + 1) WHERE true\n\tON CONFLICT (one) DO UPDATE SET "+floor+" = excluded."+floor,
		"DELETE FROM sqlite_sequence WHERE name = "+name,
		"INSERT INTO sqlite_sequence (name, seq) SELECT "+name+", "+floor+" FROM "+state)
}

// ahead finds triggers that were made after the history's: what was made last fires first. One that does not write to
// the table does no harm, and most do not name it.
func ahead(ctx context.Context, conn *sql.Conn, c *engine.ChangeTable) ([]string, error) {
	ours := make([]string, len(trackingEvents))
	for i, event := range trackingEvents {
		ours[i] = "'" + strings.ReplaceAll(c.Trigger(event), "'", "''") + "'"
	}
	names, err := engine.Texts(ctx, conn, `SELECT t.name FROM sqlite_master t
		WHERE t.type = 'trigger' AND t.tbl_name = ?1 COLLATE NOCASE AND t.name NOT IN (`+strings.Join(ours, ", ")+`)
			AND t.rowid > (SELECT min(o.rowid) FROM sqlite_master o WHERE o.type = 'trigger' AND o.name IN (`+
		strings.Join(ours, ", ")+`))
			AND t.sql LIKE '%AFTER%' AND instr(substr(lower(t.sql), instr(lower(t.sql), 'begin')), lower(?1)) > 0`,
		c.OfParts[len(c.OfParts)-1])
	if err != nil {
		return nil, fmt.Errorf("read the triggers: %w", err)
	}
	return names, nil
}

func historyTrigger(c *engine.ChangeTable, event string) string {
	into := func(operation, row, was string) string {
		names, values := c.Recording(quote, row, was)
		return "\tINSERT INTO " + quote(c.Name) + " (" + quote(engine.HistoryOperation) + ", " + names + ")\n\t\tVALUES ('" +
			operation + "', " + values + ");\n"
	}
	kept := sameKey(c)
	on, when, does := event, "", into("insert", "NEW.", "")
	switch event {
	case "update":
		when, does = " WHEN "+kept, into("update", "NEW.", "OLD.")
	case "move":
		on, when, does = "update", " WHEN NOT "+kept, into("delete", "OLD.", "")+does
	case "delete":
		does = into("delete", "OLD.", "")
	}
	return "CREATE TRIGGER " + quote(c.Trigger(event)) + " AFTER " + strings.ToUpper(on) + " ON " + c.Of +
		" FOR EACH ROW" + when + " BEGIN\n" + does + "END"
}
