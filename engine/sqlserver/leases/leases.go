// Package leases writes what SQL Server is sent where instances share changes by leases on the rows.
package leases

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/sqlserver/tsql"
)

// lockNotFree is the number of our own error.
const lockNotFree = 51208

// The binding's names.
const (
	leaseSchema  = "az_func"
	globalState  = "[az_func].[GlobalState]"
	tokens       = "[az_func].[RowrelayTokens]" //nolint:gosec // a table
	leaseVersion = "[_az_func_ChangeVersion]"
	leaseCount   = "[_az_func_AttemptCount]"
	leaseExpires = "[_az_func_LeaseExpirationTime]"
)

// The columns of our own table.
const (
	ownVersion  = "[" + engine.ChangeVersion + "]"
	ownCreated  = "[" + engine.ChangeCreated + "]"
	ownPlace    = "[" + engine.LeasePlace + "]"
	ownAttempts = "[" + engine.LeaseAttempts + "]"
	ownSince    = "[rowrelay_since]" // the version of the key that was delivered before
	ownToken    = "[rowrelay_token]"
	ownBatch    = "[rowrelay_batch]"
	ownExpires  = "[rowrelay_expires]" // as it stands in the lease; else that one is not ours
	ownAgain    = "[rowrelay_again]"   // when it may be taken again
	ownReason   = "[rowrelay_reason]"
	ownDead     = "[rowrelay_dead]"
)

// written tells the context of the write that a row of a page is of, and not its columns (engine.BuiltIn.Written): a
// mask is of the writes since the shared position, which passes a row's earlier write once the row was written again.
const written = ", CAST(NULL AS varbinary(4100)) AS [" + engine.ChangeMask + "], p.rr_context AS [" +
	engine.ChangeContext + "]"

// leaseTexts writes the texts about one set of tables.
type leaseTexts struct{ *engine.LeaseTables }

func (t leaseTexts) leases() string { return tsql.Quote(leaseSchema) + "." + tsql.Quote(t.Leases) }
func (t leaseTexts) own() string    { return tsql.Quote(leaseSchema) + "." + tsql.Quote(t.Own()) }

// function is the condition that finds the function's row.
func (t leaseTexts) function(alias string) string {
	return alias + "UserFunctionID = '" + t.Function + "'" + " AND " + alias + "UserTableID = " + tsql.ObjectID(t.Changes)
}

// names are the key's columns of an alias.
func (t leaseTexts) names(alias string) string { return engine.Names(tsql.Quote, alias, t.Changes.Key) }

// declared are the key's columns with their types.
func (t leaseTexts) declared() string {
	var b strings.Builder
	for _, k := range t.Key {
		b.WriteString(tsql.Quote(k.Name) + " " + k.Type)
		if k.Collation != "" {
			b.WriteString(" COLLATE " + k.Collation)
		}
		b.WriteString(" NOT NULL, ")
	}
	return b.String()
}

// on compares the key of two aliases. The binding's table has the database's collation, whatever the column's is.
func (t leaseTexts) on(a, b string) string {
	var parts []string
	for _, k := range t.Key {
		text := a + "." + tsql.Quote(k.Name)
		if k.Collation != "" {
			text += " COLLATE " + k.Collation
		}
		parts = append(parts, text+" = "+b+"."+tsql.Quote(k.Name))
	}
	return strings.Join(parts, " AND ")
}

// readCommitted begins a transaction.
const readCommitted = "SET NOCOUNT ON;\nSET XACT_ABORT ON;\nSET TRANSACTION ISOLATION LEVEL READ COMMITTED;\nBEGIN TRANSACTION;\n"

// begin begins a transaction, and takes the lock.
func (t leaseTexts) begin() string { return readCommitted + "DECLARE @got int = 0;\n" + t.lock() }

// from reads up to which version all is processed.
func (t leaseTexts) from() string {
	return "SELECT @from = g.LastSyncVersion FROM " + globalState + " AS g WHERE " + t.function("g.") + ";\n"
}

// move writes it.
func (t leaseTexts) move(to string) string {
	return "UPDATE " + globalState + " SET LastSyncVersion = " + to + ", LastAccessTime = GETUTCDATE() WHERE " +
		t.function("") + ";\n"
}

// changes are those after it, each with its lease.
func (t leaseTexts) changes() string {
	return "FROM CHANGETABLE(CHANGES " + t.Changes.Of + ", @from) AS c\nLEFT JOIN " + t.leases() + " AS l ON " +
		t.on("l", "c") + "\n"
}

func (t leaseTexts) lock() string {
	return "EXEC @got = sp_getapplock @Resource = " + tsql.Literal(t.Lock) +
		", @LockMode = N'Exclusive', @LockOwner = N'Transaction', @LockTimeout = @wait;\n" +
		"IF @got < 0\nBEGIN;\n\tTHROW " + strconv.Itoa(lockNotFree) +
		", N'the application lock was not free in time', 1;\nEND;\n"
}

// leaseEnd closes a text: what it tells, and the commit.
func leaseEnd(members string) string {
	return "SET @told = (SELECT " + members + " FOR JSON PATH, WITHOUT_ARRAY_WRAPPER);\nCOMMIT TRANSACTION"
}

const leaseTable = `IF OBJECT_ID(%[1]s, N'U') IS NULL
	CREATE TABLE %[2]s (%[3]s%[4]s,
		PRIMARY KEY (%[5]s));
`

// makeLeases makes the binding's tables as it makes them itself, but with the key in its order, and its collations.
// What names a column that was added in the same batch is a batch of its own: each is compiled as a whole.
func makeLeases(lt *engine.LeaseTables) string {
	t := leaseTexts{lt}
	first := tsql.ValidFrom(t.Changes)
	if t.Latest {
		first = "CHANGE_TRACKING_CURRENT_VERSION()"
	}
	table := func(name, columns string) string {
		return fmt.Sprintf(leaseTable, tsql.Literal(name), name, t.declared(), columns, t.names(""))
	}
	return t.begin() +
		"IF SCHEMA_ID(N'az_func') IS NULL\n\tEXEC (N'CREATE SCHEMA [az_func]');\n" +
		"IF OBJECT_ID(N'" + globalState + "', N'U') IS NULL\n\tCREATE TABLE " + globalState + ` (
		UserFunctionID char(16) NOT NULL, UserTableID int NOT NULL, LastSyncVersion bigint NOT NULL,
		LastAccessTime datetime NOT NULL DEFAULT(GETUTCDATE()), PRIMARY KEY (UserFunctionID, UserTableID));
IF COL_LENGTH(N'` + globalState + `', N'LastAccessTime') IS NULL
	ALTER TABLE ` + globalState + ` ADD LastAccessTime datetime NOT NULL DEFAULT(GETUTCDATE());
IF OBJECT_ID(N'` + tokens + `', N'U') IS NULL
	CREATE TABLE ` + tokens + ` (UserFunctionID char(16) NOT NULL, UserTableID int NOT NULL, Token bigint NOT NULL,
		PRIMARY KEY (UserFunctionID, UserTableID));
DECLARE @made bit = CASE WHEN OBJECT_ID(` + tsql.Literal(t.leases()) + `, N'U') IS NULL THEN 1 ELSE 0 END;
` + table(t.leases(), leaseVersion+" bigint NOT NULL, "+leaseCount+" int NOT NULL, "+leaseExpires+" datetime2 NULL") +
		table(t.own(), ownVersion+" bigint NOT NULL, "+ownCreated+" bigint NOT NULL, "+ownSince+" bigint NOT NULL,\n\t\t"+
			ownToken+" bigint NOT NULL, "+ownBatch+" int NOT NULL, "+ownPlace+" int NOT NULL, "+
			ownExpires+" datetime2 NULL,\n\t\t"+ownAttempts+" int NOT NULL, "+ownAgain+" datetime2 NULL, "+
			ownReason+" nvarchar(1000) NULL, "+ownDead+" bit NOT NULL,\n\t\t"+
			"INDEX rowrelay_token ("+ownToken+", "+ownBatch+", "+ownPlace+")") +
		t.takeOver() +
		"IF NOT EXISTS (SELECT 1 FROM " + globalState + " AS g WHERE " + t.function("g.") + ")\n" +
		"\tINSERT INTO " + globalState + " (UserFunctionID, UserTableID, LastSyncVersion)\n\t\tVALUES (" +
		"'" + t.Function + "', " + tsql.ObjectID(t.Changes) + ", " + first + ");\n" +
		"EXEC (" + tsql.Literal("UPDATE "+globalState+" SET LastAccessTime = GETUTCDATE() WHERE "+t.function("")) + ");\n" +
		"IF NOT EXISTS (SELECT 1 FROM " + tokens + " AS k WHERE " + t.function("k.") + ")\n" +
		"\tINSERT INTO " + tokens + " (UserFunctionID, UserTableID, Token)\n\t\tVALUES (" +
		"'" + t.Function + "', " + tsql.ObjectID(t.Changes) + ", 0);\n" +
		leaseEnd("@made AS Made")
}

// takeOver moves the state of an older id, where there is none of the new one. With its leases nothing comes again that
// was processed above its version. Their columns are named: the older table's key is in no certain order.
func (t leaseTexts) takeOver() string {
	if t.Legacy == "" {
		return ""
	}
	old := t
	old.LeaseTables = &engine.LeaseTables{Changes: t.Changes, Key: t.Key, Function: t.Legacy, Leases: t.LegacyLeases}
	columns := func(alias string) string {
		return t.names(alias) + ", " + alias + leaseVersion + ", " + alias + leaseCount + ", " + alias + leaseExpires
	}
	return "IF NOT EXISTS (SELECT 1 FROM " + globalState + " AS g WHERE " + t.function("g.") + ")\n" +
		"\tAND EXISTS (SELECT 1 FROM " + globalState + " AS g WHERE " + old.function("g.") + ")\nBEGIN\n" +
		"INSERT INTO " + globalState + " (UserFunctionID, UserTableID, LastSyncVersion)\nSELECT '" + t.Function +
		"', g.UserTableID, g.LastSyncVersion FROM " + globalState + " AS g WHERE " + old.function("g.") + ";\n" +
		"IF OBJECT_ID(" + tsql.Literal(old.leases()) + ", N'U') IS NOT NULL\n\tEXEC (" +
		tsql.Literal("INSERT INTO "+t.leases()+" ("+columns("")+") SELECT "+columns("l.")+" FROM "+old.leases()+
			" AS l WHERE NOT EXISTS (SELECT 1 FROM "+t.leases()+" AS n WHERE "+t.on("n", "l")+")") + ");\n" +
		"DELETE FROM " + globalState + " WHERE " + old.function("") + ";\nEND;\n"
}

// leaseKeySQL reads the key in its own order: the binding's query says none.
const leaseKeySQL = `SELECT c.object_id, c.name,
	CASE WHEN y.name IN (N'nchar', N'nvarchar') THEN CONCAT(y.name, N'(', c.max_length / 2, N')')
		WHEN y.name IN (N'char', N'varchar', N'binary', N'varbinary') THEN CONCAT(y.name, N'(', c.max_length, N')')
		WHEN y.name IN (N'decimal', N'numeric') THEN CONCAT(y.name, N'(', c.precision, N',', c.scale, N')')
		WHEN y.name IN (N'datetime2', N'datetimeoffset', N'time') THEN CONCAT(y.name, N'(', c.scale, N')')
		WHEN y.name = N'timestamp' THEN N'binary(8)'
		ELSE y.name END,
	COALESCE(c.collation_name, N'')
FROM sys.indexes AS i
JOIN sys.index_columns AS x ON x.object_id = i.object_id AND x.index_id = i.index_id
JOIN sys.columns AS c ON c.object_id = x.object_id AND c.column_id = x.column_id
JOIN sys.types AS y ON y.user_type_id = c.system_type_id
WHERE i.is_primary_key = 1 AND i.object_id = OBJECT_ID(@p1)
ORDER BY x.key_ordinal`

func leaseKey(ctx context.Context, conn *sql.Conn, c *engine.ChangeTable) (table int64, key []engine.KeyColumn,
	err error) {
	err = engine.EachRow(ctx, conn, leaseKeySQL, []any{c.Of}, func(scan func(...any) error) error {
		var k engine.KeyColumn
		err := scan(&table, &k.Name, &k.Type, &k.Collation)
		key = append(key, k)
		return err
	})
	if err != nil {
		return 0, nil, fmt.Errorf("read the key of %s: %w", c.Of, err)
	}
	return table, key, nil
}

// leaseRightsSQL asks for what is needed. A right that cannot be asked for is NULL, and counts as there.
const leaseRightsSQL = `SELECT
	CAST(CASE WHEN SCHEMA_ID(N'az_func') IS NULL THEN 0 ELSE 1 END AS bit),
	CAST(COALESCE(HAS_PERMS_BY_NAME(DB_NAME(), N'DATABASE', N'CREATE SCHEMA'), 1) AS bit),
	CAST(COALESCE(HAS_PERMS_BY_NAME(DB_NAME(), N'DATABASE', N'CREATE TABLE'), 1) AS bit),
	CAST(COALESCE(HAS_PERMS_BY_NAME(N'az_func', N'SCHEMA', N'ALTER'), 1) AS bit),
	CAST(COALESCE(HAS_PERMS_BY_NAME(N'az_func', N'SCHEMA', N'SELECT'), 1) AS bit),
	CAST(COALESCE(HAS_PERMS_BY_NAME(N'az_func', N'SCHEMA', N'INSERT'), 1) AS bit),
	CAST(COALESCE(HAS_PERMS_BY_NAME(N'az_func', N'SCHEMA', N'UPDATE'), 1) AS bit),
	CAST(COALESCE(HAS_PERMS_BY_NAME(N'az_func', N'SCHEMA', N'DELETE'), 1) AS bit),
	CAST(CASE WHEN OBJECT_ID(@p1, N'U') IS NULL OR OBJECT_ID(@p2, N'U') IS NULL THEN 0 ELSE 1 END AS bit),
	(SELECT d.compatibility_level FROM sys.databases AS d WHERE d.name = DB_NAME()), COALESCE(USER_NAME(), N'')`

func leaseFaults(ctx context.Context, conn *sql.Conn, lt *engine.LeaseTables) (faults []string, err error) {
	t := leaseTexts{lt}
	var schema, createSchema, createTable, alter, made bool
	var level int
	var user string
	rights := make([]bool, 4)
	err = conn.QueryRowContext(ctx, leaseRightsSQL, t.leases(), t.own()).Scan(&schema, &createSchema, &createTable, &alter,
		&rights[0], &rights[1], &rights[2], &rights[3], &made, &level, &user)
	if err != nil {
		return nil, fmt.Errorf("read the rights on az_func: %w", err)
	}
	to := " TO " + tsql.Quote(user)
	if level < 130 {
		faults = append(faults, fmt.Sprintf("the database's compatibility level is %d, and OPENJSON needs 130: run ALTER "+
			"DATABASE CURRENT SET COMPATIBILITY_LEVEL = 130", level))
	}
	if !schema && !createSchema {
		faults = append(faults, "the schema az_func is missing, and the user may not make it: run GRANT CREATE SCHEMA"+to)
	}
	if !made && !createTable {
		faults = append(faults, "tables in az_func are missing, and the user may not make any: run GRANT CREATE TABLE"+to)
	}
	if schema && !made && !alter {
		faults = append(faults, "tables in az_func are missing, and the user may not make any there: run GRANT ALTER ON "+
			"SCHEMA::az_func"+to)
	}
	if !schema {
		return faults, nil // whoever makes it owns it
	}
	for i, right := range []string{"SELECT", "INSERT", "UPDATE", "DELETE"} {
		if !rights[i] {
			faults = append(faults, "the user may not "+right+" in az_func: run GRANT "+right+" ON SCHEMA::az_func"+to)
		}
	}
	return faults, nil
}
