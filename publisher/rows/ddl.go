package rows

import (
	"regexp"
	"strings"

	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// DDLOf returns the statements that create an outbox and, with one of them, its claims table.
func DDLOf(d Syntax, table statement.Name, claims string) []string {
	return d.Ddl(table, claims, event.Quoted(event.States), blockedStates)
}

// Index is an index, and the statement that adds it.
type Index struct{ Name, Statement string }

// declared finds an index in CREATE TABLE.
var declared = regexp.MustCompile(`(?m)^ *((?:UNIQUE )?KEY (rowrelay_\w+) .+?),?$`)

// NamedIndexes are those without which statements fail, because they name them (Syntax.Force): none where the engine
// chooses by itself.
func NamedIndexes(d Syntax, table statement.Name) (named []Index) {
	if d.Force("pending") == "" {
		return nil
	}
	for _, m := range declared.FindAllStringSubmatch(DDLOf(d, table, "")[0], -1) {
		named = append(named, Index{m[2], "ALTER TABLE " + table.String() + " ADD " + m[1]})
	}
	return named
}

// IsOwn reports whether a table with these columns is one of `rowrelay outbox init`. Letters may be of any case.
func IsOwn(d Syntax, columns []string) bool {
	have := map[string]bool{}
	for _, c := range columns {
		have[strings.ToLower(c)] = true
	}
	for _, c := range []string{d.Seq(), "id", "aggregate_type", "aggregate_id", "event_type", "payload", "created_at",
		"published_at", "retry_count",
		"idempotency_key", "state", "next_attempt_at", "last_error", "bucket", "traceparent", "tracestate"} {
		if !have[c] {
			return false
		}
	}
	return true
}
