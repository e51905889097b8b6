package mysql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
)

// histories keep every change by triggers. Changes are numbered by AUTO_INCREMENT: of one row the later has the higher
// number, because whoever writes it has waited for the one before.
func histories() *engine.Histories {
	return &engine.Histories{Install: installHistory, Differ: differ, Younger: func(seconds int64) string {
		return fmt.Sprintf("%s >= UTC_TIMESTAMP(6) - INTERVAL %d SECOND", quote(engine.HistoryWritten), seconds)
	}}
}

// differ compares byte by byte, whatever the column's collation.
func differ(a, b string) string {
	return "NOT (CAST(" + a + " AS BINARY) <=> CAST(" + b + " AS BINARY))"
}

// historyMode is the mode of SQL that the triggers have: the history takes what the table holds (a date 0000-00-00), or
// the application's write fails, and never another value.
const historyMode = "STRICT_ALL_TABLES,ALLOW_INVALID_DATES"

// installHistory makes the triggers while writers wait, and pollers where the floor is raised: nobody reads a change
// that is above it, and not what it says.
func installHistory(c *engine.ChangeTable, declared []string, anew bool) []string {
	history, state := c.In(quote, c.Name), c.In(quote, c.State())
	number, floor := quote(engine.HistoryChange), quote(engine.StateFloor)
	names, types := c.Wanted(declared)
	lacks, loses := c.History.Altered(names)
	column := func(i int) string {
		if slices.Contains(c.Key, names[i]) {
			return quote(names[i]) + " " + types[i] + " NOT NULL"
		}
		return quote(names[i]) + " " + types[i] + " NULL" // a TIMESTAMP would take the time of the write for it
	}
	var statements []string
	if c.History.Has == nil {
		var columns strings.Builder
		for i := range names {
			columns.WriteString(",\n\t" + column(i))
		}
		// The key's columns are in the order of the pages: the server does not know that there is nothing to sort.
		statements = append(statements, "CREATE TABLE "+history+" (\n\t"+number+" BIGINT NOT NULL AUTO_INCREMENT,\n\t"+
			quote(engine.HistoryOperation)+" VARCHAR(6) CHARACTER SET ascii NOT NULL,\n\t"+quote(engine.HistoryWritten)+
			" DATETIME(6) NOT NULL,\n\t"+quote(engine.HistoryContext)+" VARCHAR(258) CHARACTER SET ascii NULL"+
			columns.String()+",\n\tPRIMARY KEY ("+number+", "+engine.Names(quote, "", c.Key)+")\n) ENGINE=InnoDB")
	}
	for _, i := range lacks {
		statements = append(statements, "ALTER TABLE "+history+" ADD COLUMN "+column(i))
	}
	locked := c.Of + " WRITE, " + history + " WRITE"
	if anew {
		statements = append(statements, "CREATE TABLE IF NOT EXISTS "+state+" (\n\tone TINYINT NOT NULL PRIMARY KEY,\n\t"+
			floor+" BIGINT NOT NULL\n) ENGINE=InnoDB")
		locked += ", " + state + " WRITE"
	}
	statements = append(statements, "LOCK TABLES "+locked, "SET SESSION sql_mode = '"+historyMode+"'")
	for _, event := range trackingEvents {
		statements = append(statements, "DROP TRIGGER IF EXISTS "+c.In(quote, c.Trigger(event)), historyTrigger(c, event))
	}
	statements = append(statements, "SET SESSION sql_mode = DEFAULT")
	if anew {
		statements = append(statements,
			"SET @rowrelay_floor = 1 + GREATEST(CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED),\n\t"+
				"COALESCE((SELECT MAX("+number+") FROM "+history+"), 0), COALESCE((SELECT MAX("+floor+") FROM "+state+"), 0))",
			"INSERT INTO "+state+" VALUES (1, @rowrelay_floor) ON DUPLICATE KEY UPDATE "+floor+" = @rowrelay_floor",
			"SET @rowrelay_numbers = CONCAT('ALTER TABLE "+strings.ReplaceAll(history, "'", "''")+
				" AUTO_INCREMENT = ', @rowrelay_floor + 1)",
			"PREPARE rowrelay_numbers FROM @rowrelay_numbers", "EXECUTE rowrelay_numbers",
			"DEALLOCATE PREPARE rowrelay_numbers")
	}
	statements = append(statements, "UNLOCK TABLES")
	for _, name := range loses {
		statements = append(statements, "ALTER TABLE "+history+" DROP COLUMN "+quote(name))
	}
	return statements
}

// ownContext is what the writer says of itself, as far as the column takes it: no write fails for it.
const ownContext = "LEFT(LOWER(CONVERT(@rowrelay_context USING ascii)), 258)"

func historyTrigger(c *engine.ChangeTable, event string) string {
	into := func(operation, row, was string) string {
		names, values := c.Recording(quote, row, was)
		return "INSERT INTO " + c.In(quote, c.Name) + " (" + quote(engine.HistoryOperation) + ", " +
			quote(engine.HistoryWritten) + ", " + quote(engine.HistoryContext) + ", " + names + ")\n\t\tVALUES ('" + operation +
			"', " + writtenAt + ", " + ownContext + ", " + values + ");\n"
	}
	does := into("insert", "NEW.", "")
	switch event {
	case "delete":
		does = into("delete", "OLD.", "")
	case "update":
		does = "IF " + sameKey(c) + " THEN\n\t\t" + into("update", "NEW.", "OLD.") + "\tELSE\n\t\t" +
			into("delete", "OLD.", "") + "\t\t" + does + "\tEND IF;\n"
	}
	return "CREATE TRIGGER " + c.In(quote, c.Trigger(event)) + " AFTER " + strings.ToUpper(event) + " ON " + c.Of +
		" FOR EACH ROW\nBEGIN\n\t" + does + "END"
}
