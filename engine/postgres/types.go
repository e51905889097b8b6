package postgres

import (
	"github.com/rowrelay/rowrelay/engine"
)

// Type is a type as pg_type describes it; a domain has been resolved to what it is a domain of.
type Type struct {
	OID      uint32
	Name     string // typname
	Class    string // typtype: b base, e enum, r range, m multirange, c composite, p pseudo
	Category string // typcategory: A array
	Schema   string
}

// How sqlRow encodes the text form of a value.
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

// Value maps a type by the one rule of docs/values.md.
func (t Type) Value() engine.Value {
	v := t.mapped()
	if v.Refused == "" && v.Param == "" {
		v.Param = "%s::" + engine.Literal(t.qualified())
	}
	// The oid that a result must have is kept beside the encoder, so that a changed type is noticed.
	v.Code |= int(t.OID) << 8
	return v
}

// qualified is the type as a cast names it. A type of pg_catalog needs neither schema nor quotes, except where the bare
// word is grammar: bit means bit(1), char means character(1).
func (t Type) qualified() string {
	switch {
	case t.Schema != "pg_catalog":
		return quote(t.Schema) + "." + quote(t.Name)
	case t.Name == "bit" || t.Name == "char":
		return quote(t.Name)
	default:
		return t.Name
	}
}

const asText = "CAST(%s AS text)"

// mapped decides by kind of type first, then by name. A type that is not known is refused: what it means is not
// guessed.
func (t Type) mapped() engine.Value {
	switch {
	case t.Class == "e":
		return engine.Value{Kind: engine.KindText, Code: pgText}
	case t.Class == "r", t.Class == "m":
		return engine.Value{Kind: engine.KindText, Code: pgText}
	case t.Class == "p":
		return engine.Value{Refused: "which is no type of a column", Cast: asText}
	case t.Class == "c":
		return engine.Value{Refused: "which is a row of its own and has no lossless form", Cast: "to_jsonb(%s)"}
	case t.Category == "A" && t.Name != "int2vector" && t.Name != "oidvector":
		return engine.Value{Refused: "which is an array and has no lossless form", Cast: "to_jsonb(%s)"}
	}
	if t.Schema != "pg_catalog" && t.Name != "citext" {
		return engine.Value{Refused: "which an extension defines and has no lossless form that is known", Cast: asText}
	}
	return named(t.Name)
}

// named maps the types of pg_catalog, and citext.
func named(name string) engine.Value {
	switch name {
	case "bool":
		return engine.Value{Kind: engine.KindBool, Code: pgBool}
	case "int2", "int4", "int8":
		return engine.Value{Kind: engine.KindInteger, Code: pgInteger}
	case "xid8":
		return engine.Value{Kind: engine.KindInteger, Code: pgInteger, Transaction: true}
	case "oid", "xid", "cid":
		v := engine.Value{Kind: engine.KindInteger, Code: pgInteger,
			NoCursor: "whose values begin again after 4294967295; name another column"}
		if name != "oid" {
			v.NoKey = "which has no order; name other columns"
		}
		return v
	case "numeric":
		return engine.Value{Kind: engine.KindDecimal, Code: pgQuoted}
	case "money":
		// Its own text form depends on the server's locale.
		return engine.Value{Kind: engine.KindDecimal, Code: pgQuoted, Expr: "%s::numeric", Param: "%s::numeric::money"}
	case "float4":
		return engine.Value{Kind: engine.KindFloat, Code: pgFloat4}
	case "float8":
		return engine.Value{Kind: engine.KindFloat, Code: pgFloat8}
	case "text", "varchar", "bpchar", "name", "char", "citext":
		return engine.Value{Kind: engine.KindText, Code: pgText}
	case "uuid":
		return engine.Value{Kind: engine.KindUUID, Code: pgQuoted}
	case "bytea":
		return engine.Value{Kind: engine.KindBinary, Code: pgBytea}
	case "date":
		return engine.Value{Kind: engine.KindDate, Code: pgQuoted}
	case "time":
		return engine.Value{Kind: engine.KindTime, Code: pgQuoted}
	case "timetz":
		return engine.Value{Kind: engine.KindTime, Code: pgTimeTZ}
	case "timestamp":
		return engine.Value{Kind: engine.KindDateTime, Code: pgTimestamp}
	case "timestamptz":
		return engine.Value{Kind: engine.KindInstant, Code: pgInstant}
	case "json":
		return engine.Value{Kind: engine.KindJSON, Code: pgJSON}
	case "jsonb":
		return engine.Value{Kind: engine.KindJSON, Code: pgJSON}
	case "interval", "inet", "cidr", "macaddr", "macaddr8", "bit", "varbit", "pg_lsn", "tsvector", "tsquery",
		"oidvector", "jsonpath":
		return engine.Value{Kind: engine.KindText, Code: pgText}
	case "xml", "point", "line", "lseg", "box", "path", "polygon", "circle", "tid", "int2vector", "refcursor", "aclitem",
		"txid_snapshot", "pg_snapshot", "gtsvector":
		return engine.Value{Kind: engine.KindText, Code: pgText, NoKey: "whose values have no order; name other columns"}
	case "regclass", "regcollation", "regconfig", "regdictionary", "regnamespace", "regoper", "regoperator", "regproc",
		"regprocedure", "regrole", "regtype":
		return engine.Value{Kind: engine.KindText, Code: pgText,
			NoKey: "whose text depends on the search path; name other columns"}
	case "pg_node_tree", "pg_ndistinct", "pg_dependencies", "pg_mcv_list", "pg_brin_bloom_summary",
		"pg_brin_minmax_multi_summary", "pg_ddl_command":
		return engine.Value{Refused: "which is the server's own and has no lossless form", Cast: asText}
	default:
		return engine.Value{Refused: "which has no lossless form that is known", Cast: asText}
	}
}
