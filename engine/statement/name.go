package statement

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/plaintext"
)

// Name is a table's name, its parts unquoted.
type Name struct {
	syntax Syntax
	parts  []string
}

// NewName returns the name of a table with its schema, and database, before it where they are written.
func NewName(d Syntax, parts ...string) Name { return Name{d, parts} }

// String is the name as it stands in a statement.
func (n Name) String() string {
	quoted := make([]string, len(n.parts))
	for i, p := range n.parts {
		quoted[i] = n.syntax.Quote(p)
	}
	return strings.Join(quoted, ".")
}

// Base is the last part, unquoted.
func (n Name) Base() string { return n.parts[len(n.parts)-1] }

// Schema is the part before the last, unquoted; "" where there is none.
func (n Name) Schema() string {
	if len(n.parts) < 2 {
		return ""
	}
	return n.parts[len(n.parts)-2]
}

// Beside returns other in the schema of n, unless it names one of its own.
func (n Name) Beside(other Name) Name {
	if len(other.parts) > 1 || len(n.parts) == 1 {
		return other
	}
	return Name{n.syntax, append(append([]string{}, n.parts[:len(n.parts)-1]...), other.parts...)}
}

// Suffixed returns the name with a suffix.
func (n Name) Suffixed(suffix string) Name {
	parts := append([]string(nil), n.parts...)
	parts[len(parts)-1] += suffix
	return Name{n.syntax, parts}
}

// Index is the name of an index of a table, unquoted: "<table>_<what>", within the 63 bytes of PostgreSQL.
func (n Name) Index(what string) string {
	return plaintext.Start(n.Base(), 63-1-len(what)) + "_" + what
}

// IndexName is index, quoted.
func (n Name) IndexName(what string) string { return n.syntax.Quote(n.Index(what)) }

// Found reads the schema and the name that a catalog says of the table, as one text; "" where it knows none of that
// name.
func (n Name) Found(row *sql.Row) (string, error) {
	var schema, table sql.NullString
	if err := row.Scan(&schema, &table); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("find %s: %w", n, err)
	}
	if !schema.Valid {
		return table.String, nil
	}
	return schema.String + "." + table.String, nil
}
