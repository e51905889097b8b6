package tracking_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestSnapshotBesideAnothersTransaction: a transaction that is older than the triggers and has written to other tables
// only, maybe of another database, does not keep the whole table from being read; one that has changes of this table
// does, until it has ended.
func TestSnapshotBesideAnothersTransaction(t *testing.T) {
	t.Parallel()
	t.Run("as the server is", func(t *testing.T) { snapshotBeside(t, testenv.MySQL(t)) })
	t.Run("snapshot isolation", func(t *testing.T) { // MariaDB's default since 11.6.2
		server := testenv.OwnMariaDB(t)
		db := testenv.Open(t, "mysql", testenv.MySQLDSN(t, server.URL))
		testenv.Exec(t, db, "SET GLOBAL innodb_snapshot_isolation = ON")
		snapshotBeside(t, server.URL)
	})
}

func snapshotBeside(t *testing.T, url string) {
	t.Helper()
	r := newRigAt(t, "mysql", url, "CREATE TABLE others (id bigint PRIMARY KEY)", filled(3, 1))
	src, err := source.New(plan.Config{Poller: "orders", Table: "orders", Tracked: true, LateWindow: time.Second},
		r.conn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = src.Close() }()
	tx := testenv.Begin(t, r.db)
	write := func(text string) { t.Helper(); testenv.ExecOn(t, tx, text) }
	write("INSERT INTO others VALUES (1)")
	// It is older than the window now, and has written before the floor.
	r.exec("UPDATE rowrelay_changes_orders_state SET rowrelay_floor = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR")
	now := func() (seconds float64) {
		if err := r.db.QueryRowContext(t.Context(), "SELECT UNIX_TIMESTAMP(SYSDATE(6))").Scan(&seconds); err != nil {
			t.Fatal(err)
		}
		return seconds
	}
	// innodb_trx is not asked for meanwhile: it shows nothing new while it is read more often than ten times a second.
	begun := now()
	programtest.Until(t, "the transaction to be older than the window", func() bool { return now() > begun+3 })
	programtest.Until(t, "the table to be read beside it", func() bool { // and beside other tests' XA PREPARE
		s, err := src.Snapshot(t.Context())
		return err == nil && !s.Rows.UpTo.IsStart()
	})
	write("UPDATE orders SET v = 2 WHERE id = 2")
	programtest.Until(t, "the table not to be read beside one that changed a row", func() bool {
		_, err := src.Snapshot(t.Context())
		return err != nil && strings.Contains(err.Error(), "end it")
	})
	testenv.Commit(t, tx)
	programtest.Until(t, "the table to be read when it has ended", func() bool {
		_, err := src.Snapshot(t.Context())
		return err == nil
	})
}
