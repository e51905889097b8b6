package publisher_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rowrelay/rowrelay/publisher/event"
)

// TestPagesOfATableOrderedByTime lists and cleans up, page by page, a table whose events have no number, ten of each
// instant: nothing is left out and nothing comes twice.
func TestPagesOfATableOrderedByTime(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		const n = 2500
		id, uuid, moment, step := "uuid", "CAST(md5(CAST(n AS text)) AS uuid)", "timestamptz",
			"timestamptz '2020-01-01 00:00:00Z' + (n / 10) * interval '1.5 seconds'"
		switch w.engine {
		case "mysql":
			id, uuid, moment, step = "binary(16)", "UNHEX(LEFT(SHA2(n, 256), 32))", "datetime(6)",
				"TIMESTAMP '2020-01-01 00:00:00' + INTERVAL (n DIV 10) * 1500000 MICROSECOND"
		case "sqlite":
			id, uuid, moment = "text", "printf('%08x-0000-4000-8000-%012x', (n * 7919) % 9973, n)", "timestamp"
			step = "strftime('%Y-%m-%d %H:%M:%f', '2020-01-01', printf('+%.3f seconds', (n / 10) * 1.5))"
		}
		w.exec(fmt.Sprintf("CREATE TABLE outbox (id %s PRIMARY KEY, aggregate_id varchar(255), payload text, written %s NOT NULL, sent %s, n int)", id, moment, moment))
		w.cfg.Map = map[string]string{"created_at": "written", "published_at": "sent"}
		w.mapped()
		w.exec("INSERT INTO outbox (id, aggregate_id, payload, written, sent, n) SELECT " + uuid + ", " + w.text("n % 50") +
			", " + w.text("n") + ", " + step +
			", CASE WHEN n % 5 = 0 THEN NULL ELSE " + step + " END, n FROM " + w.numbers(n))

		p := w.open()
		var listed []string
		last := event.Entry{}
		if err := p.List(t.Context(), event.Filter{}, func(e event.Entry) error {
			if e.CreatedAt.Before(last.CreatedAt) || e.CreatedAt.Equal(last.CreatedAt) && e.ID <= last.ID {
				t.Errorf("%s of %s comes after %s of %s", e.ID, e.CreatedAt, last.ID, last.CreatedAt)
			}
			last = e
			listed = append(listed, e.ID)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if len(listed) != n {
			t.Errorf("%d are listed, not %d", len(listed), n)
		}
		var one []string
		if err := p.List(t.Context(), event.Filter{IDs: []string{listed[7], "not an id"}}, func(e event.Entry) error {
			one = append(one, e.ID)
			return nil
		}); err != nil || !slices.Equal(one, listed[7:8]) {
			t.Errorf("by id: %v, %v", one, err)
		}

		w.cfg.CleanupChunk = 333
		cleaned, err := w.open().Cleanup(t.Context(), nil)
		if err != nil || cleaned.Rows != n-n/5 || cleaned.More {
			t.Errorf("cleaned: %+v, %v", cleaned, err)
		}
		if left := w.count("SELECT COUNT(*) FROM outbox WHERE sent IS NULL"); left != n/5 ||
			w.count("SELECT COUNT(*) FROM outbox") != n/5 {
			t.Errorf("left: %d", left)
		}
		w.until(p, "the rest is published", func() bool {
			return w.count("SELECT COUNT(*) FROM outbox WHERE sent IS NULL") == 0
		})
	})
}
