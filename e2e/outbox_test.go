package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
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
		"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state"), "state__app_name": "shop", "SHOP_DB": source,
		"pollers__events__source__mode": "outbox", "pollers__events__source__connection": "SHOP_DB", "pollers__events__source__table": "outbox",
		"pollers__events__output__kind": "http", "pollers__events__output__url": url, "pollers__events__output__format": "cloudevents",
		"pollers__events__retry_delays": "20ms,50ms", "pollers__events__max_attempts": "3",
		"pollers__events__tick_budget": "2s", // reports come at the end of a tick
		"status__listen":               "127.0.0.1:0",
	}
	o.say("outbox", "init", "events", "--apply")
	return o
}

// say runs a command that succeeds, and returns what it printed.
func (o *outboxShop) say(args ...string) string {
	o.t.Helper()
	out, errs, err := command(o.t.Context(), o.dir, o.settings, args...)
	if err != nil {
		o.t.Fatalf("%q: %v\n%s%s", args, err, out, errs)
	}
	return out
}

// refused runs a command that fails with one line, and returns the line.
func (o *outboxShop) refused(args ...string) string {
	o.t.Helper()
	out, errs, err := command(o.t.Context(), o.dir, o.settings, args...)
	if exitCode(o.t, err) != 1 || strings.Count(strings.TrimSpace(errs), "\n") != 0 {
		o.t.Fatalf("%q: %v\n%s%s", args, err, out, errs)
	}
	return errs
}

// write adds events: each of the aggregates 0 to aggregates-1 gets as many, by turns. The payload's n counts within an aggregate.
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
			if _, err := tx.ExecContext(o.t.Context(), text, "Order", id, "OrderChanged", fmt.Sprintf(`{"aggregate":%q,"n":%d}`, id, n), fmt.Sprintf("%s-%d", id, n)); err != nil {
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

// TestOutboxIsPublishedInOrder: `rowrelay run` publishes what is there and what comes, in order per aggregate, says so, and
// ends cleanly.
func TestOutboxIsPublishedInOrder(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, engine string) {
		to := newSink(t)
		o := newOutboxShop(t, engine, to.URL)
		wants(t, o.say("outbox", "init", "events", "--apply"), "done: outbox and rowrelay_claims are there") // once more harms nothing
		o.write(20, 15)
		if s := o.status(); s.Pending != 300 || s.Layout != "own" || s.OldestPendingSeconds <= 0 {
			t.Errorf("before: %+v", s)
		}
		r := startRun(t, o.dir, o.settings)
		o.arrived(to)
		for range 5 {
			o.write(20, 2)
		}
		o.arrived(to)
		if code := r.interrupt(t); code != 0 {
			t.Errorf("exit code %d\n%s", code, r.text())
		}
		if s := o.status(); s.Pending != 0 || s.Failed+s.Waiting+s.Dead != 0 || len(s.Owners) != 0 {
			t.Errorf("after: %+v", s)
		}
		if _, repeated := to.count(); repeated != 0 {
			t.Errorf("%d events came twice", repeated)
		}
	})
}

// TestOutboxSurvivesAKill: what was published but not marked comes again with the same id; nothing is lost or out of order.
func TestOutboxSurvivesAKill(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	o := newOutboxShop(t, "postgres", to.URL)
	o.settings = o.settings.with(settings{"pollers__events__source__claim_ttl": "3s"})
	o.write(20, 50)
	r := startRun(t, o.dir, o.settings)
	until(t, "some events", func() bool { n, _ := to.count(); return n > 100 })
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.wait(t)
	startRun(t, o.dir, o.settings)
	o.arrived(to)
}

// TestOutboxPause: a paused outbox publishes nothing and fails nothing; `state pause` is the same.
func TestOutboxPause(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, engine string) {
		to := newSink(t)
		o := newOutboxShop(t, engine, to.URL)
		o.settings = o.settings.with(settings{"pollers__events__poll_interval": "0s"})
		for _, by := range []string{"outbox", "state"} {
			wants(t, o.say(by, "pause", "events", "--yes"), "paused")
			wants(t, o.say(by, "pause", "events", "--yes"), "is paused already")
			if s := o.status(); s.Paused == "" {
				t.Errorf("status: %+v", s)
			}
			before, _ := to.count()
			o.write(3, 2)
			wants(t, o.say("run", "--once"), `"event":"paused"`)
			if n, _ := to.count(); n != before {
				t.Errorf("%d events came while it was paused", n-before)
			}
			wants(t, o.say(by, "resume", "events", "--yes"), "resumed")
			wants(t, o.say(by, "resume", "events", "--yes"), "is not paused")
			o.say("run", "--once")
			o.arrived(to)
		}
	})
}

// requeueByID is the command that a dead letter's line gives.
var requeueByID = regexp.MustCompile("rowrelay outbox requeue events --id [0-9]+`")

// TestOutboxDeadLetter: a poison event becomes a dead letter, its followers wait while others flow, and requeue publishes it and
// then them, in order; discard lets them go on without it.
func TestOutboxDeadLetter(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, engine string) {
		to := newSink(t)
		poison := map[string]bool{"a1-2": true, "a2-0": true}
		to.decide(func(w http.ResponseWriter, events []cloudEvent) bool {
			for _, e := range events {
				if poison[e.ID] {
					w.WriteHeader(http.StatusUnprocessableEntity)
					return false
				}
			}
			return true
		})
		o := newOutboxShop(t, engine, to.URL)
		o.write(5, 6)
		listen := freeAddress(t)
		r := startRun(t, o.dir, o.settings.with(settings{"status__listen": listen}))
		until(t, "two dead letters", func() bool {
			o.write(1, 1) // of another aggregate: the destination accepts others
			return o.status().Dead == 2
		})
		until(t, "the others to arrive", func() bool { n, _ := to.count(); return n == o.total()-4-6 })
		if s := o.status(); s.Waiting != 3+5 || s.Failed != 0 {
			t.Errorf("%+v", s)
		}
		until(t, "the dead letters to be said", func() bool {
			said := r.text()
			return strings.Contains(said, `"event":"dead_lettered"`) && len(requeueByID.FindAllString(said, -1)) == 2
		})
		until(t, "the metrics to show the dead letters", func() bool {
			text := get(t, "http://"+listen+"/metrics", "")
			return strings.Contains(text, `rowrelay_outbox_dead{poller="events"} 2`) && strings.Contains(text, `rowrelay_outbox_waiting{poller="events"} 8`) &&
				strings.Contains(text, `rowrelay_deadlettered_total{output="",poller="events",reason="refused"} 2`)
		})
		wants(t, o.say("outbox", "list", "events", "--state", "dead"), "a1-2", "a2-0", "Order/a1", "DEAD LETTER", "failed 3 time(s)", "422", "2 event(s)")
		wants(t, o.say("outbox", "list", "events"), "WAITING", "10 event(s)")
		wants(t, o.say("outbox", "list", "events", "--aggregate", "a1", "--state", "waiting", "--limit", "1"), "a1-3", "1 event(s)", "there may be more")
		wants(t, o.say("outbox", "requeue", "events", "--dry-run"), "2 event(s) will be published again", "dry run: nothing was changed")
		wants(t, o.refused("outbox", "requeue", "events", "--key", "a1-2"), "not confirmed")
		wants(t, o.refused("outbox", "discard", "events", "--state", "published", "--yes"), "only failed, waiting, dead")

		to.decide(nil)
		wants(t, o.say("outbox", "requeue", "events", "--key", "a1-2", "--yes"), "1 event(s)", "done: 1")
		until(t, "the aggregate to arrive", func() bool { n, _ := to.count(); return n == o.total()-6 })
		to.assertOrder("n")
		wants(t, o.say("outbox", "discard", "events", "--key", "a2-0", "--yes"), "NEVER", "done: 1")
		until(t, "its followers to arrive", func() bool { n, _ := to.count(); return n == o.total()-1 })
		to.assertOrder("n")
		wants(t, o.say("outbox", "list", "events", "--state", "discarded"), "a2-0", "DISCARDED")
	})
}

// TestOutboxCleanup: published events beyond the retention go, dead letters and pending ones stay.
func TestOutboxCleanup(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, engine string) {
		to := newSink(t)
		o := newOutboxShop(t, engine, to.URL)
		o.settings = o.settings.with(settings{"pollers__events__poll_interval": "0s", "pollers__events__source__retention": "1h", "pollers__events__source__cleanup_chunk": "7"})
		o.write(10, 2)
		o.say("run", "--once")
		o.arrived(to)
		o.age()
		o.write(10, 1)
		wants(t, o.say("outbox", "cleanup", "events", "--dry-run"), "about 20 event(s)", "nothing was deleted")
		wants(t, o.say("outbox", "cleanup", "events"), "done: 20 event(s) were deleted in ")
		wants(t, o.say("outbox", "cleanup", "events"), "done: 0 event(s)")
		if n := o.count(); n != 10 {
			t.Errorf("%d events are left", n)
		}
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
	if err := o.db.QueryRowContext(o.t.Context(), `SELECT typeof(published_at) FROM outbox LIMIT 1`).Scan(&format); err != nil {
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

// TestOutboxInitPrintsWhatItApplies: the printed DDL, run by the engine's own shell, makes the same tables.
func TestOutboxInitPrintsWhatItApplies(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, engine string) {
		o := newOutboxShop(t, engine, "http://127.0.0.1:9/")
		ddl := o.say("outbox", "init", "events")
		wants(t, ddl, "-- For the outbox of the poller events", "CREATE TABLE", ";\n")
		execute(t, o.db, `DROP TABLE outbox`)
		execute(t, o.db, `DROP TABLE rowrelay_claims`)
		runShell(t, o, ddl)
		o.write(1, 3)
		if s := o.status(); s.Pending != 3 {
			t.Errorf("%+v", s)
		}
	})
}

// TestOutboxAndDocuments: what works on state documents names the outbox' own command, and the other way round.
func TestOutboxAndDocuments(t *testing.T) {
	t.Parallel()
	o := newOutboxShop(t, "sqlite", "http://127.0.0.1:9/")
	for args, want := range map[string]string{
		"state show events":                     "rowrelay outbox status events",
		"state reset events --to beginning":     "rowrelay outbox requeue events",
		"deadletter list events":                "rowrelay outbox list events",
		"deadletter replay events":              "rowrelay outbox requeue events",
		"backfill events --from beginning":      "rowrelay outbox",
		"outbox status absent":                  `there is no poller "absent"`,
		"outbox list events --state lost":       "pending, publishing",
		"outbox list events --limit -1":         "--limit",
		"outbox requeue events --state waiting": "only failed, dead",
		"outbox init":                           "accepts 1 arg(s)",
	} {
		wants(t, o.refused(strings.Fields(args)...), want)
	}
	s, _ := sqliteShop(t, "http://127.0.0.1:9/", 0)
	o.settings = s
	wants(t, o.refused("outbox", "status", "orders"), "orders is no outbox", "rowrelay state")
}

// TestOutboxCheck: without its tables an outbox is at fault, and the command that creates them is named; with them the check
// shows layout, strategy and figures, and changes nothing.
func TestOutboxCheck(t *testing.T) {
	t.Parallel()
	o := newOutboxShop(t, "sqlite", "http://127.0.0.1:9/")
	o.write(2, 2)
	out := o.say("check")
	wants(t, out, "own columns, claims in rowrelay_claims", "strategy", "4 pending, 0 failed, 0 waiting, 0 dead", `"idempotency_key":"a0-0"`, "clean-up", "aggregate waits")
	if s := o.status(); s.Pending != 4 {
		t.Errorf("%+v", s)
	}
	execute(t, o.db, `DROP TABLE rowrelay_claims`)
	out, errs, err := command(t.Context(), o.dir, o.settings, "check")
	if exitCode(t, err) != 1 {
		t.Errorf("%s%s", out, errs)
	}
	wants(t, out, "✗", "rowrelay outbox init events")
}

func TestOutboxHelp(t *testing.T) {
	for args, parts := range map[string][]string{
		"outbox":         {"init", "status", "list", "requeue", "discard", "cleanup", "pause", "resume", "DEAD LETTER", "WAITING", "docs/outbox.md"},
		"outbox init":    {"psql", "sqlcmd", "mysql", "sqlite3", "--apply", "exists already is left as it is"},
		"outbox status":  {"fencing token", "--json", "at least"},
		"outbox list":    {"--state", "--id", "--key", "--aggregate-type", "--aggregate ", "--event-type", "--older-than", "--younger-than", "--limit", "--json"},
		"outbox requeue": {"--dry-run", "--yes", "in order", "Ctrl-C"},
		"outbox discard": {"NEVER published", "data loss", "--dry-run"},
		"outbox cleanup": {"source__retention", "Dead letters", "Ctrl-C"},
		"outbox pause":   {"Every instance", "--yes"},
		"outbox resume":  {"--yes"},
	} {
		out, errs, err := command(t.Context(), t.TempDir(), settings{}, append(strings.Fields(args), "--help")...)
		if err != nil || errs != "" {
			t.Errorf("%s: %v: %s", args, err, errs)
		}
		wants(t, out, parts...)
	}
}
