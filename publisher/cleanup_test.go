package publisher_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher"
)

// fillHistory writes n events: most were published long ago, the last tenth within the retention, and among the old
// ones every 500th is still to be published.
func (w *world) fillHistory(n int) {
	w.t.Helper()
	old := w.ago(240)
	young := w.ago(1)
	open := "n % 500 = 0"
	late := fmt.Sprintf("n > %d", n-n/10)
	when := "CASE WHEN " + late + " THEN " + young + " ELSE " + old + " END"
	mark := "published"
	published := map[bool]string{true: "NOT (" + open + ")",
		false: "CASE WHEN " + open + " THEN 'PENDING' ELSE 'PUBLISHED' END"}[w.cfg.Table == "outbox"]
	if w.cfg.Table != "outbox" {
		mark = "state"
	}
	w.exec("INSERT INTO " + w.cfg.Table +
		" (aggregate_type, aggregate_id, event_type, payload, idempotency_key, created_at, published_at, " + mark + ") " +
		"SELECT 'Order', " + w.text("n % 200") + ", 'OrderPlaced', '{}', " + w.text("n") + ", " + when + ", CASE WHEN " +
		open + " THEN NULL ELSE " + when + " END, " +
		published + " FROM " + w.numbers(n))
}

// ago is a time so many hours ago, in UTC.
func (w *world) ago(hours int) string {
	switch w.engine {
	case "postgres":
		return fmt.Sprintf("(now() - interval '%d hours')", hours)
	case "mysql":
		return fmt.Sprintf("(UTC_TIMESTAMP() - INTERVAL %d HOUR)", hours)
	default:
		return fmt.Sprintf("strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '%+d hours')", -hours)
	}
}

// unpublished are the keys of the events that are still to be published.
func (w *world) unpublished() map[string]bool {
	w.t.Helper()
	where := "state = 'PENDING'"
	if w.cfg.Table == "outbox" {
		where = "NOT published"
	}
	keys := map[string]bool{}
	for _, key := range w.column("SELECT idempotency_key FROM " + w.cfg.Table + " WHERE " + where) {
		keys[key] = true
	}
	return keys
}

// TestCleanup deletes 50,000 events' worth of history while an application writes and a publisher marks; it is
// stopped in the middle, and begun again.
func TestCleanup(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
	layouts(t, func(t *testing.T, w *world) {
		const n = 50_000
		w.fillHistory(n)
		w.cfg.CleanupChunk = 4000
		p := w.open()

		// The application writes, and what it wrote is marked as published, a little later.
		ctx, cancel := context.WithCancel(t.Context())
		var busy sync.WaitGroup
		written := 0
		busy.Go(func() {
			// SQLite's busy handler is not fair: without a breath nobody else would write
			pace := time.NewTicker(20 * time.Millisecond)
			defer pace.Stop()
			for ctx.Err() == nil {
				<-pace.C
				written++
				key := fmt.Sprintf("new-%d", written)
				if _, err := w.app.Exec(w.marks("INSERT INTO "+w.cfg.Table+
					" (aggregate_type, aggregate_id, event_type, payload, idempotency_key) VALUES ('Order', '1', 'X', '{}', ?)"),
					key); err != nil {
					t.Errorf("write: %v", err)
					return
				}
				set := "state = 'PUBLISHED', published_at = " + w.ago(0)
				if w.cfg.Table == "outbox" {
					set = "published = TRUE, published_at = " + w.ago(0)
				}
				if written%2 == 0 {
					if _, err := w.app.Exec(w.marks("UPDATE "+w.cfg.Table+" SET "+set+" WHERE idempotency_key = ?"), key); err != nil {
						t.Errorf("mark: %v", err)
						return
					}
				}
			}
		})

		first, stop := context.WithCancel(t.Context())
		defer stop()
		c, err := p.Cleanup(first, func(int64) { stop() })
		if err != nil || !c.More || c.Rows == 0 || c.Rows > 8000 {
			t.Fatalf("stopped after the first chunk: %+v, %v", c, err)
		}
		other := w.open()
		var together [2]publisher.Cleaned
		var both sync.WaitGroup
		for i, who := range []*publisher.Publisher{p, other} {
			both.Go(func() {
				var err error
				if together[i], err = who.Cleanup(t.Context(), nil); err != nil {
					t.Errorf("clean up: %v", err)
				}
			})
		}
		both.Wait()
		cancel()
		busy.Wait()
		if t.Failed() {
			return
		}

		const gone = n - n/10 - (n-n/10)/500
		if total := c.Rows + together[0].Rows + together[1].Rows; total != gone {
			t.Errorf("%d were deleted, %d were published before the retention", total, gone)
		}
		if got, want := w.count("SELECT COUNT(*) FROM "+w.cfg.Table), n-gone+written; got != want {
			t.Errorf("%d are left, want %d", got, want)
		}
		left := w.unpublished()
		for i := 500; i <= n; i += 500 {
			if !left[fmt.Sprint(i)] {
				t.Errorf("event %d was deleted before it was published", i)
			}
		}
		for i := 1; i <= written; i += 2 {
			if !left[fmt.Sprintf("new-%d", i)] {
				t.Errorf("event new-%d was deleted before it was published", i)
			}
		}
		if n := w.count("SELECT COUNT(*) FROM " + w.cfg.ClaimsTable + " WHERE unit = 'cleanup'"); n != 0 {
			t.Errorf("the claim of the clean-up is left")
		}
		if again, err := p.Cleanup(t.Context(), nil); err != nil || again.Rows != 0 || again.More {
			t.Errorf("again: %+v, %v", again, err)
		}
	})
}

// TestCleanupAlone does nothing while another one runs, and goes on when that one died and its claim has expired.
func TestCleanupAlone(t *testing.T) {
	t.Parallel()
	layouts(t, func(t *testing.T, w *world) {
		w.fillHistory(1000)
		p := w.open()
		if _, err := p.Cleanup(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		w.exec("DELETE FROM " + w.cfg.Table)
		w.fillHistory(1000)
		about, err := p.About(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		insert := "INSERT INTO " + w.cfg.ClaimsTable +
			" (outbox, unit, owner, token, expires_at) VALUES (?, 'cleanup', 'somebody', 0, %s)"
		w.exec(fmt.Sprintf(insert, w.ago(-1)), about.Table)
		if c, err := p.Cleanup(t.Context(), nil); err != nil || c.Rows != 0 || c.Chunks != 0 {
			t.Errorf("beside another one: %+v, %v", c, err)
		}
		w.exec("UPDATE " + w.cfg.ClaimsTable + " SET expires_at = " + w.ago(1) + " WHERE unit = 'cleanup'")
		if c, err := p.Cleanup(t.Context(), nil); err != nil || c.Rows != 899 {
			t.Errorf("after it died: %+v, %v", c, err)
		}
	})
}

// TestCleanupKeeps says what is not cleaned up: dead letters, and tables that do not say when a row was published.
func TestCleanupKeeps(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		w.cfg.Strategy = claims.Leader
		w.own()
		w.exec("INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key, state, created_at, published_at) " +
			"SELECT 'Order', '1', 'X', '{}', s, s, " + w.ago(240) + ", " + w.ago(240) +
			" FROM (SELECT 'PENDING' AS s UNION ALL SELECT 'FAILED' UNION ALL SELECT 'WAITING' " +
			"UNION ALL SELECT 'DEAD LETTER' UNION ALL SELECT 'PUBLISHED' UNION ALL SELECT 'DISCARDED') AS states")
		w.cfg.CleanupChunk = 2 // more dead letters than a chunk holds do not end it
		if c, err := w.open().Cleanup(t.Context(), nil); err != nil || c.Rows != 2 {
			t.Errorf("%+v, %v", c, err)
		}
		if got := strings.Join(w.column("SELECT state FROM outbox ORDER BY state"),
			","); got != "DEAD LETTER,FAILED,PENDING,WAITING" {
			t.Errorf("left: %s", got)
		}
		w.cfg.Retention = 0
		if _, err := w.open().Cleanup(t.Context(), nil); !errors.Is(err, poller.ErrConfig) {
			t.Errorf("no retention: %v", err)
		}
		w.cfg.Retention, w.cfg.Table, w.cfg.Map = time.Hour, "plain", map[string]string{"published_at": "none"}
		w.exec(strings.Replace(w.seedTable(), "CREATE TABLE outbox", "CREATE TABLE plain", 1))
		w.mapped()
		if _, err := w.open().Cleanup(t.Context(), nil); !errors.Is(err, poller.ErrConfig) ||
			!strings.Contains(err.Error(), "source__map__published_at") {
			t.Errorf("a table without published_at: %v", err)
		}
	})
}

// TestCleanupTakenOver: a clean-up that was thought dead stops, and says so.
func TestCleanupTakenOver(t *testing.T) {
	t.Parallel()
	layouts(t, func(t *testing.T, w *world) {
		w.fillHistory(3000)
		w.cfg.CleanupChunk = 500
		c, err := w.open().Cleanup(t.Context(), func(int64) {
			w.exec("UPDATE " + w.cfg.ClaimsTable + " SET owner = 'somebody' WHERE unit = 'cleanup'")
		})
		if err == nil || !strings.Contains(err.Error(), "another instance has taken the clean-up over") || !c.More ||
			c.Chunks != 1 {
			t.Errorf("%+v, %v", c, err)
		}
		if n := w.count("SELECT COUNT(*) FROM " + w.cfg.ClaimsTable + " WHERE unit = 'cleanup'"); n != 1 {
			t.Error("the other one's claim was given back")
		}
	})
}

// TestCountCleanable: a dry run counts what the clean-up would delete, in a table that does not say when events were
// written, too.
func TestCountCleanable(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		moment := map[string]string{"postgres": "timestamptz", "mysql": "datetime(6)", "sqlite": "text"}[w.engine]
		w.exec("CREATE TABLE outbox (id bigint PRIMARY KEY, aggregate_id varchar(20), payload varchar(20), " +
			"published_at " + moment + " NULL)")
		w.mapped()
		w.exec("INSERT INTO outbox VALUES (1, 'a', '1', " + w.ago(240) + "), (2, 'a', '2', " + w.ago(1) + "), " +
			"(3, 'a', '3', NULL), (4, 'a', '4', " + w.ago(240) + ")")
		p := w.open()
		n, err := p.CountCleanable(t.Context())
		if n != 2 || err != nil {
			t.Errorf("counted %d, %v", n, err)
		}
		if did, err := p.Cleanup(t.Context(), nil); did.Rows != n || err != nil {
			t.Errorf("deleted %+v, %v", did, err)
		}
	})
}
