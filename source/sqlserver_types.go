package source

import (
	"fmt"
	"strings"
)

// How sqlServerRow encodes what the driver returns; the scale of decimals and times stands above the low byte.
const (
	msBool       = iota // bool
	msInt               // int64
	msFloat             // float64
	msReal              // float64 that holds a float32
	msDecimal           // []byte of digits
	msText              // string
	msUUID              // []byte, 16 in SQL Server's order
	msBinary            // []byte
	msRowVersion        // []byte, 8
	msDate              // time.Time
	msTime              // time.Time in year 1
	msDateTime2         // time.Time
	msDateTime          // time.Time on a 1/300 s tick
	msSmall             // time.Time on a minute
	msOffset            // time.Time with its offset
	msJSON              // string
)

// sqlServerType is a type as sys.types and sys.columns, or dm_exec_describe_first_result_set, describe it. A type of the
// user's own is told by what it is based on.
type sqlServerType struct {
	base      string // int, nvarchar, …; geography, hierarchyid … and the name itself for CLR types
	length    int    // bytes; -1 is max
	precision int
	scale     int
	collation string
	clr       bool
	encrypted bool
}

// full is the type as it stands in DDL.
func (t sqlServerType) full() string {
	switch t.base {
	case "decimal", "numeric":
		return fmt.Sprintf("%s(%d,%d)", t.base, t.precision, t.scale)
	case "datetime2", "datetimeoffset", "time":
		return fmt.Sprintf("%s(%d)", t.base, t.scale)
	case "char", "varchar", "binary", "varbinary":
		return t.base + sized(t.length)
	case "nchar", "nvarchar":
		if t.length > 0 {
			return t.base + sized(t.length/2)
		}
		return t.base + "(max)"
	case "timestamp":
		return "rowversion"
	default:
		return t.base
	}
}

func sized(n int) string {
	if n < 0 {
		return "(max)"
	}
	return fmt.Sprintf("(%d)", n)
}

const (
	noKeyLarge   = "whose values are too large to be compared in an index; name other columns"
	noKeyCompare = "whose values cannot be compared; name other columns"
)

// value maps a type by the one rule of docs/values.md.
func (t sqlServerType) value() value {
	if t.encrypted {
		return value{refused: "which Always Encrypted hides from Rowrelay"}
	}
	cast := "CAST(%s AS " + t.full() + ")"
	switch t.base {
	case "bit":
		return value{kind: kindBool, code: msBool, param: cast}
	case "tinyint", "smallint", "int", "bigint":
		return value{kind: kindInteger, code: msInt, param: cast}
	case "decimal", "numeric":
		return value{kind: kindDecimal, code: msDecimal | t.scale<<8, param: cast}
	case "money", "smallmoney":
		return value{kind: kindDecimal, code: msDecimal | 4<<8, param: cast}
	case "float":
		return value{kind: kindFloat, code: msFloat}
	case "real":
		return value{kind: kindFloat, code: msReal}
	case "date":
		return value{kind: kindDate, code: msDate, param: cast}
	case "time":
		return value{kind: kindTime, code: msTime | t.scale<<8, param: cast}
	case "datetime2":
		return value{kind: kindDateTime, code: msDateTime2 | t.scale<<8, param: cast}
	case "datetime":
		return value{kind: kindDateTime, code: msDateTime, param: cast}
	case "smalldatetime":
		return value{kind: kindDateTime, code: msSmall, param: cast}
	case "datetimeoffset":
		return value{kind: kindOffsetTime, code: msOffset | t.scale<<8, param: cast}
	case "uniqueidentifier":
		return value{kind: kindUUID, code: msUUID, param: cast}
	case "timestamp", "rowversion":
		return value{kind: kindRowVersion, code: msRowVersion, param: "CAST(%s AS binary(8))"}
	case "json":
		return value{kind: kindJSON, code: msJSON, expr: "CAST(%s AS nvarchar(max))"}
	}
	return t.valueOfText(cast)
}

// valueOfText maps what is text, binary, or refused.
func (t sqlServerType) valueOfText(cast string) value {
	switch t.base {
	case "char", "varchar", "nchar", "nvarchar":
		v := value{kind: kindText, code: msText, param: cast}
		if t.length < 0 {
			v.param, v.noKey = "", noKeyLarge
		} else if t.collation != "" && (t.base == "char" || t.base == "varchar") {
			// The cast goes through a code page: the column's, not the database's.
			v.param = "CAST(%s COLLATE " + t.collation + " AS " + t.full() + ")"
		}
		return v
	case "text", "ntext", "xml":
		return value{kind: kindText, code: msText, noKey: noKeyCompare}
	case "binary", "varbinary":
		v := value{kind: kindBinary, code: msBinary, param: cast}
		if t.length < 0 {
			v.param, v.noKey = "", noKeyLarge
		}
		return v
	case "image":
		return value{kind: kindBinary, code: msBinary, noKey: noKeyCompare}
	case "sql_variant":
		return value{refused: "whose values carry their own types, which JSON does not hold", cast: "CAST(%s AS nvarchar(4000))"}
	case "vector":
		return value{refused: "whose text form may round", cast: "CAST(%s AS nvarchar(max))"}
	case "geography", "geometry":
		return value{refused: "which has no lossless form in JSON (coordinates, Z, M and SRID)", cast: "%s.AsTextZM()"}
	case "hierarchyid":
		return value{refused: "which is a CLR type", cast: "%s.ToString()"}
	}
	if t.clr {
		return value{refused: "which is a CLR type", cast: "%s.ToString()"}
	}
	return value{refused: "which has no lossless form that is known", cast: "CAST(%s AS nvarchar(max))"}
}

// types lists every type of sys.types.
func (sqlServer) types() []typeRule {
	var rules []typeRule
	add := func(note string, types ...sqlServerType) {
		for _, t := range types {
			rules = append(rules, typeRule{name: t.base, sample: t.full(), value: t.value(), note: note})
		}
	}
	add("`true`, `false`", sqlServerType{base: "bit"})
	add("a number", sqlServerType{base: "tinyint"}, sqlServerType{base: "smallint"}, sqlServerType{base: "int"})
	add("a number, beyond ±(2^53−1) a string", sqlServerType{base: "bigint"})
	add("a string of digits", sqlServerType{base: "decimal", precision: 19, scale: 4}, sqlServerType{base: "numeric", precision: 38},
		sqlServerType{base: "money"}, sqlServerType{base: "smallmoney"})
	add("the shortest number that reads back the same", sqlServerType{base: "float"}, sqlServerType{base: "real"})
	add("a string; `char(n)` with its blanks", sqlServerType{base: "char", length: 10, collation: "Latin1_General_CI_AS"},
		sqlServerType{base: "varchar", length: 50, collation: "Latin1_General_CI_AS"}, sqlServerType{base: "nchar", length: 20},
		sqlServerType{base: "nvarchar", length: 100}, sqlServerType{base: "text"}, sqlServerType{base: "ntext"})
	add("its text, as a string", sqlServerType{base: "xml"})
	add("a string in lower case, `\"6f9619ff-8b86-d011-b42d-00c04fc964ff\"`", sqlServerType{base: "uniqueidentifier"})
	add("base64", sqlServerType{base: "binary", length: 8}, sqlServerType{base: "varbinary", length: 50}, sqlServerType{base: "image"})
	add("base64 of its 8 bytes, which sort as it does", sqlServerType{base: "timestamp"})
	add("`\"2026-04-07\"`", sqlServerType{base: "date"})
	add("`\"01:23:45.1234567\"`", sqlServerType{base: "time", scale: 7})
	add("`\"2026-04-07T01:23:45.1234567\"`", sqlServerType{base: "datetime2", scale: 7})
	add("`\"2026-04-07T01:23:45.187\"`, in the milliseconds that SQL Server prints", sqlServerType{base: "datetime"})
	add("`\"2026-04-07T01:23:00\"`", sqlServerType{base: "smalldatetime"})
	add("`\"2026-04-07T01:23:45.1234567+02:00\"`", sqlServerType{base: "datetimeoffset", scale: 7})
	add("JSON as it is", sqlServerType{base: "json"})
	add("refused", sqlServerType{base: "sql_variant"}, sqlServerType{base: "vector"}, sqlServerType{base: "geography", clr: true},
		sqlServerType{base: "geometry", clr: true}, sqlServerType{base: "hierarchyid", clr: true})
	return rules
}

// sqlServerBase reads the base from a full type as dm_exec_describe_first_result_set writes it: decimal(10,2).
func sqlServerBase(full string) string {
	base, _, _ := strings.Cut(full, "(")
	return strings.ToLower(strings.TrimSpace(base))
}
