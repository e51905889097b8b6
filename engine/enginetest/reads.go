package enginetest

import (
	"context"
	"database/sql"
	"encoding/json"
	"testing"
)

// scanned is a step of a plan of PostgreSQL, as it ran.
type scanned struct {
	Relation string    `json:"Relation Name"`
	Rows     float64   `json:"Actual Rows"`
	Loops    float64   `json:"Actual Loops"`
	Removed  float64   `json:"Rows Removed by Filter"`
	Plans    []scanned `json:"Plans"`
}

// rows are those of tables that a step and those below it read.
func (s *scanned) rows() (n int) {
	if s.Relation != "" {
		n = int((s.Rows + s.Removed) * s.Loops)
	}
	for i := range s.Plans {
		n += s.Plans[i].rows()
	}
	return n
}

// PostgresReads runs a statement on PostgreSQL, and returns how many rows it read of tables.
func PostgresReads(t *testing.T, on interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, text string, args ...any) int {
	t.Helper()
	var shown []byte
	err := on.QueryRowContext(t.Context(), "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) "+text, args...).Scan(&shown)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var all []struct{ Plan scanned }
	if err := json.Unmarshal(shown, &all); err != nil {
		t.Fatal(err)
	}
	return all[0].Plan.rows()
}
