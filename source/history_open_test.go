package source

import (
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestHistorySnapshotWaitsForAnOldTransaction: where nothing is left from before a transaction that is open for longer
// than changes are kept, what it wrote may have been purged.
func TestHistorySnapshotWaitsForAnOldTransaction(t *testing.T) {
	t.Parallel()
	for driver, url := range map[string]string{"pgx": testenv.Postgres(t), "mysql": testenv.MySQL(t)} {
		src, db := historySource(t, driver, url)
		src.cfg.LateWindow = time.Second
		tx := testenv.Begin(t, db)
		testenv.ExecOn(t, tx, "UPDATE o SET v = 2 WHERE id = 1")
		if _, err := src.Snapshot(t.Context()); err != nil {
			t.Errorf("%s: %v", driver, err)
		}
		src.cfg.TrackRetention = time.Nanosecond
		if _, err := src.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "may be among the changes") {
			t.Errorf("%s: %v", driver, err)
		}
		testenv.Commit(t, tx)
	}
}
