package e2e

import (
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// backlog is a poller in overlap mode whose memory holds 1,000 rows, before 20,000.
func backlog(t *testing.T, to *sink) (s settings, late func() (commit func())) {
	t.Helper()
	shop, db := postgresShop(t, 20_000)
	late = func() func() {
		t.Helper()
		tx := testenv.Begin(t, db, `INSERT INTO lines VALUES (-1, 0, '2026-01-01 00:00:00.125+00', -1, 'late')`)
		return func() {
			t.Helper()
			testenv.Commit(t, tx)
		}
	}
	return shop.with(settings{
		"status__listen": "127.0.0.1:0", "state__kind": "file", "state__path": t.TempDir(),
		"state__container": "", "state__create": "",
		"pollers__lines__output__kind": "http", "pollers__lines__output__url": to.URL,
		"pollers__lines__source__late_commits": "overlap", "pollers__lines__source__late_memory": "1000",
		"pollers__lines__batch_size": "200", "pollers__lines__output__batch": "50",
	}), late
}

// TestBacklogNeedsNoMemory: a backlog of twenty times the memory is delivered without a wait, and a row that commits
// late below what was delivered is found all the same. The window is two minutes.
func TestBacklogNeedsNoMemory(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, late := backlog(t, to)
	commit := late()
	p := programtest.Start(t, programtest.Options{Settings: s}, "run")
	arrived := func(n int) func() bool {
		return func() bool {
			distinct, _ := to.count()
			return distinct >= n
		}
	}
	programtest.UntilWithin(t, 90*time.Second, "half of the backlog to arrive", arrived(10_000))
	commit()
	programtest.UntilWithin(t, 90*time.Second, "the backlog and the late row to arrive", arrived(20_001))
	if _, repeated := to.count(); repeated > 0 {
		t.Errorf("%d rows came twice\n%s", repeated, p.Log())
	}
}

// TestBacklogOfAKilledProcess: what was delivered of a backlog does not come again but for the batches in flight.
func TestBacklogOfAKilledProcess(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, late := backlog(t, to)
	dir := t.TempDir()
	p := programtest.Start(t, programtest.Options{Dir: dir, Settings: s}, "run")
	programtest.UntilWithin(t, 90*time.Second, "a part of the backlog to arrive", func() bool {
		distinct, _ := to.count()
		return distinct >= 8000
	})
	p.Kill()
	late()()
	programtest.Start(t, programtest.Options{Dir: dir, Settings: s}, "run")
	programtest.UntilWithin(t, 90*time.Second, "the rest to arrive", func() bool {
		distinct, _ := to.count()
		return distinct >= 20_001
	})
	if _, repeated := to.count(); repeated > 2000 {
		t.Errorf("%d of 20,001 rows came twice", repeated)
	} else {
		t.Logf("%d rows came twice", repeated)
	}
}

// TestBacklogOfUnknownWriters: where rows do not tell who wrote them, a backlog of twenty times the memory waits for
// one window. What was delivered after that does not come again when the process is killed, but for the batches in
// flight.
func TestBacklogOfUnknownWriters(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 20_000)
	s = s.with(settings{
		"pollers__orders__source__late_commits": "overlap", "pollers__orders__source__late_memory": "1000",
		"pollers__orders__source__late_window": "5s", "pollers__orders__batch_size": "200",
		"pollers__orders__output__batch": "50", "status__listen": "127.0.0.1:0", "pollers__orders__lease_ttl": "6s",
	})
	dir := t.TempDir()
	p := programtest.Start(t, programtest.Options{Dir: dir, Settings: s}, "run")
	arrived := func(n int) func() bool {
		return func() bool {
			distinct, _ := to.count()
			return distinct >= n
		}
	}
	programtest.UntilWithin(t, 45*time.Second, "a part of the backlog to arrive", arrived(8000))
	p.Kill()
	programtest.Start(t, programtest.Options{Dir: dir, Settings: s}, "run")
	programtest.UntilWithin(t, 90*time.Second, "the rest to arrive", arrived(20_000))
	if _, repeated := to.count(); repeated > 2000 {
		t.Errorf("%d of 20,000 rows came twice", repeated)
	}
}
