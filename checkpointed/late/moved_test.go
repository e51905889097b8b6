package late

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
)

// TestIdleMovesAreStoredByShortProcesses: a position that moves without rows is stored once a window, also by processes
// that live for one tick: else it would fall behind what the source retains.
func TestIdleMovesAreStoredByShortProcesses(t *testing.T) {
	for _, mode := range []Mode{Exact, Overlap} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { idleMoves(t, mode) })
		})
	}
}

func idleMoves(t *testing.T, mode Mode) {
	t.Helper()
	var doc state.Document
	doc.Late.Mode = string(mode)
	doc.Checkpoint.Cursor, doc.Checkpoint.UpdatedAt = change.Cursor(`{"value":1}`), time.Now()
	doc.Late.Frontier = doc.Checkpoint.Cursor
	due := func() bool {
		l := New(Config{Window: 2 * time.Minute, Memory: 100})
		if err := l.Adopt(t.Context(), &doc, time.Now(), Source{Mode: mode},
			func(context.Context, string) ([]byte, error) { return nil, state.ErrNotFound }); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Fetched(l.Next(t.Context()), &change.Page{To: change.Cursor(`{"value":9}`)}); err != nil {
			t.Fatal(err)
		}
		return l.Due()
	}
	for minute, want := range []bool{false, false, true, true} {
		if got := due(); got != want {
			t.Errorf("after %d minutes: %t", minute, got)
		}
		time.Sleep(time.Minute)
	}
}
