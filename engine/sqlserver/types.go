package sqlserver

import (
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
)

// How sqlRow encodes what the driver returns; the scale of decimals and times stands above the low byte.
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

// Type is a type as sys.types and sys.columns, or dm_exec_describe_first_result_set, describe it. A type of the
// user's own is told by what it is based on.
type Type struct {
	Base      string // int, nvarchar, …; geography, hierarchyid … and the name itself for CLR types
	Length    int    // bytes; -1 is max
	Precision int
	Scale     int
	Collation string
	CLR       bool
	encrypted bool
}

// Full is the type as it stands in DDL.
func (t Type) Full() string {
	switch t.Base {
	case "decimal", "numeric":
		return fmt.Sprintf("%s(%d,%d)", t.Base, t.Precision, t.Scale)
	case "datetime2", "datetimeoffset", "time":
		return fmt.Sprintf("%s(%d)", t.Base, t.Scale)
	case "char", "varchar", "binary", "varbinary":
		return t.Base + sized(t.Length)
	case "nchar", "nvarchar":
		if t.Length > 0 {
			return t.Base + sized(t.Length/2)
		}
		return t.Base + "(max)"
	case "timestamp":
		return "rowversion"
	default:
		return t.Base
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

// Value maps a type by the one rule of docs/values.md.
func (t Type) Value() engine.Value {
	if t.encrypted {
		return engine.Value{Refused: "which Always Encrypted hides from Rowrelay"}
	}
	cast := "CAST(%s AS " + t.Full() + ")"
	switch t.Base {
	case "bit":
		return engine.Value{Kind: engine.KindBool, Code: msBool, Param: cast}
	case "tinyint", "smallint", "int", "bigint":
		return engine.Value{Kind: engine.KindInteger, Code: msInt, Param: cast}
	case "decimal", "numeric":
		return engine.Value{Kind: engine.KindDecimal, Code: msDecimal | t.Scale<<8, Param: cast}
	case "money", "smallmoney":
		return engine.Value{Kind: engine.KindDecimal, Code: msDecimal | 4<<8, Param: cast}
	case "float":
		return engine.Value{Kind: engine.KindFloat, Code: msFloat}
	case "real":
		return engine.Value{Kind: engine.KindFloat, Code: msReal}
	case "date":
		return engine.Value{Kind: engine.KindDate, Code: msDate, Param: cast}
	case "time":
		return engine.Value{Kind: engine.KindTime, Code: msTime | t.Scale<<8, Param: cast}
	case "datetime2":
		return engine.Value{Kind: engine.KindDateTime, Code: msDateTime2 | t.Scale<<8, Param: cast}
	case "datetime":
		return engine.Value{Kind: engine.KindDateTime, Code: msDateTime, Param: cast}
	case "smalldatetime":
		return engine.Value{Kind: engine.KindDateTime, Code: msSmall, Param: cast}
	case "datetimeoffset":
		return engine.Value{Kind: engine.KindOffsetTime, Code: msOffset | t.Scale<<8, Param: cast}
	case "uniqueidentifier":
		return engine.Value{Kind: engine.KindUUID, Code: msUUID, Param: cast}
	case "timestamp", "rowversion":
		return engine.Value{Kind: engine.KindRowVersion, Code: msRowVersion, Param: "CAST(%s AS binary(8))"}
	case "json":
		return engine.Value{Kind: engine.KindJSON, Code: msJSON, Expr: "CAST(%s AS nvarchar(max))"}
	}
	return t.valueOfText(cast)
}

// valueOfText maps what is text, binary, or refused.
func (t Type) valueOfText(cast string) engine.Value {
	switch t.Base {
	case "char", "varchar", "nchar", "nvarchar":
		v := engine.Value{Kind: engine.KindText, Code: msText, Param: cast, Collate: t.Collation}
		if t.Length < 0 {
			v.Param, v.NoKey = "", noKeyLarge
		} else if t.Collation != "" && (t.Base == "char" || t.Base == "varchar") {
			// The cast goes through a code page: the column's, not the database's.
			v.Param = "CAST(%s COLLATE " + t.Collation + " AS " + t.Full() + ")"
		}
		return v
	case "text", "ntext", "xml":
		return engine.Value{Kind: engine.KindText, Code: msText, NoKey: noKeyCompare, Collate: t.Collation}
	case "binary", "varbinary":
		v := engine.Value{Kind: engine.KindBinary, Code: msBinary, Param: cast}
		if t.Length < 0 {
			v.Param, v.NoKey = "", noKeyLarge
		}
		return v
	case "image":
		return engine.Value{Kind: engine.KindBinary, Code: msBinary, NoKey: noKeyCompare}
	case "sql_variant":
		return engine.Value{Refused: "whose values carry their own types, which JSON does not hold",
			Cast: "CAST(%s AS nvarchar(4000))"}
	case "vector":
		return engine.Value{Refused: "whose text form may round", Cast: "CAST(%s AS nvarchar(max))"}
	case "geography", "geometry":
		return engine.Value{Refused: "which has no lossless form in JSON (coordinates, Z, M and SRID)", Cast: "%s.AsTextZM()"}
	case "hierarchyid":
		return engine.Value{Refused: "which is a CLR type", Cast: "%s.ToString()"}
	}
	if t.CLR {
		return engine.Value{Refused: "which is a CLR type", Cast: "%s.ToString()"}
	}
	return engine.Value{Refused: "which has no lossless form that is known", Cast: "CAST(%s AS nvarchar(max))"}
}

// baseOf reads the base from a full type as dm_exec_describe_first_result_set writes it: decimal(10,2).
func baseOf(full string) string {
	base, _, _ := strings.Cut(full, "(")
	return strings.ToLower(strings.TrimSpace(base))
}
