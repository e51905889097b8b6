package source

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/poller"
)

const (
	// The name in the file system's case: on servers that fold names the setting's case may differ.
	mysqlTable = `SELECT t.TABLE_SCHEMA, t.TABLE_NAME, t.TABLE_TYPE, COALESCE(t.ENGINE, ''), VERSION(), COALESCE(CAST(t.CREATE_TIME AS CHAR), '')
FROM information_schema.TABLES t
WHERE t.TABLE_SCHEMA = COALESCE(NULLIF(?, ''), DATABASE()) AND t.TABLE_NAME = ?
ORDER BY t.TABLE_NAME`

	mysqlCreated = `SELECT COALESCE(CAST(t.CREATE_TIME AS CHAR), '')
FROM information_schema.TABLES t
WHERE t.TABLE_SCHEMA = ? AND t.TABLE_NAME = ?`

	mysqlColumns = `SELECT c.COLUMN_NAME, LOWER(c.DATA_TYPE), c.COLUMN_TYPE, COALESCE(c.DATETIME_PRECISION, c.NUMERIC_SCALE, 0),
	COALESCE(c.NUMERIC_PRECISION, 0), c.IS_NULLABLE = 'YES', LOWER(c.EXTRA) LIKE '%on update%'
FROM information_schema.COLUMNS c
WHERE c.TABLE_SCHEMA = ? AND c.TABLE_NAME = ?
ORDER BY c.ORDINAL_POSITION`

	// %s is what hides an index from the optimiser: MySQL's IS_VISIBLE, MariaDB's IGNORED.
	mysqlIndexes = `SELECT s.INDEX_NAME, s.NON_UNIQUE = 0, COALESCE(s.COLUMN_NAME, ''), s.SUB_PART IS NOT NULL, COALESCE(s.COLLATION, ''),
	s.INDEX_TYPE, %s
FROM information_schema.STATISTICS s
WHERE s.TABLE_SCHEMA = ? AND s.TABLE_NAME = ?
ORDER BY s.INDEX_NAME <> 'PRIMARY', s.INDEX_NAME, s.SEQ_IN_INDEX`

	// MariaDB's JSON is a longtext with this check of the column.
	mariadbJSON = `SELECT k.CONSTRAINT_NAME, k.CHECK_CLAUSE
FROM information_schema.CHECK_CONSTRAINTS k
WHERE k.CONSTRAINT_SCHEMA = ? AND k.TABLE_NAME = ? AND k.LEVEL = 'Column'`
)

func (d mySQL) table(ctx context.Context, conn *sql.Conn, name []string) (table, error) {
	var t table
	schema, wanted := "", ""
	switch len(name) {
	case 1:
		wanted = name[0]
	case 2:
		schema, wanted = name[0], name[1]
	default:
		return t, fmt.Errorf("%w: a name has at most two parts here, database.table", poller.ErrConfig)
	}
	var engine, version string
	found := false
	err := eachRow(ctx, conn, mysqlTable, []any{schema, wanted}, func(scan func(...any) error) error {
		var s, n, kind, e, v, made string
		if err := scan(&s, &n, &kind, &e, &v, &made); err != nil {
			return err
		}
		if !found || n == wanted {
			found, schema, t.name, engine, version = true, s, n, e, v
			t.view = strings.Contains(kind, "VIEW")
			t.identity = mysqlIdentity(made)
		}
		return nil
	})
	if err != nil {
		return t, fmt.Errorf("find the table: %w", err)
	}
	if !found {
		return t, errNoTable
	}
	rel := t.name
	t.identify = func(ctx context.Context, conn *sql.Conn) (string, error) {
		var made string
		err := conn.QueryRowContext(ctx, mysqlCreated, schema, rel).Scan(&made)
		if errors.Is(err, sql.ErrNoRows) {
			return "", nil
		}
		return mysqlIdentity(made), err
	}
	t.name, t.from = schema+"."+rel, d.quote(schema)+"."+d.quote(rel)
	isJSON := map[string]bool{}
	hidden := "s.IS_VISIBLE = 'NO'"
	if isMariaDB(version) {
		hidden = "s.IGNORED = 'YES'"
		if isJSON, err = mariadbJSONColumns(ctx, conn, schema, rel); err != nil {
			return t, fmt.Errorf("read the table's checks: %w", err)
		}
	}
	err = eachRow(ctx, conn, mysqlColumns, []any{schema, rel}, func(scan func(...any) error) error {
		var c column
		var typ mySQLType
		if err := scan(&c.name, &typ.data, &typ.full, &typ.scale, &typ.precision, &c.nullable, &c.moving); err != nil {
			return err
		}
		typ.json = isJSON[c.name]
		c.typ, c.value = typ.full, typ.value()
		t.columns = append(t.columns, c)
		return nil
	})
	if err != nil {
		return t, fmt.Errorf("read the table's columns: %w", err)
	}
	if err := d.indexes(ctx, conn, fill(mysqlIndexes, hidden), schema, rel, engine, &t); err != nil {
		return t, fmt.Errorf("read the table's indexes: %w", err)
	}
	return t, nil
}

// mysqlIdentity is the identity of a table by its CREATE_TIME; "" where it has none.
func mysqlIdentity(made string) string {
	if made == "" {
		return ""
	}
	return "created " + made
}

// mariadbJSONColumns finds the columns that were declared JSON.
func mariadbJSONColumns(ctx context.Context, conn *sql.Conn, schema, rel string) (map[string]bool, error) {
	found := map[string]bool{}
	err := eachRow(ctx, conn, mariadbJSON, []any{schema, rel}, func(scan func(...any) error) error {
		var name, clause string
		if err := scan(&name, &clause); err != nil {
			return err
		}
		if strings.EqualFold(clause, "json_valid("+mySQL{}.quote(name)+")") {
			found[name] = true
		}
		return nil
	})
	return found, err
}

func (mySQL) indexes(ctx context.Context, conn *sql.Conn, text, schema, rel, engine string, t *table) error {
	type state struct {
		index
		ended bool
	}
	var all []*state
	err := eachRow(ctx, conn, text, []any{schema, rel}, func(scan func(...any) error) error {
		var name, col, collation, kind string
		var unique, prefix, hidden bool
		if err := scan(&name, &unique, &col, &prefix, &collation, &kind, &hidden); err != nil {
			return err
		}
		if n := len(all); n == 0 || all[n-1].name != name {
			all = append(all, &state{index: index{name: name, unique: unique, partial: hidden || kind != "BTREE"}})
		}
		ix := all[len(all)-1]
		ix.declared++
		if name == "PRIMARY" {
			t.primaryKey = append(t.primaryKey, col)
		}
		// A prefix, an expression or a descending column ends what the index says about the order.
		if ix.ended = ix.ended || prefix || col == "" || collation == "D"; !ix.ended {
			ix.columns = append(ix.columns, col)
		}
		return nil
	})
	for _, ix := range all {
		if strings.EqualFold(engine, "InnoDB") && !ix.ended {
			for _, c := range t.primaryKey {
				if !slices.Contains(ix.columns, c) {
					ix.columns = append(ix.columns, c)
				}
			}
		}
		t.indexes = append(t.indexes, ix.index)
	}
	return err
}

// query describes a query as it will be used, by a run that returns no row: both families leave a LIMIT 0 at once.
func (mySQL) query(ctx context.Context, conn *sql.Conn, query string) (t table, err error) {
	t.name = "query"
	rows, err := conn.QueryContext(ctx, mysqlDescribe(query))
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
		return t, fmt.Errorf("%w: source__query returns no columns: it must be one SELECT", poller.ErrConfig)
	}
	for _, ct := range types {
		typ := mySQLType{data: mysqlProtocolType(ct.DatabaseTypeName()), full: strings.ToLower(ct.DatabaseTypeName())}
		if precision, scale, ok := ct.DecimalSize(); ok && scale <= 30 {
			typ.scale = int(scale)
			if typ.data == "decimal" {
				typ.precision = int(min(precision, 65))
			}
		}
		nullable, known := ct.Nullable()
		t.columns = append(t.columns, column{name: ct.Name(), typ: typ.full, nullable: nullable || !known, value: typ.value()})
	}
	return t, rows.Err()
}

func mysqlDescribe(query string) string { return "SELECT r.*\nFROM (\n" + query + "\n) AS r\nLIMIT 0" }

// mysqlProtocolType is the type of a result's column, as go-sql-driver names it, in the words of the catalog.
func mysqlProtocolType(name string) string {
	return strings.TrimPrefix(strings.ToLower(name), "unsigned ")
}
