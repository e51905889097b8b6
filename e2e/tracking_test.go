package e2e

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/programtest"
)

// TestTracking is change tracking as a user meets it: check says what to install, the script that is printed is piped
// into the engine's own program, inserts, updates and deletes arrive, and nothing is left in the end.
func TestTracking(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, engine string) {
		o := newOutboxShop(t, engine, "http://127.0.0.1:9/") // only its database
		dir, source := t.TempDir(), o.settings["SHOP_DB"]
		s := settings{
			"state__kind": "file", "state__path": filepath.Join(dir, "state"), "state__app_name": "shop", "SHOP_DB": source,
			"pollers__orders__source__connection": "SHOP_DB", "pollers__orders__source__mode": "changetracking",
			"pollers__orders__source__table": "orders", "pollers__orders__output__kind": "stdout",
			"pollers__orders__output__format": "sqltrigger", "pollers__orders__ordering": "source",
		}
		execute(t, o.db, `CREATE TABLE orders (id bigint NOT NULL PRIMARY KEY, status varchar(20) NOT NULL)`)
		execute(t, o.db, `INSERT INTO orders VALUES (1, 'new')`)
		const missing = "rowrelay track install orders"
		wants(t, refusal(t, dir, s, "run", "--once"), missing, "change tracking")
		wants(t, refusal(t, dir, s, "track", "status", "orders"), missing)

		script := stdout(t, dir, s, "track", "install", "orders")
		wants(t, script, "CREATE TABLE IF NOT EXISTS", "rowrelay_changes_orders", "are told of when they are written next")
		runShell(t, o, script)
		wants(t, stdout(t, dir, s, "track", "install", "orders", "--apply"), "nothing to do")
		wants(t, stdout(t, dir, s, "track", "status", "orders"), "keys          0")
		wants(t, stdout(t, dir, s, "check"), "rowrelay_changes_orders_version serves the order")

		told := func(want string) {
			t.Helper()
			if got := strings.TrimSpace(stdout(t, dir, s, "run", "--once")); got != want {
				t.Errorf("told %s, want %s", got, want)
			}
		}
		told("")
		execute(t, o.db, `INSERT INTO orders VALUES (2, 'new')`)
		execute(t, o.db, `UPDATE orders SET status = 'paid' WHERE id = 1`)
		told(`[{"Operation":0,"Item":{"id":2,"status":"new"}}]` + "\n" + `[{"Operation":1,"Item":{"id":1,"status":"paid"}}]`)
		execute(t, o.db, `DELETE FROM orders WHERE id = 2`)
		told(`[{"Operation":2,"Item":{"id":2}}]`)
		told("")
		wants(t, stdout(t, dir, s, "track", "status", "orders"), "keys          2, of which 1 are deleted")

		// Another poller of the same table begins with what is retained, and wants deletes only.
		deletes := s.renamed("gone").with(settings{"pollers__gone__source__operations": "delete"})
		if got := strings.TrimSpace(stdout(t, dir, deletes, "run", "--once")); got != `[{"Operation":2,"Item":{"id":2}}]` {
			t.Errorf("told %s", got)
		}

		// What was delivered to everybody is purged: not while one is before it, or its window is not over.
		purge := []string{"track", "purge", "orders", "--apply", "--yes"}
		kept := func(s settings) {
			t.Helper()
			stdout(t, dir, s, purge...)
			wants(t, stdout(t, dir, s, "track", "status", "orders"), "keys          2, of which 1 are deleted")
		}
		if engine == "mysql" {
			kept(s)
		} else {
			execute(t, o.db, `UPDATE orders SET status = 'sent' WHERE id = 1`)
			told(`[{"Operation":1,"Item":{"id":1,"status":"sent"}}]`)
			both := s.with(settings{
				"pollers__late__source__connection": "SHOP_DB", "pollers__late__source__mode": "changetracking",
				"pollers__late__source__table": "orders", "pollers__late__output__kind": "stdout",
			})
			stdout(t, dir, both.with(settings{"pollers__late__source__start": "latest"}), "run", "--once", "late")
			stdout(t, dir, both, "state", "reset", "late", "--to", "beginning", "--yes")
			kept(both)
			wants(t, stdout(t, dir, s, "track", "purge", "orders"), "DELETE FROM", "NOT EXISTS")
			// On PostgreSQL a delete stays while an older transaction is open, and other tests have some.
			programtest.Until(t, "the delete to be purged", func() bool {
				execute(t, o.db, `UPDATE orders SET status = 'sent' WHERE id = 1`)
				told(`[{"Operation":1,"Item":{"id":1,"status":"sent"}}]`)
				stdout(t, dir, s, purge...)
				return strings.Contains(stdout(t, dir, s, "track", "status", "orders"), "keys          1, of which 0 are deleted")
			})
			told("")
		}

		// Without the triggers nothing goes on; when they are back, the gap is told.
		wants(t, stdout(t, dir, s, "track", "uninstall", "orders"), "DROP TABLE IF EXISTS")
		wants(t, refusal(t, dir, s, "track", "uninstall", "orders", "--apply"), "not confirmed")
		stdout(t, dir, s, "track", "uninstall", "orders", "--apply", "--yes")
		execute(t, o.db, `DELETE FROM orders`)
		wants(t, refusal(t, dir, s, "run", "--once"), missing)
		stdout(t, dir, s, "track", "install", "orders", "--apply", "--yes")
		wants(t, refusal(t, dir, s, "run", "--once"), "source_gap", "rowrelay state accept-gap orders")
		stdout(t, dir, s, "state", "accept-gap", "orders", "--yes")
		told("")
		execute(t, o.db, `INSERT INTO orders VALUES (3, 'new')`)
		told(`[{"Operation":0,"Item":{"id":3,"status":"new"}}]`)
		stdout(t, dir, s, "track", "uninstall", "orders", "--apply", "--yes")
	})
}

// TestTrackingIsRefused where the mode is another, and where a change table is named that the engine does not need.
func TestTrackingIsRefused(t *testing.T) {
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 1)
	dir := t.TempDir()
	wants(t, refusal(t, dir, s, "track", "install", "orders"), "orders has no triggers (source__mode=cursor)")
	s = s.with(settings{"pollers__orders__source__mode": "changetracking", "pollers__orders__source__cursor": "",
		"SHOP_DB": "sqlserver://sa:secret@db.example/shop", "pollers__orders__source__track_table": "changes"})
	out, _, err := command(t, dir, s, "check")
	if err == nil {
		t.Error("check finds no fault")
	}
	wants(t, out, "source__track_table", "SQL Server needs none", "Remove it")
}

// TestTrackedDeadLetters: an insert and an update that were given up can be listed, shown and replayed, and arrive as
// what they are.
func TestTrackedDeadLetters(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	to.decide(refuseAs(map[int]int{2: 422, 3: 422}))
	s, db := sqliteShop(t, to.URL, 1)
	s = quick(s).with(settings{"pollers__orders__source__mode": "changetracking", "pollers__orders__source__cursor": ""})
	dir := t.TempDir()
	stdout(t, dir, s, "track", "install", "orders", "--apply", "--yes")
	execute(t, db, `UPDATE orders SET version = 2 WHERE id = 1`)
	execute(t, db, `INSERT INTO orders (id, version, status) VALUES (2, 3, 'new')`)
	letters := giveUp(t, dir, s, func(v int) {
		execute(t, db, `INSERT INTO orders (version, status) VALUES (?, 'new')`, v)
	}, 2)
	told := map[string]string{}
	for _, letter := range letters {
		told[fmt.Sprint(letter["key"])] = fmt.Sprint(letter["op"])
		stdout(t, dir, s, "deadletter", "show", "orders", letter["id"].(string))
	}
	if want := map[string]string{"map[id:1]": "update", "map[id:2]": "insert"}; !maps.Equal(told, want) {
		t.Errorf("dead letters are %v, want %v", told, want)
	}
	wants(t, stdout(t, dir, s, "deadletter", "list", "orders"), "2 dead letter(s)")
	to.decide(nil)
	stdout(t, dir, s, "deadletter", "replay", "orders", "--yes")
	stdout(t, dir, s, "run", "--once")
	if got := to.column("version"); got["2"] != 1 || got["3"] != 1 {
		t.Errorf("after the replay: %v", got)
	}
}
