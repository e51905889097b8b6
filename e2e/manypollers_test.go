package e2e

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestManyPollersOfOneDatabase: sixty pollers and six outboxes tick at the same time on a server that gives their user
// sixteen connections. None fails, and none stays without its rows.
func TestManyPollersOfOneDatabase(t *testing.T) {
	t.Parallel()
	const pollers, outboxes, rows = 60, 6, 3
	admin := testenv.Postgres(t)
	db := testenv.Open(t, "pgx", admin)
	role := unique("rr_many")
	execute(t, db, `CREATE TABLE orders (id bigint PRIMARY KEY, version bigint NOT NULL)`)
	execute(t, db, fmt.Sprintf(`INSERT INTO orders SELECT i, i FROM generate_series(1, %d) i`, rows))
	execute(t, db, `CREATE ROLE "`+role+`" LOGIN PASSWORD 'x' CONNECTION LIMIT 16`)
	t.Cleanup(func() {
		_, err := db.Exec(`DROP OWNED BY "` + role + `"`)
		_, err2 := db.Exec(`DROP ROLE "` + role + `"`)
		if err := errors.Join(err, err2); err != nil {
			t.Error(err)
		}
	})
	execute(t, db, `GRANT SELECT ON orders TO "`+role+`"`)
	limited, err := url.Parse(admin)
	if err != nil {
		t.Fatal("the URL does not parse")
	}
	limited.User = url.UserPassword(role, "x")
	to, dir := newSink(t), t.TempDir()
	s := settings{"ADMIN_DB": admin, "SHOP_DB": limited.String(), "OTHER_NAME": limited.String(),
		"state__kind": "file", "state__path": dir + "/state"}
	for i := range pollers {
		p := fmt.Sprintf("pollers__p%d__", i)
		s = s.with(settings{p + "source__connection": []string{"SHOP_DB", "OTHER_NAME"}[i%2], p + "source__table": "orders",
			p + "source__cursor": "version", p + "output__kind": "http", p + "output__url": to.URL})
	}
	for i := range outboxes {
		p, table := fmt.Sprintf("pollers__o%d__", i), fmt.Sprintf("outbox%d", i)
		box := settings{p + "source__mode": "outbox", p + "source__connection": "SHOP_DB", p + "source__table": table,
			p + "source__claims_table": "claims", p + "output__kind": "http", p + "output__url": to.URL}
		s = s.with(box)
		stdout(t, dir, box.with(settings{"SHOP_DB": admin}), "outbox", "init", fmt.Sprintf("o%d", i), "--apply")
		execute(t, db, `INSERT INTO `+table+
			` (aggregate_type, aggregate_id, event_type, payload, idempotency_key) VALUES ('o', '1', 'made', '{}', '`+table+`')`)
		execute(t, db, `GRANT SELECT, INSERT, UPDATE, DELETE ON `+table+`, claims TO "`+role+`"`)
	}
	for range 3 {
		if out, errs, err := command(t, dir, s, "run", "--once"); exitCode(t, err) != 0 {
			t.Fatal(strings.Join(strings.SplitAfterN(out+errs, "\n", 20), ""))
		}
	}
	if n, repeated := to.count(); n != pollers*rows+outboxes || repeated != 0 {
		t.Errorf("%d events, want %d; %d repeated", n, pollers*rows+outboxes, repeated)
	}
}
