package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/rowrelay/rowrelay/engine"
)

// tableSQL finds a table by name on the search path, or in the schema given; an unquoted name in another case is
// found too, unless it is ambiguous.
const tableSQL = `SELECT c.oid::text, n.nspname, c.relname, c.relkind::text, pg_catalog.to_regtype('xid8') IS NULL,
	pg_catalog.row_security_active(c.oid),
	c.relkind = 'r' AND NOT c.relhassubclass AND pg_catalog.has_table_privilege(c.oid, 'SELECT')
	AND coalesce((SELECT a.amname = 'heap' FROM pg_catalog.pg_am a WHERE a.oid = c.relam), false) ` + plainSQL + `,
	coalesce((` + childSQL + `), ''), ` + replicatedSQL + `
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
AND (CASE WHEN $1 = '' THEN pg_catalog.pg_table_is_visible(c.oid) ` +
	`ELSE n.nspname = $1 OR lower(n.nspname) = lower($1) END)
AND (c.relname = $2 OR lower(c.relname) = lower($2))
ORDER BY (c.relname = $2) DESC, (n.nspname = $1) DESC, n.nspname, c.relname LIMIT 1`

// childSQL names a table whose rows are read and written as rows of the table, and stand in no index of it. Partitions,
// and chunks of TimescaleDB, are left out: each has the index, and no two of them can have one key.
const childSQL = `SELECT h.inhrelid::regclass::text FROM pg_catalog.pg_inherits h
	JOIN pg_catalog.pg_class k ON k.oid = h.inhrelid JOIN pg_catalog.pg_namespace m ON m.oid = k.relnamespace
	WHERE h.inhparent = c.oid AND c.relkind <> 'p' AND m.nspname <> '_timescaledb_internal' ORDER BY h.inhrelid LIMIT 1`

// replicatedSQL looks at the partitions, too: a subscription may write these.
const replicatedSQL = `EXISTS (WITH RECURSIVE part(id) AS (
	SELECT c.oid UNION ALL SELECT h.inhrelid FROM pg_catalog.pg_inherits h JOIN part ON h.inhparent = part.id
) SELECT 1 FROM part JOIN pg_catalog.pg_class l ON l.oid = part.id WHERE l.relkind = 'f'
	OR EXISTS (SELECT 1 FROM pg_catalog.pg_subscription_rel r WHERE r.srrelid = part.id))`

// plainSQL leaves out products whose rows bear numbers of another server's transactions, or whose log is safe
// elsewhere: Citus, YugabyteDB, Neon.
const plainSQL = `AND pg_catalog.to_regclass('pg_catalog.pg_dist_partition') IS NULL
	AND pg_catalog.version() NOT LIKE '%-YB-%' AND current_setting('neon.tenant_id', true) IS NULL`

// A domain is what it is a domain of (typbasetype, as deep as it goes); the type's schema is told for what lives
// outside pg_catalog. Servers before PostgreSQL 12 have no column collisdeterministic. The collation is also that of a
// unique index: an upsert goes by all that have its columns, whatever their collations. OFFSET 0 has each collation
// found by its number: there are hundreds, and to look into all of them for each column of a wide table took most of a
// second.
const columnsSQL = `WITH RECURSIVE base AS (
	SELECT a.attnum, a.attname, a.attnotnull, a.attcollation, a.atttypmod AS mod, a.atttypid AS typ,
		pg_catalog.format_type(a.atttypid, a.atttypmod) AS full_type,
		coalesce(pg_catalog.to_jsonb(a) ->> 'attgenerated', '') AS generated
	FROM pg_catalog.pg_attribute a WHERE a.attrelid = $1::text::oid AND a.attnum > 0 AND NOT a.attisdropped
), resolved AS (
	SELECT b.*, b.typ AS base_typ, t.typnotnull AS domain_notnull
	FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.typ
	UNION ALL
	SELECT r.attnum, r.attname, r.attnotnull, r.attcollation, CASE WHEN r.mod = -1 THEN t.typtypmod ELSE r.mod END, r.typ,
		r.full_type, r.generated, t.typbasetype, r.domain_notnull OR t.typnotnull
	FROM resolved r JOIN pg_catalog.pg_type t ON t.oid = r.base_typ WHERE t.typtype = 'd'
), odd AS (
	SELECT DISTINCT ON (c.attnum) c.attnum, m.nspname || '.' || l.collname AS name
	FROM (SELECT 0 AS n, b.attnum, b.attcollation AS id FROM base b
		UNION ALL
		SELECT 1, k.attnum, k.id FROM pg_catalog.pg_index i
		CROSS JOIN LATERAL unnest(i.indkey::smallint[], i.indcollation::oid[]) AS k(attnum, id)
		WHERE i.indrelid = $1::text::oid AND i.indisunique) AS c
	CROSS JOIN LATERAL (SELECT d.oid, d.collname, d.collnamespace, pg_catalog.to_jsonb(d) AS told
		FROM pg_catalog.pg_collation d WHERE d.oid = c.id OFFSET 0) AS l
	JOIN pg_catalog.pg_namespace m ON m.oid = l.collnamespace
	WHERE l.told ->> 'collisdeterministic' = 'false' ORDER BY c.attnum, c.n, l.oid
)
SELECT r.attname, r.full_type, r.attnotnull OR r.domain_notnull, r.base_typ, t.typname, t.typtype::text, t.typcategory::text, n.nspname,
	CASE WHEN t.typname = 'citext' THEN 'citext' ELSE coalesce(odd.name, '') END,
	CASE WHEN r.typ <> r.base_typ THEN pg_catalog.format_type(r.base_typ, r.mod) ELSE '' END,
	r.generated <> '', r.generated = 'v', coalesce((SELECT sn.nspname || '.' || so.collname
		FROM pg_catalog.pg_collation so JOIN pg_catalog.pg_namespace sn ON sn.oid = so.collnamespace
		WHERE so.oid = r.attcollation), '')
FROM resolved r JOIN pg_catalog.pg_type t ON t.oid = r.base_typ JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
LEFT JOIN odd ON odd.attnum = r.attnum
WHERE t.typtype <> 'd' ORDER BY r.attnum`

// indexesSQL tells each index's key columns in order up to the first that does not read ascending (DESC, an
// expression, a foreign operator class), a NULLS FIRST counted as such.
const indexesSQL = `SELECT ic.relname, i.indisunique, i.indisprimary, i.indisvalid,
	i.indpred IS NOT NULL OR NOT i.indisvalid OR NOT i.indisready OR am.amname <> 'btree',
	i.indnkeyatts, k.n, coalesce(a.attname, ''),
	(i.indoption[k.n - 1] & 3) <> 0 OR i.indcollation[k.n - 1] <> coalesce(a.attcollation, 0) OR NOT o.opcdefault
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class ic ON ic.oid = i.indexrelid JOIN pg_catalog.pg_am am ON am.oid = ic.relam
CROSS JOIN LATERAL generate_series(1, i.indnkeyatts::int) AS k(n)
JOIN pg_catalog.pg_opclass o ON o.oid = i.indclass[k.n - 1]
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k.n - 1] ` +
	`AND i.indkey[k.n - 1] <> 0
WHERE i.indrelid = $1::text::oid ORDER BY i.indisprimary DESC, ic.relname, k.n`

// Table implements engine.Dialect.
func (d Dialect) Table(ctx context.Context, conn *sql.Conn, name []string) (engine.Table, error) {
	var t engine.Table
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
			return t, engine.ErrNoTable
		}
	}
	var oid, relkind, child string
	var heap bool
	err := conn.QueryRowContext(ctx, tableSQL, schema, rel).Scan(&oid, &schema, &rel, &relkind, &t.NoTransactions,
		&t.RowSecurity, &heap, &child, &t.Replicated)
	if errors.Is(err, sql.ErrNoRows) {
		return t, engine.ErrNoTable
	}
	if err != nil {
		return t, fmt.Errorf("find the table: %w", err)
	}
	t.Name = schema + "." + rel
	t.From = quote(schema) + "." + quote(rel)
	t.Partitioned = relkind == "p"
	t.Identity = tableIdentity(oid)
	t.Identifying = "'" + tableIdentity("") + "' || '" + strings.ReplaceAll(t.From, "'", "''") + "'::regclass::oid"
	if heap && !t.RowSecurity {
		t.Writer = WriterOf(oid)
	}
	if child != "" {
		t.Unproved = fmt.Sprintf("%s inherits from it, so that its rows are rows of %s as well, and no index holds both: ALTER "+
			"TABLE %[1]s NO INHERIT %[3]s, or make it a partition. In cursor mode a source__query can read FROM ONLY %[3]s",
			child, t.Name, t.From)
	}
	t.View = relkind == "v" || relkind == "m" || relkind == "f"
	if t.Columns, err = d.columns(ctx, conn, oid); err != nil {
		return t, err
	}
	if !t.View && slices.ContainsFunc(t.Columns, func(c engine.Column) bool { return c.Value.Transaction }) {
		if err := d.warnTransactions(ctx, conn, oid, t.Columns); err != nil {
			return t, err
		}
	}
	if err := d.indexes(ctx, conn, oid, &t); err != nil {
		return t, err
	}
	return t, nil
}

func (d Dialect) columns(ctx context.Context, conn *sql.Conn, oid string) (columns []engine.Column, err error) {
	err = engine.EachRow(ctx, conn, columnsSQL, []any{oid}, func(scan func(...any) error) error {
		var name, full, collation, base, sorted string
		var notNull, computed, virtual bool
		var t Type
		err := scan(&name, &full, &notNull, &t.OID, &t.Name, &t.Class, &t.Category, &t.Schema, &collation, &base,
			&computed, &virtual, &sorted)
		columns = append(columns, engine.Column{Name: name, Type: full, Base: base, Nullable: !notNull,
			Collation: collation, Sorted: sorted, Enum: t.Class == "e" && base == "", Computed: computed, Unwatched: virtual,
			Value: t.Value()})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the columns: %w", err)
	}
	return columns, nil
}

func (Dialect) indexes(ctx context.Context, conn *sql.Conn, oid string, t *engine.Table) error {
	rows, err := conn.QueryContext(ctx, indexesSQL, oid)
	if err != nil {
		return fmt.Errorf("read the indexes: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what tells
	broken := false
	for rows.Next() {
		var name, col string
		var unique, primary, valid, partial, other bool
		var declared, n int
		if err := rows.Scan(&name, &unique, &primary, &valid, &partial, &declared, &n, &col, &other); err != nil {
			return fmt.Errorf("read the indexes: %w", err)
		}
		if n == 1 {
			t.Indexes = append(t.Indexes, engine.Index{Name: name, Unique: unique, Declared: declared, Partial: partial})
			broken = false
		}
		if primary {
			t.PrimaryKey = append(t.PrimaryKey, col)
			if !valid { // ADD PRIMARY KEY was said of ONLY the parent
				t.Unproved = "its primary key is not valid, because partitions lack it: give each of them the key, and attach that " +
					"by ALTER INDEX " + quote(name) + " ATTACH PARTITION"
			}
		}
		broken = broken || other || col == ""
		if !broken {
			ix := &t.Indexes[len(t.Indexes)-1]
			ix.Columns = append(ix.Columns, col)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the indexes: %w", err)
	}
	return nil
}

const typesByOID = `SELECT t.oid, t.typname, t.typtype::text, t.typcategory::text, n.nspname, pg_catalog.format_type(t.oid, NULL)
FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace ` +
	`WHERE t.oid::text = ANY(string_to_array($1, ','))`

// Query prepares the query as a derived table, which runs nothing, and asks the catalog for the types of its columns.
// PostgreSQL reports a domain as its base type there.
func (d Dialect) Query(ctx context.Context, conn *sql.Conn, query string) (engine.Table, error) {
	var t engine.Table
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
	types := map[string]engine.Column{}
	err = engine.EachRow(ctx, conn, typesByOID, []any{strings.Join(oids, ",")}, func(scan func(...any) error) error {
		var pt Type
		var full string
		err := scan(&pt.OID, &pt.Name, &pt.Class, &pt.Category, &pt.Schema, &full)
		types[fmt.Sprint(pt.OID)] = engine.Column{Type: full, Nullable: true, Value: pt.Value()}
		return err
	})
	if err != nil {
		return t, fmt.Errorf("read the types: %w", err)
	}
	for i, name := range names {
		c := types[oids[i]]
		c.Name = name
		t.Columns = append(t.Columns, c)
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

const listSQL = `SELECT n.nspname, c.relname, CASE WHEN n.nspname = current_schema() THEN 1 ELSE 0 END
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'
	AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND has_any_column_privilege(c.oid, 'SELECT')
ORDER BY n.nspname, c.relname`

// Tables implements engine.Lister.
func (Dialect) Tables(ctx context.Context, conn *sql.Conn) ([]engine.TableName, error) {
	return engine.ListTables(ctx, conn, listSQL)
}
