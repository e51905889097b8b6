package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
)

// tracking keeps a change table by triggers. A version is a number that the state counts: one writer at a time, so that
// its order is that of the commits. It begins at the time in microseconds: what is installed again begins above what
// was there before.
//
// A trigger takes the conflict clause of the statement that fires it (INSERT OR IGNORE), so that no statement in it may
// depend on its own: an upsert does not.
func tracking() *engine.Tracking {
	return &engine.Tracking{
		Exact: true, Counted: true, AtOnce: true, Before: before,
		Rights:    "whoever may write to the file can do it",
		Declare:   declare,
		Together:  func(statements []string) []string { return statements },
		Install:   installTracking,
		Uninstall: uninstallTracking,
		Histories: histories(),
		Aging:     engine.Aging{Mark: mark, Before: agedVersion},
		Faults:    trackingFaults,
		Others:    trackingOthers,
		Unseen:    trackingUnseen,
	}
}

// declareSQL reads the declared types, and the collations of the key's index; an INTEGER PRIMARY KEY has none. ANY
// keeps a value as it is in a STRICT table; others make a number of '007', and there a column without a type keeps it.
const declareSQL = `SELECT name, type || CASE WHEN coll = 'BINARY' THEN '' ELSE ' COLLATE "' || replace(coll, '"', '""') || '"' END
FROM (SELECT t.name, CASE WHEN t.type = 'ANY' COLLATE NOCASE AND (SELECT max(l.strict) FROM pragma_table_list(?1) l
		WHERE l.schema = 'main') THEN '' ELSE t.type END AS type, coalesce((
		SELECT x.coll FROM pragma_index_list(?1) l, pragma_index_xinfo(l.name) x
		WHERE l.origin = 'pk' AND x."key" = 1 AND x.name = t.name LIMIT 1), 'BINARY') COLLATE NOCASE AS coll
	FROM pragma_table_xinfo(?1) t)`

func declare(ctx context.Context, conn *sql.Conn, c *engine.ChangeTable) ([]string, error) {
	return engine.Declared(ctx, conn, c, declareSQL, c.OfParts[len(c.OfParts)-1])
}

const before = "0"

// trackingEvents are the triggers' events, in their names; a move is an update of the key.
var trackingEvents = []string{"insert", "update", "move", "delete"}

func installTracking(c *engine.ChangeTable, declared []string) []string {
	changes, state := quote(c.Name), quote(c.State())
	version, created, floor := quote(engine.ChangeVersion), quote(engine.ChangeCreated), quote(engine.StateFloor)
	var columns strings.Builder
	for i, k := range c.Key {
		columns.WriteString("\t" + quote(k) + " " + declared[i] + " NOT NULL,\n")
	}
	key := engine.Names(quote, "", c.Key)
	var spelled strings.Builder
	for _, k := range c.Key {
		spelled.WriteString(quote(k) + " = excluded." + quote(k) + ", ")
	}
	// What is recorded of source__changed: a column more, and when one of these was written.
	more, higher, declares := func(string) string { return "" }, "", ""
	into := ""
	if name := quote(c.Touched()); len(c.Changed) > 0 {
		into, declares = ", "+name, "\t"+name+" INTEGER NOT NULL DEFAULT 0,\n"
		higher = ", " + name + " = max(" + name + ", excluded." + name + ")"
		more = func(when string) string { return ", " + when }
	}
	var written []string
	for _, name := range c.Changed {
		written = append(written, differ("OLD."+quote(name), "NEW."+quote(name)))
	}
	differs := "CASE WHEN " + strings.Join(written, " OR ") + " THEN " + version + " ELSE " + before + " END"
	// One statement of a trigger: the key of a row, changed now; created says since when the row is there, 0 for as long
	// as is known; touched when one of source__changed was written.
	touch := func(row, since, touched string) string {
		return "\tINSERT INTO " + changes + " (" + key + ", " + version + ", " + created + into + ")\n\t\tSELECT " +
			engine.Names(quote, row, c.Key) + ", " + version + ", " + since + more(touched) + " FROM " + state +
			" WHERE true\n\t\tON CONFLICT (" + key + ") DO UPDATE SET " + spelled.String() + version + " = excluded." +
			version + ", " +
			created + " = max(" + created + ", excluded." + created + ")" + higher + ";\n"
	}
	kept := sameKey(c)
	trigger := func(event, on, does string) string {
		return "CREATE TRIGGER IF NOT EXISTS " + quote(c.Trigger(event)) + " AFTER " + strings.Replace(on, " ON",
			" ON "+c.Of, 1) +
			" BEGIN\n\tUPDATE " + state + " SET " + version + " = " + version + " + 1;\n" + does + "END"
	}
	return []string{
		"CREATE TABLE IF NOT EXISTS " + changes + " (\n" + columns.String() + "\t" + version + " INTEGER NOT NULL,\n\t" +
			created + " INTEGER NOT NULL,\n" + declares + "\tPRIMARY KEY (" + key + ")\n)",
		"CREATE INDEX IF NOT EXISTS " + quote(c.Index()) + " ON " + changes + " (" + version + ", " + key + ")",
		"CREATE TABLE IF NOT EXISTS " + state + " (\n\tone INTEGER PRIMARY KEY CHECK (one = 1),\n\t" + version +
			" INTEGER NOT NULL,\n\t" + floor + " INTEGER NOT NULL\n)",
		"CREATE TABLE IF NOT EXISTS " + quote(c.Marks()) + " (\n\ttaken INTEGER NOT NULL,\n\t" + version +
			" INTEGER NOT NULL\n)",
		"INSERT INTO " + state + " SELECT 1, n, n FROM (SELECT " + microseconds + " AS n) WHERE true" +
			"\n\tON CONFLICT (one) DO UPDATE SET " + version + " = " + version + " + 1, " + floor + " = " + version + " + 1",
		trigger("insert", "INSERT ON FOR EACH ROW", touch("NEW.", version, version)),
		trigger("update", "UPDATE ON FOR EACH ROW WHEN "+kept, touch("NEW.", before, differs)),
		trigger("move", "UPDATE ON FOR EACH ROW WHEN NOT "+kept,
			touch("OLD.", before, before)+touch("NEW.", version, version)),
		trigger("delete", "DELETE ON FOR EACH ROW", touch("OLD.", before, before)),
	}
}

// sameKey is the condition that an update has not changed the key.
func sameKey(c *engine.ChangeTable) string {
	same := make([]string, len(c.Key))
	for i, k := range c.Key {
		same[i] = "OLD." + quote(k) + " IS NEW." + quote(k)
	}
	return "(" + strings.Join(same, " AND ") + ")"
}

// mark notes the version of now.
func mark(c *engine.ChangeTable, seconds int64) []string {
	marks := quote(c.Marks())
	return []string{
		"INSERT INTO " + marks + " SELECT " + now + ", " + quote(engine.ChangeVersion) + " FROM " + quote(c.State()),
		fmt.Sprintf("DELETE FROM %s WHERE taken < (SELECT max(m.taken) FROM %s AS m WHERE m.taken <= %s - %d)", marks, marks,
			now, seconds),
	}
}

func agedVersion(c *engine.ChangeTable, seconds int64) string {
	return fmt.Sprintf("(SELECT max(m.%s) FROM %s AS m WHERE m.taken <= %s - %d)", quote(engine.ChangeVersion),
		quote(c.Marks()), now, seconds)
}

// microseconds is the time since 1970, to the millisecond.
const microseconds = "CAST(strftime('%s', 'now') AS INTEGER) * 1000000 + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000"

const now = "CAST(strftime('%s', 'now') AS INTEGER)"

func uninstallTracking(c *engine.ChangeTable) []string {
	var statements []string
	for _, event := range trackingEvents {
		statements = append(statements, "DROP TRIGGER IF EXISTS "+quote(c.Trigger(event)))
	}
	for _, table := range []string{c.Name, c.State(), c.Marks()} {
		statements = append(statements, "DROP TABLE IF EXISTS "+quote(table))
	}
	return statements
}

func trackingFaults(ctx context.Context, conn *sql.Conn, c *engine.ChangeTable) (faults []string, err error) {
	found, err := engine.Texts(ctx, conn,
		"SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE", c.OfParts[len(c.OfParts)-1])
	if err != nil {
		return nil, fmt.Errorf("read the triggers: %w", err)
	}
	for _, event := range trackingEvents {
		if name := c.Trigger(event); !slices.Contains(found, name) {
			faults = append(faults, fmt.Sprintf("%s has no trigger %s", c.Of, quote(name)))
		}
	}
	return faults, nil
}

func trackingOthers(ctx context.Context, conn *sql.Conn, c *engine.ChangeTable) ([]string, error) {
	return engine.Texts(ctx, conn, `SELECT DISTINCT tbl_name FROM sqlite_master
		WHERE type = 'trigger' AND name = ?1 COLLATE NOCASE AND tbl_name <> ?2 COLLATE NOCASE`,
		c.Trigger(trackingEvents[0]), c.OfParts[len(c.OfParts)-1])
}

// trackingUnseen tells of unique indexes beside the key: a REPLACE deletes the rows that stand in its way there without
// firing their triggers.
func trackingUnseen(ctx context.Context, conn *sql.Conn, c *engine.ChangeTable) (unseen []string, err error) {
	var n int
	err = conn.QueryRowContext(ctx, `SELECT count(*) FROM pragma_index_list(?1) WHERE "unique" = 1 AND origin <> 'pk'`,
		c.OfParts[len(c.OfParts)-1]).Scan(&n)
	if err != nil || n == 0 {
		return nil, err
	}
	return []string{"the table has another unique index than its key: INSERT OR REPLACE and UPDATE OR REPLACE delete rows that stand in the way there, " +
		"and that is seen only in connections with PRAGMA recursive_triggers = ON"}, nil
}
