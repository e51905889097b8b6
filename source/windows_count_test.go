package source

import (
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestPostgresSnapshotCount: at every position, what is counted behind it is what then comes; within a scan and within
// a window too.
func TestPostgresSnapshotCount(t *testing.T) {
	t.Parallel()
	url, db := snapshotTable(t)
	src := snapshotSource(t, url, nil)
	r := (&reader{t: t, src: src}).start()
	testenv.Exec(t, db, "INSERT INTO o VALUES (6)")
	r.drain(2)
	open := testenv.Begin(t, db, "INSERT INTO o VALUES (10)")
	testenv.Exec(t, db, "INSERT INTO o SELECT i FROM generate_series(20, 24) i", "INSERT INTO o VALUES (25)")
	r.drain(2)
	testenv.Commit(t, open)
	testenv.Exec(t, db, "INSERT INTO o VALUES (30), (31), (32)")
	r.drain(2)
	scans, windows := 0, 0
	p, err := src.current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.stored {
		w, err := p.Snapshots().Decode(s.at)
		if err != nil {
			t.Fatal(err)
		}
		if w.Scanning && w.After != nil {
			scans++
		}
		if w.Open {
			windows++
		}
		if n, err := src.Count(t.Context(), change.Range{After: s.at}); err != nil || n != int64(len(r.events)-s.read) {
			t.Errorf("behind %s: %d, want %d (%v)", s.at, n, len(r.events)-s.read, err)
		}
		if n, err := src.Count(t.Context(), change.Range{UpTo: s.at}); err != nil || n != int64(s.read) {
			t.Errorf("up to %s: %d, want %d (%v)", s.at, n, s.read, err)
		}
	}
	if scans < 3 || windows < 5 {
		t.Errorf("%d positions within a scan, %d within a window: the test shows too little", scans, windows)
	}
}
