package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// outboxShop is an outbox that `rowrelay outbox init --apply` has made, empty, for a poller called events.
type outboxShop struct {
	t        *testing.T
	engine   string
	dir      string
	settings settings
	db       *sql.DB
	written  map[string]int // events of each aggregate
}

// newOutboxShop makes an outbox on sqlite, postgres or mysql whose events go to a URL.
func newOutboxShop(t *testing.T, engine, url string) *outboxShop {
	t.Helper()
	o := &outboxShop{t: t, engine: engine, dir: t.TempDir(), written: map[string]int{}}
	source, driver, dsn := "", "", ""
	switch engine {
	case "sqlite":
		source, driver = testenv.SQLite(t), "sqlite"
		dsn = strings.TrimPrefix(source, "sqlite:") + "?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)"
	case "postgres":
		source, driver = testenv.Postgres(t), "pgx"
		dsn = source
	case "mysql":
		source, driver = testenv.MySQL(t), "mysql"
		dsn = testenv.MySQLDSN(t, source)
	default:
		t.Fatalf("no engine %q", engine)
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	o.db = db
	if err := db.PingContext(t.Context()); err != nil { // makes the SQLite file, which rowrelay would not
		t.Fatal(err)
	}
	o.settings = settings{
		"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state"), "state__app_name": "shop",
		"SHOP_DB":                       source,
		"pollers__events__source__mode": "outbox", "pollers__events__source__connection": "SHOP_DB",
		"pollers__events__source__table": "outbox",
		"pollers__events__output__kind":  "http", "pollers__events__output__url": url,
		"pollers__events__output__format": "cloudevents",
		"pollers__events__retry_delays":   "20ms,50ms", "pollers__events__max_attempts": "3",
		"status__listen": "127.0.0.1:0",
	}
	o.say("outbox", "init", "events", "--apply")
	return o
}

// say runs a command that succeeds, and returns what it printed.
func (o *outboxShop) say(args ...string) string {
	o.t.Helper()
	out, errs, err := command(o.t, o.dir, o.settings, args...)
	if err != nil {
		o.t.Fatalf("%q: %v\n%s%s", args, err, out, errs)
	}
	return out
}

// refused runs a command that fails with one line, and returns the line.
func (o *outboxShop) refused(args ...string) string {
	o.t.Helper()
	out, errs, err := command(o.t, o.dir, o.settings, args...)
	if code := exitCode(o.t, err); code != 1 && code != 2 || strings.Count(strings.TrimSpace(errs), "\n") != 0 {
		o.t.Fatalf("%q: %v\n%s%s", args, err, out, errs)
	}
	return errs
}

// write adds events: each of the aggregates 0 to aggregates-1 gets as many, by turns. The payload's n counts within an
// aggregate.
func (o *outboxShop) write(aggregates, each int) {
	o.t.Helper()
	tx, err := o.db.BeginTx(o.t.Context(), nil)
	if err != nil {
		o.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }() // it is committed below
	text := `INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key) VALUES (?, ?, ?, ?, ?)`
	if o.engine == "postgres" {
		text = `INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key) VALUES ($1, $2, $3, $4, $5)`
	}
	for range each {
		for a := range aggregates {
			id := fmt.Sprintf("a%d", a)
			n := o.written[id]
			o.written[id]++
			if _, err := tx.ExecContext(o.t.Context(), text, "Order", id, "OrderChanged",
				fmt.Sprintf(`{"aggregate":%q,"n":%d}`, id, n), fmt.Sprintf("%s-%d", id, n)); err != nil {
				o.t.Fatal(err)
			}
		}
	}
	if err := tx.Commit(); err != nil {
		o.t.Fatal(err)
	}
}

func (o *outboxShop) total() (n int) {
	for _, each := range o.written {
		n += each
	}
	return n
}

// arrived waits until every event has arrived, and checks the order of each aggregate.
func (o *outboxShop) arrived(to *sink) {
	o.t.Helper()
	until(o.t, "all events to arrive", func() bool {
		n, _ := to.count()
		return n == o.total()
	})
	to.assertOrder("n")
}

// outboxStatus is what `outbox status --json` prints.
type outboxStatus struct {
	Layout, Strategy, Paused       string
	Partitions                     int
	Pending, Failed, Waiting, Dead int
	Owners                         []struct{ Name string }
	OldestPendingSeconds           float64 `json:"oldest_pending_seconds"`
}

func (o *outboxShop) status() (s outboxStatus) {
	o.t.Helper()
	out := o.say("outbox", "status", "events", "--json")
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		o.t.Fatalf("%v: %s", err, out)
	}
	return s
}

func engines(t *testing.T, f func(t *testing.T, engine string)) {
	for _, engine := range []string{"sqlite", "postgres", "mysql"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			f(t, engine)
		})
	}
}

// on is engines for a test of what commands say and the host sees: what the statements do on each engine is shown by
// the suite in publisher/.
func on(t *testing.T, engine string, f func(t *testing.T, engine string)) {
	t.Run(engine, func(t *testing.T) {
		t.Parallel()
		f(t, engine)
	})
}

// age makes everything that is there two hours old.
func (o *outboxShop) age() {
	o.t.Helper()
	if o.engine == "postgres" {
		execute(o.t, o.db, `UPDATE outbox SET created_at = created_at - interval '2 hours', published_at = published_at - interval '2 hours'`)
		return
	}
	if o.engine == "mysql" {
		execute(o.t, o.db, `UPDATE outbox SET created_at = created_at - INTERVAL 2 HOUR, published_at = published_at - INTERVAL 2 HOUR`)
		return
	}
	var format string // as the engine's own column is written
	if err := o.db.QueryRowContext(o.t.Context(),
		`SELECT typeof(published_at) FROM outbox LIMIT 1`).Scan(&format); err != nil {
		o.t.Fatal(err)
	}
	if format != "text" {
		o.t.Fatalf("published_at is %s: teach this test to make it older", format)
	}
	execute(o.t, o.db, `UPDATE outbox SET created_at = strftime('%Y-%m-%d %H:%M:%f', created_at, '-2 hours'), published_at = strftime('%Y-%m-%d %H:%M:%f', published_at, '-2 hours')`)
}

func (o *outboxShop) count() (n int) {
	o.t.Helper()
	if err := o.db.QueryRowContext(o.t.Context(), `SELECT count(*) FROM outbox`).Scan(&n); err != nil {
		o.t.Fatal(err)
	}
	return n
}
