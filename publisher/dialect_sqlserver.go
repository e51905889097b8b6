package publisher

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/poller"
)

// sqlServer is SQL Server 2016 and later (compatibility level 130: OPENJSON), and Azure SQL.
type sqlServer struct{}

const sqlServerExact = " COLLATE Latin1_General_100_BIN2"

func (sqlServer) engine() string { return "sqlserver" }

func (sqlServer) quote(name string) string { return "[" + strings.ReplaceAll(name, "]", "]]") + "]" }

func (sqlServer) placeholder(n int) string { return "@p" + strconv.Itoa(n) }

func (sqlServer) seq() string { return "seq" }

func (sqlServer) now() string { return "SYSUTCDATETIME()" }

// later takes less than 24 days: DATEADD counts in an int.
func (sqlServer) later(ms string) string {
	return "DATEADD(millisecond, CAST(" + ms + " AS int), SYSUTCDATETIME())"
}

func (sqlServer) earlier(ms string) string {
	return "DATEADD(millisecond, -CAST(" + ms + " AS int), SYSUTCDATETIME())"
}

func (sqlServer) age(at string) string {
	return "DATEDIFF_BIG(millisecond, " + at + ", SYSUTCDATETIME())"
}

func (sqlServer) limit(n string) string { return " OFFSET 0 ROWS FETCH NEXT " + n + " ROWS ONLY" }

// same compares the lengths, too: to SQL Server, text with more blanks at its end is equal.
func (sqlServer) same(typ1, id1, typ2, id2 string) string {
	equal := func(a, b string) string {
		return a + " = " + b + sqlServerExact + " AND DATALENGTH(" + a + ") = DATALENGTH(" + b + ")"
	}
	return equal(typ1, typ2) + " AND " + equal(id1, id2)
}

// bytes is half of what the column takes in UTF-16: at most what it takes in UTF-8.
func (sqlServer) bytes(column string) string { return "(DATALENGTH(" + column + ") / 2)" }

func (sqlServer) unit(typ, id string) string {
	return "(N'a:' + LOWER(CONVERT(nvarchar(32), HASHBYTES('MD5', " + typ + "), 2)) + LOWER(CONVERT(nvarchar(32), HASHBYTES('MD5', " + id + "), 2)))"
}

func (sqlServer) aggregateUnit(a aggregate) string {
	return hashedUnit(utf16Bytes(a.typ), utf16Bytes(a.id))
}

func utf16Bytes(s string) []byte {
	var b []byte
	for _, unit := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return b
}

// text gives a text parameter one length: the driver declares each by that of its value, and every other declaration is another plan.
func (sqlServer) text(param string) string {
	return "CAST(" + param + " AS nvarchar(" + strconv.Itoa(sqlServerText) + "))"
}

// sqlServerText is what nvarchar holds at most, in code units of UTF-16.
const sqlServerText = 4000

// fitsText says that text cannot cut a value.
func fitsText(s string) bool { return len(s) <= sqlServerText } // at most as many units as bytes

func (sqlServer) anyInt(s *statement, expr string, list []int64) string {
	return expr + " IN (SELECT CAST(j.value AS bigint) FROM OPENJSON(" + s.list(jsonList(list)) + ") AS j)"
}

func (sqlServer) anyText(s *statement, expr string, list []string) string {
	return expr + " IN (SELECT CAST(j.value AS nvarchar(255))" + sqlServerExact + " FROM OPENJSON(" + s.list(jsonList(list)) + ") AS j)"
}

func (sqlServer) rows(param, alias string, columns []jsonColumn) string {
	fields := make([]string, len(columns))
	for i, c := range columns {
		typ := "bigint"
		if c.text {
			typ = "nvarchar(1000)"
		}
		fields[i] = c.name + " " + typ + " '$." + c.name + "'"
	}
	return "OPENJSON(" + param + ") WITH (" + strings.Join(fields, ", ") + ") AS " + alias
}

func (sqlServer) lock(skip bool) (hint, suffix string) {
	if skip { // where READ COMMITTED reads by versions, READPAST needs READCOMMITTEDLOCK, which excludes ROWLOCK
		return " WITH (UPDLOCK, READCOMMITTEDLOCK, READPAST)", ""
	}
	return " WITH (UPDLOCK, ROWLOCK)", ""
}

// update reads the list first, and seeks its rows: any other plan would lock what it looks at, up to the whole table.
func (sqlServer) update(table, alias, set, from, where string) string {
	return "UPDATE " + alias + " SET " + set + " FROM " + from + " INNER LOOP JOIN " + table + " AS " + alias + " WITH (ROWLOCK) ON " + where
}

func (d sqlServer) bySeq(s *statement, table name, set func() string, seqs []int64) {
	type object struct {
		Seq int64 `json:"seq"`
	}
	list := make([]object, len(seqs))
	for i, seq := range seqs {
		list[i].Seq = seq
	}
	value := set()
	s.add(d.update(table.String(), "o", value, s.rows("r", []jsonColumn{{"seq", false}}, list), "o.seq = r.seq"), " WHERE 1 = 1")
}

func (sqlServer) seek(_, _ string) string { return "" }

func (sqlServer) force(string) string { return "" }

func (sqlServer) byState() bool { return false }

func (sqlServer) orderly(_, _, _ string) string { return "" }

func (sqlServer) claimInTx() bool { return false }

// sqlServerVersioned names the database: on Azure SQL Database its number in sys.databases is not DB_ID()'s.
const sqlServerVersioned = "SELECT is_read_committed_snapshot_on, CAST(compatibility_level AS int) FROM sys.databases WHERE name = DB_NAME()"

// sqlServerLevel is the first compatibility level that knows OPENJSON. Below it SQL Server calls that a table which is not there, as
// sqlServerLists shows; another engine of its protocol may tell a low level and know it.
const (
	sqlServerLevel = 130
	sqlServerLists = "SELECT COUNT(*) FROM OPENJSON(N'[]') AS j"
)

// versioned refuses a database whose READ COMMITTED reads with locks (the default but on Azure SQL): every read would wait for
// each writer's open transaction, and a scan can miss a row that becomes PENDING behind it and return a later one of the same
// aggregate. A database that does not say so is refused too.
func (sqlServer) versioned(ctx context.Context, q querier) error {
	var on sql.NullBool
	var level sql.NullInt64
	err := q.QueryRowContext(ctx, sqlServerVersioned).Scan(&on, &level)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && !on.Valid:
		return fmt.Errorf("%w: sys.databases does not say whether READ_COMMITTED_SNAPSHOT is ON, without which the order of events could not be kept: "+
			"let the login see the row of its database", poller.ErrConfig)
	case err != nil:
		return fmt.Errorf("read the database's options: %w", err)
	case !on.Bool:
		return fmt.Errorf("%w: the database reads with locks, so that the order of events could not be kept: run ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON",
			poller.ErrConfig)
	case !level.Valid || level.Int64 >= sqlServerLevel:
		return nil
	}
	var none int
	err = q.QueryRowContext(ctx, sqlServerLists).Scan(&none)
	if engine.Misconfigured(sqlserver.Dialect{}, err) {
		err = fmt.Errorf("%w: the database's compatibility level is %d, and an outbox takes %d (SQL Server 2016) or higher: "+
			"run ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = %d: %w", poller.ErrConfig, level.Int64, sqlServerLevel, sqlServerLevel, err)
	}
	return err
}

func (d sqlServer) resolve(ctx context.Context, q querier, parts []string) (string, error) {
	var schema, table sql.NullString
	err := q.QueryRowContext(ctx, "SELECT OBJECT_SCHEMA_NAME(OBJECT_ID(@p1)), OBJECT_NAME(OBJECT_ID(@p1))", name{d, parts}.String()).Scan(&schema, &table)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("find %s: %w", name{d, parts}, err)
	}
	if !table.Valid {
		return "", nil
	}
	return schema.String + "." + table.String, nil
}
