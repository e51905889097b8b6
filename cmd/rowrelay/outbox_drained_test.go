package main

import (
	"net/http"
	"strings"
	"testing"
)

// TestOnceDrainsWhatWaited: one tick publishes a dead letter that was requeued, and then what waited for it, also where
// the page beside the retry brings the last event that there is.
func TestOnceDrainsWhatWaited(t *testing.T) {
	t.Chdir(t.TempDir())
	connection, to := newFile(t), newHook(t)
	environ := []string{"DB=" + connection, "state__kind=file", "pollers__events__source__connection=DB",
		"pollers__events__source__mode=outbox", "pollers__events__source__table=outbox",
		"pollers__events__output__kind=http", "pollers__events__output__url=" + to.URL,
		"pollers__events__output__format=payload", "pollers__events__output__batch=1",
		"pollers__events__poll_interval=0s", "pollers__events__max_attempts=1"}
	must := func(args ...string) {
		t.Helper()
		if out, errs, err := sampled(t, environ, args...); err != nil {
			t.Fatal(args, err, out, errs)
		}
	}
	must("outbox", "init", "events", "--apply")
	to.status = func(body string) int {
		if strings.Contains(body, "first") {
			return http.StatusUnprocessableEntity
		}
		return http.StatusOK
	}
	runSQL(t, connection, `INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key) VALUES
		('Order', '1', 'E', '"first"', 'k1'), ('Order', '2', 'E', '"other"', 'k2'), ('Order', '1', 'E', '"then"', 'k3'),
		('Order', '1', 'E', '"last"', 'k4')`)
	must("run", "--once")
	if got := to.took(); len(got) != 1 {
		t.Fatalf("%q", got)
	}
	to.status = func(string) int { return http.StatusOK }
	must("outbox", "requeue", "events", "--yes")
	runSQL(t, connection, `INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key) VALUES
		('Order', '3', 'E', '"new"', 'k5')`)
	must("run", "--once")
	if got := to.took(); len(got) != 4 {
		t.Errorf("a tick has published %q", got)
	}
}
