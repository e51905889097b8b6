package typerules

import (
	"strings"

	"github.com/rowrelay/rowrelay/engine/mysql"
)

// mysqlRules lists every type of both families' manuals.
func mysqlRules() []Rule {
	var rules []Rule
	add := func(note string, types ...mysql.Type) {
		for _, t := range types {
			if t.Full == "" {
				t.Full = t.Data
			}
			rules = append(rules, Rule{Name: t.Data, Sample: t.Full, Value: t.Value(), Note: note})
		}
	}
	add("a number (BOOLEAN is `tinyint(1)`)", mysql.Type{Data: "tinyint"}, mysql.Type{Data: "smallint"},
		mysql.Type{Data: "mediumint"},
		mysql.Type{Data: "int"}, mysql.Type{Data: "year"})
	add("a number, beyond ±(2^53−1) a string", mysql.Type{Data: "bigint", Full: "bigint unsigned"})
	add("its bits as a number, beyond 2^53−1 a string", mysql.Type{Data: "bit", Full: "bit(64)"})
	add("a string of digits", mysql.Type{Data: "decimal", Full: "decimal(20,5)", Precision: 20, Scale: 5})
	add("the shortest number that reads back the same", mysql.Type{Data: "float"}, mysql.Type{Data: "double"})
	add("`\"2026-04-07\"`; a zero date is `\"0000-00-00\"`", mysql.Type{Data: "date"})
	add("`\"01:23:45.123456\"`, from `\"-838:59:59\"` to `\"838:59:59\"`",
		mysql.Type{Data: "time", Full: "time(6)", Scale: 6})
	add("`\"2026-04-07T01:23:45.123456\"`; a zero date is `\"0000-00-00T00:00:00\"`",
		mysql.Type{Data: "datetime", Full: "datetime(6)", Scale: 6})
	add("`\"2026-04-07T01:23:45.123456Z\"`, in UTC", mysql.Type{Data: "timestamp", Full: "timestamp(6)", Scale: 6})
	add("a string", mysql.Type{Data: "char", Full: "char(5)"}, mysql.Type{Data: "varchar", Full: "varchar(10)"},
		mysql.Type{Data: "tinytext"},
		mysql.Type{Data: "text"}, mysql.Type{Data: "mediumtext"}, mysql.Type{Data: "longtext"})
	add("its text, as a string", mysql.Type{Data: "enum", Full: "enum('b','a')"},
		mysql.Type{Data: "set", Full: "set('x','y')"})
	add("base64", mysql.Type{Data: "binary", Full: "binary(3)"}, mysql.Type{Data: "varbinary", Full: "varbinary(9)"},
		mysql.Type{Data: "tinyblob"},
		mysql.Type{Data: "blob"}, mysql.Type{Data: "mediumblob"}, mysql.Type{Data: "longblob"})
	add("JSON as it is (MariaDB: `longtext` with a `json_valid` check of the column)", mysql.Type{Data: "json"})
	add("a string (MariaDB)", mysql.Type{Data: "uuid"}, mysql.Type{Data: "inet4"}, mysql.Type{Data: "inet6"})
	for name := range strings.FieldsSeq("geometry point linestring polygon multipoint multilinestring multipolygon geometrycollection vector") {
		add("refused", mysql.Type{Data: name})
	}
	return rules
}
