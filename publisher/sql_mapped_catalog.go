package publisher

import (
	"context"
	"fmt"
	"strings"
)

// catalogColumn is a column of the user's table, as the catalog tells it.
type catalogColumn struct {
	name string
	// typ is the full type as the engine writes it; kind what that is, of a domain what it is a domain of.
	typ      string
	kind     columnKind
	nullable bool
}

// A domain is told as the type below it, an enum as such: a parameter needs no cast there.
const postgresMappedColumns = `SELECT a.attname, CASE t.typtype WHEN 'd' THEN format_type(t.typbasetype, t.typtypmod) WHEN 'e' THEN 'enum'
	ELSE format_type(a.atttypid, a.atttypmod) END, NOT (a.attnotnull OR t.typnotnull)
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`

// SQLite says of a column of the primary key that it may be NULL, where that is not declared: of an INTEGER PRIMARY KEY it is
// not true, and of others nobody means it.
const sqliteMappedColumns = `SELECT name, type, "notnull" = 0 AND pk = 0 FROM pragma_table_info(?1) ORDER BY cid`

const sqlServerMappedColumns = `SELECT c.name, t.name + CASE
	WHEN t.name IN ('varchar', 'char', 'varbinary', 'binary') THEN '(' + CASE c.max_length WHEN -1 THEN 'max' ELSE CONVERT(varchar(10), c.max_length) END + ')'
	WHEN t.name IN ('nvarchar', 'nchar') THEN '(' + CASE c.max_length WHEN -1 THEN 'max' ELSE CONVERT(varchar(10), c.max_length / 2) END + ')'
	WHEN t.name IN ('datetime2', 'datetimeoffset') THEN '(' + CONVERT(varchar(10), c.scale) + ')'
	ELSE '' END, c.is_nullable
FROM sys.columns c JOIN sys.types t ON t.user_type_id = c.system_type_id
WHERE c.object_id = OBJECT_ID(@p1) ORDER BY c.column_id`

// mappedColumns reads the columns of a table in their order.
func mappedColumns(ctx context.Context, q querier, table name) ([]catalogColumn, error) {
	var list []catalogColumn
	engine := table.d.engine()
	add := func(column, typ string, nullable bool) {
		list = append(list, catalogColumn{column, typ, kindOf(engine, typ), nullable})
	}
	text, argument := postgresMappedColumns, table.String()
	switch engine {
	case "mysql":
		return mysqlMappedColumns(ctx, q, table)
	case "sqlserver":
		text = sqlServerMappedColumns
	case "sqlite":
		text, argument = sqliteMappedColumns, table.base()
	}
	s := &statement{d: table.d, args: []any{argument}}
	err := s.add(text).each(ctx, q, func(scan func(...any) error) (bool, error) {
		var column, typ string
		var nullable bool
		if err := scan(&column, &typ, &nullable); err != nil {
			return false, err
		}
		add(column, typ, nullable)
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the columns of %s: %w", table, err)
	}
	return list, nil
}

// mysqlMappedColumns reads what SHOW COLUMNS tells: of six columns the first three are field, type and whether it may be NULL.
func mysqlMappedColumns(ctx context.Context, q querier, table name) ([]catalogColumn, error) {
	var list []catalogColumn
	s := (&statement{d: table.d}).add("SHOW COLUMNS FROM ", table.String())
	err := s.each(ctx, q, func(scan func(...any) error) (bool, error) {
		var column, typ, nullable string
		var key, byDefault, extra any
		if err := scan(&column, &typ, &nullable, &key, &byDefault, &extra); err != nil {
			return false, err
		}
		list = append(list, catalogColumn{column, typ, kindOf("mysql", typ), strings.EqualFold(nullable, "YES")})
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the columns of %s: %w", table, err)
	}
	return list, nil
}
