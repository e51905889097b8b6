package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
)

// tracking keeps a change table by row triggers and one for TRUNCATE. A version is the writer's transaction.
//
// The function runs with its owner's rights, so that writers need none on the change table; its search_path is fixed,
// so that nobody can put a function of his own in the way. The triggers are AFTER: what another trigger leaves out is
// not recorded. They fire on a replica, too (ENABLE ALWAYS).
func tracking() *engine.Tracking {
	return &engine.Tracking{
		Exact: true, AtOnce: true, Snapshots: true, Before: before,
		OfRow:     changeOfRow,
		Contexts:  "SET LOCAL rowrelay.context = '%s'",
		Rights:    "the owner of the table can do it; another role needs TRIGGER and SELECT on it, and CREATE in its schema, and cannot run ENABLE ALWAYS",
		Grant:     "SELECT",
		Declare:   declare,
		Together:  func(statements []string) []string { return statements },
		Install:   installTracking,
		Renew:     renewTracking,
		Uninstall: uninstallTracking,
		Histories: histories(),
		Aging:     engine.Aging{Mark: mark, Before: aged},
		Faults:    trackingFaults,
		Others:    trackingOthers,
		Unseen:    trackingUnseen,
	}
}

// declareSQL has a domain declared as what it is made of: its constraints are the table's, and a NULL stands where
// there is no row before.
const declareSQL = `WITH RECURSIVE made AS (
	SELECT a.attname, a.attcollation, a.atttypid AS typ, a.atttypmod AS mod FROM pg_catalog.pg_attribute a
	WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
	UNION ALL
	SELECT m.attname, m.attcollation, t.typbasetype, CASE WHEN m.mod = -1 THEN t.typtypmod ELSE m.mod END
	FROM made m JOIN pg_catalog.pg_type t ON t.oid = m.typ WHERE t.typtype = 'd'
)
SELECT m.attname, format_type(m.typ, m.mod) ||
	CASE WHEN m.attcollation <> t.typcollation THEN ' COLLATE ' || quote_ident(cn.nspname) || '.' ||
		quote_ident(co.collname) ELSE '' END
FROM made m JOIN pg_catalog.pg_type t ON t.oid = m.typ
LEFT JOIN pg_catalog.pg_collation co ON co.oid = m.attcollation
LEFT JOIN pg_catalog.pg_namespace cn ON cn.oid = co.collnamespace
WHERE t.typtype <> 'd'`

func declare(ctx context.Context, conn *sql.Conn, c *engine.ChangeTable) ([]string, error) {
	return engine.Declared(ctx, conn, c, declareSQL, c.Of)
}

const before = "'0'::xid8"

// changeOfRow reads the change of one row. A join may be merged by the planner, which then reads the change table from
// its beginning for every chunk of rows; OFFSET keeps this from being taken for one.
func changeOfRow(c *engine.ChangeTable) string {
	same := make([]string, len(c.Key))
	for i, k := range c.Key {
		same[i] = "n." + quote(k) + " = t." + quote(k)
	}
	return " LEFT JOIN LATERAL (\n\t\tSELECT n." + quote(engine.ChangeVersion) + ", n." + quote(engine.ChangeCreated) +
		" FROM " + c.In(quote, c.Name) + " AS n WHERE " + strings.Join(same, " AND ") + " OFFSET 0\n\t) AS c ON true"
}

// The events of the two triggers, in their names.
const (
	onRow      = "row"
	onTruncate = "truncate"
)

func installTracking(c *engine.ChangeTable, declared []string) []string {
	changes, state := c.In(quote, c.Name), c.In(quote, c.State())
	version, created, floor := quote(engine.ChangeVersion), quote(engine.ChangeCreated), quote(engine.StateFloor)
	var columns strings.Builder
	for i, k := range c.Key {
		columns.WriteString("\t" + quote(k) + " " + declared[i] + " NOT NULL,\n")
	}
	key := engine.Names(quote, "", c.Key)
	declares := ""
	if c.Touched() != "" {
		declares = "\t" + quote(c.Touched()) + " xid8 NOT NULL DEFAULT '0',\n"
	}
	statements := []string{
		"SET LOCAL lock_timeout = '10s'", // the triggers take a lock that waits for writers, and holds up others
		"CREATE TABLE IF NOT EXISTS " + changes + " (\n" + columns.String() + "\t" + version + " xid8 NOT NULL,\n\t" +
			created +
			" xid8 NOT NULL,\n" + declares + "\tPRIMARY KEY (" + key + ")\n)",
		"CREATE INDEX IF NOT EXISTS " + quote(c.Index()) + " ON " + changes + " (" + version + ", " + key + ")",
		"CREATE TABLE IF NOT EXISTS " + state + " (\n\tone boolean PRIMARY KEY DEFAULT true CHECK (one),\n\t" + floor +
			" xid8 NOT NULL,\n\t" + quote(engine.StatePurged) + " xid8 NOT NULL DEFAULT '0'\n)",
		"CREATE TABLE IF NOT EXISTS " + c.In(quote, c.Marks()) + " (\n\ttaken timestamptz NOT NULL,\n\t" + version +
			" xid8 NOT NULL\n)",
		trackingFunction(c),
		keepToOwner(c),
	}
	return append(append(statements, trackingTriggers(c)...), "INSERT INTO "+state+" ("+floor+") VALUES (pg_current_xact_id())\n\tON CONFLICT (one) DO UPDATE SET "+
		floor+" = excluded."+floor)
}

// trackingTriggers makes the triggers anew.
func trackingTriggers(c *engine.ChangeTable) (statements []string) {
	for _, t := range []struct{ event, when, each string }{
		{onRow, "AFTER INSERT OR UPDATE OR DELETE", "ROW"}, {onTruncate, "BEFORE TRUNCATE", "STATEMENT"},
	} {
		name := quote(triggerName(c, t.event))
		statements = append(statements, "DROP TRIGGER IF EXISTS "+name+" ON "+c.Of,
			"CREATE TRIGGER "+name+" "+t.when+" ON "+c.Of+" FOR EACH "+t.each+" EXECUTE FUNCTION "+
				c.In(quote, c.Trigger("keep"))+"()",
			"ALTER TABLE "+c.Of+" ENABLE ALWAYS TRIGGER "+name)
	}
	return statements
}

// triggerName is a trigger's name. Triggers fire in the order of their names: what one of the user's writes to the
// table is recorded after the write that it follows, if ours comes first. A change table tells the last state in any
// order.
func triggerName(c *engine.ChangeTable, event string) string {
	if c.History != nil {
		return "0_" + c.Trigger(event)
	}
	return c.Trigger(event)
}

// keepToOwner takes the function away from others: anybody could put a trigger with it on a table of his own, and
// record what never happened.
func keepToOwner(c *engine.ChangeTable) string {
	return "REVOKE ALL ON FUNCTION " + c.In(quote, c.Trigger("keep")) + "() FROM PUBLIC"
}

// namesColumns begins the function. A key column may be called as one of its variables is (found, old, tg_op), and
// where both could be meant the column is. Functions of an older version begin otherwise.
const namesColumns = "\n#variable_conflict use_column\n"

// renewTracking makes the function anew where an older version made it. The triggers stay, so that no write is missed.
func renewTracking(ctx context.Context, conn *sql.Conn, c *engine.ChangeTable) (statements []string, err error) {
	err = engine.EachRow(ctx, conn, `SELECT p.prosrc FROM pg_catalog.pg_proc p
		JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1 AND p.proname = $2`,
		[]any{c.OfParts[0], c.Trigger("keep")}, func(scan func(...any) error) error {
			var body string
			err := scan(&body)
			if !strings.HasPrefix(body, namesColumns) {
				statements = []string{trackingFunction(c)}
			}
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read the function of the triggers: %w", err)
	}
	return statements, nil
}

// trackingFunction is what the triggers do. A version that is written again by its own transaction stays, so that many
// updates of one row in one transaction write the change table once. A created of 0 is from before the triggers.
func trackingFunction(c *engine.ChangeTable) string {
	changes := c.In(quote, c.Name)
	version, created := quote(engine.ChangeVersion), quote(engine.ChangeCreated)
	key, old, now := engine.Names(quote, "", c.Key), engine.Names(quote, "OLD.", c.Key), engine.Names(quote, "NEW.", c.Key)
	var spelled strings.Builder // of keys that a collation holds equal, the one that was written last
	for _, k := range c.Key {
		spelled.WriteString(quote(k) + " = excluded." + quote(k) + ", ")
	}
	// What is recorded of source__changed: a column more, and when one of these was written.
	into, inserted, touched, touchedOnce, differs := "", "", "", "", ""
	counts, removed := "rowrelay_now", before // what an insert and a delete record
	values := func(of, created, touched string) string {
		if into == "" {
			touched = ""
		}
		return "VALUES (" + of + ", rowrelay_now, " + created + touched + ")"
	}
	if c.Touched() != "" {
		name := quote(c.Touched())
		var written []string
		for _, column := range c.Changed {
			written = append(written, differ("OLD."+quote(column), "NEW."+quote(column)))
		}
		if c.Ignored != "" {
			counts = "CASE WHEN rowrelay_own THEN " + before + " ELSE rowrelay_now END"
			removed = counts
		}
		differs = counts
		if len(written) > 0 {
			differs = "CASE WHEN " + strings.Join(written, " OR ") + " THEN " + counts + " ELSE " + before + " END"
		}
		into, inserted = ", "+name, ", "+name+" = rowrelay_now"
		touched = ", " + name + " = CASE WHEN excluded." + name + " = rowrelay_now THEN rowrelay_now ELSE c." + name + " END"
		touchedOnce = " OR excluded." + name + " = rowrelay_now AND c." + name + " <> rowrelay_now"
	}
	insert := func(values string) string {
		return "INSERT INTO " + changes + " AS c (" + key + ", " + version + ", " + created + into + ")\n\t\t" + values +
			"\n\t\tON CONFLICT (" + key + ") DO UPDATE SET "
	}
	moved := version + " = rowrelay_now"
	once := " WHERE c." + version + " <> rowrelay_now"
	nothing := ""
	if into != "" {
		nothing = ", " + removed
	}
	gone, emptied, own := moved+once, moved, ""
	if c.Ignored != "" {
		inserted, emptied = touched, moved+touched
		gone = moved + touched + once + touchedOnce
		own = "\trowrelay_own CONSTANT boolean := lower(current_setting('rowrelay.context', true)) IS NOT DISTINCT FROM '" +
			c.Ignored + "';\n"
	}
	return "CREATE OR REPLACE FUNCTION " + c.In(quote, c.Trigger("keep")) + "() RETURNS trigger\n" +
		"LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $rowrelay$" + namesColumns +
		"DECLARE\n\trowrelay_now CONSTANT xid8 := pg_current_xact_id();\n" + own + "BEGIN\n" +
		"\tIF TG_OP = 'TRUNCATE' THEN\n\t\t" +
		insert("SELECT "+key+", rowrelay_now, "+before+nothing+" FROM "+c.Of) + emptied + ";\n\t\tRETURN NULL;\n\tEND IF;\n" +
		"\tIF TG_OP = 'DELETE' OR TG_OP = 'UPDATE' AND (" + old + ") IS DISTINCT FROM (" + now + ") THEN\n\t\t" +
		insert(values(old, before, nothing)) + gone + ";\n" +
		"\tEND IF;\n" +
		"\tIF TG_OP = 'INSERT' OR TG_OP = 'UPDATE' AND (" + old + ") IS DISTINCT FROM (" + now + ") THEN\n\t\t" +
		insert(values(now, "rowrelay_now", ", "+counts)) + spelled.String() + moved + ", " + created +
		" = rowrelay_now" + inserted + ";\n" +
		"\tELSIF TG_OP = 'UPDATE' THEN\n\t\t" +
		insert(values(now, before, ", "+differs)) + spelled.String() + moved + touched + once + touchedOnce + ";\n" +
		"\tEND IF;\n\tRETURN NULL;\nEND $rowrelay$"
}

func uninstallTracking(c *engine.ChangeTable) []string {
	return []string{
		"SET LOCAL lock_timeout = '10s'",
		"DROP FUNCTION IF EXISTS " + c.In(quote, c.Trigger("keep")) + "() CASCADE", // the triggers, too
		"DROP TABLE IF EXISTS " + c.In(quote, c.Name),
		"DROP TABLE IF EXISTS " + c.In(quote, c.State()),
		"DROP TABLE IF EXISTS " + c.In(quote, c.Marks()),
	}
}

// mark notes below which transaction all are finished. Every later snapshot sees all of them.
func mark(c *engine.ChangeTable, seconds int64) []string {
	marks := c.In(quote, c.Marks())
	return []string{
		"INSERT INTO " + marks + " VALUES (now(), pg_snapshot_xmin(pg_current_snapshot()))",
		fmt.Sprintf("DELETE FROM %s WHERE taken < (SELECT max(m.taken) FROM %s AS m\n"+
			"\tWHERE m.taken <= now() - interval '%d seconds')", marks, marks, seconds),
	}
}

// aged is the version of the newest mark that is old enough.
func aged(c *engine.ChangeTable, seconds int64) string {
	return fmt.Sprintf("(SELECT m.%s FROM %s AS m WHERE m.taken <= now() - interval '%d seconds'\n"+
		"\tORDER BY m.taken DESC LIMIT 1)", quote(engine.ChangeVersion), c.In(quote, c.Marks()), seconds)
}

// The triggers of the table, and their clones on its partitions.
const trackingTriggersSQL = `SELECT t.tgname, t.tgenabled::text, t.tgrelid = to_regclass($1), t.tgrelid::regclass::text
FROM pg_catalog.pg_trigger t WHERE t.tgname IN ($2, $3) AND (t.tgrelid = to_regclass($1) OR t.tgparentid <> 0
	AND t.tgrelid IN (SELECT relid FROM pg_catalog.pg_partition_tree(to_regclass($1)))) ORDER BY 1, 4`

func trackingFaults(ctx context.Context, conn *sql.Conn, c *engine.ChangeTable) (faults []string, err error) {
	names := []string{triggerName(c, onRow), triggerName(c, onTruncate)}
	missing := slices.Clone(names)
	err = engine.EachRow(ctx, conn, trackingTriggersSQL, []any{c.Of, names[0], names[1]},
		func(scan func(...any) error) error {
			var name, enabled, on string
			var own bool
			err := scan(&name, &enabled, &own, &on)
			if own {
				missing = slices.DeleteFunc(missing, func(n string) bool { return n == name })
			}
			switch enabled {
			case "D", "R":
				faults = append(faults, fmt.Sprintf("the trigger %s on %s is disabled", quote(name), on))
			case "O": // it was made ENABLE ALWAYS
				faults = append(faults, fmt.Sprintf("the trigger %s on %s was disabled and enabled again, so that writes may have been missed",
					quote(name), on))
			}
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read the triggers: %w", err)
	}
	for _, name := range missing {
		faults = append(faults, fmt.Sprintf("%s has no trigger %s", c.Of, quote(name)))
	}
	return faults, nil
}

const trackingOthersSQL = `SELECT DISTINCT t.tgrelid::regclass::text
FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = $2 AND p.proname = $3 AND t.tgparentid = 0 AND t.tgrelid <> to_regclass($1) ORDER BY 1`

func trackingOthers(ctx context.Context, conn *sql.Conn, c *engine.ChangeTable) ([]string, error) {
	return engine.Texts(ctx, conn, trackingOthersSQL, c.Of, c.OfParts[0], c.Trigger("keep"))
}

const trackingUnseenSQL = `SELECT c.relkind = 'p' OR EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE h.inhparent = c.oid),
	c.relpersistence = 'u',
	EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'p' AND k.condeferrable)
FROM pg_catalog.pg_class c WHERE c.oid = to_regclass($1)`

// trackingUnseen tells what triggers on a parent do not see of its partitions. A table that others inherit from is not
// tracked, unless they are the chunks of a hypertable (childSQL).
func trackingUnseen(ctx context.Context, conn *sql.Conn, c *engine.ChangeTable) (unseen []string, err error) {
	var partitioned, unlogged, deferrable bool
	if err := conn.QueryRowContext(ctx, trackingUnseenSQL, c.Of).Scan(&partitioned, &unlogged, &deferrable); err != nil {
		return nil, err
	}
	if partitioned {
		unseen = append(unseen, "the table is partitioned: TRUNCATE, DETACH, DROP (drop_chunks of TimescaleDB too) and ATTACH of a partition are not seen (TRUNCATE of the whole table is)")
	}
	if unlogged {
		unseen = append(unseen, "the table is UNLOGGED: a crash of the server empties it, and that is not seen")
	}
	if deferrable && c.History != nil {
		unseen = append(unseen, "the primary key is DEFERRABLE: where two rows have a key for a while, the insert of the one may be "+
			"told before the delete of the other")
	}
	return unseen, nil
}
