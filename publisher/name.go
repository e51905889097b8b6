package publisher

import (
	"strings"

	"github.com/rowrelay/rowrelay/plaintext"
)

// name is a table's name, its parts unquoted.
type name struct {
	syntax syntax
	parts  []string
}

// newName returns the name of a table with its schema, and database, before it where they are written.
func newName(d syntax, parts ...string) name { return name{d, parts} }

// String is the name as it stands in a statement.
func (n name) String() string {
	quoted := make([]string, len(n.parts))
	for i, p := range n.parts {
		quoted[i] = n.syntax.quote(p)
	}
	return strings.Join(quoted, ".")
}

// base is the last part, unquoted.
func (n name) base() string { return n.parts[len(n.parts)-1] }

// schema is the part before the last, unquoted; "" where there is none.
func (n name) schema() string {
	if len(n.parts) < 2 {
		return ""
	}
	return n.parts[len(n.parts)-2]
}

// beside returns other in the schema of n, unless it names one of its own.
func (n name) beside(other name) name {
	if len(other.parts) > 1 || len(n.parts) == 1 {
		return other
	}
	return name{n.syntax, append(append([]string{}, n.parts[:len(n.parts)-1]...), other.parts...)}
}

// suffixed returns the name with a suffix.
func (n name) suffixed(suffix string) name {
	parts := append([]string(nil), n.parts...)
	parts[len(parts)-1] += suffix
	return name{n.syntax, parts}
}

// index is the name of an index of a table, unquoted: "<table>_<what>", within the 63 bytes of PostgreSQL.
func (n name) index(what string) string {
	return plaintext.Start(n.base(), 63-1-len(what)) + "_" + what
}

// indexName is index, quoted.
func (n name) indexName(what string) string { return n.syntax.quote(n.index(what)) }

// sayable is a text that every engine takes: valid UTF-8 without NUL.
func sayable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
