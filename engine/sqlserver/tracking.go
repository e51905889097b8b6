package sqlserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/sqlserver/leases"
	"github.com/rowrelay/rowrelay/engine/sqlserver/tsql"
)

// tracking is SQL Server's own change tracking. Versions are given at the commit, so that none comes late. It takes no
// right to write anything.
//
// One transaction under SNAPSHOT reads a page: how far the database has come, then the changes with their rows, then
// the lowest version that is still valid. In this order nothing is passed over, whatever of the three the snapshot
// covers: what commits after the first is read again, and a clean-up that took changes from the second is seen by the
// third.
//
// Under READ COMMITTED (ChangeTable.ReadCommitted) the same transaction sees no snapshot, and what commits while a
// statement runs is seen in part. A change up to the version that was asked first is seen whole: it was committed
// before. Its row may be of a later change, which then comes with its own version, or be gone already, and nothing is
// told of it before that. A version after the one that was asked first is never taken: its row may be of before it
// (docs/decisions/a-row-may-be-newer-than-its-version.md).
func tracking() *engine.Tracking {
	return &engine.Tracking{
		Exact: true, Counted: true, Before: "0", OfRow: changeOfRow, Contexts: "WITH CHANGE_TRACKING_CONTEXT (%s…)",
		Rights:    "it takes ALTER on the database and on the table",
		Grant:     "SELECT, VIEW CHANGE TRACKING",
		Declare:   func(context.Context, *sql.Conn, *engine.ChangeTable) ([]string, error) { return nil, nil },
		Install:   installTracking,
		Uninstall: uninstallTracking,
		Faults:    trackingFaults,
		Others:    func(context.Context, *sql.Conn, *engine.ChangeTable) ([]string, error) { return nil, nil },
		Unseen:    trackingUnseen,
		BuiltIn: &engine.BuiltIn{
			Version: engine.Column{Name: engine.ChangeVersion, Type: "bigint", Value: Type{Base: "bigint"}.Value()},
			Changes: changesSince, OfKeys: changesOfKeys, Written: writtenColumns,
			Since: "since", Read: "read", Told: "told",
			Before: beforeChanges, After: afterChanges, Floor: tsql.ValidFrom, Tell: tellTracking,
			Retained: retained, Leasing: leases.New(hasNumber, Type{Base: "nvarchar", Length: -1}.Value()),
			Lost: "CHANGE_RETENTION has passed, the table was truncated, or its change tracking was switched off and on again",
		},
	}
}

func trackingUnseen(_ context.Context, _ *sql.Conn, c *engine.ChangeTable) ([]string, error) {
	unseen := []string{"TRUNCATE is not tracked: the poller stops at a gap"}
	if c.Ignored != "" {
		unseen = append(unseen, "source__ignore_context: of several writes of a row SQL Server tells the context of the last "+
			"one only, so that one's own are left out only where their context says, after "+c.Ignored+", up to which version "+
			"others have written the row (docs/change-tracking.md); every other is delivered, and none is lost")
	}
	return unseen, nil
}

// changesSince reads what was written after a version. CHANGETABLE takes no expression there. What was not inserted
// since then has no creation version.
func changesSince(c *engine.ChangeTable, since string) string {
	return "(SELECT " + engine.Names(tsql.Quote, "n.", c.Key) +
		", n.SYS_CHANGE_VERSION AS " + tsql.Quote(engine.ChangeVersion) +
		", COALESCE(n.SYS_CHANGE_CREATION_VERSION, 0) AS " + tsql.Quote(engine.ChangeCreated) +
		", CASE n.SYS_CHANGE_OPERATION WHEN 'D' THEN 1 ELSE 0 END AS " + tsql.Quote(engine.ChangeGone) + touched(c) +
		written("n.SYS_CHANGE_COLUMNS") +
		"\n\t\tFROM CHANGETABLE(CHANGES " + c.Of + ", " + since + ") AS n)"
}

// written are the columns of what was written, and by whom.
func written(mask string) string {
	return ", " + mask + " AS " + tsql.Quote(engine.ChangeMask) + ", n.SYS_CHANGE_CONTEXT AS " +
		tsql.Quote(engine.ChangeContext)
}

const noMask = "CAST(NULL AS varbinary(4100))"

// writtenColumns has the server take the mask apart, as Microsoft asks. Of the NULL that a mask is where columns are
// not tracked, where one statement wrote all of them, and of an insert, the function may say that it holds any column.
func writtenColumns(c *engine.ChangeTable) []engine.Column {
	mask := engine.Column{Name: engine.ChangeMask, Type: "varbinary(4100)", Value: Type{Base: "json"}.Value()}
	mask.Value.Expr = "CASE WHEN %s IS NOT NULL THEN (SELECT m.name AS n FROM sys.columns AS m\n\tWHERE m.object_id = " +
		engine.Literal(tsql.ObjectID(c)) + " AND CHANGE_TRACKING_IS_COLUMN_IN_MASK(m.column_id, %s) = 1 FOR JSON PATH) END"
	mask.Value.Costly = true
	context := engine.Column{Name: engine.ChangeContext, Type: "varbinary(128)",
		Value: Type{Base: "varchar", Length: 258}.Value()}
	context.Value.Expr = "CONVERT(varchar(258), %s, 1)"
	return []engine.Column{mask, context}
}

// touched is the version where one of source__changed was written since the version that changes are read after; the
// mask is of all writes since then. Where there is none it may have been any column.
//
// Contexts are told of the last write alone, so that one's own would hide another's before it. But a writer can say in
// its context, after source__ignore_context, up to which version others have written the row: eight bytes. Where it
// does not, its write counts as another's.
func touched(c *engine.ChangeTable) string {
	if c.Touched() == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString(",\n\t\tCASE")
	if digits := strings.TrimPrefix(c.Ignored, "0x"); digits != "" {
		bytes := len(digits) / 2
		fmt.Fprintf(&b, " WHEN DATALENGTH(n.SYS_CHANGE_CONTEXT) = %d AND SUBSTRING(n.SYS_CHANGE_CONTEXT, 1, %d) = %s"+
			"\n\t\t\tTHEN CAST(SUBSTRING(n.SYS_CHANGE_CONTEXT, %d, 8) AS bigint)", bytes+8, bytes, c.Ignored, bytes+1)
	}
	if len(c.Changed) == 0 {
		b.WriteString("\n\t\t\tELSE n.SYS_CHANGE_VERSION END AS " + tsql.Quote(engine.ChangeTouched))
		return b.String()
	}
	b.WriteString(" WHEN n.SYS_CHANGE_OPERATION <> 'U' OR n.SYS_CHANGE_COLUMNS IS NULL")
	for _, name := range c.Changed {
		b.WriteString("\n\t\t\tOR CHANGE_TRACKING_IS_COLUMN_IN_MASK(COLUMNPROPERTY(" + tsql.ObjectID(c) + ", N'" +
			strings.ReplaceAll(name, "'", "''") + "', 'ColumnId'), n.SYS_CHANGE_COLUMNS) = 1")
	}
	b.WriteString("\n\t\t\tTHEN n.SYS_CHANGE_VERSION ELSE 0 END AS " + tsql.Quote(engine.ChangeTouched))
	return b.String()
}

// touchedBefore stands for touched where nothing is left out.
func touchedBefore(c *engine.ChangeTable) string {
	if c.Touched() == "" {
		return ""
	}
	return ", CAST(0 AS bigint) AS " + tsql.Quote(engine.ChangeTouched)
}

// changesOfKeys reads the last version of each key: 0 where that is longer ago than changes are retained.
func changesOfKeys(c *engine.ChangeTable, keys string) string {
	names := engine.Names(tsql.Quote, "", c.Key)
	return "(SELECT " + engine.Names(tsql.Quote, "k.", c.Key) + ", COALESCE(n.SYS_CHANGE_VERSION, 0) AS " +
		tsql.Quote(engine.ChangeVersion) + ", CAST(0 AS bigint) AS " + tsql.Quote(engine.ChangeCreated) + ", 1 AS " +
		tsql.Quote(engine.ChangeGone) + touchedBefore(c) + written(noMask) +
		"\n\t\tFROM (VALUES " + keys + ") AS k (" + names + ")" +
		"\n\t\tOUTER APPLY " + lastVersion(c, engine.Names(tsql.Quote, "k.", c.Key)) + ")"
}

// lastVersion is the last change of the row with a key, as n.
func lastVersion(c *engine.ChangeTable, key string) string {
	text := "CHANGETABLE(VERSION " + c.Of + ", (" + engine.Names(tsql.Quote, "", c.Key) + "), (" + key + ")) AS n"
	if c.ReadCommitted {
		text = "(SELECT n.SYS_CHANGE_VERSION, n.SYS_CHANGE_CONTEXT FROM " + text +
			" WHERE n.SYS_CHANGE_VERSION <= @head) AS n"
	}
	return text
}

// changeOfRow reads the last version of a row.
func changeOfRow(c *engine.ChangeTable) string {
	return " OUTER APPLY (\n\t\tSELECT n.SYS_CHANGE_VERSION AS " + tsql.Quote(engine.ChangeVersion) +
		written(noMask) + " FROM " + lastVersion(c, engine.Names(tsql.Quote, "t.", c.Key)) + "\n\t) AS c"
}

// beforeChanges begins the transaction of a page. Within a parametrised statement the settings end with it. Of changes
// since a version below the lowest that is valid the server does not promise anything: they are read from that one on.
// What is missing then, the page finds by what is told after it.
func beforeChanges(c *engine.ChangeTable) string {
	level := "SNAPSHOT"
	if c.ReadCommitted {
		level = "READ COMMITTED"
	}
	return "SET XACT_ABORT ON;\nSET TRANSACTION ISOLATION LEVEL " + level + ";\nBEGIN TRANSACTION;\n" +
		"DECLARE @head bigint = CHANGE_TRACKING_CURRENT_VERSION();\n" +
		"IF @since < " + tsql.ValidFrom(c) + "\n\tSET @since = " + tsql.ValidFrom(c) + ";\nIF @head > @read\n"
}

func afterChanges(c *engine.ChangeTable) string {
	return ";\nSET @told = " + toldOf(c, "@head") + ";\nCOMMIT TRANSACTION"
}

func tellTracking(c *engine.ChangeTable) string {
	return "SELECT " + toldOf(c, "CHANGE_TRACKING_CURRENT_VERSION()")
}

// toldOf is the engine's version, the lowest that is valid, and the table's identity with its tracking's: the version
// that it begins with, which TRUNCATE sets anew, and when the table that it keeps was made. CONCAT takes a NULL for no
// text.
func toldOf(c *engine.ChangeTable, head string) string {
	return "CONCAT(" + head + ", N'|', " + tsql.ValidFrom(c) + ", N'|', (\n" +
		"\tSELECT CONCAT(N'object ', t.object_id, N'/', t.begin_version, N'/', CONVERT(nvarchar(33), i.create_date, 126))\n" +
		"\tFROM sys.change_tracking_tables AS t\n" +
		"\tLEFT JOIN sys.internal_tables AS i ON i.parent_object_id = t.object_id AND i.internal_type = 209\n" +
		"\tWHERE t.object_id = " + tsql.ObjectID(c) + "))"
}

// What switches tracking on. How long changes are retained is how long a poller may stand still.
const (
	trackDatabase = "ALTER DATABASE CURRENT SET CHANGE_TRACKING = ON (CHANGE_RETENTION = 7 DAYS, AUTO_CLEANUP = ON)"
	snapshotsOn   = "ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON"
)

func trackTable(c *engine.ChangeTable) string {
	text := "ALTER TABLE " + c.Of + " ENABLE CHANGE_TRACKING"
	if len(c.Changed) > 0 {
		text += " WITH (TRACK_COLUMNS_UPDATED = ON)"
	}
	return text
}

// untrackTable is needed before columns can be tracked: the setting cannot be changed.
func untrackTable(c *engine.ChangeTable) string {
	return "ALTER TABLE " + c.Of + " DISABLE CHANGE_TRACKING"
}

func installTracking(c *engine.ChangeTable, _ []string) []string {
	statements := []string{
		"IF CHANGE_TRACKING_CURRENT_VERSION() IS NULL\n\t" + trackDatabase,
	}
	if !c.ReadCommitted {
		statements = append(statements, "IF NOT EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.name = DB_NAME() AND "+
			"d.snapshot_isolation_state = 1)\n\t"+snapshotsOn)
	}
	if len(c.Changed) > 0 {
		statements = append(statements, "IF EXISTS ("+isTracked(c)+" AND t.is_track_columns_updated_on = 0)\n\t"+
			untrackTable(c))
	}
	return append(statements, "IF NOT EXISTS ("+isTracked(c)+")\n\t"+trackTable(c))
}

// uninstallTracking leaves the database as it is: other tables may be tracked, and others may read snapshots.
func uninstallTracking(c *engine.ChangeTable) []string {
	return []string{"IF EXISTS (" + isTracked(c) + ")\n\t" + untrackTable(c)}
}

func isTracked(c *engine.ChangeTable) string {
	return "SELECT 1 FROM sys.change_tracking_tables AS t WHERE t.object_id = " + tsql.ObjectID(c)
}

// trackedSQL asks what there is to read changes with. A right that cannot be asked for is NULL.
const trackedSQL = `SELECT CAST(CASE WHEN CHANGE_TRACKING_CURRENT_VERSION() IS NULL THEN 0 ELSE 1 END AS bit),
	CAST(CASE WHEN EXISTS (SELECT 1 FROM sys.change_tracking_tables AS t WHERE t.object_id = OBJECT_ID(@p1))
		THEN 1 ELSE 0 END AS bit),
	CAST(COALESCE(HAS_PERMS_BY_NAME(@p1, N'OBJECT', N'VIEW CHANGE TRACKING'), 1) AS bit),
	CAST(CASE WHEN EXISTS (SELECT 1 FROM sys.databases AS d WHERE d.name = DB_NAME() AND d.snapshot_isolation_state = 1)
		THEN 1 ELSE 0 END AS bit),
	COALESCE(USER_NAME(), N'')`

// trackingFaults tells all that is missing at once.
func trackingFaults(ctx context.Context, conn *sql.Conn, c *engine.ChangeTable) (faults []string, err error) {
	var database, table, right, snapshots bool
	var user string
	err = conn.QueryRowContext(ctx, trackedSQL, c.Of).Scan(&database, &table, &right, &snapshots, &user)
	if err != nil {
		return nil, fmt.Errorf("read whether changes are tracked: %w", err)
	}
	if !database {
		faults = append(faults, "change tracking is off in the database: run "+trackDatabase)
	}
	if !table {
		faults = append(faults, "it is off for "+c.Of+": run "+trackTable(c))
	}
	if !right {
		faults = append(faults, "the user may not read it: run GRANT VIEW CHANGE TRACKING ON "+c.Of+" TO "+tsql.Quote(user))
	}
	if !snapshots && !c.ReadCommitted {
		faults = append(faults, "snapshot isolation is off in the database, and changes must be read in one snapshot with "+
			"their rows: run "+snapshotsOn+" (it may run while the application works; who may not sets "+
			"source__isolation=read_committed, and reads wait for writers)")
	}
	if table && len(c.Changed) > 0 {
		var columns bool
		if err := conn.QueryRowContext(ctx, columnsTrackedSQL, c.Of).Scan(&columns); err != nil {
			return nil, fmt.Errorf("read whether columns are tracked: %w", err)
		}
		if !columns {
			faults = append(faults, "source__changed needs to know which columns were written, and columns are not tracked: run "+
				untrackTable(c)+"; then "+trackTable(c)+" (the poller then stops at the gap, and says how to go on)")
		}
	}
	return faults, nil
}

const columnsTrackedSQL = `SELECT CAST(CASE WHEN EXISTS (SELECT 1 FROM sys.change_tracking_tables AS t
	WHERE t.object_id = OBJECT_ID(@p1) AND t.is_track_columns_updated_on = 1) THEN 1 ELSE 0 END AS bit)`

// retainedSQL names the database twice: on Azure SQL Database its number in sys.databases is not DB_ID()'s.
const retainedSQL = `SELECT CONCAT(c.retention_period, N' ', LOWER(c.retention_period_units_desc),
	CASE WHEN c.is_auto_cleanup_on = 0 THEN N', but AUTO_CLEANUP is off' END)
FROM sys.change_tracking_databases AS c
WHERE c.database_id IN (DB_ID(), (SELECT d.database_id FROM sys.databases AS d WHERE d.name = DB_NAME()))`

func retained(ctx context.Context, conn *sql.Conn) (text string, err error) {
	err = conn.QueryRowContext(ctx, retainedSQL).Scan(&text)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read how long changes are retained: %w", err)
	}
	return text, nil
}
