package typerules

import (
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/postgres"
)

// postgresRules lists the types of PostgreSQL's catalog by group; the tests hold it against pg_type of the real engine.
func postgresRules() []Rule {
	var rules []Rule
	add := func(note string, names ...string) {
		for _, name := range names {
			rules = append(rules, Rule{Name: name, Sample: name,
				Value: postgres.Type{Name: name, Class: "b", Schema: "pg_catalog"}.Value(), Note: note})
		}
	}
	add("`true`, `false`", "bool")
	add("a number, beyond ±(2^53−1) a string", "int2", "int4", "int8", "oid", "xid", "xid8", "cid")
	add("a string of digits; `\"NaN\"`, `\"Infinity\"`", "numeric")
	add("a string of digits, through `numeric`", "money")
	add("the shortest number; `\"NaN\"`, `\"Infinity\"`, `\"-Infinity\"`", "float4", "float8")
	add("a string; `char(n)` with its blanks", "text", "varchar", "bpchar", "name", "char", "citext")
	add("a string", "uuid")
	add("base64", "bytea")
	add("`\"2026-04-07\"`; `\"infinity\"`, `\"0044-03-15 BC\"`", "date")
	add("`\"01:23:45.123456\"`", "time")
	add("`\"01:23:45.123456+02:00\"`", "timetz")
	add("`\"2026-04-07T01:23:45.123456\"`; `\"infinity\"`; before Christ as PostgreSQL prints it", "timestamp")
	add("`\"2026-04-07T01:23:45.123456Z\"`; `\"infinity\"`; before Christ as PostgreSQL prints it", "timestamptz")
	add("ISO 8601 duration, `\"P1Y2M3DT4H5M6.7S\"`", "interval")
	add("as it is, white space removed", "json", "jsonb")
	add("PostgreSQL's text form, as a string", strings.Fields(`inet cidr macaddr macaddr8 bit varbit pg_lsn tsvector tsquery
		oidvector int2vector jsonpath xml point line lseg box path polygon circle tid refcursor aclitem txid_snapshot
		pg_snapshot gtsvector regclass regcollation regconfig regdictionary regnamespace regoper regoperator regproc
		regprocedure regrole regtype`)...)
	add("", "pg_node_tree", "pg_ndistinct", "pg_dependencies", "pg_mcv_list", "pg_brin_bloom_summary",
		"pg_brin_minmax_multi_summary")
	group := func(name, note, class, category string) {
		v := postgres.Type{Name: name, Class: class, Category: category, Schema: "pg_catalog"}.Value()
		v.Param = "" // which would name the group
		rules = append(rules, Rule{Name: name, Sample: name, Value: v, Note: note})
	}
	group("(enum)", "a string", "e", "E")
	group("(range, multirange)", "PostgreSQL's text form, as a string", "r", "R")
	group("(array)", "", "b", "A")
	group("(composite)", "", "c", "C")
	group("(pseudo-type)", "", "p", "P")
	rules = append(rules, Rule{Name: "(type of an extension, but citext)", Sample: "hstore",
		Value: postgres.Type{Name: "hstore", Class: "b", Category: "U", Schema: "public"}.Value()})
	return append(rules, Rule{Name: "(domain)", Sample: "domain", Value: engine.Value{Kind: engine.KindText},
		Note: "as the type that it is a domain of"})
}
