package source_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestBuiltInOperations: what is told is what happened since the position, in pages of every size.
func TestBuiltInOperations(t *testing.T) {
	t.Parallel()
	for rows := 1; rows <= 7; rows++ {
		m := newTracked()
		m.Commit("i 8 1", "i 9 1")
		f := m.follow(t, plan.Config{Start: "latest"})
		f.want("latest", f.read(rows), "")
		m.Commit("i 1 1", "i 2 1", "i 3 1")
		m.Commit("u 1 2")
		m.Commit("u 1 3", "u 8 2")
		m.Commit("u 2 2")
		m.Commit("d 2")
		m.Commit("d 9", "i 9 5")
		f.want("the net changes", f.read(rows), "insert 3=1, insert 1=3, update 8=2, delete 2, insert 9=5")
		m.Commit("u 3 2")
		f.want("an update is no insert", f.read(rows), "update 3=2")
		m.Commit("i 4 1", "i 5 1", "i 6 1")
		m.Commit("d 5", "u 3 3")
		f.want("one version", f.read(rows), "insert 4=1, insert 6=1, update 3=3, delete 5")
	}
}

// TestBuiltInIdle: a poll for which nothing was committed asks once, and reads no changes. What others commit moves the
// position, so that it stays above what is cleaned up.
func TestBuiltInIdle(t *testing.T) {
	t.Parallel()
	m := newTracked()
	m.Commit("i 1 1")
	f := m.follow(t, plan.Config{})
	f.want("first", f.read(10), "insert 1=1")
	m.asked = nil
	for range 3 {
		f.want("nothing", f.read(10), "")
	}
	f.want("asked", strings.Join(m.asked, " "), "idle idle idle")
	m.asked = nil
	for range 5 {
		m.Current += 10 // other tables
		f.want("of others", f.read(10), "")
		f.want("the position", string(f.at), fmt.Sprintf(`{"kind":"integer+pk","value":%d}`, m.Current))
		m.Clean(m.Current)
	}
	f.want("asked", strings.Join(m.asked, " "), "changes changes changes changes changes")
	m.Commit("d 1")
	f.want("goes on", f.read(10), "delete 1")
}

// TestBuiltInStartsAtTheBeginning: what is retained is delivered; an update of a row whose insert is gone is none.
func TestBuiltInStartsAtTheBeginning(t *testing.T) {
	t.Parallel()
	m := newTracked()
	m.Commit("i 1 1", "i 2 1")
	m.Commit("u 1 2")
	m.Commit("i 3 1")
	m.Clean(1)
	f := m.follow(t, plan.Config{Start: "earliest"})
	f.want("retained", f.read(1), "update 1=2, insert 3=1")
}

// TestBuiltInStartsAfterAVersion: a poller takes over where another program stood, as the Azure SQL trigger's
// LastSyncVersion says it. A version that is retained no more is a gap, and is not jumped over.
func TestBuiltInStartsAfterAVersion(t *testing.T) {
	t.Parallel()
	m := newTracked()
	m.Commit("i 1 1")
	m.Commit("i 2 1")
	m.Commit("u 1 2", "d 2")
	m.Commit("i 3 1")
	f := m.follow(t, plan.Config{Start: "2"})
	f.want("after version 2", f.read(1), "update 1=2, delete 2, insert 3=1")
	m.Clean(3)
	if _, err := m.follow(t, plan.Config{Start: "2"}).page(1); !errors.Is(err, poller.ErrGap) {
		t.Errorf("version 2 is not retained: %v", err)
	}
}

// TestBuiltInBefore: from the position before a change it comes again, and not those below it. Of a row that was not
// written since changes are tracked no position is known.
func TestBuiltInBefore(t *testing.T) {
	t.Parallel()
	m := newTracked()
	m.Commit("i 1 1")
	m.Commit("i 2 1")
	f := m.follow(t, plan.Config{})
	f.read(10)
	at, known, err := f.src.Before(t.Context(), change.Cursor(`{"kind":"integer+pk","value":2,"tiebreaker":{"id":2}}`))
	if err != nil || !known {
		t.Fatalf("known %t, %v", known, err)
	}
	f.at = at
	f.want("again", f.read(10), "insert 2=1")
	unwritten := change.Cursor(`{"kind":"integer+pk","value":0,"tiebreaker":{"id":2}}`)
	if at, known, err := f.src.Before(t.Context(), unwritten); err != nil || known {
		t.Errorf("%s, known %t, %v", at, known, err)
	}
}

// TestBuiltInGaps: whatever may have removed changes stops, says why, and what goes on.
func TestBuiltInGaps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		happens func(*tracked)
		says    string
	}{
		"retention": {func(m *tracked) { m.Commit("i 3 1"); m.Commit("i 4 1"); m.Clean(m.Current) },
			"CHANGE_RETENTION has passed"},
		"truncate": {func(m *tracked) { m.Commit("i 3 1"); clear(m.Rows); m.again() }, "truncated"},
		// Nothing was committed elsewhere: the versions alone do not tell.
		"truncate at the position": {func(m *tracked) { clear(m.Rows); m.again() }, "truncated"},
		"off and on":               {func(m *tracked) { delete(m.Rows, 1); m.again() }, "switched off and on"},
		"another table":            {func(m *tracked) { m.object = 8; m.Rows = map[int64]int64{5: 5} }, "made anew"},
		"restored":                 {func(m *tracked) { m.Current--; m.Log = m.Log[:1] }, "ahead of"},
	} {
		m := newTracked()
		m.Commit("i 1 1")
		m.Commit("i 2 1")
		f := m.follow(t, plan.Config{})
		f.want(name, f.read(10), "insert 1=1, insert 2=1")
		at := string(f.at)
		c.happens(m)
		for range 2 {
			_, err := f.page(10)
			if !errors.Is(err, poller.ErrGap) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", name, err)
			}
			f.want(name+": the position", string(f.at), at)
		}
	}
}

// TestBuiltInRestoredWithinAWindow: the window's end is ahead of what was restored, though its rows are not.
func TestBuiltInRestoredWithinAWindow(t *testing.T) {
	t.Parallel()
	m := newTracked()
	f := m.follow(t, plan.Config{})
	for i := range 6 {
		m.Commit(fmt.Sprintf("i %d 1", i+1))
	}
	if _, err := f.page(2); err != nil {
		t.Fatal(err)
	}
	m.Current, m.Log = 4, m.Log[:4]
	delete(m.Rows, 5)
	delete(m.Rows, 6)
	if _, err := f.page(2); !errors.Is(err, poller.ErrGap) || !strings.Contains(err.Error(), "ahead of") {
		t.Errorf("the window ends at 6, and the database is at 4: %v", err)
	}
}

// TestBuiltInRetentionWithinAWindow: what a window began after may be cleaned up once it was read; what is still to be
// read may not.
func TestBuiltInRetentionWithinAWindow(t *testing.T) {
	t.Parallel()
	m := newTracked()
	f := m.follow(t, plan.Config{})
	f.want("nothing", f.read(1), "")
	for i := range 6 {
		m.Commit(fmt.Sprintf("i %d 1", i+1))
	}
	for range 3 {
		if _, err := f.page(1); err != nil {
			t.Fatal(err)
		}
	}
	m.Clean(2)
	f.want("what is left", f.read(1), "insert 1=1, insert 2=1, insert 3=1, insert 4=1, insert 5=1, insert 6=1")

	m.Commit("i 7 1", "i 8 1")
	if _, err := f.page(1); err != nil {
		t.Fatal(err)
	}
	m.Clean(m.Current) // with the rest of the version that was begun
	if _, err := f.page(1); !errors.Is(err, poller.ErrGap) {
		t.Errorf("the rest of a version is gone: %v", err)
	}
}

// TestBuiltInAsksForValidVersionsOnly: of changes after a version below the lowest valid one the server says that the
// result may not be valid. A window that began there is read from the lowest valid one on, and so is the beginning.
func TestBuiltInAsksForValidVersionsOnly(t *testing.T) {
	t.Parallel()
	m := newTracked()
	for i := range 9 {
		m.Commit(fmt.Sprintf("i %d 1", i+1))
	}
	m.Clean(2)
	f := m.follow(t, plan.Config{Start: "earliest"})
	for range 3 {
		if _, err := f.page(1); err != nil {
			t.Fatal(err)
		}
	}
	m.Clean(4)
	f.want("all", f.read(1), "insert 3=1, insert 4=1, insert 5=1, insert 6=1, insert 7=1, insert 8=1, insert 9=1")
	if m.invalid > 0 {
		t.Errorf("%d pages are of changes after a version that is not valid", m.invalid)
	}
}

// TestBuiltInFullPagesAskOnce: how far the engine has come stands after the rows, and is read with them.
func TestBuiltInFullPagesAskOnce(t *testing.T) {
	t.Parallel()
	m := newTracked()
	f := m.follow(t, plan.Config{})
	for i := range 7 {
		m.Commit(fmt.Sprintf("i %d 1", i+1))
	}
	for range 3 {
		if p, err := f.page(2); err != nil || !p.More {
			t.Fatal(p, err)
		}
	}
	f.want("asked", strings.Join(m.asked, " "), "changes changes changes")
}

// TestBuiltInBetween: what is committed, or cleaned up, while a page's transaction asks is not lost: the version is
// asked for before the changes, and what is valid after them.
func TestBuiltInBetween(t *testing.T) {
	t.Parallel()
	m := newTracked()
	f := m.follow(t, plan.Config{})
	m.Commit("i 1 1", "i 2 1")
	m.meanwhile[0] = func() { m.Commit("u 1 2", "i 3 1") }
	f.want("changes", f.read(10), "insert 2=1, update 1=2, insert 3=1")
	f.want("asked", strings.Join(m.asked, " "), "changes changes")
	m.Commit("u 1 3")
	m.Commit("u 2 3")
	m.meanwhile[0] = func() { m.Clean(m.Current - 1) }
	if _, err := f.page(10); !errors.Is(err, poller.ErrGap) {
		t.Errorf("a change was cleaned up before it was read: %v", err)
	}
}

// TestBuiltInReread: the newest state of a key by itself, however long ago it changed.
func TestBuiltInReread(t *testing.T) {
	t.Parallel()
	m := newTracked()
	f := m.follow(t, plan.Config{})
	m.Commit("i 1 1", "i 2 1", "i 3 1")
	page, err := f.page(10)
	if err != nil {
		t.Fatal(err)
	}
	m.Commit("d 2")
	again, err := f.src.Reread(t.Context(), [][]byte{[]byte(`{"id":1}`), []byte(`{"id":2}`), []byte(`{"id":4}`)})
	if err != nil || len(again) != 3 {
		t.Fatalf("%v, %v", again, err)
	}
	if again[0].Op != change.Update || again[0].ID != page.Events[0].ID || string(again[0].Row) != `{"id":1,"v":1}` {
		t.Errorf("an unchanged row: %+v", again[0])
	}
	for _, gone := range again[1:] {
		if gone.Op != change.Delete || string(gone.Row) != string(gone.Key) {
			t.Errorf("a row that is gone: %+v", gone)
		}
	}
}

// TestBuiltInSwitchedOff: the catalog is asked again, and says what is missing, also where nothing was committed.
func TestBuiltInSwitchedOff(t *testing.T) {
	t.Parallel()
	for _, committed := range []int64{0, 1} {
		m := newTracked()
		m.Commit("i 1 1")
		f := m.follow(t, plan.Config{})
		f.want("before", f.read(10), "insert 1=1")
		m.off, m.Current = true, m.Current+committed
		_, err := f.page(10)
		if !errors.Is(err, poller.ErrConfig) || !strings.Contains(err.Error(), "could not find change tracking enabled") {
			t.Errorf("%d commits later: %v", committed, err)
		}
	}
}

// TestBuiltInCounts: what waits after a position is counted in the transaction of a page, up to a bound.
func TestBuiltInCounts(t *testing.T) {
	t.Parallel()
	m := newTracked()
	f := m.follow(t, plan.Config{})
	m.Commit("i 1 1", "i 2 1")
	m.Commit("i 3 1")
	waits := func(what string, most int, want int64) {
		t.Helper()
		if n, err := f.src.CountUpTo(t.Context(), change.Range{After: f.at}, most); err != nil || n != want {
			t.Errorf("%s: %d wait (%v), want %d", what, n, err, want)
		}
	}
	waits("all", 10, 3)
	waits("up to a bound", 2, 2)
	if _, err := f.page(1); err != nil { // half of a version
		t.Fatal(err)
	}
	waits("within a version", 10, 2)
	f.read(1)
	waits("nothing", 10, 0)
	m.Commit("u 1 2", "d 3")
	waits("more", 10, 2)
}
