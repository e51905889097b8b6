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

func (sqlServer) anyInt(s *statement, expr string, list []int64) string {
	return expr + " IN (SELECT CAST(j.value AS bigint) FROM OPENJSON(" + s.arg(jsonList(list)) + ") AS j)"
}

func (sqlServer) anyText(s *statement, expr string, list []string) string {
	return expr + " IN (SELECT CAST(j.value AS nvarchar(255))" + sqlServerExact + " FROM OPENJSON(" + s.arg(jsonList(list)) + ") AS j)"
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

func (sqlServer) update(table, alias, set, from, where string) string {
	return "UPDATE " + alias + " SET " + set + " FROM " + table + " AS " + alias + " INNER JOIN " + from + " ON " + where
}

func (sqlServer) seek(_, _ string) string { return "" }

func (sqlServer) force(string) string { return "" }

func (sqlServer) byState() bool { return false }

func (sqlServer) orderly(alias, bucket, seq string) string {
	return "(" + alias + ".bucket > " + bucket + " OR " + alias + ".seq > " + seq + ")"
}

func (sqlServer) claimInTx() bool { return false }

// draw and take are one MERGE each. HOLDLOCK keeps the place of a row that is not there, so that two that insert it come one
// after the other.
func (sqlServer) draw(ctx context.Context, q querier, t *sqlTable, outbox string) (uint64, error) {
	s := t.statement()
	s.add("MERGE INTO ", t.claims.String(), " WITH (HOLDLOCK) AS c USING (SELECT ", s.arg(outbox), sqlServerExact, " AS outbox) AS n ON c.outbox = n.outbox AND c.unit = '*'",
		" WHEN MATCHED THEN UPDATE SET token = c.token + 1",
		" WHEN NOT MATCHED THEN INSERT (outbox, unit, owner, token, expires_at) VALUES (n.outbox, '*', '', 1, ", t.d.now(), ") OUTPUT inserted.token;")
	var token uint64
	err := s.row(ctx, q, &token)
	return token, err
}

// take returns what it had taken already, too: the answer to that was lost. The member's row is a statement of its own: MERGE would
// have to write to it.
func (d sqlServer) take(ctx context.Context, q querier, t *sqlTable, outbox string, c claim, units []unitInfo, member string) ([]string, error) {
	s := t.statement()
	d.takeStatement(s, t, outbox, c, units)
	taken, err := s.units(ctx, q)
	if err != nil || member == "" {
		return taken, err
	}
	return t.andMember(ctx, q, outbox, c.owner, taken, member)
}

func (d sqlServer) takeStatement(s *statement, t *sqlTable, outbox string, c claim, units []unitInfo) {
	s.add("MERGE INTO ", t.claims.String(), " WITH (HOLDLOCK) AS c USING (SELECT ", s.arg(outbox), sqlServerExact, " AS outbox, ", "r.unit", sqlServerExact, " AS unit, ", s.arg(c.owner),
		" AS owner, CAST(", s.arg(int64(c.token)), " AS bigint) AS token, ", d.later(s.arg(c.ttl.Milliseconds())), " AS expires_at, r.info FROM ", //nolint:gosec // tokens count up from 1
		s.rows("r", unitColumns, jsonUnits(units)), ") AS n ON c.outbox = n.outbox AND c.unit = n.unit",
		" WHEN MATCHED AND (c.expires_at <= ", d.now(), " OR c.owner = n.owner AND c.token = n.token) THEN UPDATE SET owner = n.owner, token = n.token, expires_at = n.expires_at, info = n.info",
		" WHEN NOT MATCHED THEN INSERT (outbox, unit, owner, token, expires_at, info) VALUES (n.outbox, n.unit, n.owner, n.token, n.expires_at, n.info)",
		" OUTPUT inserted.unit;")
}

// byUnit reads the list first and seeks each unit's row.
func (d sqlServer) byUnit(s *statement, t *sqlTable, verb string, set func() string, outbox string, units []string) {
	hint, _ := d.lock(false)
	switch verb {
	case "SELECT":
		s.add("SELECT c.unit")
	case "DELETE":
		s.add("DELETE c")
	default:
		s.add("UPDATE c SET ", set())
	}
	s.add(" FROM ", s.rows("r", unitColumns, jsonUnits(named(units))), " INNER LOOP JOIN ", t.claims.String(), " AS c", hint,
		" ON c.unit = r.unit", sqlServerExact, " WHERE c.outbox = ", s.arg(outbox))
}

func (d sqlServer) put(s *statement, t *sqlTable, outbox, unit, owner string, token uint64, ms int64, info string) {
	s.add("MERGE INTO ", t.claims.String(), " WITH (HOLDLOCK) AS c USING (SELECT ", s.arg(outbox), sqlServerExact, " AS outbox, ", s.arg(unit), sqlServerExact, " AS unit, ", s.arg(owner),
		" AS owner, CAST(", s.arg(int64(token)), " AS bigint) AS token, ", d.later(s.arg(ms)), " AS expires_at, ", s.arg(info), " AS info) AS n", //nolint:gosec // as above
		" ON c.outbox = n.outbox AND c.unit = n.unit",
		" WHEN MATCHED THEN UPDATE SET owner = n.owner, token = n.token, expires_at = n.expires_at, info = n.info",
		" WHEN NOT MATCHED THEN INSERT (outbox, unit, owner, token, expires_at, info) VALUES (n.outbox, n.unit, n.owner, n.token, n.expires_at, n.info);")
}

// sqlServerVersioned names the database: on Azure SQL Database its number in sys.databases is not DB_ID()'s.
const sqlServerVersioned = "SELECT is_read_committed_snapshot_on FROM sys.databases WHERE name = DB_NAME()"

// versioned refuses a database whose READ COMMITTED reads with locks (the default but on Azure SQL): every read would wait for
// each writer's open transaction, and a scan can miss a row that becomes PENDING behind it and return a later one of the same
// aggregate. A database that does not say so is refused too.
func (sqlServer) versioned(ctx context.Context, q querier) error {
	var on sql.NullBool
	err := q.QueryRowContext(ctx, sqlServerVersioned).Scan(&on)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && !on.Valid:
		return fmt.Errorf("%w: sys.databases does not say whether READ_COMMITTED_SNAPSHOT is ON, without which the order of events could not be kept: "+
			"let the login see the row of its database", poller.ErrConfig)
	case err != nil:
		return fmt.Errorf("read the database's options: %w", err)
	case !on.Bool:
		return fmt.Errorf("%w: the database reads with locks, so that the order of events could not be kept: run ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON",
			poller.ErrConfig)
	}
	return nil
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
