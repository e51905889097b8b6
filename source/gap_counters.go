package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/big"

	"github.com/go-sql-driver/mysql"
)

// sqlServerIdentity reads an identity that goes up. An identity that is not for replication is not raised by what
// replication writes. %s is the quoted database and a dot, or nothing.
const sqlServerIdentity = `SELECT CAST(IDENT_CURRENT(@p1) AS nvarchar(40)), CAST(COALESCE(i.is_not_for_replication, 0) AS bit)
FROM %ssys.identity_columns AS i
WHERE i.object_id = OBJECT_ID(@p1) AND i.name = @p2 AND CAST(i.increment_value AS numeric(38)) > 0`

// sqlServerRowVersion reads the last rowversion that the database gave out.
const sqlServerRowVersion = "SELECT CAST(@@DBTS AS binary(8))"

// counter reads IDENT_CURRENT or @@DBTS. An identity is raised by values that are written explicitly.
func (d sqlServer) counter(ctx context.Context, conn *sql.Conn, t *table, col *column) (counter, error) {
	if col.value.kind == kindRowVersion {
		var last []byte
		if t.foreign {
			return counter{}, nil // @@DBTS is the connection's database's
		}
		if err := conn.QueryRowContext(ctx, sqlServerRowVersion).Scan(&last); err != nil {
			return counter{}, fmt.Errorf("read @@DBTS: %w", err)
		}
		return counter{name: "@@DBTS", highest: new(big.Int).SetBytes(last).String()}, nil
	}
	parts, err := splitName(t.from)
	if err != nil {
		return counter{}, err
	}
	database := ""
	if len(parts) == 3 {
		database = d.quote(parts[0]) + "."
	}
	var last sql.NullString
	n := counter{name: "IDENT_CURRENT of " + t.name}
	err = conn.QueryRowContext(ctx, fill(sqlServerIdentity, database), t.from, col.name).Scan(&last, &n.loose)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return counter{}, fmt.Errorf("read IDENT_CURRENT: %w", err)
	}
	n.highest = last.String
	return n, nil
}

// postgresSequence reads the sequence that a serial or identity column owns, if it goes up and does not begin again. Its
// value is NULL where it was not used yet, or this role may not see it.
const postgresSequence = `SELECT q.schemaname || '.' || q.sequencename, q.last_value::text
FROM pg_catalog.pg_sequences q
WHERE pg_catalog.format('%I.%I', q.schemaname, q.sequencename) = pg_catalog.pg_get_serial_sequence($1, $2)
AND q.increment_by > 0 AND NOT q.cycle`

const postgresNextTransaction = "SELECT (pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text::numeric - 1)::text"

// counter reads the column's own sequence, which values that are written explicitly do not raise; for a transaction's id,
// the last that was given out.
func (postgres) counter(ctx context.Context, conn *sql.Conn, t *table, col *column) (counter, error) {
	var n counter
	if col.value.transaction {
		n.name = "the transactions of the server"
		if err := conn.QueryRowContext(ctx, postgresNextTransaction).Scan(&n.highest); err != nil {
			return counter{}, fmt.Errorf("read the last transaction's id: %w", err)
		}
		return n, nil
	}
	var last sql.NullString
	err := conn.QueryRowContext(ctx, postgresSequence, t.from, col.name).Scan(&n.name, &last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return counter{}, fmt.Errorf("read the column's sequence: %w", err)
	}
	return counter{name: "the sequence " + n.name, highest: last.String, loose: true}, nil
}

// mysqlAutoIncrement reads the next value.
const mysqlAutoIncrement = `SELECT CAST(t.AUTO_INCREMENT - 1 AS CHAR)
FROM information_schema.TABLES t
JOIN information_schema.COLUMNS c ON c.TABLE_SCHEMA = t.TABLE_SCHEMA AND c.TABLE_NAME = t.TABLE_NAME
WHERE t.TABLE_SCHEMA = ? AND t.TABLE_NAME = ? AND c.COLUMN_NAME = ? AND LOWER(c.EXTRA) LIKE '%auto_increment%'`

// mysqlFresh makes information_schema tell what is, where MySQL 8 would tell what was up to a day ago. MariaDB has no such
// variable, and no such memory.
const mysqlFresh = "SET SESSION information_schema_stats_expiry = 0"

const mysqlUnknownVariable = 1193

// counter reads AUTO_INCREMENT, which values that are written explicitly raise.
func (mySQL) counter(ctx context.Context, conn *sql.Conn, t *table, col *column) (counter, error) {
	parts, err := splitName(t.from)
	if err != nil || len(parts) != 2 {
		return counter{}, err
	}
	var unknown *mysql.MySQLError
	if _, err := conn.ExecContext(ctx, mysqlFresh); err != nil && (!errors.As(err, &unknown) || unknown.Number != mysqlUnknownVariable) {
		return counter{}, fmt.Errorf("ask for fresh statistics: %w", err)
	}
	var last sql.NullString
	err = conn.QueryRowContext(ctx, mysqlAutoIncrement, parts[0], parts[1], col.name).Scan(&last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return counter{}, fmt.Errorf("read AUTO_INCREMENT: %w", err)
	}
	return counter{name: "AUTO_INCREMENT of " + t.name, highest: last.String}, nil
}

// counter reads sqlite_sequence, which values that are written explicitly raise. A table without AUTOINCREMENT is not in it.
func (d sqliteDialect) counter(ctx context.Context, conn *sql.Conn, t *table, col *column) (counter, error) {
	if !col.serial {
		return counter{}, nil
	}
	parts, err := splitName(t.from)
	if err != nil {
		return counter{}, err
	}
	schema := "main"
	if len(parts) == 2 {
		schema = parts[0]
	}
	var last sql.NullString
	err = conn.QueryRowContext(ctx, "SELECT CAST(seq AS TEXT) FROM "+d.quote(schema)+".sqlite_sequence WHERE name = ?1", parts[len(parts)-1]).Scan(&last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return counter{}, fmt.Errorf("read sqlite_sequence: %w", err)
	}
	return counter{name: "sqlite_sequence of " + t.name, highest: last.String}, nil
}
