package publisher

import (
	"strings"

	"github.com/rowrelay/rowrelay/plaintext"
)

// DDL returns the statements, in order, that create an outbox and its claims table on an engine. Each may be repeated: what
// is there already stays as it is. table and claims are named as the settings source__table and source__claims_table do;
// errors wrap poller.ErrConfig.
//
// The application's INSERT names aggregate_type, aggregate_id, event_type, payload and idempotency_key, and traceparent and
// tracestate where it has them; everything else is the outbox' own.
func DDL(engine, table, claims string) ([]string, error) {
	d, err := dialectFor(engine)
	if err != nil {
		return nil, err
	}
	outbox, err := parseName(d, "source__table", table)
	if err != nil {
		return nil, err
	}
	beside, err := parseName(d, "source__claims_table", claims)
	if err != nil {
		return nil, err
	}
	return d.ddl(outbox, outbox.beside(beside)), nil
}

// states is the list of a CHECK, and blockedStates that of the index of events which others wait behind, or which wait:
// a search with the same words is known to be served by the index.
const (
	states        = "'PENDING', 'PUBLISHING', 'PUBLISHED', 'FAILED', 'WAITING', 'DEAD LETTER', 'DISCARDED'"
	blockedStates = "'FAILED', 'DEAD LETTER', 'WAITING'"
)

// indexName is the name of an index of a table: "<table>_<what>", within the 63 bytes of PostgreSQL.
func (n name) indexName(what string) string {
	return n.d.quote(plaintext.Start(n.base(), 63-1-len(what)) + "_" + what)
}

// ownColumns are the columns that make a table one of `rowrelay outbox init`.
func ownColumns(d dialect) []string {
	return []string{d.seq(), "id", "aggregate_type", "aggregate_id", "event_type", "payload", "created_at", "published_at", "retry_count",
		"idempotency_key", "state", "next_attempt_at", "last_error", "bucket", "traceparent", "tracestate"}
}

// isOwn reports whether all of them are there, in any case of letters.
func isOwn(d dialect, columns []string) bool {
	have := map[string]bool{}
	for _, c := range columns {
		have[strings.ToLower(c)] = true
	}
	for _, c := range ownColumns(d) {
		if !have[c] {
			return false
		}
	}
	return true
}
