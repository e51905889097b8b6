package source

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestPostgresScanTies: the scan phase reads by key alone. Where the catalog does not prove the key, a page ends only
// where the database tells two keys apart, whatever their transactions are.
func TestPostgresScanTies(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	db := writer(t, "pgx", url, "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
		"CREATE TABLE o (k text COLLATE ci, n int NOT NULL, xid xid8 NOT NULL DEFAULT pg_current_xact_id())")
	for _, k := range []string{"a", "A", "b", "c", "B", "d"} { // each in a transaction of its own
		testenv.Exec(t, db, "INSERT INTO o VALUES ('"+k+"', 1)")
	}
	open := func(key string) *Cursor {
		return newSource(t, url, plan.Config{Poller: "p", Query: "SELECT * FROM o", Cursor: []string{"xid"},
			Key: []string{key}, LateCommits: "exact"})
	}
	for _, rows := range []int{2, 3, 10} {
		r := (&reader{t: t, src: open("k")}).start()
		got := r.drain(rows)
		for _, k := range []string{"a", "A", "b", "c", "B", "d"} {
			if strings.Count(got, `{"k":"`+k+`"}`) != 1 {
				t.Errorf("pages of %d rows: %s", rows, got)
			}
		}
	}
	// A page of one row can end nowhere between two keys that the database holds equal: it fails, and loses nothing.
	if _, err := open("k").Fetch(t.Context(), change.Range{}, poller.Limit{Rows: 1, Bytes: 1 << 20}); !errors.Is(err,
		poller.ErrNormalize) || !strings.Contains(err.Error(), "batch_size") {
		t.Errorf("a page of one row: %v", err)
	}
	// A key that is none: two rows have it, of two transactions.
	if _, err := open("n").Fetch(t.Context(), change.Range{}, poller.Limit{Rows: 2, Bytes: 1 << 20}); !errors.Is(err,
		poller.ErrNormalize) || !strings.Contains(err.Error(), "does not identify a row") {
		t.Errorf("rows that share a key: %v", err)
	}
}
