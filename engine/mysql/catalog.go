package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
)

const (
	// The name in the file system's case: on servers that fold names the setting's case may differ.
	tableSQL = `SELECT t.TABLE_SCHEMA, t.TABLE_NAME, t.TABLE_TYPE, COALESCE(t.ENGINE, ''), VERSION(), COALESCE(CAST(t.CREATE_TIME AS CHAR), '')
FROM information_schema.TABLES t
WHERE t.TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND t.TABLE_NAME = ?
ORDER BY t.TABLE_NAME`

	createdSQL = `SELECT COALESCE(CAST(t.CREATE_TIME AS CHAR), '')
FROM information_schema.TABLES t
WHERE t.TABLE_SCHEMA = ? AND t.TABLE_NAME = ?`

	columnsSQL = `SELECT c.COLUMN_NAME, LOWER(c.DATA_TYPE), c.COLUMN_TYPE, COALESCE(c.DATETIME_PRECISION, c.NUMERIC_SCALE, 0),
	COALESCE(c.NUMERIC_PRECISION, 0), c.IS_NULLABLE = 'YES', LOWER(c.EXTRA) LIKE '%on update%',
	COALESCE(c.COLLATION_NAME, ''), c.EXTRA LIKE '% GENERATED%', COALESCE(c.GENERATION_EXPRESSION, '') = 'ROW END'
FROM information_schema.COLUMNS c
WHERE c.TABLE_SCHEMA = ? AND c.TABLE_NAME = ?
ORDER BY c.ORDINAL_POSITION`

	// %s is what hides an index from the optimiser: MySQL's IS_VISIBLE, MariaDB's IGNORED.
	indexesSQL = `SELECT s.INDEX_NAME, s.NON_UNIQUE = 0, COALESCE(s.COLUMN_NAME, ''), s.SUB_PART IS NOT NULL, COALESCE(s.COLLATION, ''),
	s.INDEX_TYPE, %s
FROM information_schema.STATISTICS s
WHERE s.TABLE_SCHEMA = ? AND s.TABLE_NAME = ?
ORDER BY s.INDEX_NAME <> 'PRIMARY', s.INDEX_NAME, s.SEQ_IN_INDEX`

	// MariaDB's JSON is a longtext with this check of the column.
	mariadbJSON = `SELECT k.CONSTRAINT_NAME, k.CHECK_CLAUSE
FROM information_schema.CHECK_CONSTRAINTS k
WHERE k.CONSTRAINT_SCHEMA = ? AND k.TABLE_NAME = ? AND k.LEVEL = 'Column'`
)

// Table implements engine.Dialect.
func (d Dialect) Table(ctx context.Context, conn *sql.Conn, name []string) (engine.Table, error) {
	var t engine.Table
	schema, wanted := "", ""
	switch len(name) {
	case 1:
		wanted = name[0]
	case 2:
		schema, wanted = name[0], name[1]
	default:
		return t, fmt.Errorf("%w: a name has at most two parts here, database.table", change.ErrConfig)
	}
	var storage, version string
	found := false
	err := engine.EachRow(ctx, conn, tableSQL, []any{schema, wanted}, func(scan func(...any) error) error {
		var s, n, kind, e, v, made string
		if err := scan(&s, &n, &kind, &e, &v, &made); err != nil {
			return err
		}
		if !found || n == wanted {
			found, schema, t.Name, storage, version = true, s, n, e, v
			t.View = strings.Contains(kind, "VIEW")
			t.Identity = tableIdentity(made)
		}
		return nil
	})
	if err != nil {
		return t, fmt.Errorf("find the table: %w", err)
	}
	if !found {
		return t, engine.ErrNoTable
	}
	rel := t.Name
	t.Identify = func(ctx context.Context, conn *sql.Conn) (string, error) {
		var made string
		err := conn.QueryRowContext(ctx, createdSQL, schema, rel).Scan(&made)
		if errors.Is(err, sql.ErrNoRows) {
			return "", nil
		}
		return tableIdentity(made), err
	}
	t.Name, t.From = schema+"."+rel, quote(schema)+"."+quote(rel)
	isJSON := map[string]bool{}
	hidden := "s.IS_VISIBLE = 'NO'"
	if isMariaDB(version) {
		hidden = "s.IGNORED = 'YES'"
		if isJSON, err = mariadbJSONColumns(ctx, conn, schema, rel); err != nil {
			return t, fmt.Errorf("read the table's checks: %w", err)
		}
	}
	until := "" // the column that says until when a row of a system-versioned table was the newest
	err = engine.EachRow(ctx, conn, columnsSQL, []any{schema, rel}, func(scan func(...any) error) error {
		var c engine.Column
		var typ Type
		var ends bool
		if err := scan(&c.Name, &typ.Data, &typ.Full, &typ.Scale, &typ.Precision, &c.Nullable, &c.Moving,
			&c.Collation, &c.Computed, &ends); err != nil {
			return err
		}
		if ends {
			until = c.Name
		}
		if c.Sorted = sortedBy(c.Collation); comparesBytes(c.Collation) {
			c.Collation = ""
		}
		typ.JSON = isJSON[c.Name]
		c.Type, c.Value = typ.Full, typ.Value()
		t.Columns = append(t.Columns, c)
		return nil
	})
	if err != nil {
		return t, fmt.Errorf("read the table's columns: %w", err)
	}
	if err := d.indexes(ctx, conn, engine.Fill(indexesSQL, hidden), schema, rel, storage, until, &t); err != nil {
		return t, fmt.Errorf("read the table's indexes: %w", err)
	}
	return t, nil
}

// comparesBytes says that a collation holds no different texts equal. Others that end in _bin pass over blanks at the
// end of a text.
func comparesBytes(collation string) bool {
	return strings.HasSuffix(collation, "_nopad_bin") || collation == "utf8mb4_0900_bin" || collation == "binary"
}

// sortedBy is a collation by the name that it keeps: utf8_bin is called utf8mb3_bin since MySQL 8.0.30 and MariaDB
// 10.6, and sorts as it did.
func sortedBy(collation string) string {
	if rest, renamed := strings.CutPrefix(collation, "utf8mb3_"); renamed {
		return "utf8_" + rest
	}
	return collation
}

// tableIdentity is the identity of a table by its CREATE_TIME; "" where it has none.
func tableIdentity(made string) string {
	if made == "" {
		return ""
	}
	return "created " + made
}

// mariadbJSONColumns finds the columns that were declared JSON.
func mariadbJSONColumns(ctx context.Context, conn *sql.Conn, schema, rel string) (map[string]bool, error) {
	found := map[string]bool{}
	err := engine.EachRow(ctx, conn, mariadbJSON, []any{schema, rel}, func(scan func(...any) error) error {
		var name, clause string
		if err := scan(&name, &clause); err != nil {
			return err
		}
		// Under ANSI_QUOTES the server writes names of clauses between double quotes.
		ansi := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		if strings.EqualFold(clause, "json_valid("+quote(name)+")") || strings.EqualFold(clause, "json_valid("+ansi+")") {
			found[name] = true
		}
		return nil
	})
	return found, err
}

// indexes reads the table's. MariaDB adds until to those that are unique, for the rows of the past. The newest are
// unique without it, and a trigger on their DELETE finds another value in it.
func (Dialect) indexes(ctx context.Context, conn *sql.Conn, text, schema, rel, storage, until string,
	t *engine.Table) error {
	type state struct {
		engine.Index
		ended, cut bool
	}
	var all []*state
	err := engine.EachRow(ctx, conn, text, []any{schema, rel}, func(scan func(...any) error) error {
		var name, col, collation, kind string
		var unique, prefix, hidden bool
		if err := scan(&name, &unique, &col, &prefix, &collation, &kind, &hidden); err != nil {
			return err
		}
		if n := len(all); n == 0 || all[n-1].Name != name {
			all = append(all, &state{Index: engine.Index{Name: name, Unique: unique, Partial: hidden || kind != "BTREE"}})
		}
		if until != "" && unique && col == until {
			return nil
		}
		ix := all[len(all)-1]
		ix.Declared++
		if name == "PRIMARY" {
			t.PrimaryKey = append(t.PrimaryKey, col)
		}
		ix.cut = ix.cut || prefix || col == ""
		ix.Whole = append(ix.Whole, col)
		// A prefix, an expression or a descending column ends what the index says about the order.
		if ix.ended = ix.ended || prefix || col == "" || collation == "D"; !ix.ended {
			ix.Columns = append(ix.Columns, col)
		}
		return nil
	})
	for _, ix := range all {
		if ix.cut {
			ix.Whole = nil
		}
		if strings.EqualFold(storage, "InnoDB") && !ix.ended {
			for _, c := range t.PrimaryKey {
				if !slices.Contains(ix.Columns, c) {
					ix.Columns = append(ix.Columns, c)
				}
			}
		}
		t.Indexes = append(t.Indexes, ix.Index)
	}
	return err
}

// Query describes a query as it will be used, by a run that returns no row: both families leave a LIMIT 0 at once.
func (Dialect) Query(ctx context.Context, conn *sql.Conn, query string) (t engine.Table, err error) {
	t.Name = "query"
	rows, err := conn.QueryContext(ctx, describeSQL(query))
	if err != nil {
		return t, fmt.Errorf("describe the query: %w", err)
	}
	defer func() {
		if closed := rows.Close(); err == nil && closed != nil {
			err = fmt.Errorf("describe the query: %w", closed)
		}
	}()
	types, err := rows.ColumnTypes()
	if err != nil {
		return t, fmt.Errorf("describe the query: %w", err)
	}
	if len(types) == 0 {
		return t, fmt.Errorf("%w: source__query returns no columns: it must be one SELECT", change.ErrConfig)
	}
	for _, ct := range types {
		typ := Type{Data: protocolType(ct.DatabaseTypeName()), Full: strings.ToLower(ct.DatabaseTypeName())}
		if precision, scale, ok := ct.DecimalSize(); ok && scale <= 30 {
			typ.Scale = int(scale)
			if typ.Data == "decimal" {
				typ.Precision = int(min(precision, 65))
			}
		}
		nullable, known := ct.Nullable()
		t.Columns = append(t.Columns, engine.Column{Name: ct.Name(), Type: typ.Full, Nullable: nullable || !known,
			Value: typ.Value()})
	}
	return t, rows.Err()
}

func describeSQL(query string) string { return "SELECT r.*\nFROM (\n" + query + "\n) AS r\nLIMIT 0" }

// protocolType is the type of a result's column, as go-sql-driver names it, in the words of the catalog.
func protocolType(name string) string {
	return strings.TrimPrefix(strings.ToLower(name), "unsigned ")
}

const listSQL = `SELECT table_schema, table_name, CASE WHEN table_schema = DATABASE() THEN 1 ELSE 0 END
FROM information_schema.tables WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')
	AND table_schema NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema')
ORDER BY table_schema, table_name`

// Tables implements engine.Lister.
func (Dialect) Tables(ctx context.Context, conn *sql.Conn) ([]engine.TableName, error) {
	return engine.ListTables(ctx, conn, listSQL)
}
