package sqlserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/sqlserver/tsql"
)

// The catalog's statements. %s is the quoted database and a dot, or nothing: sys's views show one database each.
const (
	objectSQL = `SELECT s.name, o.name, RTRIM(o.type), COALESCE(n.base_object_name, N''), DB_NAME(), CAST(o.object_id AS nvarchar(11))
FROM %ssys.objects AS o
JOIN %ssys.schemas AS s ON s.schema_id = o.schema_id
LEFT JOIN %ssys.synonyms AS n ON n.object_id = o.object_id
WHERE o.object_id = OBJECT_ID(@p1)`

	// objectIDSQL is NULL where there is no such object.
	objectIDSQL = `SELECT CAST(OBJECT_ID(@p1) AS nvarchar(11))`

	columnsSQL = `SELECT c.name, COALESCE(b.name, u.name), CAST(c.max_length AS int), CAST(c.precision AS int), CAST(c.scale AS int),
	COALESCE(c.collation_name, N''), c.is_nullable, u.is_assembly_type, ` +
		`CAST(CASE WHEN c.encryption_type IS NULL THEN 0 ELSE 1 END AS bit), c.is_masked,
	CAST(CASE WHEN c.generated_always_type <> 0 THEN 1 ELSE 0 END AS bit),
	CAST(CASE WHEN c.is_computed = 1 OR c.is_identity = 1 OR c.generated_always_type <> 0 THEN 1 ELSE 0 END AS bit),
	c.is_computed
FROM %ssys.columns AS c
JOIN %ssys.types AS u ON u.user_type_id = c.user_type_id
LEFT JOIN %ssys.types AS b ON b.user_type_id = c.system_type_id AND u.is_assembly_type = 0
WHERE c.object_id = OBJECT_ID(@p1)
ORDER BY c.column_id`

	indexesSQL = `SELECT i.name, CAST(i.type AS int), i.is_unique, i.is_primary_key,
	CAST(CASE WHEN i.has_filter = 1 OR i.is_disabled = 1 THEN 1 ELSE 0 END AS bit), c.name, k.is_descending_key
FROM %ssys.indexes AS i
JOIN %ssys.index_columns AS k ON k.object_id = i.object_id AND k.index_id = i.index_id
JOIN %ssys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
WHERE i.object_id = OBJECT_ID(@p1) AND i.type IN (1, 2, 7) AND i.is_hypothetical = 0 AND k.key_ordinal > 0
ORDER BY i.type, i.index_id, k.key_ordinal`

	// Whoever may see a policy sees it here: that takes VIEW DEFINITION on it, or ALTER ANY SECURITY POLICY.
	policiesSQL = `SELECT y.name
FROM %ssys.security_predicates AS p
JOIN %ssys.security_policies AS y ON y.object_id = p.object_id
WHERE p.target_object_id = OBJECT_ID(@p1) AND p.predicate_type = 0 AND y.is_enabled = 1
ORDER BY y.name`

	// The query is described as it will be used, so that a column without a name or with a name that stands twice is
	// found here.
	describeSQL = `SELECT COALESCE(d.name, N''), COALESCE(d.system_type_name, d.user_type_name, N''), CAST(COALESCE(d.max_length, 0) AS int),
	CAST(COALESCE(d.precision, 0) AS int), CAST(COALESCE(d.scale, 0) AS int), ` +
		`COALESCE(d.collation_name, N''), COALESCE(d.is_nullable, 1),
	CAST(CASE WHEN d.assembly_qualified_type_name IS NULL THEN 0 ELSE 1 END AS bit), ` +
		`COALESCE(d.error_number, 0), COALESCE(d.error_message, N'')
FROM sys.dm_exec_describe_first_result_set(@p1, NULL, 0) AS d
WHERE COALESCE(d.is_hidden, 0) = 0
ORDER BY d.column_ordinal`
)

// Table implements engine.Dialect.
func (d Dialect) Table(ctx context.Context, conn *sql.Conn, name []string) (engine.Table, error) {
	quoted := make([]string, len(name))
	for i, part := range name {
		quoted[i] = tsql.Quote(part)
	}
	object, database := strings.Join(quoted, "."), ""
	if len(name) == 3 {
		database = quoted[0] + "."
	}
	var t engine.Table
	var schema, kind, base, current, id string
	err := conn.QueryRowContext(ctx, engine.Fill(objectSQL, database), object).Scan(&schema, &t.Name, &kind, &base,
		&current, &id)
	if errors.Is(err, sql.ErrNoRows) {
		return t, engine.ErrNoTable
	}
	if err != nil {
		return t, fmt.Errorf("find the table: %w", err)
	}
	switch kind {
	case "U":
	case "V":
		t.View = true
	case "SN":
		return t, fmt.Errorf("%w: it is a synonym: name %s in source__table instead", change.ErrConfig, base)
	default:
		return t, fmt.Errorf("%w: it is neither a table nor a view, but an object of type %s", change.ErrConfig, kind)
	}
	t.Identity = "object " + id
	t.Identify = func(ctx context.Context, conn *sql.Conn) (string, error) {
		var id sql.NullString
		err := conn.QueryRowContext(ctx, objectIDSQL, object).Scan(&id)
		if err != nil || !id.Valid {
			return "", err
		}
		return "object " + id.String, nil
	}
	t.Foreign = len(name) == 3 && !strings.EqualFold(name[0], current)
	t.From = database + tsql.Quote(schema) + "." + tsql.Quote(t.Name)
	t.Name = schema + "." + t.Name
	if len(name) == 3 {
		t.Name = name[0] + "." + t.Name
	}
	if err := d.columns(ctx, conn, engine.Fill(columnsSQL, database), object, &t); err != nil {
		return t, fmt.Errorf("read the table's columns: %w", err)
	}
	if err := d.indexes(ctx, conn, engine.Fill(indexesSQL, database), object, &t); err != nil {
		return t, fmt.Errorf("read the table's indexes: %w", err)
	}
	if err := policies(ctx, conn, engine.Fill(policiesSQL, database), object, &t); err != nil {
		return t, fmt.Errorf("read the table's security policies: %w", err)
	}
	return t, nil
}

// policies warns of security policies that filter the table's rows. A server without them is one of an earlier version,
// or speaks the protocol only.
func policies(ctx context.Context, conn *sql.Conn, text, object string, t *engine.Table) error {
	var names []string
	err := engine.EachRow(ctx, conn, text, []any{object}, func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		names = append(names, name)
		return err
	})
	if hasNumber(err, noObject) {
		return nil
	}
	if len(names) > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("the security policies %q may hide rows of %s from this login: they are not "+
			"delivered, and one that comes into sight later may never be; unless that is meant, let their filters show it every row",
			names, t.Name))
	}
	return err
}

// noObject says that the server has no such table or view.
const noObject = 208

func (Dialect) columns(ctx context.Context, conn *sql.Conn, text, object string, t *engine.Table) error {
	var masked []string
	err := engine.EachRow(ctx, conn, text, []any{object}, func(scan func(...any) error) error {
		var c engine.Column
		var typ Type
		var isMasked bool
		if err := scan(&c.Name, &typ.Base, &typ.Length, &typ.Precision, &typ.Scale, &typ.Collation, &c.Nullable, &typ.CLR,
			&typ.encrypted, &isMasked, &c.Moving, &c.Computed, &c.Unwatched); err != nil {
			return err
		}
		c.Type, c.Value, c.Sorted = typ.Full(), typ.Value(), typ.Collation
		if !strings.HasSuffix(typ.Collation, "_BIN") && !strings.Contains(typ.Collation, "_BIN2") {
			c.Collation = typ.Collation
		}
		t.Columns = append(t.Columns, c)
		if isMasked {
			masked = append(masked, c.Name)
		}
		return nil
	})
	if len(masked) > 0 {
		t.Warnings = append(t.Warnings,
			fmt.Sprintf("the columns %q of %s are masked: without the permission UNMASK the events hold "+
				"the mask, not the value", masked, t.Name))
	}
	return err
}

func (Dialect) indexes(ctx context.Context, conn *sql.Conn, text, object string, t *engine.Table) error {
	var all []sysIndex
	err := engine.EachRow(ctx, conn, text, []any{object}, func(scan func(...any) error) error {
		var ix sysIndex
		var name, col string
		var desc bool
		if err := scan(&name, &ix.kind, &ix.unique, &ix.primary, &ix.partial, &col, &desc); err != nil {
			return err
		}
		if n := len(all); n == 0 || all[n-1].name != name {
			ix.name = name
			all = append(all, ix)
		}
		last := &all[len(all)-1]
		last.columns, last.desc = append(last.columns, col), append(last.desc, desc)
		return nil
	})
	t.Indexes, t.PrimaryKey = orderOfIndexes(all)
	t.Unproved = disabledKey(all, t.From)
	return err
}

// disabledKey says that the index of the primary key is disabled, which keeps no row from having the key of another.
func disabledKey(all []sysIndex, table string) string {
	for _, ix := range all {
		if ix.primary && ix.partial {
			return fmt.Sprintf("the index of its primary key is disabled: ALTER INDEX %s ON %s REBUILD", tsql.Quote(ix.name),
				table)
		}
	}
	return ""
}

// Kinds of sys.indexes.type.
const (
	indexClustered = 1
	indexHash      = 7
)

type sysIndex struct {
	name                     string
	kind                     int
	unique, primary, partial bool // partial: with a filter, or disabled
	columns                  []string
	desc                     []bool
}

// orderOfIndexes says what order each index reads in. A scan runs both ways, so an index that descends throughout reads
// ascending as well; one of mixed directions serves only up to the change. A nonclustered index goes on with the
// clustered one's columns. A hash index has no order, but its uniqueness proves a key.
func orderOfIndexes(all []sysIndex) (indexes []engine.Index, primaryKey []string) {
	var clustered []string
	for _, ix := range all {
		if ix.primary {
			primaryKey = ix.columns
		}
		if ix.kind == indexClustered && !slices.Contains(ix.desc, true) {
			clustered = ix.columns
		}
	}
	for _, ix := range all {
		if ix.kind == indexHash && !ix.primary && !ix.unique {
			continue
		}
		out := engine.Index{Name: ix.name, Unique: ix.unique, Declared: len(ix.columns), Partial: ix.partial}
		switch {
		case ix.kind == indexHash:
			// The primary key is proved by its name; as an index it serves no order.
			out.Partial = true
			out.Columns = ix.columns
		case !slices.Contains(ix.desc, true):
			out.Columns = slices.Clone(ix.columns)
			for _, c := range clustered {
				if !slices.Contains(out.Columns, c) {
					out.Columns = append(out.Columns, c)
				}
			}
		case !slices.Contains(ix.desc, false):
			out.Columns = ix.columns
		default:
			same := 1
			for same < len(ix.desc) && ix.desc[same] == ix.desc[0] {
				same++
			}
			out.Columns = ix.columns[:same]
		}
		indexes = append(indexes, out)
	}
	return indexes, primaryKey
}

// Query implements engine.Dialect.
func (d Dialect) Query(ctx context.Context, conn *sql.Conn, query string) (engine.Table, error) {
	t := engine.Table{Name: "query"}
	if first, _, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(query)), " "); strings.TrimSpace(first) == "WITH" {
		return t, fmt.Errorf("%w: source__query: SQL Server takes no WITH inside of another statement: put it into a view, or write subqueries", change.ErrConfig)
	}
	err := engine.EachRow(ctx, conn, describeSQL, []any{wrapped(query)}, func(scan func(...any) error) error {
		var c engine.Column
		var typ Type
		var full, message string
		var number int32
		if err := scan(&c.Name, &full, &typ.Length, &typ.Precision, &typ.Scale, &typ.Collation, &c.Nullable, &typ.CLR,
			&number, &message); err != nil {
			return err
		}
		if number != 0 {
			return mssql.Error{Number: number, Message: message}
		}
		typ.Base = baseOf(full)
		c.Type, c.Value = typ.Full(), typ.Value()
		t.Columns = append(t.Columns, c)
		return nil
	})
	if err != nil {
		return t, fmt.Errorf("describe the query: %w", err)
	}
	if len(t.Columns) == 0 {
		return t, fmt.Errorf("%w: source__query returns no columns: it must be one SELECT", change.ErrConfig)
	}
	return t, nil
}

// wrapped is a query as the framework's statements use it.
func wrapped(query string) string { return "SELECT r.*\nFROM (\n" + query + "\n) AS r" }

const listSQL = `SELECT s.name, t.name, CASE WHEN s.name = SCHEMA_NAME() THEN 1 ELSE 0 END
FROM sys.tables AS t JOIN sys.schemas AS s ON s.schema_id = t.schema_id
WHERE t.is_ms_shipped = 0
ORDER BY s.name, t.name`

// Tables implements engine.Lister.
func (Dialect) Tables(ctx context.Context, conn *sql.Conn) ([]engine.TableName, error) {
	return engine.ListTables(ctx, conn, listSQL)
}
