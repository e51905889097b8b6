package e2e

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/outbox"
)

// TestMissingQueue: events of one type have no queue. They wait for it for longer than all attempts take, the events of
// other types flow, and when the queue is there they are delivered, in order: nothing is dead-lettered.
func TestMissingQueue(t *testing.T) {
	t.Parallel()
	db, url := openPostgres(t)
	rabbit, prefix := testenv.RabbitMQ(t)
	good := declareQueue(t, rabbit, prefix+".good")
	s := settings{
		"state__kind": "memory", "state__app_name": "broker", "status__listen": "127.0.0.1:0", "OUTBOX_DB": url,
		"BROKER":                              rabbit,
		"pollers__orders__source__connection": "OUTBOX_DB", "pollers__orders__source__mode": "outbox",
		"pollers__orders__source__table": "outbox",
		"pollers__orders__output__kind":  "rabbitmq", "pollers__orders__output__connection": "BROKER",
		"pollers__orders__output__destination": prefix + ".{event_type}", "pollers__orders__retry_delays": "100ms",
		"pollers__orders__max_attempts": "3",
	}
	if stdout, stderr, err := command(t, t.TempDir(), s, "outbox", "init", "orders", "--apply"); err != nil {
		t.Fatalf("outbox init: %v\n%s\n%s", err, stdout, stderr)
	}
	w, err := outbox.NewWriter(outbox.Postgres, "outbox")
	if err != nil {
		t.Fatal(err)
	}
	version := 0
	write := func(id, eventType string) {
		version++
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(t.Context(), tx, outbox.Event{AggregateType: "Order", AggregateID: id, Type: eventType,
			IdempotencyKey: fmt.Sprintf("%s-%d", id, version),
			Payload:        fmt.Appendf(nil, `{"id":%q,"version":%d}`, id, version)}); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	write("lost", "Missing")
	write("lost", "Missing")
	run := startRun(t, t.TempDir(), s)
	begun := time.Now()
	for n := range 30 { // witnesses, until far beyond the attempts
		write(fmt.Sprint(n), "Good")
		wait(t.Context(), 100*time.Millisecond)
	}
	if took := time.Since(begun); took < 2*time.Second {
		t.Fatalf("only %s have passed", took)
	}
	until(t, "the events of other types", func() bool {
		return count(t, db, "event_type = 'Good' AND state = 'PUBLISHED'") == 30
	})
	if n := count(t, db, "state IN ('FAILED', 'WAITING')"); n != 2 {
		t.Errorf("%d of 2 events wait for their queue\n%s", n, run.Log())
	}
	missing := declareQueue(t, rabbit, prefix+".missing")
	until(t, "the events whose queue was missing", func() bool { return count(t, db, "state = 'PUBLISHED'") == 32 })
	if got := missing.drain(t, rabbit); len(got) < 2 || got[0].Version != 1 || got[len(got)-1].Version != 2 {
		t.Errorf("the queue that was missing has %+v", got)
	}
	if got := good.drain(t, rabbit); len(got) < 30 {
		t.Errorf("%d of 30 other events are in their queue", len(got))
	}
}

func count(t *testing.T, db *sql.DB, where string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM outbox WHERE "+where).Scan(&n); err != nil { //nolint:gosec // the test's own condition
		t.Fatal(err)
	}
	return n
}
