package publisher

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/poller"
)

// TestAlteredOutbox: an ALTER of the table that leaves it publishable costs no tick, although the driver's statements
// were prepared before. One that does not is told as what it is.
func TestAlteredOutbox(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		b.write("Order/1")
		look := func() error { // as a tick does that does not believe what it knows of the catalog
			b.stale.Store(true)
			_, err := b.catalog.open(t.Context())
			return err
		}
		b.must(look())
		b.all()
		wider := map[string]string{"postgres": "ALTER TABLE outbox ALTER COLUMN payload TYPE varchar(1000)",
			"mysql": "ALTER TABLE outbox MODIFY payload mediumtext NOT NULL"}
		for _, s := range []string{"ALTER TABLE outbox ADD note varchar(10)", wider[b.conn.Engine]} {
			if s == "" {
				continue
			}
			b.exec(s)
			if err := look(); err != nil {
				t.Errorf("after %s: %v", s, err)
			}
			if rows := b.all(); len(rows) != 1 {
				t.Errorf("after %s: %d events", s, len(rows))
			}
		}
		if b.conn.Engine == "mysql" {
			b.exec("ALTER TABLE outbox CONVERT TO CHARACTER SET latin1")
			if err := look(); !errors.Is(err, poller.ErrConfig) || !strings.Contains(err.Error(), "utf8mb4") {
				t.Errorf("another character set: %v", err)
			}
			b.exec("ALTER TABLE outbox CONVERT TO CHARACTER SET utf8mb4")
			b.must(look())
		}
		if b.conn.Engine != "postgres" {
			return
		}
		b.exec("ALTER TABLE outbox ALTER COLUMN payload TYPE jsonb USING payload::jsonb")
		_, _, err := b.rows.Fetch(t.Context(), nil, false, poller.Limit{Rows: 10})
		if !errors.Is(err, poller.ErrConfig) || !strings.Contains(err.Error(), "another type") {
			t.Errorf("a column of another type: %v", err)
		}
	})
}
