package filestore_test

import (
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/filestore"
	"github.com/rowrelay/rowrelay/state/storetest"
)

func open(t *testing.T) state.Store {
	s, err := filestore.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) { storetest.Run(t, state.MaxObject, open) }

func TestLease(t *testing.T) {
	storetest.RunLease(t, storetest.Lease{Open: open, TTL: time.Minute, ShortTTL: time.Minute, FakeTime: true})
}

// BenchmarkCommit is what one acknowledged batch costs on disk: two flushes and a rename.
func BenchmarkCommit(b *testing.B) {
	k, err := keeper(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	s, err := k.Create(b.Context(), "sha256:f", "", nil)
	if err != nil {
		b.Fatal(err)
	}
	l, err := k.Acquire(b.Context(), s)
	if err != nil {
		b.Fatal(err)
	}
	var from change.Cursor
	for n := 0; b.Loop(); n++ {
		to := cursor(n + 1)
		if err := l.Commit(b.Context(), state.Commit{From: from, To: to, BatchID: "b", Rows: 1}); err != nil {
			b.Fatal(err)
		}
		from = to
	}
	if err := l.Release(b.Context()); err != nil {
		b.Fatal(err)
	}
}
