package source

import (
	"strings"
)

// postgresType is a type as pg_type describes it; a domain has been resolved to what it is a domain of.
type postgresType struct {
	oid      uint32
	name     string // typname
	class    string // typtype: b base, e enum, r range, m multirange, c composite, p pseudo
	category string // typcategory: A array
	schema   string
}

// How postgresRow encodes the text form of a value.
const (
	pgBool      = iota
	pgInteger   // digits
	pgQuoted    // text that needs no escaping
	pgFloat4    //
	pgFloat8    //
	pgText      //
	pgBytea     // \x…
	pgTime      // 01:23:45.123
	pgTimeTZ    // 01:23:45.123+02
	pgTimestamp // 2026-04-07 01:23:45.123456
	pgInstant   // 2026-04-07 01:23:45.123456+00
	pgJSON      //
)

// value maps a type by the one rule of docs/values.md.
func (t postgresType) value() value {
	v := t.mapped()
	if v.refused == "" && v.param == "" {
		v.param = "%s::" + t.qualified()
	}
	// The oid that a result must have is kept beside the encoder, so that a changed type is noticed.
	v.code |= int(t.oid) << 8
	return v
}

// qualified is the type as a cast names it. A type of pg_catalog needs neither schema nor quotes, except where the bare
// word is grammar: bit means bit(1), char means character(1).
func (t postgresType) qualified() string {
	d := postgres{}
	switch {
	case t.schema != "pg_catalog":
		return d.quote(t.schema) + "." + d.quote(t.name)
	case t.name == "bit" || t.name == "char":
		return d.quote(t.name)
	default:
		return t.name
	}
}

const asText = "CAST(%s AS text)"

// mapped decides by kind of type first, then by name. A type that is not known is refused: what it means is not guessed.
func (t postgresType) mapped() value {
	switch {
	case t.class == "e":
		return value{kind: kindText, code: pgText}
	case t.class == "r", t.class == "m":
		return value{kind: kindText, code: pgText}
	case t.class == "p":
		return value{refused: "which is no type of a column", cast: asText}
	case t.class == "c":
		return value{refused: "which is a row of its own and has no lossless form", cast: "to_jsonb(%s)"}
	case t.category == "A" && t.name != "int2vector" && t.name != "oidvector":
		return value{refused: "which is an array and has no lossless form", cast: "to_jsonb(%s)"}
	}
	if t.schema != "pg_catalog" && t.name != "citext" {
		return value{refused: "which an extension defines and has no lossless form that is known", cast: asText}
	}
	return postgresNamed(t.name)
}

// postgresNamed maps the types of pg_catalog, and citext.
func postgresNamed(name string) value {
	switch name {
	case "bool":
		return value{kind: kindBool, code: pgBool}
	case "int2", "int4", "int8":
		return value{kind: kindInteger, code: pgInteger}
	case "xid8":
		return value{kind: kindInteger, code: pgInteger, transaction: true}
	case "oid", "xid", "cid":
		v := value{kind: kindInteger, code: pgInteger, noCursor: "whose values begin again after 4294967295; name another column"}
		if name != "oid" {
			v.noKey = "which has no order; name other columns"
		}
		return v
	case "numeric":
		return value{kind: kindDecimal, code: pgQuoted}
	case "money":
		// Its own text form depends on the server's locale.
		return value{kind: kindDecimal, code: pgQuoted, expr: "%s::numeric", param: "%s::numeric::money"}
	case "float4":
		return value{kind: kindFloat, code: pgFloat4}
	case "float8":
		return value{kind: kindFloat, code: pgFloat8}
	case "text", "varchar", "bpchar", "name", "char", "citext":
		return value{kind: kindText, code: pgText}
	case "uuid":
		return value{kind: kindUUID, code: pgQuoted}
	case "bytea":
		return value{kind: kindBinary, code: pgBytea}
	case "date":
		return value{kind: kindDate, code: pgQuoted}
	case "time":
		return value{kind: kindTime, code: pgQuoted}
	case "timetz":
		return value{kind: kindTime, code: pgTimeTZ}
	case "timestamp":
		return value{kind: kindDateTime, code: pgTimestamp}
	case "timestamptz":
		return value{kind: kindInstant, code: pgInstant}
	case "json":
		return value{kind: kindJSON, code: pgJSON}
	case "jsonb":
		return value{kind: kindJSON, code: pgJSON}
	case "interval", "inet", "cidr", "macaddr", "macaddr8", "bit", "varbit", "pg_lsn", "tsvector", "tsquery",
		"oidvector", "jsonpath":
		return value{kind: kindText, code: pgText}
	case "xml", "point", "line", "lseg", "box", "path", "polygon", "circle", "tid", "int2vector", "refcursor", "aclitem",
		"txid_snapshot", "pg_snapshot", "gtsvector":
		return value{kind: kindText, code: pgText, noKey: "whose values have no order; name other columns"}
	case "regclass", "regcollation", "regconfig", "regdictionary", "regnamespace", "regoper", "regoperator", "regproc",
		"regprocedure", "regrole", "regtype":
		return value{kind: kindText, code: pgText, noKey: "whose text depends on the search path; name other columns"}
	case "pg_node_tree", "pg_ndistinct", "pg_dependencies", "pg_mcv_list", "pg_brin_bloom_summary",
		"pg_brin_minmax_multi_summary", "pg_ddl_command":
		return value{refused: "which is the server's own and has no lossless form", cast: asText}
	default:
		return value{refused: "which has no lossless form that is known", cast: asText}
	}
}

// types lists the types of PostgreSQL's catalog by group; the tests hold it against pg_type of the real engine.
func (postgres) types() []typeRule {
	var rules []typeRule
	add := func(note string, names ...string) {
		for _, name := range names {
			rules = append(rules, typeRule{name: name, sample: name, value: postgresType{name: name, class: "b", schema: "pg_catalog"}.value(), note: note})
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
		oidvector int2vector jsonpath xml point line lseg box path polygon circle tid refcursor aclitem txid_snapshot pg_snapshot gtsvector
		regclass regcollation regconfig regdictionary regnamespace regoper regoperator regproc regprocedure regrole regtype`)...)
	add("", "pg_node_tree", "pg_ndistinct", "pg_dependencies", "pg_mcv_list", "pg_brin_bloom_summary", "pg_brin_minmax_multi_summary")
	group := func(name, note, class, category string) {
		t := postgresType{name: name, class: class, category: category, schema: "pg_catalog"}
		rules = append(rules, typeRule{name: name, sample: name, value: t.mapped(), note: note})
	}
	group("(enum)", "a string", "e", "E")
	group("(range, multirange)", "PostgreSQL's text form, as a string", "r", "R")
	group("(array)", "", "b", "A")
	group("(composite)", "", "c", "C")
	group("(pseudo-type)", "", "p", "P")
	rules = append(rules, typeRule{name: "(type of an extension, but citext)", sample: "hstore",
		value: postgresType{name: "hstore", class: "b", category: "U", schema: "public"}.mapped()})
	return append(rules, typeRule{name: "(domain)", sample: "domain", value: value{kind: kindText}, note: "as the type that it is a domain of"})
}
