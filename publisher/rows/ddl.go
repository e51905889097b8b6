package rows

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// DDLOf returns the statements that create an outbox and, with one of them, its claims table.
func DDLOf(d Syntax, table statement.Name, claims string) []string {
	return d.Ddl(table, claims, event.Quoted(event.States), blockedStates)
}

// Index is an index of an own table: its columns, and the statement that adds it.
type Index struct{ Name, Columns, Statement string }

// declared finds an index and its columns in the statements of Ddl.
var declared = regexp.MustCompile(`(?m)^ *(?:KEY|CREATE INDEX(?: IF NOT EXISTS)?) .*?\b\w*_(pending|order|due|blocked)\b.*?\(([^)]+)\).*?,?$`)

// Needs says that statements fail without the indexes, because they name them (Syntax.Force).
func Needs(d Syntax) bool { return d.Force("pending") != "" }

// Indexes are those of a table of `rowrelay outbox init`.
func Indexes(d Syntax, table statement.Name) (list []Index) {
	for _, text := range DDLOf(d, table, "") {
		for _, m := range declared.FindAllStringSubmatch(text, -1) {
			ix := Index{table.Index(m[1]), m[2], m[0]}
			if Needs(d) {
				ix = Index{"rowrelay_" + m[1], m[2], "ALTER TABLE " + table.String() + " ADD " + strings.Trim(m[0], " ,")}
			}
			list = append(list, ix)
		}
	}
	return list
}

// times are the columns that a table of an earlier version lacks.
var times = regexp.MustCompile(`(?m)^ *((available_at|expires_at) .*?),?$`)

// IsTimed reports whether an own table with these columns has the times from which, and up to which events are
// published.
func IsTimed(columns []string) bool { return len(lacking(columns)) == 0 }

// AddTimes are the statements that add those which it lacks.
func AddTimes(d Syntax, table statement.Name, columns []string) (list []string) {
	lacks := lacking(columns)
	for _, m := range times.FindAllStringSubmatch(DDLOf(d, table, "")[0], -1) {
		if slices.Contains(lacks, m[2]) {
			list = append(list, "ALTER TABLE "+table.String()+" ADD "+m[1])
		}
	}
	return list
}

func lacking(columns []string) []string {
	return slices.DeleteFunc([]string{"available_at", "expires_at"}, func(name string) bool {
		return slices.ContainsFunc(columns, func(c string) bool { return strings.EqualFold(c, name) })
	})
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
