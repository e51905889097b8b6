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

// installHistory makes the triggers. Where they are there, writers wait while others take their place.
func installHistory(c *engine.ChangeTable, declared []string, anew bool) []string {
	history, state, h := c.In(quote, c.Name), c.In(quote, c.State()), c.History
	floor := quote(engine.StateFloor)
	names, types := c.Wanted(declared)
	column := func(i int) string {
		if slices.Contains(c.Key, names[i]) {
			return quote(names[i]) + " " + types[i] + " NOT NULL"
		}
		return quote(names[i]) + " " + types[i] + " NULL" // a TIMESTAMP would take the time of the write for it
	}
	var statements []string
	if h.Has == nil {
		var columns strings.Builder
		for i := range names {
			columns.WriteString(",\n\t" + column(i))
		}
		statements = append(statements,
			// The key's columns are in the order of the pages: the server does not know that there is nothing to sort.
			"CREATE TABLE "+history+" (\n\t"+quote(engine.HistoryChange)+" BIGINT NOT NULL AUTO_INCREMENT,\n\t"+
				quote(engine.HistoryOperation)+" VARCHAR(6) CHARACTER SET ascii NOT NULL,\n\t"+quote(engine.HistoryWritten)+
				" DATETIME(6) NOT NULL,\n\t"+quote(engine.HistoryContext)+" VARCHAR(258) CHARACTER SET ascii NULL"+
				columns.String()+",\n\tPRIMARY KEY ("+quote(engine.HistoryChange)+", "+engine.Names(quote, "", c.Key)+
				")\n) ENGINE=InnoDB",
			"CREATE TABLE IF NOT EXISTS "+state+" (\n\tone TINYINT NOT NULL PRIMARY KEY,\n\t"+floor+
				" BIGINT NOT NULL\n) ENGINE=InnoDB")
	}
	for i, name := range names {
		if h.Has != nil && !slices.Contains(h.Has, name) {
			statements = append(statements, "ALTER TABLE "+history+" ADD COLUMN "+column(i))
		}
	}
	if anew {
		statements = append(statements, fmt.Sprintf("ALTER TABLE %s AUTO_INCREMENT = %d", history, h.Above+1))
	} else {
		statements = append(statements, "LOCK TABLES "+c.Of+" WRITE, "+history+" WRITE")
	}
	statements = append(statements, "SET SESSION sql_mode = '"+historyMode+"'")
	for _, event := range trackingEvents {
		statements = append(statements, "DROP TRIGGER IF EXISTS "+c.In(quote, c.Trigger(event)), historyTrigger(c, event))
	}
	statements = append(statements, "SET SESSION sql_mode = DEFAULT")
	if anew {
		statements = append(statements, fmt.Sprintf("INSERT INTO %s VALUES (1, %d)\n\tON DUPLICATE KEY UPDATE %s = GREATEST(%s, %d)",
			state, h.Above, floor, floor, h.Above))
	} else {
		statements = append(statements, "UNLOCK TABLES")
	}
	for _, name := range h.Has {
		if !slices.Contains(names, name) {
			statements = append(statements, "ALTER TABLE "+history+" DROP COLUMN "+quote(name))
		}
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
