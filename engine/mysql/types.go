package mysql

import (
	"fmt"

	"github.com/rowrelay/rowrelay/engine"
)

// How sqlRow encodes what the driver returns in the text protocol; the scale stands above the low byte.
const (
	myInt       = iota // int64, uint64
	myBit              // []byte, big-endian
	myDecimal          // []byte of digits
	myDouble           // float64
	myFloat            // float64 that holds a float32
	myText             // []byte
	myBinary           // []byte
	myDate             // []byte 2026-04-07
	myTime             // []byte [-]838:59:59.000000
	myDateTime         // []byte 2026-04-07 01:23:45.123456
	myTimestamp        // the same, in UTC
	myJSON             // []byte
)

// Type is a type as information_schema.columns describes it.
type Type struct {
	Data  string // bigint, datetime …
	Full  string // bigint(20) unsigned
	Scale int    // digits after the point, of seconds or of decimals
	// Precision is a decimal's; 0 where it is not known.
	Precision int
	JSON      bool // MariaDB: a longtext whose column check is json_valid
}

const (
	noKeyEnum = "which sorts by its index and compares by its text; name other columns"
	noKeyBlob = "whose values are too large to be compared in an index; name other columns"
)

// Value maps a type by the one rule of docs/values.md.
func (t Type) Value() engine.Value {
	if t.JSON {
		return engine.Value{Kind: engine.KindJSON, Code: myJSON}
	}
	switch t.Data {
	case "tinyint", "smallint", "mediumint", "int", "integer", "bigint", "year":
		return engine.Value{Kind: engine.KindInteger, Code: myInt}
	case "bit":
		return engine.Value{Kind: engine.KindInteger, Code: myBit}
	case "decimal", "numeric":
		// A decimal that is compared with text is compared as floating point.
		return engine.Value{Kind: engine.KindDecimal, Code: myDecimal | t.Scale<<8,
			Param: fmt.Sprintf("CAST(%%s AS DECIMAL(%d,%d))", t.decimalPrecision(), t.Scale)}
	case "float":
		// The server prints six digits of a float; as a double it prints all.
		return engine.Value{Kind: engine.KindFloat, Code: myFloat, Expr: "(%s + 0e0)"}
	case "double", "real":
		return engine.Value{Kind: engine.KindFloat, Code: myDouble}
	case "date":
		return engine.Value{Kind: engine.KindDate, Code: myDate, Param: "CAST(%s AS DATE)"}
	case "time":
		return engine.Value{Kind: engine.KindTime, Code: myTime | t.Scale<<8,
			Param: fmt.Sprintf("CAST(%%s AS TIME(%d))", t.Scale)}
	case "datetime":
		return engine.Value{Kind: engine.KindDateTime, Code: myDateTime | t.Scale<<8,
			Param: fmt.Sprintf("CAST(%%s AS DATETIME(%d))", t.Scale)}
	case "timestamp":
		return engine.Value{Kind: engine.KindInstant, Code: myTimestamp | t.Scale<<8, Zoned: true,
			Param: fmt.Sprintf("CAST(%%s AS DATETIME(%d))", t.Scale)}
	case "json":
		return engine.Value{Kind: engine.KindJSON, Code: myJSON}
	}
	return t.valueOfText()
}

func (t Type) decimalPrecision() int {
	if t.Precision == 0 {
		return 65
	}
	return t.Precision
}

// valueOfText maps what is text, binary, or refused.
func (t Type) valueOfText() engine.Value {
	switch t.Data {
	case "char", "varchar", "inet4", "inet6":
		return engine.Value{Kind: engine.KindText, Code: myText}
	case "uuid":
		return engine.Value{Kind: engine.KindUUID, Code: myText}
	case "enum", "set":
		return engine.Value{Kind: engine.KindText, Code: myText, NoKey: noKeyEnum}
	case "tinytext", "text", "mediumtext", "longtext":
		return engine.Value{Kind: engine.KindText, Code: myText, NoKey: noKeyBlob}
	case "binary", "varbinary":
		return engine.Value{Kind: engine.KindBinary, Code: myBinary}
	case "tinyblob", "blob", "mediumblob", "longblob":
		return engine.Value{Kind: engine.KindBinary, Code: myBinary, NoKey: noKeyBlob}
	case "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
		"geometrycollection", "geomcollection":
		return engine.Value{Refused: "which has no lossless form in JSON (coordinates and SRID)", Cast: "ST_AsText(%s)"}
	case "vector":
		return engine.Value{Refused: "whose text form may round", Cast: "HEX(%s)"}
	}
	return engine.Value{Refused: "which has no lossless form that is known", Cast: "CAST(%s AS CHAR)"}
}
