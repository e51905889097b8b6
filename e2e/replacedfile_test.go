package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestDatabaseFileReplaced: a file of SQLite that another takes the place of, as a restore or a copy does, is read by a
// process that had opened the first one. It tells of new rows, and sees that an older copy was put back.
func TestDatabaseFileReplaced(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	url := testenv.SQLite(t)
	path := strings.TrimPrefix(url, "sqlite:")
	write := func(text string) {
		t.Helper()
		db := openDatabase(t, "sqlite", path)
		execute(t, db, text)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	put := func(name string) {
		t.Helper()
		if err := os.Rename(path+name, path); err != nil {
			t.Fatal(err)
		}
	}
	write(`CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, version int)`)
	write(`INSERT INTO orders (version) VALUES (1), (2)`)
	write(`VACUUM INTO '` + path + `.old'`)
	dir, set := t.TempDir(), ordersByCursor(t, url, to.URL, "id").with(settings{
		"status__listen": "127.0.0.1:0", "pollers__orders__poll_interval": "20ms", "pollers__orders__tick_budget": "300ms"})
	relay := startRun(t, dir, set)
	arrives := func(version string) {
		t.Helper()
		relay.Until("version "+version+" to arrive", func() bool { return to.column("version")[version] > 0 })
	}
	arrives("2")

	write(`VACUUM INTO '` + path + `.new'`)
	put(".new")
	write(`INSERT INTO orders (version) VALUES (3)`)
	arrives("3")

	put(".old")
	relay.Until("the older file to be a gap", func() bool { return strings.Contains(relay.Log(), "source_gap") })
	// What is written now takes the counter past the position. The row below it would never be delivered.
	write(`INSERT INTO orders (version) VALUES (13), (14), (15)`)
	relay.Until("the gap to stay one", func() bool { return strings.Contains(relay.Log(), "an earlier tick found") })
	for _, version := range []string{"13", "14", "15"} {
		if to.column("version")[version] > 0 {
			t.Errorf("version %s came before anybody decided", version)
		}
	}
	relay.Kill()
	if said, _, err := command(t, dir, set, "check"); err == nil || !strings.Contains(said, "found a gap in") {
		t.Errorf("check: %v, %s", err, said)
	}
}
