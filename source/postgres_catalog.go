package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// postgresTable finds a table by name on the search path, or in the schema given; an unquoted name in another case is
// found too, unless it is ambiguous.
const postgresTable = `SELECT c.oid::text, n.nspname, c.relname, c.relkind::text, pg_catalog.to_regtype('xid8') IS NULL
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
AND (CASE WHEN $1 = '' THEN pg_catalog.pg_table_is_visible(c.oid) ELSE n.nspname = $1 OR lower(n.nspname) = lower($1) END)
AND (c.relname = $2 OR lower(c.relname) = lower($2))
ORDER BY (c.relname = $2) DESC, (n.nspname = $1) DESC, n.nspname, c.relname LIMIT 1`

// A domain is what it is a domain of (typbasetype, as deep as it goes); the type's schema is told for what lives
// outside pg_catalog.
const postgresColumns = `WITH RECURSIVE base AS (
	SELECT a.attnum, a.attname, a.attnotnull, a.atttypid AS typ, pg_catalog.format_type(a.atttypid, a.atttypmod) AS full_type
	FROM pg_catalog.pg_attribute a WHERE a.attrelid = $1::text::oid AND a.attnum > 0 AND NOT a.attisdropped
), resolved AS (
	SELECT b.*, b.typ AS base_typ, t.typnotnull AS domain_notnull FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.typ
	UNION ALL
	SELECT r.attnum, r.attname, r.attnotnull, r.typ, r.full_type, t.typbasetype, r.domain_notnull
	FROM resolved r JOIN pg_catalog.pg_type t ON t.oid = r.base_typ WHERE t.typtype = 'd'
)
SELECT r.attname, r.full_type, r.attnotnull OR r.domain_notnull, r.base_typ, t.typname, t.typtype::text, t.typcategory::text, n.nspname
FROM resolved r JOIN pg_catalog.pg_type t ON t.oid = r.base_typ JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE t.typtype <> 'd' ORDER BY r.attnum`

// postgresIndexes tells each index's key columns in order up to the first that does not read ascending (DESC, an
// expression, a foreign operator class), a NULLS FIRST counted as such.
const postgresIndexes = `SELECT ic.relname, i.indisunique, i.indisprimary,
	i.indpred IS NOT NULL OR NOT i.indisvalid OR NOT i.indisready OR am.amname <> 'btree',
	i.indnkeyatts, k.n, coalesce(a.attname, ''),
	(i.indoption[k.n - 1] & 3) <> 0 OR i.indcollation[k.n - 1] <> coalesce(a.attcollation, 0) OR NOT o.opcdefault
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class ic ON ic.oid = i.indexrelid JOIN pg_catalog.pg_am am ON am.oid = ic.relam
CROSS JOIN LATERAL generate_series(1, i.indnkeyatts::int) AS k(n)
JOIN pg_catalog.pg_opclass o ON o.oid = i.indclass[k.n - 1]
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k.n - 1] AND i.indkey[k.n - 1] <> 0
WHERE i.indrelid = $1::text::oid ORDER BY i.indisprimary DESC, ic.relname, k.n`

func (d postgres) table(ctx context.Context, conn *sql.Conn, name []string) (table, error) {
	var t table
	schema, rel := "", name[len(name)-1]
	if len(name) > 1 {
		schema = name[len(name)-2]
	}
	if len(name) == 3 {
		var current string
		if err := conn.QueryRowContext(ctx, "SELECT current_database()").Scan(&current); err != nil {
			return t, fmt.Errorf("read the database's name: %w", err)
		}
		if !strings.EqualFold(current, name[0]) {
			return t, errNoTable
		}
	}
	var oid, relkind string
	err := conn.QueryRowContext(ctx, postgresTable, schema, rel).Scan(&oid, &schema, &rel, &relkind, &t.noTransactions)
	if errors.Is(err, sql.ErrNoRows) {
		return t, errNoTable
	}
	if err != nil {
		return t, fmt.Errorf("find the table: %w", err)
	}
	t.name = schema + "." + rel
	t.from = d.quote(schema) + "." + d.quote(rel)
	t.partitioned = relkind == "p"
	t.identity = postgresTableIdentity(oid)
	t.view = relkind == "v" || relkind == "m" || relkind == "f"
	if t.columns, err = d.columns(ctx, conn, oid); err != nil {
		return t, err
	}
	if !t.view && slices.ContainsFunc(t.columns, func(c column) bool { return c.value.transaction }) {
		if err := d.warnTransactions(ctx, conn, oid, t.columns); err != nil {
			return t, err
		}
	}
	if err := d.indexes(ctx, conn, oid, &t); err != nil {
		return t, err
	}
	return t, nil
}

func (d postgres) columns(ctx context.Context, conn *sql.Conn, oid string) ([]column, error) {
	rows, err := conn.QueryContext(ctx, postgresColumns, oid)
	if err != nil {
		return nil, fmt.Errorf("read the columns: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what tells
	var columns []column
	for rows.Next() {
		var name, full string
		var notNull bool
		var t postgresType
		if err := rows.Scan(&name, &full, &notNull, &t.oid, &t.name, &t.class, &t.category, &t.schema); err != nil {
			return nil, fmt.Errorf("read the columns: %w", err)
		}
		columns = append(columns, column{name: name, typ: full, nullable: !notNull, value: t.value()})
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read the columns: %w", err)
	}
	return columns, nil
}

func (postgres) indexes(ctx context.Context, conn *sql.Conn, oid string, t *table) error {
	rows, err := conn.QueryContext(ctx, postgresIndexes, oid)
	if err != nil {
		return fmt.Errorf("read the indexes: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what tells
	broken := false
	for rows.Next() {
		var name, col string
		var unique, primary, partial, other bool
		var declared, n int
		if err := rows.Scan(&name, &unique, &primary, &partial, &declared, &n, &col, &other); err != nil {
			return fmt.Errorf("read the indexes: %w", err)
		}
		if n == 1 {
			t.indexes = append(t.indexes, index{name: name, unique: unique, declared: declared, partial: partial})
			broken = false
		}
		if primary {
			t.primaryKey = append(t.primaryKey, col)
		}
		broken = broken || other || col == ""
		if !broken {
			ix := &t.indexes[len(t.indexes)-1]
			ix.columns = append(ix.columns, col)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the indexes: %w", err)
	}
	return nil
}

const postgresTypes = `SELECT t.oid, t.typname, t.typtype::text, t.typcategory::text, n.nspname, pg_catalog.format_type(t.oid, NULL)
FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE t.oid::text = ANY(string_to_array($1, ','))`

// query prepares the query as a derived table, which runs nothing, and asks the catalog for the types of its columns.
// PostgreSQL reports a domain as its base type there.
func (d postgres) query(ctx context.Context, conn *sql.Conn, query string) (table, error) {
	var t table
	var oids []string
	var names []string
	err := conn.Raw(func(raw any) error {
		pg, err := pgxConn(raw)
		if err != nil {
			return err
		}
		sd, err := pg.PgConn().Prepare(ctx, "", "SELECT * FROM (\n"+query+"\n) AS r", nil)
		if err != nil {
			return err
		}
		for _, f := range sd.Fields {
			names = append(names, f.Name)
			oids = append(oids, fmt.Sprint(f.DataTypeOID))
		}
		return nil
	})
	if err != nil {
		return t, fmt.Errorf("prepare the query: %w", err)
	}
	rows, err := conn.QueryContext(ctx, postgresTypes, strings.Join(oids, ","))
	if err != nil {
		return t, fmt.Errorf("read the types: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what tells
	types := map[string]column{}
	for rows.Next() {
		var pt postgresType
		var full string
		if err := rows.Scan(&pt.oid, &pt.name, &pt.class, &pt.category, &pt.schema, &full); err != nil {
			return t, fmt.Errorf("read the types: %w", err)
		}
		types[fmt.Sprint(pt.oid)] = column{typ: full, nullable: true, value: pt.value()}
	}
	if err := rows.Err(); err != nil {
		return t, fmt.Errorf("read the types: %w", err)
	}
	for i, name := range names {
		c := types[oids[i]]
		c.name = name
		t.columns = append(t.columns, c)
	}
	return t, nil
}

// pgxConn takes pgx's connection out of database/sql's.
func pgxConn(raw any) (*pgx.Conn, error) {
	c, ok := raw.(interface{ Conn() *pgx.Conn })
	if !ok {
		return nil, fmt.Errorf("the connection is a %T, not pgx's", raw)
	}
	return c.Conn(), nil
}

var _ interface{ Conn() *pgx.Conn } = (*stdlib.Conn)(nil)
