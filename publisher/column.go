package publisher

import (
	"context"
	"github.com/rowrelay/rowrelay/engine/statement"
	"strings"
)

// tableColumn is a column of a user's table, as the catalog shows it.
type tableColumn struct {
	name string
	// typ is the full type as the engine writes it; of a domain what it is a domain of. kind is what that is for statements.
	typ      string
	kind     columnKind
	nullable bool
}

// unsigned says that the type holds no negative number.
func (c *tableColumn) unsigned() bool { return strings.Contains(strings.ToLower(c.typ), "unsigned") }

// columnKind is what a type of a user's table is for statements.
type columnKind uint8

const (
	kindOther columnKind = iota
	kindInteger
	kindText
	kindUUID
	kindBool
	kindTime
	kindBytes
	kindJSON
)

// typeName is a full type without its length and sign, in small letters: "varchar" of "VARCHAR(255)".
func typeName(typ string) string {
	base, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(typ)), "(")
	return strings.TrimSuffix(strings.TrimSpace(base), " unsigned")
}

// kindOf reads a full type as engines write it in DDL: "character varying(255)", "bigint(20) unsigned", "datetime2(7)". It knows
// what one name means on all engines that have it.
func kindOf(typ string) columnKind {
	base := typeName(typ)
	switch base {
	case "bigint", "int", "integer", "smallint", "tinyint", "mediumint":
		return kindInteger
	case "boolean", "bool", "bit":
		return kindBool
	case "uuid", "uniqueidentifier":
		return kindUUID
	case "json", "jsonb":
		return kindJSON
	case "bytea", "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "image":
		return kindBytes
	case "text", "character varying", "character", "varchar", "char", "bpchar", "citext", "nvarchar", "nchar", "ntext", "tinytext", "mediumtext",
		"longtext", "enum":
		return kindText
	}
	for _, prefix := range []string{"timestamp", "datetime", "smalldatetime"} {
		if strings.HasPrefix(base, prefix) {
			return kindTime
		}
	}
	return kindOther
}

// readColumns reads a result of names, types and whether NULL is allowed.
func readColumns(ctx context.Context, q statement.Querier, kind func(typ string) columnKind, text string, argument string) (list []tableColumn, err error) {
	rows, err := q.QueryContext(ctx, text, argument)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := rows.Close(); err == nil {
			err = closed
		}
	}()
	for rows.Next() {
		var c tableColumn
		if err := rows.Scan(&c.name, &c.typ, &c.nullable); err != nil {
			return nil, err
		}
		c.kind = kind(c.typ)
		list = append(list, c)
	}
	return list, rows.Err()
}

// literal writes a value, in which there is no quote, as engines do that have one kind of text.
func literal(c *tableColumn, value string) string {
	if c.kind == kindInteger {
		return value
	}
	return "'" + value + "'"
}

// zeroOrOne writes a truth as a number.
func zeroOrOne(v bool) string {
	if v {
		return "1"
	}
	return "0"
}
