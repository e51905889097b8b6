package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/sqltext"
)

// Table implements engine.Dialect.
func (d Dialect) Table(ctx context.Context, conn *sql.Conn, name []string) (engine.Table, error) {
	schema, rel := "main", name[len(name)-1]
	if len(name) > 2 {
		return engine.Table{}, engine.ErrNoTable
	}
	if len(name) == 2 {
		schema = name[0]
	}
	var server engine.Server // as it is before the catalog is read: what changes meanwhile shows later
	if err := d.Refresh(ctx, conn, &server); err != nil {
		return engine.Table{}, err
	}
	var typ, ddl string
	var withoutRowid, strict bool
	err := conn.QueryRowContext(ctx, `SELECT l.name, l.type, l.wr, l.strict, coalesce(m.sql, '') FROM pragma_table_list(?2) l
		LEFT JOIN `+quote(schema)+`.sqlite_master m ON m.name = l.name AND m.type IN ('table', 'view')
		WHERE l.schema = ?1 COLLATE NOCASE AND l.type IN ('table', 'view', 'virtual')`,
		schema, rel).Scan(&rel, &typ, &withoutRowid, &strict, &ddl)
	if errors.Is(err, sql.ErrNoRows) || (err != nil && strings.Contains(err.Error(), "no such table")) {
		return engine.Table{}, engine.ErrNoTable
	}
	if err != nil {
		return engine.Table{}, fmt.Errorf("find the table: %w", err)
	}
	t := engine.Table{Name: rel, From: quote(rel), View: typ == "view", LooseKey: !withoutRowid, Strict: strict,
		Identity: server.Table}
	if !strings.EqualFold(schema, "main") {
		t.Name, t.From = schema+"."+rel, quote(schema)+"."+quote(rel)
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

func (d Dialect) columns(ctx context.Context, conn *sql.Conn, schema, rel string, t *engine.Table) error {
	const text = `SELECT name, type, "notnull", pk, hidden > 1 FROM pragma_table_xinfo(?2, ?1)
		WHERE hidden <> 1 ORDER BY cid`
	keys := map[int]string{}
	err := engine.EachRow(ctx, conn, text, []any{schema, rel}, func(scan func(...any) error) error {
		var c engine.Column
		var notNull bool
		var pk int
		err := scan(&c.Name, &c.Type, &notNull, &pk, &c.Computed)
		c.Nullable, c.Value = !notNull && (pk == 0 || t.LooseKey), ValueOf(c.Type)
		t.Columns = append(t.Columns, c)
		if pk > 0 {
			keys[pk] = c.Name
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read the columns: %w", err)
	}
	for n := 1; n <= len(keys); n++ {
		t.PrimaryKey = append(t.PrimaryKey, keys[n])
	}
	return nil
}

// indexes reads the indexes. keyIndex says that the primary key has an index of its own, so that it is not the rowid.
func (Dialect) indexes(ctx context.Context, conn *sql.Conn, schema, rel string, t *engine.Table) (keyIndex bool,
	err error) {
	var all []indexed
	err = engine.EachRow(ctx, conn, `SELECT l.name, l."unique", l.origin, l.partial, x.seqno,
		coalesce(x.name, ''), x.cid, x."desc", x."key", coalesce(x.coll, 'BINARY')
		FROM pragma_index_list(?2, ?1) l, pragma_index_xinfo(l.name, ?1) x ORDER BY l.seq, x.seqno`, []any{schema, rel},
		func(scan func(...any) error) error {
			var x indexed
			err := scan(&x.index, &x.unique, &x.origin, &x.partial, &x.n, &x.column, &x.cid, &x.desc, &x.key, &x.collation)
			all = append(all, x)
			return err
		})
	if err != nil {
		return false, fmt.Errorf("read the indexes: %w", err)
	}
	own, err := collations(ctx, conn, t.From, all)
	if err != nil {
		return false, fmt.Errorf("read the collations: %w", err)
	}
	broken := false
	for i := range all {
		x := &all[i]
		if x.n == 0 {
			t.Indexes = append(t.Indexes, engine.Index{Name: x.index, Unique: x.unique, Partial: x.partial})
			broken = false
		}
		keyIndex = keyIndex || x.origin == "pk"
		ix := &t.Indexes[len(t.Indexes)-1]
		if x.key {
			ix.Declared++
		}
		// Statements compare by the column's own collation. Below another one texts may be apart that are equal for
		// statements. Only where the column's compares bytes, no index tells more texts apart.
		other := x.key && x.column != "" && !strings.EqualFold(x.collation, own[x.column])
		merging := other && x.unique && own[x.column] == binary
		if x.origin == "pk" && other && !merging {
			t.Unproved = fmt.Sprintf("its primary key holds texts of %q apart that are equal by the column's collation %s: make "+
				"the table anew with one collation for both", x.column, own[x.column])
		}
		// cid −1 is the rowid, which has its column's name only after rowid found it; −2 is an expression.
		broken = broken || x.desc || x.cid == -2 || other && !merging
		if !broken {
			ix.Columns = append(ix.Columns, x.column)
		}
		at := slices.IndexFunc(t.Columns, func(c engine.Column) bool { return c.Name == x.column })
		switch {
		case at < 0:
		case merging:
			t.Columns[at].Collation = x.collation // an upsert goes by the index
		case own[x.column] != binary:
			t.Columns[at].Collation = own[x.column]
		}
	}
	return keyIndex, nil
}

// indexed is one column of an index.
type indexed struct {
	index, origin, column, collation string
	unique, partial, desc, key       bool
	n, cid                           int
}

const binary = "BINARY"

// collations finds the columns' own collations, which no catalog tells. The rows of a UNION are compared by that of its
// first column, so that texts show which it is. The collation of an index stands for one that only the application
// knows: no statement of ours can compare by that.
func collations(ctx context.Context, conn *sql.Conn, from string, held []indexed) (map[string]string, error) {
	own := map[string]string{}
	for _, x := range held {
		if _, known := own[x.column]; known || x.column == "" {
			continue
		}
		same := func(other string) string {
			return "1 = (SELECT count(*) FROM (SELECT " + quote(x.column) + " FROM " + from +
				" WHERE 0 UNION SELECT 'a' UNION SELECT '" + other + "'))"
		}
		var found string
		err := conn.QueryRowContext(ctx, "SELECT CASE WHEN "+same("A")+" THEN 'NOCASE' WHEN "+same("a ")+
			" THEN 'RTRIM' ELSE '"+binary+"' END").Scan(&found)
		if err != nil && strings.Contains(err.Error(), "no such collation sequence") {
			found, err = x.collation, nil
		}
		if err != nil {
			return nil, err
		}
		own[x.column] = found
	}
	return own, nil
}

// rowid finds the column that is the rowid itself: the one INTEGER PRIMARY KEY of a table with rowids. It is never
// NULL, and stands at the end of every index. Without AUTOINCREMENT an id is given again after the row that had it is
// deleted.
func (d Dialect) rowid(t *engine.Table, keyIndex bool, ddl string) {
	alias := ""
	for i := range t.Columns {
		c := &t.Columns[i]
		if t.LooseKey && !keyIndex && len(t.PrimaryKey) == 1 && c.Name == t.PrimaryKey[0] &&
			strings.EqualFold(c.Type, "INTEGER") {
			alias, c.Nullable = c.Name, false
			if c.Serial = d.autoincrement(ddl); !c.Serial {
				c.Value.CursorWarning = "is an INTEGER PRIMARY KEY without AUTOINCREMENT: after the newest row is deleted its id is given again, and that row is never seen; add AUTOINCREMENT, or name another column"
			}
		}
	}
	for i := range t.Indexes {
		ix := &t.Indexes[i]
		for n, name := range ix.Columns {
			if name == "" && alias == "" {
				ix.Columns = ix.Columns[:n]
				break
			}
			if name == "" {
				ix.Columns[n] = alias
			}
		}
	}
	if alias != "" {
		t.Indexes = append(t.Indexes, engine.Index{Name: "the rowid", Columns: []string{alias}, Unique: true, Declared: 1})
	}
}

func (Dialect) autoincrement(ddl string) bool {
	text := sqltext.SQLite.Scan(ddl)
	return text.Broken == "" && slices.ContainsFunc(text.Words, func(w sqltext.Word) bool {
		return w.Text == "autoincrement"
	})
}

// Query reads no row: what SQLite tells of a query's columns is the declared type of those that are a table's own.
func (d Dialect) Query(ctx context.Context, conn *sql.Conn, query string) (engine.Table, error) {
	var t engine.Table
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
		t.Columns = append(t.Columns, engine.Column{Name: ct.Name(), Type: declared, Nullable: true,
			Value: ValueOf(declared)})
	}
	if err := rows.Err(); err != nil {
		return t, fmt.Errorf("read the query's columns: %w", err)
	}
	return t, nil
}

const listSQL = `SELECT schema, name, CASE WHEN schema = 'main' THEN 1 ELSE 0 END FROM pragma_table_list
WHERE type = 'table' AND schema <> 'temp' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY schema, name`

// Tables implements engine.Lister.
func (Dialect) Tables(ctx context.Context, conn *sql.Conn) ([]engine.TableName, error) {
	return engine.ListTables(ctx, conn, listSQL)
}

// Related is not asked: there is nothing to compare.
func (Dialect) Related([]string, []string) engine.Relation { return engine.AnotherDatabase }
