package typerules

import (
	"github.com/rowrelay/rowrelay/engine/sqlserver"
)

// sqlserverRules lists every type of sys.types.
func sqlserverRules() []Rule {
	var rules []Rule
	add := func(note string, types ...sqlserver.Type) {
		for _, t := range types {
			rules = append(rules, Rule{Name: t.Base, Sample: t.Full(), Value: t.Value(), Note: note})
		}
	}
	add("`true`, `false`", sqlserver.Type{Base: "bit"})
	add("a number", sqlserver.Type{Base: "tinyint"}, sqlserver.Type{Base: "smallint"}, sqlserver.Type{Base: "int"})
	add("a number, beyond ±(2^53−1) a string", sqlserver.Type{Base: "bigint"})
	add("a string of digits", sqlserver.Type{Base: "decimal", Precision: 19, Scale: 4},
		sqlserver.Type{Base: "numeric", Precision: 38},
		sqlserver.Type{Base: "money"}, sqlserver.Type{Base: "smallmoney"})
	add("the shortest number that reads back the same", sqlserver.Type{Base: "float"}, sqlserver.Type{Base: "real"})
	add("a string; `char(n)` with its blanks", sqlserver.Type{Base: "char", Length: 10, Collation: "Latin1_General_CI_AS"},
		sqlserver.Type{Base: "varchar", Length: 50, Collation: "Latin1_General_CI_AS"},
		sqlserver.Type{Base: "nchar", Length: 20},
		sqlserver.Type{Base: "nvarchar", Length: 100}, sqlserver.Type{Base: "text"}, sqlserver.Type{Base: "ntext"})
	add("its text, as a string", sqlserver.Type{Base: "xml"})
	add("a string in lower case, `\"6f9619ff-8b86-d011-b42d-00c04fc964ff\"`", sqlserver.Type{Base: "uniqueidentifier"})
	add("base64", sqlserver.Type{Base: "binary", Length: 8}, sqlserver.Type{Base: "varbinary", Length: 50},
		sqlserver.Type{Base: "image"})
	add("base64 of its 8 bytes, which sort as it does", sqlserver.Type{Base: "timestamp"})
	add("`\"2026-04-07\"`", sqlserver.Type{Base: "date"})
	add("`\"01:23:45.1234567\"`", sqlserver.Type{Base: "time", Scale: 7})
	add("`\"2026-04-07T01:23:45.1234567\"`", sqlserver.Type{Base: "datetime2", Scale: 7})
	add("`\"2026-04-07T01:23:45.187\"`, in the milliseconds that SQL Server prints", sqlserver.Type{Base: "datetime"})
	add("`\"2026-04-07T01:23:00\"`", sqlserver.Type{Base: "smalldatetime"})
	add("`\"2026-04-07T01:23:45.1234567+02:00\"`", sqlserver.Type{Base: "datetimeoffset", Scale: 7})
	add("JSON as it is", sqlserver.Type{Base: "json"})
	add("refused", sqlserver.Type{Base: "sql_variant"}, sqlserver.Type{Base: "vector"},
		sqlserver.Type{Base: "geography", CLR: true},
		sqlserver.Type{Base: "geometry", CLR: true}, sqlserver.Type{Base: "hierarchyid", CLR: true})
	return rules
}
