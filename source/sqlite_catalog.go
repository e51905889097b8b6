package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/sqltext"
)

func (d sqliteDialect) table(ctx context.Context, conn *sql.Conn, name []string) (table, error) {
	schema, rel := "main", name[len(name)-1]
	if len(name) > 2 {
		return table{}, errNoTable
	}
	if len(name) == 2 {
		schema = name[0]
	}
	var typ, ddl string
	var withoutRowid bool
	err := conn.QueryRowContext(ctx, `SELECT l.name, l.type, l.wr, coalesce(m.sql, '') FROM pragma_table_list(?2) l
		LEFT JOIN `+d.quote(schema)+`.sqlite_master m ON m.name = l.name AND m.type IN ('table', 'view')
		WHERE l.schema = ?1 COLLATE NOCASE AND l.type IN ('table', 'view', 'virtual')`, schema, rel).Scan(&rel, &typ, &withoutRowid, &ddl)
	if errors.Is(err, sql.ErrNoRows) || (err != nil && strings.Contains(err.Error(), "no such table")) {
		return table{}, errNoTable
	}
	if err != nil {
		return table{}, fmt.Errorf("find the table: %w", err)
	}
	t := table{name: rel, from: d.quote(rel), view: typ == "view", looseKey: !withoutRowid}
	if !strings.EqualFold(schema, "main") {
		t.name, t.from = schema+"."+rel, d.quote(schema)+"."+d.quote(rel)
	}
	if err := d.columns(ctx, conn, schema, rel, &t); err != nil {
		return t, err
	}
	keyIndex, err := d.indexes(ctx, conn, schema, rel, &t)
	if err != nil {
		return t, err
	}
	d.rowid(&t, keyIndex, ddl)
	return t, nil
}

func (d sqliteDialect) columns(ctx context.Context, conn *sql.Conn, schema, rel string, t *table) error {
	rows, err := conn.QueryContext(ctx, `SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?2, ?1) WHERE hidden <> 1 ORDER BY cid`, schema, rel)
	if err != nil {
		return fmt.Errorf("read the columns: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what tells
	keys := map[int]string{}
	for rows.Next() {
		var c column
		var notNull bool
		var pk int
		if err := rows.Scan(&c.name, &c.typ, &notNull, &pk); err != nil {
			return fmt.Errorf("read the columns: %w", err)
		}
		c.nullable, c.value = !notNull && (pk == 0 || t.looseKey), sqliteValue(c.typ)
		t.columns = append(t.columns, c)
		if pk > 0 {
			keys[pk] = c.name
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the columns: %w", err)
	}
	for n := 1; n <= len(keys); n++ {
		t.primaryKey = append(t.primaryKey, keys[n])
	}
	return nil
}

// indexes reads the indexes; keyIndex says that the primary key has one of its own, so that it is not the rowid.
func (sqliteDialect) indexes(ctx context.Context, conn *sql.Conn, schema, rel string, t *table) (keyIndex bool, err error) {
	rows, err := conn.QueryContext(ctx, `SELECT l.name, l."unique", l.origin, l.partial, x.seqno, coalesce(x.name, ''), x.cid, x."desc", x."key"
		FROM pragma_index_list(?2, ?1) l, pragma_index_xinfo(l.name, ?1) x ORDER BY l.seq, x.seqno`, schema, rel)
	if err != nil {
		return false, fmt.Errorf("read the indexes: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what tells
	broken := false
	for rows.Next() {
		var name, origin, col string
		var unique, partial, desc, key bool
		var n, cid int
		if err := rows.Scan(&name, &unique, &origin, &partial, &n, &col, &cid, &desc, &key); err != nil {
			return false, fmt.Errorf("read the indexes: %w", err)
		}
		if n == 0 {
			t.indexes = append(t.indexes, index{name: name, unique: unique, partial: partial})
			broken = false
		}
		keyIndex = keyIndex || origin == "pk"
		ix := &t.indexes[len(t.indexes)-1]
		if key {
			ix.declared++
		}
		// cid −1 is the rowid, which has its column's name only after rowid found it; −2 is an expression.
		broken = broken || desc || cid == -2
		if !broken {
			ix.columns = append(ix.columns, col)
		}
	}
	if err := rows.Err(); err != nil {
		return false, fmt.Errorf("read the indexes: %w", err)
	}
	return keyIndex, nil
}

// rowid finds the column that is the rowid itself: the one INTEGER PRIMARY KEY of a table with rowids. It is never NULL,
// and stands at the end of every index. Without AUTOINCREMENT an id is given again after the row that had it is deleted.
func (d sqliteDialect) rowid(t *table, keyIndex bool, ddl string) {
	alias := ""
	for i := range t.columns {
		c := &t.columns[i]
		if t.looseKey && !keyIndex && len(t.primaryKey) == 1 && c.name == t.primaryKey[0] && strings.EqualFold(c.typ, "INTEGER") {
			alias, c.nullable = c.name, false
			if c.serial = d.autoincrement(ddl); !c.serial {
				c.value.cursorWarning = "is an INTEGER PRIMARY KEY without AUTOINCREMENT: after the newest row is deleted its id is given again, and that row is never seen; add AUTOINCREMENT, or name another column"
			}
		}
	}
	for i := range t.indexes {
		ix := &t.indexes[i]
		for n, name := range ix.columns {
			if name == "" && alias == "" {
				ix.columns = ix.columns[:n]
				break
			}
			if name == "" {
				ix.columns[n] = alias
			}
		}
	}
	if alias != "" {
		t.indexes = append(t.indexes, index{name: "the rowid", columns: []string{alias}, unique: true, declared: 1})
	}
}

func (sqliteDialect) autoincrement(ddl string) bool {
	text := sqltext.SQLite.Scan(ddl)
	return text.Broken == "" && slices.ContainsFunc(text.Words, func(w sqltext.Word) bool { return w.Text == "autoincrement" })
}

// query reads no row: what SQLite tells of a query's columns is the declared type of those that are a table's own.
func (d sqliteDialect) query(ctx context.Context, conn *sql.Conn, query string) (table, error) {
	var t table
	rows, err := conn.QueryContext(ctx, "SELECT * FROM (\n"+query+"\n) AS r LIMIT 0")
	if err != nil {
		return t, fmt.Errorf("prepare the query: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what tells
	types, err := rows.ColumnTypes()
	if err != nil {
		return t, fmt.Errorf("read the query's columns: %w", err)
	}
	for _, ct := range types {
		declared := ct.DatabaseTypeName()
		t.columns = append(t.columns, column{name: ct.Name(), typ: declared, nullable: true, value: sqliteValue(declared)})
	}
	if err := rows.Err(); err != nil {
		return t, fmt.Errorf("read the query's columns: %w", err)
	}
	return t, nil
}
