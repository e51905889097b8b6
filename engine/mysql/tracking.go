package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
)

// tracking keeps a change table by triggers, which run with the rights of whoever made them. A version is the time of
// the write in UTC, and of one key always a higher one. Versions are no order of commits: what commits late is found by
// reading the last window again.
func tracking() *engine.Tracking {
	return &engine.Tracking{
		Before: before, Contexts: "SET @rowrelay_context = '%s'",
		Rights: "it takes TRIGGER, SELECT and INSERT on the table and CREATE in its database (with source__every_change also LOCK " +
			"TABLES, ALTER, DROP and UPDATE there); with the binary log on also " +
			"SUPER, or a server with log_bin_trust_function_creators=ON. On MariaDB a session that holds LOCK TABLES of this " +
			"table, as a dump does, then cannot write it (error 1442): docs/change-tracking.md",
		Grant:     "SELECT",
		Able:      loggable,
		Declare:   declare,
		Together:  together,
		Install:   installTracking,
		Uninstall: uninstallTracking,
		Histories: histories(),
		Aging: engine.Aging{
			Before: func(_ *engine.ChangeTable, seconds int64) string {
				return fmt.Sprintf("(UTC_TIMESTAMP(6) - INTERVAL %d SECOND)", seconds)
			},
			Near: " + INTERVAL 1 DAY", // the longest source__late_window
		},
		Unended: unended,
		Faults:  trackingFaults,
		Renew:   renewTracking,
		Others:  trackingOthers,
		Copies:  trackingCopies,
		Unseen:  trackingUnseen,
	}
}

const binlogSQL = "SHOW VARIABLES WHERE Variable_name IN ('log_bin', 'binlog_format')"

// loggable refuses a binary log of statements: the server takes none of our writes to InnoDB for it, which are made
// under READ COMMITTED, and the triggers' would be others on a replica.
func loggable(ctx context.Context, conn *sql.Conn) error {
	said := map[string]string{}
	err := engine.EachRow(ctx, conn, binlogSQL, nil, func(scan func(...any) error) error {
		var name, value string
		err := scan(&name, &value)
		said[strings.ToLower(name)] = strings.ToUpper(value)
		return err
	})
	if err != nil {
		return fmt.Errorf("read how the server writes its binary log: %w", err)
	}
	if said["log_bin"] == "ON" && said["binlog_format"] == "STATEMENT" {
		return fmt.Errorf("%w: the server writes its binary log by statements (binlog_format=STATEMENT), and takes no "+
			"change table for it: SET GLOBAL binlog_format = 'MIXED' (or 'ROW'), and in its configuration", change.ErrConfig)
	}
	return nil
}

const declareSQL = `SELECT c.COLUMN_NAME, CONCAT(c.COLUMN_TYPE, CASE WHEN c.COLLATION_NAME IS NULL THEN '' ELSE
	CONCAT(' CHARACTER SET ', c.CHARACTER_SET_NAME, ' COLLATE ', c.COLLATION_NAME) END)
FROM information_schema.COLUMNS c WHERE c.TABLE_SCHEMA = ? AND c.TABLE_NAME = ?`

func declare(ctx context.Context, conn *sql.Conn, c *engine.ChangeTable) ([]string, error) {
	return engine.Declared(ctx, conn, c, declareSQL, c.OfParts[0], c.OfParts[1])
}

// trackingEvents are the triggers' events, in their names.
var trackingEvents = []string{"insert", "update", "delete"}

// writtenAt is the time in UTC at which a trigger fires. UTC_TIMESTAMP alone is when the statement began, which then
// may have waited for a lock of another table, however long, without a transaction that anybody could see. SYSDATE
// knows local time only, hence the difference.
const writtenAt = "GREATEST(UTC_TIMESTAMP(6), SYSDATE(6) + INTERVAL TIMESTAMPDIFF(SECOND, NOW(), UTC_TIMESTAMP()) SECOND)"

// before is the created of a row that was there before the triggers.
const before = "'1970-01-01 00:00:00'"

func installTracking(c *engine.ChangeTable, declared []string) []string {
	changes, state := c.In(quote, c.Name), c.In(quote, c.State())
	version, created, floor := quote(engine.ChangeVersion), quote(engine.ChangeCreated), quote(engine.StateFloor)
	var columns strings.Builder
	for i, k := range c.Key {
		columns.WriteString("\t" + quote(k) + " " + declared[i] + " NOT NULL,\n")
	}
	key, now := engine.Names(quote, "", c.Key), quote(engine.ChangeNow)
	// What is recorded of source__changed: a column more, and when one of these was written.
	into, declares, inserted, differs := "", "", "", ""
	touched := quote(c.Touched())
	counts, removed, gone_ := now, before, ""
	if c.Touched() != "" {
		var written []string
		for _, name := range c.Changed {
			written = append(written, differ("OLD."+quote(name), "NEW."+quote(name)))
		}
		into, declares = ", "+touched, "\t"+touched+" DATETIME(6) NOT NULL DEFAULT "+before+",\n"
		inserted, differs = ", "+touched+" = "+version, strings.Join(written, " OR ")
		if c.Ignored != "" {
			foreign := "NOT (LOWER(@rowrelay_context) <=> '" + c.Ignored + "')"
			if differs = "(" + differs + ") AND " + foreign; len(written) == 0 {
				differs = foreign
			}
			inserted = ", " + touched + " = IF(" + foreign + ", " + version + ", " + touched + ")"
			counts, removed, gone_ = "IF("+foreign+", "+now+", "+before+")", "IF("+foreign+", "+now+", "+before+")", inserted
		}
	}
	touch := func(row, createdAt, also, touchedAt string) string {
		if into != "" {
			touchedAt = ", " + touchedAt
		} else {
			touchedAt = ""
		}
		var spelled strings.Builder
		for _, k := range c.Key {
			spelled.WriteString(quote(k) + " = " + row + quote(k) + ", ")
		}
		// Assignments are made from left to right.
		return "INSERT INTO " + changes + " (" + key + ", " + version + ", " + created + into + ")\n\t\tVALUES (" +
			engine.Names(quote, row, c.Key) + ", " + now + ", " + createdAt + touchedAt + ")\n\t\tON DUPLICATE KEY UPDATE " +
			spelled.String() + version + " = GREATEST(" + now + ", " + version + " + INTERVAL 1 MICROSECOND)" + also + ";\n"
	}
	created_ := ", " + created + " = " + version
	insert, gone := touch("NEW.", now, created_+inserted, counts), touch("OLD.", before, gone_, removed)
	update := touch("NEW.", before, "", "")
	if differs != "" {
		update = touch("NEW.", before, ", "+touched+" = IF("+differs+", "+version+", "+touched+")",
			"IF("+differs+", "+now+", "+before+")")
	}
	trigger := func(event, does string) string {
		return "CREATE TRIGGER IF NOT EXISTS " + c.In(quote, c.Trigger(event)) + " AFTER " + strings.ToUpper(event) + " ON " +
			c.Of + " FOR EACH ROW\nBEGIN\n\tDECLARE " + now + " DATETIME(6) DEFAULT " + writtenAt + ";\n\t" + does + "END"
	}
	return []string{
		"CREATE TABLE IF NOT EXISTS " + changes + " (\n" + columns.String() + "\t" + version + " DATETIME(6) NOT NULL,\n\t" +
			created + " DATETIME(6) NOT NULL,\n" + declares + "\tPRIMARY KEY (" + key + "),\n\t" + versionIndex(c) +
			"\n) ENGINE=InnoDB",
		"CREATE TABLE IF NOT EXISTS " + state + " (\n\tone TINYINT NOT NULL PRIMARY KEY,\n\t" + floor +
			" DATETIME(6) NOT NULL\n) ENGINE=InnoDB",
		trigger("insert", insert),
		trigger("update", "IF "+sameKey(c)+" THEN\n\t\t"+update+"\tELSE\n\t\t"+gone+
			"\t\t"+insert+"\tEND IF;\n"),
		trigger("delete", gone),
		"INSERT INTO " + state + " VALUES (1, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE " + floor + " = UTC_TIMESTAMP(6)",
	}
}

// sameKey is the condition that an update has not changed the key.
func sameKey(c *engine.ChangeTable) string {
	same := make([]string, len(c.Key))
	for i, k := range c.Key {
		same[i] = "OLD." + quote(k) + " <=> NEW." + quote(k)
	}
	return strings.Join(same, " AND ")
}

// versionIndex has changes in the order of their versions. It holds all that is read of one: else each would be looked
// up by its key as well, which is half of the time that a page takes.
func versionIndex(c *engine.ChangeTable) string {
	columns := append(append([]string{engine.ChangeVersion}, c.Key...), engine.ChangeCreated)
	if touched := c.Touched(); touched != "" {
		columns = append(columns, touched)
	}
	return "KEY " + quote(c.Index()) + " (" + engine.Names(quote, "", columns) + ")"
}

// renewTracking makes the index anew that an older version made, which held version and key only.
func renewTracking(ctx context.Context, conn *sql.Conn, c *engine.ChangeTable) ([]string, error) {
	has, err := engine.Texts(ctx, conn, `SELECT COLUMN_NAME FROM information_schema.STATISTICS
WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND INDEX_NAME = ?`, c.OfParts[0], c.Name, c.Index())
	if err != nil {
		return nil, fmt.Errorf("read the change table's index: %w", err)
	}
	if slices.Contains(has, engine.ChangeCreated) {
		return nil, nil
	}
	drop := ""
	if len(has) > 0 {
		drop = "DROP KEY " + quote(c.Index()) + ", "
	}
	return []string{"ALTER TABLE " + c.In(quote, c.Name) + " " + drop + "ADD " + versionIndex(c)}, nil
}

// together reads committed rows: else what is only looked at is locked, and writers wait.
func together(statements []string) []string {
	begin := []string{"SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION"}
	return append(append(begin, statements...), "COMMIT")
}

// unendedMost is how many changes are locked for a moment at most.
const unendedMost = 10_000

// preparedSQL counts transactions without a session, which XA PREPARE has left.
const preparedSQL = "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id = 0"

// unended reads the versions with locks, which the changes of a transaction that has not ended do not give. Triggers
// are made when no transaction has the table in use, so that none has written to it without them, but for one without a
// session.
func unended(ctx context.Context, conn *sql.Conn, c *engine.ChangeTable, since time.Time) (bool, error) {
	version := quote(engine.ChangeVersion)
	text := "SELECT COUNT(*) FROM (SELECT 1 FROM " + c.In(quote, c.Name) + " FORCE INDEX (" + quote(c.Index()) +
		") WHERE " + version + " >= ? AND " + version + " <= (SELECT s." + quote(engine.StateFloor) + " FROM " +
		c.In(quote, c.State()) + " AS s) ORDER BY " + version + fmt.Sprintf(" LIMIT %d", unendedMost)
	from := since.UTC().Format("2006-01-02 15:04:05.999999")
	var prepared, n int
	err := conn.QueryRowContext(ctx, preparedSQL).Scan(&prepared)
	if err == nil {
		err = conn.QueryRowContext(ctx, text+") AS n", from).Scan(&n)
	}
	if err == nil && prepared == 0 && n < unendedMost {
		_, err = conn.ExecContext(ctx, "SET innodb_lock_wait_timeout = 1")
	}
	if err != nil || prepared > 0 || n == unendedMost {
		return true, err
	}
	err = conn.QueryRowContext(ctx, text+" LOCK IN SHARE MODE) AS n", from).Scan(&n)
	if _, reset := conn.ExecContext(ctx, "SET innodb_lock_wait_timeout = DEFAULT"); reset != nil {
		return true, fmt.Errorf("set how long a lock is waited for back: %w", errors.Join(err, reset))
	}
	var told *mysql.MySQLError
	if errors.As(err, &told) {
		if fault := faultOf(told.Number); fault == engine.FaultLocked || told.Number == changedSince ||
			fault == engine.FaultDenied { // before MySQL 8.0.22 a reader may not lock
			return true, nil
		}
	}
	return err != nil, err
}

func uninstallTracking(c *engine.ChangeTable) []string {
	var statements []string
	for _, event := range trackingEvents {
		statements = append(statements, "DROP TRIGGER IF EXISTS "+c.In(quote, c.Trigger(event)))
	}
	for _, name := range c.Copies {
		statements = append(statements, "DROP TRIGGER IF EXISTS "+c.In(quote, name))
	}
	return append(statements, "DROP TABLE IF EXISTS "+c.In(quote, c.Name), "DROP TABLE IF EXISTS "+c.In(quote, c.State()))
}

// trackingTriggers names the table's triggers whose statements have a name in them.
func trackingTriggers(ctx context.Context, conn *sql.Conn, c *engine.ChangeTable, name string) ([]string, error) {
	return engine.Texts(ctx, conn, `SELECT TRIGGER_NAME FROM information_schema.TRIGGERS
WHERE EVENT_OBJECT_SCHEMA = ? AND EVENT_OBJECT_TABLE = ? AND INSTR(ACTION_STATEMENT, ?) > 0`,
		c.OfParts[0], c.OfParts[1], name)
}

// errNoTrigger is the server's number for "Trigger does not exist".
const errNoTrigger = 1360

// copyOf says which names a trigger may have: a tool that copies a table makes its triggers anew on the copy, while it
// locks the table, but cannot give them their names (gh-ost --include-triggers --trigger-suffix).
func copyOf(name string) func(string) bool {
	return func(has string) bool { return strings.HasPrefix(has, name) }
}

// trackingCopies finds the triggers that a tool has copied under other names.
func trackingCopies(ctx context.Context, conn *sql.Conn, c *engine.ChangeTable) ([]string, error) {
	found, err := trackingTriggers(ctx, conn, c, c.In(quote, c.Name))
	return slices.DeleteFunc(found, func(has string) bool {
		return !slices.ContainsFunc(trackingEvents, func(event string) bool {
			return has != c.Trigger(event) && copyOf(c.Trigger(event))(has)
		})
	}), err
}

// trackingFaults reads the catalog, which shows triggers only to whoever has TRIGGER on the table. To others the server
// still says of each name whether there is such a trigger.
func trackingFaults(ctx context.Context, conn *sql.Conn, c *engine.ChangeTable) (faults []string, err error) {
	shown, err := trackingTriggers(ctx, conn, c, "")
	if err != nil {
		return nil, fmt.Errorf("read the triggers: %w", err)
	}
	found, err := trackingTriggers(ctx, conn, c, c.In(quote, c.Name))
	if err != nil {
		return nil, fmt.Errorf("read the triggers: %w", err)
	}
	for _, event := range trackingEvents {
		name := c.Trigger(event)
		switch {
		case slices.ContainsFunc(found, copyOf(name)), len(shown) == 0 && hidden(ctx, conn, c.In(quote, name)):
		case slices.Contains(shown, name): // those of a dump that was restored into another database
			faults = append(faults, fmt.Sprintf("the trigger %s of %s writes elsewhere: remove it first by rowrelay track uninstall %s",
				quote(name), c.Of, c.Poller))
		default:
			faults = append(faults, fmt.Sprintf("%s has no trigger %s", c.Of, quote(name)))
		}
	}
	return faults, nil
}

// hidden reports whether there may be a trigger of a name that this user is not shown.
func hidden(ctx context.Context, conn *sql.Conn, name string) bool {
	rows, err := conn.QueryContext(ctx, "SHOW CREATE TRIGGER "+name)
	if err != nil {
		var told *mysql.MySQLError
		return !errors.As(err, &told) || told.Number != errNoTrigger
	}
	defer func() { _ = rows.Close() }()
	return rows.Err() != nil // else it is shown, and is not on this table
}

func trackingOthers(ctx context.Context, conn *sql.Conn, c *engine.ChangeTable) ([]string, error) {
	return engine.Texts(ctx, conn, `SELECT DISTINCT EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS
WHERE TRIGGER_SCHEMA = ? AND TRIGGER_NAME = ? AND EVENT_OBJECT_TABLE <> ?`,
		c.OfParts[0], c.Trigger(trackingEvents[0]), c.OfParts[1])
}

// cascading finds the foreign keys in a table's definition whose actions write to the table.
var cascading = regexp.MustCompile("(?m)^ *CONSTRAINT `((?:[^`]|``)+)` FOREIGN KEY .* ON (?:DELETE|UPDATE) (?:CASCADE|SET)")

// trackingUnseen reads the table's definition, which SELECT is enough for: the catalog shows foreign keys to those only
// who may do more.
func trackingUnseen(ctx context.Context, conn *sql.Conn, c *engine.ChangeTable) (unseen []string, err error) {
	unseen = append(unseen, "TRUNCATE fires no trigger, and leaves no trace: it is not seen")
	shown, err := trackingTriggers(ctx, conn, c, "")
	if err != nil {
		return nil, fmt.Errorf("read the triggers: %w", err)
	}
	if len(shown) == 0 && hidden(ctx, conn, c.In(quote, c.Trigger(trackingEvents[0]))) {
		unseen = append(unseen, "this login lacks the right TRIGGER, and is not shown which table the triggers are on: where another table "+
			"takes the name of this one (RENAME TABLE, gh-ost), and this one stays, the next tick only warns that it was rebuilt")
	}
	var elsewhere bool
	if err := conn.QueryRowContext(ctx, "SELECT "+elsewhereSQL).Scan(&elsewhere); err != nil {
		return nil, fmt.Errorf("look for a replication: %w", err)
	}
	if elsewhere {
		unseen = append(unseen, engine.TrackPrimary)
	}
	var name, definition string
	if err := conn.QueryRowContext(ctx, "SHOW CREATE TABLE "+c.Of).Scan(&name, &definition); err != nil {
		return nil, fmt.Errorf("read the table's definition: %w", err)
	}
	for _, found := range cascading.FindAllStringSubmatch(definition, -1) {
		unseen = append(unseen, "what the foreign key "+strings.ReplaceAll(found[1], "``", "`")+
			" deletes or updates here by itself (CASCADE, SET NULL) fires no trigger: it is not seen")
	}
	if partitioned.MatchString(definition) {
		unseen = append(unseen, "the table is partitioned: DROP, TRUNCATE and EXCHANGE of a partition are not seen")
	}
	if of := storage.FindStringSubmatch(definition); of != nil && !strings.EqualFold(of[1], "InnoDB") {
		unseen = append(unseen, "the table's engine is "+of[1]+", which has no transactions: what stays of a write that was rolled back is not seen")
	}
	return unseen, nil
}

// Both stand at the begin of a line of a table's definition.
var (
	storage     = regexp.MustCompile(`(?m)^\) ENGINE=(\w+)`)
	partitioned = regexp.MustCompile(`(?m)^(?: |/\*!\d+ )PARTITION BY `)
)
