package sqlite

import (
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
)

// How sqlRow checks and encodes a value. The storage class decides the form; the declared type decides which classes
// it may have, so that a value can be told from its form alone: that is what makes a cursor or key readable again.
const (
	asNumeric = iota // integer, real, text
	asBool           // integer 0 and 1, else as numeric
	asString         // text; a number where the declared type let one in
	asBlob           // blob
	asJSON           // text that is JSON; numbers
	asAny            // no declared type: integer, real, text
)

// ValueOf maps a declared type: first by name, then by the affinity that SQLite derives from it
// (https://www.sqlite.org/datatype3.html, §3.1).
func ValueOf(declared string) engine.Value {
	name := strings.ToUpper(strings.TrimSpace(declared))
	name, _, _ = strings.Cut(name, "(")
	name = strings.TrimSpace(name)
	switch {
	case name == "" || name == "ANY":
		return engine.Value{Kind: engine.KindText, Code: asAny, Untyped: true,
			NoCursor: "so that SQLite does not tell its type: name a column with a declared type, of a table and not computed"}
	case strings.HasPrefix(name, "BOOL"):
		return engine.Value{Kind: engine.KindBool, Code: asBool}
	case strings.HasPrefix(name, "DATETIME"), strings.HasPrefix(name, "TIMESTAMP"),
		strings.HasPrefix(name, "SMALLDATETIME"):
		// The driver would parse the text of a column that is declared so; an expression has no declared type.
		return engine.Value{Kind: engine.KindDateTime, Code: asNumeric, Expr: "+%s"}
	case name == "DATE":
		return engine.Value{Kind: engine.KindDate, Code: asNumeric, Expr: "+%s"}
	case name == "TIME":
		return engine.Value{Kind: engine.KindTime, Code: asNumeric}
	case name == "JSON":
		return engine.Value{Kind: engine.KindJSON, Code: asJSON}
	case name == "JSONB":
		return engine.Value{Refused: "which SQLite keeps in a form of its own", Cast: "json(%s)"}
	case name == "UUID", name == "GUID", name == "UNIQUEIDENTIFIER":
		return engine.Value{Kind: engine.KindUUID, Code: asString}
	case strings.Contains(name, "INT"):
		return engine.Value{Kind: engine.KindInteger, Code: asNumeric}
	case strings.Contains(name, "CHAR"), strings.Contains(name, "CLOB"), strings.Contains(name, "TEXT"):
		return engine.Value{Kind: engine.KindText, Code: asString, NoCursor: noTextCursor}
	case strings.Contains(name, "BLOB"):
		return engine.Value{Kind: engine.KindBinary, Code: asBlob}
	case strings.Contains(name, "REAL"), strings.Contains(name, "FLOA"), strings.Contains(name, "DOUB"):
		return engine.Value{Kind: engine.KindFloat, Code: asNumeric}
	default:
		return engine.Value{Kind: engine.KindDecimal, Code: asNumeric}
	}
}

// Affinity is what a column makes of numbers and of texts that look like one.
type Affinity uint8

const (
	Blob    Affinity = iota // nothing
	Text                    // text
	Numeric                 // an integer, or a float where it has a fraction; INTEGER is the same
	Real                    // a float
)

// AffinityOf is the affinity of a column by its declared type, by SQLite's own rules.
func AffinityOf(declared string) Affinity {
	name := strings.ToUpper(declared)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
	}
	switch {
	case has("INT"):
		return Numeric
	case has("CHAR", "CLOB", "TEXT"):
		return Text
	case has("BLOB") || strings.TrimSpace(name) == "":
		return Blob
	case has("REAL", "FLOA", "DOUB"):
		return Real
	}
	return Numeric
}

// noTextCursor is for who keeps times as text, as SQLite's own documents say.
const noTextCursor = "and text is not a cursor: its order is the collation's, and new values do not sort after old ones; where it " +
	"holds times in one form (2026-04-07 01:23:45), give the table a column that says so, ALTER TABLE … ADD COLUMN changed_at " +
	"DATETIME AS (this column), with an index on it and the key, and name that; otherwise name a column that grows with every " +
	"change: an integer version"
