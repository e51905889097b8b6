package sqltable

import (
	"regexp"
	"slices"

	"github.com/rowrelay/rowrelay/engine"
)

// types are those of an engine's columns by the kind of value; the last is that of a text in a key.
type types struct {
	of  map[engine.Kind]string
	key string
}

var typesOf = map[string]types{
	"postgres": {map[engine.Kind]string{
		engine.KindBool: "boolean", engine.KindInteger: "bigint", engine.KindDecimal: "numeric",
		engine.KindFloat: "double precision", engine.KindUUID: "uuid", engine.KindBinary: "bytea",
		engine.KindDate: "date", engine.KindTime: "time", engine.KindDateTime: "timestamp",
		engine.KindInstant: "timestamptz", engine.KindOffsetTime: "timestamptz", engine.KindJSON: "jsonb",
		engine.KindRowVersion: "bytea",
	}, "text"},
	"mysql": {map[engine.Kind]string{
		engine.KindBool: "boolean", engine.KindInteger: "bigint", engine.KindDecimal: "decimal(65,10)",
		engine.KindFloat: "double", engine.KindUUID: "char(36)", engine.KindBinary: "longblob",
		engine.KindDate: "date", engine.KindTime: "time(6)", engine.KindDateTime: "datetime(6)",
		engine.KindInstant: "datetime(6)", engine.KindOffsetTime: "varchar(40)", engine.KindJSON: "json",
		engine.KindText: "longtext", engine.KindRowVersion: "binary(8)",
	}, "varchar(255)"},
	"sqlite": {map[engine.Kind]string{
		engine.KindBool: "BOOLEAN", engine.KindInteger: "INTEGER", engine.KindDecimal: "TEXT",
		engine.KindFloat: "REAL", engine.KindBinary: "BLOB", engine.KindJSON: "JSON", engine.KindRowVersion: "BLOB",
	}, "TEXT"},
	"sqlserver": {map[engine.Kind]string{
		engine.KindBool: "bit", engine.KindInteger: "bigint", engine.KindDecimal: "decimal(38,10)",
		engine.KindFloat: "float", engine.KindUUID: "uniqueidentifier", engine.KindBinary: "varbinary(max)",
		engine.KindDate: "date", engine.KindTime: "time", engine.KindDateTime: "datetime2",
		engine.KindInstant: "datetimeoffset", engine.KindOffsetTime: "datetimeoffset",
		engine.KindText: "nvarchar(max)", engine.KindJSON: "nvarchar(max)", engine.KindRowVersion: "binary(8)",
	}, "nvarchar(450)"},
}

// textType are the types that have a collation.
var textType = regexp.MustCompile(`^n?(var)?char\(`)

// propose is a table for the columns of a source: with their own types on the same engine, else with those that hold
// their values.
func (o *Output) propose(source string, key, columns []engine.Column) string {
	quote, own := o.syntax.Quote, typesOf[o.cfg.Connection.Engine]
	isKey := func(name string) bool {
		return slices.ContainsFunc(key, func(k engine.Column) bool { return k.Name == name })
	}
	text := "CREATE TABLE " + o.table.String() + " (\n"
	for i := range columns {
		c := &columns[i]
		typ := own.of[c.Value.Kind]
		switch {
		case c.Value.Kind == engine.KindRowVersion:
		case source == o.cfg.Connection.Engine && c.Type != "":
			typ = c.Type
		case typ == "" || c.Value.Kind == engine.KindText && isKey(c.Name):
			typ = own.key
		}
		if o.exact != nil && isKey(c.Name) && textType.MatchString(typ) {
			typ = o.exact(typ)
		}
		text += "    " + quote(c.Name) + " " + typ
		if isKey(c.Name) {
			text += " NOT NULL"
		}
		text += ",\n"
	}
	return text + "    PRIMARY KEY (" + list(namesOf(key), quote) + ")\n)"
}

func namesOf(columns []engine.Column) []string {
	names := make([]string, len(columns))
	for i := range columns {
		names[i] = columns[i].Name
	}
	return names
}
