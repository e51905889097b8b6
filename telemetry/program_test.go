package telemetry_test

import (
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

func TestMain(m *testing.M) { programtest.Main(m) }

// start runs the program with settings; the end of the test kills it.
func start(t *testing.T, settings map[string]string, args ...string) *programtest.Process {
	t.Helper()
	return programtest.Start(t, programtest.Options{Settings: settings}, args...)
}

// orders makes a table with rows, and returns the connection.
func orders(t *testing.T, notes ...string) string {
	t.Helper()
	connection := testenv.SQLite(t)
	db, err := sql.Open("sqlite", strings.TrimPrefix(connection, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec(`CREATE TABLE orders (id TEXT PRIMARY KEY, seq INTEGER NOT NULL, note TEXT)`); err != nil {
		t.Fatal(err)
	}
	for i, note := range notes {
		if _, err := db.Exec(`INSERT INTO orders VALUES (?, ?, ?)`, fmt.Sprintf("key-%s-%d", note, i), i+1,
			note); err != nil {
			t.Fatal(err)
		}
	}
	return connection
}

func pollerOf(name string, more map[string]string) map[string]string {
	settings := map[string]string{}
	base := map[string]string{
		"source__connection": "DB_" + name, "source__table": "orders", "source__cursor": "seq",
		"source__late_commits": "none", "output__kind": "http",
		"output__retries": "1", "output__timeout": "10s",
	}
	for _, m := range []map[string]string{base, more} {
		for key, value := range m {
			settings["pollers__"+name+"__"+key] = value
		}
	}
	return settings
}

func merged(all ...map[string]string) map[string]string {
	settings := map[string]string{}
	for _, m := range all {
		for key, value := range m {
			settings[key] = value
		}
	}
	return settings
}

// A collector that is down costs a warning, and no tick.
func TestNoTickFailsForACollectorThatIsDown(t *testing.T) {
	ok := newShop(t, http.StatusOK)
	r := start(t, merged(pollerOf("orders", map[string]string{"output__url": ok.URL}), map[string]string{
		"DB_orders": orders(t, "one"), "state__kind": "file",
		"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + programtest.FreeAddress(t),
		"OTEL_BSP_SCHEDULE_DELAY":     "50", "OTEL_METRIC_EXPORT_INTERVAL": "50", "OTEL_EXPORTER_OTLP_TIMEOUT": "200",
	}), "run", "--once")
	if code := r.Wait(); code != 0 {
		t.Errorf("the tick failed: exit code %d", code)
	}
	if len(ok.headers()) != 1 {
		t.Errorf("%d requests arrived", len(ok.headers()))
	}
	if n := strings.Count(r.Log(), `"event":"telemetry_failed"`); n != 1 || strings.Contains(r.Log(), `"level":"ERROR"`) {
		t.Errorf("it was told %d times:\n%s", n, r.Log())
	}
}

// An outbox event that has a trace keeps it, and the request is linked to it.
func TestAnOutboxEventKeepsItsTrace(t *testing.T) {
	const own = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	to, from := newCollector(t), newShop(t, http.StatusOK)
	connection := testenv.SQLite(t)
	settings := merged(pollerOf("events", map[string]string{
		"source__mode": "outbox", "source__table": "outbox", "output__url": from.URL, "output__batch": "1",
		"poll_interval": "0",
	}), map[string]string{"DB_events": connection, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": to.URL + "/v1/traces"})
	delete(settings, "pollers__events__source__cursor")
	delete(settings, "pollers__events__source__late_commits")
	if r := start(t, settings, "outbox", "init", "events", "--apply"); r.Wait() != 0 {
		t.Fatal(r.Log())
	}
	db, err := sql.Open("sqlite", strings.TrimPrefix(connection, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key, traceparent) VALUES ('order', '1', 'placed', '{}', 'k1', ?)`, own); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if r := start(t, settings, "run", "--once"); r.Wait() != 0 {
		t.Fatal(r.Log())
	}
	// The end of the process exported what was left.
	request := to.named("request events", nil)
	if request == nil || len(request.GetLinks()) != 1 ||
		hex.EncodeToString(request.GetLinks()[0].GetSpanId()) != "00f067aa0ba902b7" {
		t.Fatalf("the request's span is %v", request)
	}
	if got := from.headers(); len(got) != 1 || got[0].Get("traceparent") != own {
		t.Errorf("the destination got %v", got)
	}
	if to.has("rowrelay_events_total") {
		t.Error("metrics were exported, and nobody asked for them")
	}
}
