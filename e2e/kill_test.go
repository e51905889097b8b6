package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/programtest"
)

func stopProcess(t *testing.T, pid int)     { signal(t, pid, syscall.SIGSTOP) }
func continueProcess(t *testing.T, pid int) { signal(t, pid, syscall.SIGCONT) }

func signal(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatalf("%v to %d: %v", sig, pid, err)
	}
}

// holdFirst returns an answer that holds the first request until release is closed, and closes reached when it is
// there.
func holdFirst(s *sink, reached, release chan struct{}) func(http.ResponseWriter, []cloudEvent) bool {
	first := true
	return func(http.ResponseWriter, []cloudEvent) bool {
		if first {
			first = false
			close(reached)
			s.mu.Unlock()
			<-release
			s.mu.Lock()
			return false // its sender is gone: nothing was accepted
		}
		return true
	}
}

// TestKilledTwentyTimesOnSQLite kills `rowrelay run` at random moments while rows are written.
func TestKilledTwentyTimesOnSQLite(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, db := sqliteShop(t, to.URL, 0)
	s = busy(s).with(settings{
		"pollers__orders__lease_ttl": "1s", "pollers__orders__batch_size": "50", "pollers__orders__output__batch": "7",
	})
	dir := t.TempDir()
	killed(t, to, db, "orders", 20, 4000, func(version int) {
		// Inserts, and updates of old rows: the newest state of each row has to arrive.
		if version%3 == 0 && version > 100 {
			execute(t, db, `UPDATE orders SET version = ?, status = 'changed' WHERE id = ?`, version, 1+version%50)
			return
		}
		execute(t, db, `INSERT INTO orders (version, status) VALUES (?, 'new')`, version)
	}, func(ctx context.Context) {
		cmd := programtest.Command(ctx, t, programtest.Options{Dir: dir, Settings: s}, "run") // SIGKILL when ctx ends
		if out, err := cmd.CombinedOutput(); ctx.Err() == nil {
			t.Errorf("rowrelay run ended by itself: %v\n%s", err, out)
		}
	})
}

// TestKilledTwentyTimesOnPostgres kills the worker under the host at random moments; the state is in Azurite. It is two
// shops, each killed ten times: a life waits 15 seconds until the lease of the one before has expired, and the shops
// can wait side by side.
func TestKilledTwentyTimesOnPostgres(t *testing.T) {
	t.Parallel()
	for _, shop := range []string{"a shop", "another"} {
		t.Run(shop, func(t *testing.T) {
			t.Parallel()
			killedTenTimesOnPostgres(t)
		})
	}
}

func killedTenTimesOnPostgres(t *testing.T) {
	t.Helper()
	to := newSink(t)
	s, db := postgresShop(t, 0)
	s = s.with(settings{
		"pollers__lines__source__cursor": "version", "pollers__lines__batch_size": "50", "pollers__lines__output__batch": "7",
		"pollers__lines__output__kind": "http", "pollers__lines__output__url": to.URL,
		"pollers__lines__poll_interval": "10ms",
	})
	root := functionApp(t, s)
	killed(t, to, db, "lines", 10, 1500, func(version int) {
		if version%3 == 0 && version > 100 {
			execute(t, db, `UPDATE lines SET version = $1, status = 'changed' WHERE order_id = $2 AND line_no = 0`, version,
				1+version%50)
			return
		}
		execute(t, db, `INSERT INTO lines VALUES ($1::int, 0, now(), $1::int, 'new')`, version)
	}, func(ctx context.Context) {
		host := startHost(t, root, s)
		for ctx.Err() == nil {
			// The end of ctx is the end of the host. While the dead owner's lease runs, an invocation does nothing.
			if r := host.Invoke(ctx, "lines"); !r.Succeeded && ctx.Err() == nil {
				t.Errorf("%+v\n%s", r, transcript(host))
				break
			}
			programtest.Pause(ctx)
		}
		host.Close()
	})
}

// killed writes versions into a table one after the other while relay, which works until it is killed by the end of its
// context, is killed some times; then lets it work until the newest state of each row has arrived.
func killed(t *testing.T, to *sink, db *sql.DB, table string, times, versions int, write func(version int),
	relay func(ctx context.Context)) {
	t.Helper()
	written := make(chan struct{})
	pace := make(chan struct{}, versions) // each delivered request lets some more be written, so that neither runs away
	to.decide(func(http.ResponseWriter, []cloudEvent) bool {
		for range 20 {
			select {
			case pace <- struct{}{}:
			default:
			}
		}
		return true
	})
	go func() {
		defer close(written)
		for v := 1; v <= versions; v++ {
			write(v)
			select {
			case <-pace:
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	for kill := range times {
		before, _ := to.count()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			relay(ctx)
		}()
		// Somewhere in the middle of work: after it has delivered something, or once everything was delivered.
		goal := before + 1 + rand.IntN(120)
		until(t, fmt.Sprintf("life %d to deliver", kill), func() bool {
			n, _ := to.count()
			select {
			case <-written:
				return n > before || !pendingRows(to, versions)
			default:
				return n >= goal
			}
		})
		cancel()
		<-done
	}
	<-written
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		relay(ctx)
	}()
	// The highest version need not be the last to arrive: several requests are under way.
	until(t, "the newest state of each row to arrive", func() bool {
		return !pendingRows(to, versions) && len(missing(t, to, db, table)) == 0
	})
	cancel()
	<-done
	to.assertOrder("version")
	n, repeated := to.count()
	t.Logf("%d events, %d of them more than once", n, repeated)
}

// pendingRows reports whether the last version is still to come.
func pendingRows(to *sink, last int) bool { return to.column("version")[fmt.Sprint(last)] == 0 }

// missing are the versions that rows have and that never arrived.
func missing(t *testing.T, to *sink, db *sql.DB, table string) (versions []int) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT version FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // read to the end
	arrived, n := to.column("version"), 0
	for rows.Next() {
		var version int
		if err := rows.Scan(&version); err != nil {
			t.Fatal(err)
		}
		if n++; arrived[fmt.Sprint(version)] == 0 {
			versions = append(versions, version)
		}
	}
	if err := rows.Err(); err != nil || n == 0 {
		t.Fatalf("%d rows read: %v", n, err)
	}
	return versions
}
