package tracking_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/tracking"
)

// TestLockedTable: to a session that holds LOCK TABLES, as the loading of a dump does, MariaDB refuses what triggers
// write to a table that somebody has read. No form of the triggers helps. So whoever installs them is told; MySQL takes
// the writes, and both take them without the lock.
func TestLockedTable(t *testing.T) {
	t.Parallel()
	r := newRig(t, "mysql")
	r.exec("INSERT INTO orders VALUES (1, 1), (2, 1)")
	reader := r.instance(usual)
	r.until(reader, "insert 1=1, insert 2=1")
	conn, err := r.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	load := []string{
		"INSERT IGNORE INTO orders VALUES (1, 5), (3, 1)", "REPLACE INTO orders VALUES (1, 6)",
		"UPDATE orders SET v = 7 WHERE id = 3", "DELETE FROM orders WHERE id = 2",
	}
	testenv.ExecOn(t, conn, "LOCK TABLES orders WRITE")
	for _, text := range load {
		var refused *mysql.MySQLError
		if _, err = conn.ExecContext(t.Context(), text); err == nil {
			continue
		}
		if !errors.As(err, &refused) || refused.Number != 1442 || !testenv.IsMariaDB(t, r.db) {
			t.Errorf("%s: %v", text, err)
		}
	}
	testenv.ExecOn(t, conn, "UNLOCK TABLES")
	for _, text := range load {
		testenv.ExecOn(t, conn, text)
	}
	r.until(reader, "insert 1=6, delete 2, insert 3=7")
	w, err := tracking.Install(t.Context(), r.conn, "orders", "", "orders", tracking.Writes{})
	if err != nil || !strings.Contains(w.Rights, "LOCK TABLES") {
		t.Errorf("who installs is told %q, %v", w.Rights, err)
	}
}
