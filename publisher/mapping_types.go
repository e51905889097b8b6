package publisher

import "strings"

// columnKind is what a type of the user's table is for statements.
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

// kindOf reads a full type as the engine writes it in DDL: "character varying(255)", "bigint(20) unsigned", "datetime2(7)".
func kindOf(engine, typ string) columnKind {
	full := strings.ToLower(strings.TrimSpace(typ))
	base, _, _ := strings.Cut(full, "(")
	base = strings.TrimSpace(base)
	base = strings.TrimSuffix(base, " unsigned")
	if engine == "sqlite" {
		return sqliteKind(base)
	}
	switch base {
	case "bigint", "int", "integer", "smallint", "tinyint", "mediumint":
		return kindInteger
	case "boolean", "bool":
		return kindBool
	case "bit":
		if engine == "postgres" { // a string of bits
			return kindOther
		}
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
		if strings.HasPrefix(base, prefix) && (engine != "sqlserver" || base != "timestamp") { // there it is a row version
			return kindTime
		}
	}
	return kindOther
}

// sqliteKind follows the rules of affinity where they decide how a value compares, and the name where it says more. A
// declared type is a hint there: a uuid is text, a boolean is a number.
func sqliteKind(base string) columnKind {
	switch {
	case strings.Contains(base, "bool"):
		return kindBool
	case strings.Contains(base, "int"):
		return kindInteger
	case strings.Contains(base, "time"), strings.Contains(base, "date"):
		return kindTime
	case strings.Contains(base, "json"):
		return kindJSON
	case strings.Contains(base, "blob"), base == "":
		return kindBytes
	}
	return kindText
}
