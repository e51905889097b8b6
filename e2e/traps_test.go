package e2e

import (
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/e2e/fakehost"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// sqliteShop makes a table orders(id, version, status) with n rows, and returns the settings of a poller on it that
// delivers to url and keeps its state in a file.
func sqliteShop(t *testing.T, url string, n int) (settings, *sql.DB) {
	t.Helper()
	source := testenv.SQLite(t)
	db, err := sql.Open("sqlite", strings.TrimPrefix(source, "sqlite:")+
		"?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	execute(t, db, `CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, version INTEGER NOT NULL, status TEXT NOT NULL)`)
	execute(t, db, `CREATE INDEX orders_version ON orders (version, id)`)
	execute(t, db, fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO orders (version, status) SELECT i, 'new' FROM n WHERE %d > 0`, n, n))
	return settings{
		"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state"), "state__app_name": "shop",
		"SHOP_DB": source, "pollers__orders__source__connection": "SHOP_DB",
		"pollers__orders__source__table": "orders", "pollers__orders__source__cursor": "version",
		"pollers__orders__output__kind": "http", "pollers__orders__output__url": url,
	}, db
}

func execute(t *testing.T, db *sql.DB, text string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// TestTrap1And3AnswersComplete: a tick with work and an idle one complete, with an object that carries nothing for the
// host to write after our commit.
func TestTrap1And3AnswersComplete(t *testing.T) {
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 3)
	host := startHost(t, functionApp(t, s), s)
	for _, what := range []string{"work", "idle"} {
		r := host.Invoke(t.Context(), "orders")
		if !r.Succeeded || r.Hung || len(r.Outputs) > 0 || r.ReturnValue != nil || strings.TrimSpace(string(r.Body)) != "{}" {
			t.Errorf("%s: %+v", what, r)
		}
	}
	if n, repeated := to.count(); n != 3 || repeated != 0 {
		t.Errorf("%d events, %d repeated", n, repeated)
	}
}

// TestTrap2FailuresAreSaidOnStderr: the host discards the body of a failure, so the one line on stderr must say all.
func TestTrap2FailuresAreSaidOnStderr(t *testing.T) {
	s, _ := sqliteShop(t, "http://127.0.0.1:9/", 1)
	s["pollers__orders__output__retries"] = "1"
	host := startHost(t, functionApp(t, s), s)
	line := mustFail(t, host, "orders")
	for _, want := range []string{`"event":"handler_failed"`, `"poller":"orders"`, `"next":`, "127.0.0.1:9"} {
		if !strings.Contains(line, want) {
			t.Errorf("the line lacks %s: %s", want, line)
		}
	}
}

// TestTrap4NoOutputBindings: what functions writes has no output binding, so there is no string that the host would
// decode, split or reformat.
func TestTrap4NoOutputBindings(t *testing.T) {
	s, _ := sqliteShop(t, "http://127.0.0.1:9/", 0)
	root := functionApp(t, s)
	text := testfile.Read(t, filepath.Join(root, "orders", "function.json"))
	if strings.Contains(string(text), `"out"`) || strings.Contains(string(text), `"retry"`) {
		t.Errorf("function.json has an output binding or a retry policy: %s", text)
	}
	host := startHost(t, root, s)
	if err := host.Functions()["orders"]; err != nil {
		t.Errorf("the host refuses function.json: %v", err)
	}
	if r := host.Invoke(t.Context(), "orders"); len(r.Lossy()) > 0 {
		t.Errorf("the host would change %s", r.Lossy())
	}
}

// TestTraps5And6EveryEncodingOfATimer: an object, a JSON string of one, no status, times without a zone, retries.
func TestTraps5And6EveryEncodingOfATimer(t *testing.T) {
	to := newSink(t)
	s, db := sqliteShop(t, to.URL, 0)
	s["log__level"] = "debug"
	host := startHost(t, functionApp(t, s), s)
	n := 0
	for name, invocation := range fakehost.Variants() {
		n++
		execute(t, db, `INSERT INTO orders (version, status) VALUES (?, 'new')`, n)
		if r := host.InvokeWith(t.Context(), "orders", invocation); !r.Succeeded {
			t.Errorf("%s: %+v", name, r)
		}
		if got, _ := to.count(); got != n {
			t.Errorf("%s: %d events, want %d", name, got, n)
		}
	}
	until(t, "the host's RetryContext to be logged", func() bool {
		return strings.Contains(transcript(host), `"retry_count":2`)
	})
}

// TestTrap7NeverExits: whatever is wrong, the process answers 500 and goes on, while a good poller beside it works.
func TestTrap7NeverExits(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 2)
	s = s.with(settings{
		// no such database, no such table, a setting that does not exist
		"GONE_DB": "sqlite:/nowhere/shop.db", "pollers__gone__source__connection": "GONE_DB",
		"pollers__gone__source__table": "orders", "pollers__gone__source__cursor": "version",
		"pollers__gone__output__kind": "http", "pollers__gone__output__url": to.URL,
		"pollers__absent__source__connection": "SHOP_DB", "pollers__absent__source__table": "absent",
		"pollers__absent__source__cursor": "version", "pollers__absent__output__kind": "http",
		"pollers__absent__output__url":      to.URL,
		"pollers__typo__source__connection": "SHOP_DB", "pollers__typo__source__tabel": "orders",
		"pollers__typo__source__cursor": "version", "pollers__typo__output__kind": "http",
		"pollers__typo__output__url": to.URL,
	})
	host := startHost(t, functionApp(t, s), s)
	for range 5 {
		for _, bad := range []string{"gone", "absent", "typo"} {
			mustFail(t, host, bad)
		}
	}
	must(t, host, "orders")
	if err := host.Stopped(); err != nil || host.Restarts() != 0 {
		t.Errorf("stopped: %v, restarts: %d", err, host.Restarts())
	}
	if n, _ := to.count(); n != 2 {
		t.Errorf("%d events, want 2", n)
	}
}

// TestTrap8KilledInTheMiddle: the host's only way to stop a worker loses nothing. The next one knows that a worker of
// its machine is dead: it says at once for how many seconds it lets the last requests end, and goes on then, although
// the lease lasts for minutes.
func TestTrap8KilledInTheMiddle(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	host := killedInTheMiddle(t, to, settings{"pollers__orders__lease_ttl": "10m", "TMPDIR": t.TempDir()})
	assertTakeOver(t, host, to)
}

// TestTrap8KilledElsewhere: of a worker of another machine nobody knows that it is dead. That its lease stands in the
// way is said at once, and it is taken over when it has expired.
func TestTrap8KilledElsewhere(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	marks := t.TempDir()
	host := killedInTheMiddle(t, to, settings{"pollers__orders__lease_ttl": "12s", "TMPDIR": marks}, func() {
		if err := os.RemoveAll(filepath.Join(marks, fmt.Sprintf("rowrelay-%d", os.Getuid()))); err != nil {
			t.Error(err)
		}
	})
	assertTakeOver(t, host, to)
}

// assertTakeOver fails unless the first skipped tick is told of, and all rows arrive some time.
func assertTakeOver(t *testing.T, host *fakehost.Host, to *sink) {
	t.Helper()
	must(t, host, "orders")
	if _, err := host.AwaitLine(t.Context(), func(l fakehost.Line) bool {
		return l.Level == fakehost.Information && strings.Contains(l.Text, `"level":"INFO"`) &&
			strings.Contains(l.Text, "lease_acquire_skipped") &&
			strings.Contains(l.Text, `"until":`) && strings.Contains(l.Text, "takes over by itself")
	}); err != nil {
		t.Fatalf("%v\n%s", err, transcript(host))
	}
	until(t, "all rows to arrive", func() bool {
		host.Invoke(t.Context(), "orders") // until the dead owner's lease has expired, this does nothing
		n, _ := to.count()
		return n == 40
	})
	to.assertOrder("version")
}

// killedInTheMiddle kills a worker in its 15th request of 40 rows, and returns the host when the next one is ready.
func killedInTheMiddle(t *testing.T, to *sink, more settings, dead ...func()) *fakehost.Host {
	t.Helper()
	s, _ := sqliteShop(t, to.URL, 40)
	s = s.with(settings{"pollers__orders__batch_size": "10", "pollers__orders__output__batch": "1"}).with(more)
	host := startHost(t, functionApp(t, s), s)
	reached := make(chan struct{})
	release := make(chan struct{})
	requests := 0
	to.decide(func(_ http.ResponseWriter, _ []cloudEvent) bool {
		requests++
		if requests == 15 {
			close(reached)
			to.mu.Unlock()
			<-release // until the sender is dead
			to.mu.Lock()
		}
		return true
	})
	done := make(chan fakehost.Result, 1)
	go func() { done <- host.Invoke(t.Context(), "orders") }()
	<-reached
	host.Kill()
	close(release)
	if r := <-done; r.Succeeded {
		t.Error("an invocation whose worker was killed succeeded")
	}
	for _, f := range dead {
		f()
	}
	if err := host.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return host
}

// TestTrap9LinesAreClassifiedAsMeant: a table called warnings must not turn an error into a warning.
func TestTrap9LinesAreClassifiedAsMeant(t *testing.T) {
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 1)
	s["pollers__orders__source__table"] = "warnings"
	host := startHost(t, functionApp(t, s), s)
	if line := mustFail(t, host, "orders"); !strings.Contains(line, `\u0077arnings`) {
		t.Errorf("the line does not name the table: %s", line)
	}
	for _, line := range host.Logs() {
		if line.Level == fakehost.Swallowed || line.Source != "host" && !strings.HasPrefix(line.Text, "{") {
			t.Errorf("not one JSON record a line: %+v", line)
		}
	}
	// And a warning is one: a poller without a document says where it starts.
	s["pollers__orders__source__table"] = "orders"
	s["state__path"] = filepath.Join(t.TempDir(), "other")
	host = startHost(t, functionApp(t, s), s)
	must(t, host, "orders")
	until(t, "the start position to be said as a warning", func() bool {
		return slices.ContainsFunc(host.Logs(), func(line fakehost.Line) bool {
			return strings.Contains(line.Text, "there was no state document") && line.Level == fakehost.Warning
		})
	})
}

// TestTrap10ExecutableName: the host.json that is published names the executable exactly; check points out one that
// does not.
func TestTrap10ExecutableName(t *testing.T) {
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 1)
	root := functionApp(t, s)
	startHost(t, root, s) // refuses "./rowrelay"
	path := filepath.Join(root, "host.json")
	text := testfile.Read(t, path)
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), `"rowrelay"`, `"./rowrelay"`, 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, err := command(t, root, withSchedules(s), "check")
	if err == nil || !strings.Contains(out+errs, "must not begin with ./") {
		t.Errorf("check said %v:\n%s%s", err, out, errs)
	}
}
