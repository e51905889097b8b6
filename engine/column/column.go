// Package column describes the columns of users' tables.
package column

import (
	"strconv"
	"strings"
)

// Column is a column of a user's table, as the catalog shows it.
type Column struct {
	Name string
	// Type is the full type as the engine writes it; of a domain what it is a domain of. kind is what that is for
	// statements.
	Type     string
	Kind     Kind
	Nullable bool
}

// Unsigned says that the type holds no negative number.
func (c *Column) Unsigned() bool { return strings.Contains(strings.ToLower(c.Type), "unsigned") }

// Fits says that the type holds no value of more than n characters, as text.
func (c *Column) Fits(n int) bool {
	if c.Kind != Text && c.Kind != Bytes {
		return true
	}
	_, length, _ := strings.Cut(c.Type, "(")
	length, _, _ = strings.Cut(length, ")")
	most, err := strconv.Atoi(strings.TrimSpace(length)) // text and varchar(max) say none
	if c.Kind == Bytes {
		most *= 2 // hex digits
	}
	return err == nil && most <= n
}

// Kind is what a type of a user's table is for statements.
type Kind uint8

const (
	Other Kind = iota
	Integer
	Text
	UUID
	Bool
	Time
	Bytes
	JSON
)

// TypeName is a full type without its length and sign, in small letters: "varchar" of "VARCHAR(255)".
func TypeName(typ string) string {
	base, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(typ)), "(")
	return strings.TrimSuffix(strings.TrimSpace(base), " unsigned")
}

// KindOf reads a full type as engines write it in DDL: "character varying(255)", "bigint(20) unsigned",
// "datetime2(7)". It knows what one name means on all engines that have it.
func KindOf(typ string) Kind {
	base := TypeName(typ)
	switch base {
	case "bigint", "int", "integer", "smallint", "tinyint", "mediumint":
		return Integer
	case "boolean", "bool", "bit":
		return Bool
	case "uuid", "uniqueidentifier":
		return UUID
	case "json", "jsonb":
		return JSON
	case "bytea", "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "image":
		return Bytes
	case "text", "character varying", "character", "varchar", "char", "bpchar", "citext", "nvarchar", "nchar", "ntext",
		"tinytext", "mediumtext",
		"longtext", "enum":
		return Text
	}
	for _, prefix := range []string{"timestamp", "datetime", "smalldatetime"} {
		if strings.HasPrefix(base, prefix) {
			return Time
		}
	}
	return Other
}
