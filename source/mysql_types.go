package source

import (
	"fmt"
	"strings"
)

// How mySQLRow encodes what the driver returns in the text protocol; the scale stands above the low byte.
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

// mySQLType is a type as information_schema.columns describes it.
type mySQLType struct {
	data  string // bigint, datetime …
	full  string // bigint(20) unsigned
	scale int    // digits behind the point, of seconds or of decimals
	// precision is a decimal's; 0 where it is not known.
	precision int
	json      bool // MariaDB: a longtext whose column check is json_valid
}

const (
	noKeyEnum = "which sorts by its index and compares by its text; name other columns"
	noKeyBlob = "whose values are too large to be compared in an index; name other columns"
)

// value maps a type by the one rule of docs/values.md.
func (t mySQLType) value() value {
	if t.json {
		return value{kind: kindJSON, code: myJSON}
	}
	switch t.data {
	case "tinyint", "smallint", "mediumint", "int", "integer", "bigint", "year":
		return value{kind: kindInteger, code: myInt}
	case "bit":
		return value{kind: kindInteger, code: myBit}
	case "decimal", "numeric":
		// A decimal that is compared with text is compared as floating point.
		return value{kind: kindDecimal, code: myDecimal | t.scale<<8, param: fmt.Sprintf("CAST(%%s AS DECIMAL(%d,%d))", t.decimalPrecision(), t.scale)}
	case "float":
		// The server prints six digits of a float; as a double it prints all.
		return value{kind: kindFloat, code: myFloat, expr: "(%s + 0e0)"}
	case "double", "real":
		return value{kind: kindFloat, code: myDouble}
	case "date":
		return value{kind: kindDate, code: myDate, param: "CAST(%s AS DATE)"}
	case "time":
		return value{kind: kindTime, code: myTime | t.scale<<8, param: fmt.Sprintf("CAST(%%s AS TIME(%d))", t.scale)}
	case "datetime":
		return value{kind: kindDateTime, code: myDateTime | t.scale<<8, param: fmt.Sprintf("CAST(%%s AS DATETIME(%d))", t.scale)}
	case "timestamp":
		return value{kind: kindInstant, code: myTimestamp | t.scale<<8, zoned: true, param: fmt.Sprintf("CAST(%%s AS DATETIME(%d))", t.scale)}
	case "json":
		return value{kind: kindJSON, code: myJSON}
	}
	return t.valueOfText()
}

func (t mySQLType) decimalPrecision() int {
	if t.precision == 0 {
		return 65
	}
	return t.precision
}

// valueOfText maps what is text, binary, or refused.
func (t mySQLType) valueOfText() value {
	switch t.data {
	case "char", "varchar", "inet4", "inet6":
		return value{kind: kindText, code: myText}
	case "uuid":
		return value{kind: kindUUID, code: myText}
	case "enum", "set":
		return value{kind: kindText, code: myText, noKey: noKeyEnum}
	case "tinytext", "text", "mediumtext", "longtext":
		return value{kind: kindText, code: myText, noKey: noKeyBlob}
	case "binary", "varbinary":
		return value{kind: kindBinary, code: myBinary}
	case "tinyblob", "blob", "mediumblob", "longblob":
		return value{kind: kindBinary, code: myBinary, noKey: noKeyBlob}
	case "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection", "geomcollection":
		return value{refused: "which has no lossless form in JSON (coordinates and SRID)", cast: "ST_AsText(%s)"}
	case "vector":
		return value{refused: "whose text form may round", cast: "HEX(%s)"}
	}
	return value{refused: "which has no lossless form that is known", cast: "CAST(%s AS CHAR)"}
}

// types lists every type of both families' manuals.
func (mySQL) types() []typeRule {
	var rules []typeRule
	add := func(note string, types ...mySQLType) {
		for _, t := range types {
			if t.full == "" {
				t.full = t.data
			}
			rules = append(rules, typeRule{name: t.data, sample: t.full, value: t.value(), note: note})
		}
	}
	add("a number (BOOLEAN is `tinyint(1)`)", mySQLType{data: "tinyint"}, mySQLType{data: "smallint"}, mySQLType{data: "mediumint"},
		mySQLType{data: "int"}, mySQLType{data: "year"})
	add("a number, beyond ±(2^53−1) a string", mySQLType{data: "bigint", full: "bigint unsigned"})
	add("its bits as a number, beyond 2^53−1 a string", mySQLType{data: "bit", full: "bit(64)"})
	add("a string of digits", mySQLType{data: "decimal", full: "decimal(20,5)", precision: 20, scale: 5})
	add("the shortest number that reads back the same", mySQLType{data: "float"}, mySQLType{data: "double"})
	add("`\"2026-04-07\"`; a zero date is `\"0000-00-00\"`", mySQLType{data: "date"})
	add("`\"01:23:45.123456\"`, from `\"-838:59:59\"` to `\"838:59:59\"`", mySQLType{data: "time", full: "time(6)", scale: 6})
	add("`\"2026-04-07T01:23:45.123456\"`; a zero date is `\"0000-00-00T00:00:00\"`", mySQLType{data: "datetime", full: "datetime(6)", scale: 6})
	add("`\"2026-04-07T01:23:45.123456Z\"`, in UTC", mySQLType{data: "timestamp", full: "timestamp(6)", scale: 6})
	add("a string", mySQLType{data: "char", full: "char(5)"}, mySQLType{data: "varchar", full: "varchar(10)"}, mySQLType{data: "tinytext"},
		mySQLType{data: "text"}, mySQLType{data: "mediumtext"}, mySQLType{data: "longtext"})
	add("its text, as a string", mySQLType{data: "enum", full: "enum('b','a')"}, mySQLType{data: "set", full: "set('x','y')"})
	add("base64", mySQLType{data: "binary", full: "binary(3)"}, mySQLType{data: "varbinary", full: "varbinary(9)"}, mySQLType{data: "tinyblob"},
		mySQLType{data: "blob"}, mySQLType{data: "mediumblob"}, mySQLType{data: "longblob"})
	add("JSON as it is (MariaDB: `longtext` with a `json_valid` check of the column)", mySQLType{data: "json"})
	add("a string (MariaDB)", mySQLType{data: "uuid"}, mySQLType{data: "inet4"}, mySQLType{data: "inet6"})
	for name := range strings.FieldsSeq("geometry point linestring polygon multipoint multilinestring multipolygon geometrycollection vector") {
		add("refused", mySQLType{data: name})
	}
	return rules
}
