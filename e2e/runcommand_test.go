package e2e

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRunOnceExitCodes: 0 when all ticks ended well, 1 when one failed, though the other worked. Several batches arrive
// in one run, and each process finds the lease free that the one before has released.
func TestRunOnceExitCodes(t *testing.T) {
	to := newSink(t)
	s, db := sqliteShop(t, to.URL, 1200)
	dir := t.TempDir()
	run := func(more settings, args ...string) (code int, said string) {
		out, errs, err := command(t, dir, s.with(more), append([]string{"run", "--once"}, args...)...)
		return exitCode(t, err), out + errs
	}
	if code, said := run(nil); code != 0 {
		t.Errorf("exit code %d: %s", code, said)
	}
	if code, said := run(nil, "ORDERS"); code != 0 { // idle; names are compared without regard to case
		t.Errorf("exit code %d: %s", code, said)
	}
	bad := settings{
		"pollers__bad__source__connection": "SHOP_DB", "pollers__bad__source__table": "absent",
		"pollers__bad__source__cursor": "version",
		"pollers__bad__output__kind":   "http", "pollers__bad__output__url": to.URL,
	}
	execute(t, db, `INSERT INTO orders (version, status) VALUES (1201, 'new')`)
	if code, said := run(bad); code != 1 || strings.Count(said, `"level":"ERROR"`) != 1 {
		t.Errorf("exit code %d: %s", code, said)
	}
	if n, repeated := to.count(); n != 1201 || repeated != 0 {
		t.Errorf("%d events, want 1201, %d repeated: the good poller works beside the bad one", n, repeated)
	}
	if code, said := run(bad, "orders"); code != 0 {
		t.Errorf("exit code %d for the good one alone: %s", code, said)
	}
	if code, said := run(settings{"pollers__orders__batch_size": "0", "pollers__orders__concurrency": "x"}); code != 1 ||
		!strings.Contains(said, "2 fault(s)") || !strings.Contains(said, "batch_size") ||
		!strings.Contains(said, "concurrency") {
		t.Errorf("exit code %d: %s", code, said)
	}
	// Without any settings it says how to begin.
	wants(t, refusal(t, dir, settings{}, "run", "--once"),
		"there is no poller", "pollers__orders__source__connection=ORDERS_DB")
}

// TestRunEndsCleanly: Ctrl-C while a request is under way: it is finished, what was accepted is committed, the lease is
// free, and the exit code is 0. What comes later goes on behind it.
// With overlap that holds although the position itself stays at the window's low edge: the memory is stored.
func TestRunEndsCleanly(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"auto", "none"} {
		t.Run(mode, func(t *testing.T) { runEndsCleanly(t, mode) })
	}
}

func runEndsCleanly(t *testing.T, mode string) {
	to := newSink(t)
	s, db := sqliteShop(t, to.URL, 300)
	s = s.with(settings{"pollers__orders__output__batch": "1", "pollers__orders__concurrency": "1",
		"status__listen": "127.0.0.1:0", "pollers__orders__source__late_commits": mode})
	reached, release := make(chan struct{}), make(chan struct{})
	n := 0
	to.decide(func(http.ResponseWriter, []cloudEvent) bool {
		if n++; n == 4 {
			close(reached)
			to.mu.Unlock()
			<-release
			to.mu.Lock()
		}
		if n > 4 {
			wait(t.Context(), 5*time.Millisecond) // a slow receiver: the signal comes in the middle of its work
		}
		return true
	})
	dir := t.TempDir()
	r := startRun(t, dir, s)
	<-reached
	r.Signal(syscall.SIGINT)
	close(release)
	if code := r.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	wants(t, r.Log(), `"msg":"stopped"`)
	done, _ := to.count()
	if done < 4 || done == 300 {
		t.Fatalf("%d events were accepted: it was meant to end in the middle", done)
	}
	view := showState(t, dir, s)
	if view.Held != "" || view.Owner != "" || view.reached() != done {
		t.Errorf("after %d events: %+v", done, view)
	}
	if out, _, err := command(t, dir, s, "status"); err == nil || !strings.Contains(out, "SILENT") ||
		!strings.Contains(out, "Stopped since 20") || strings.Contains(out, "next at") {
		t.Errorf("rowrelay status after the end: %v\n%s", err, out)
	}
	execute(t, db, `INSERT INTO orders (version, status) VALUES (301, 'new')`)
	once(t, dir, s)
	if out := stdout(t, dir, s, "status"); strings.Contains(out, "Stopped") {
		t.Errorf("rowrelay status after a tick that followed:\n%s", out)
	}
	if n, repeated := to.count(); n != 301 || repeated != 0 {
		t.Errorf("%d events, %d repeated: a clean end repeats nothing", n, repeated)
	}
}
