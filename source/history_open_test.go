package source

import (
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestHistorySnapshotWaitsForAnOldTransaction: where changes were purged, what a transaction wrote may be among them
// that is open for longer than changes are kept.
func TestHistorySnapshotWaitsForAnOldTransaction(t *testing.T) {
	was := keptAtLeast
	defer func() { keptAtLeast = was }()
	for driver, url := range map[string]string{"pgx": testenv.Postgres(t), "mysql": testenv.MySQL(t)} {
		src, db := historySource(t, driver, url)
		src.cfg.LateWindow = time.Second
		tx := testenv.Begin(t, db)
		testenv.ExecOn(t, tx, "UPDATE o SET v = 2 WHERE id = 1")
		keptAtLeast = time.Hour
		if _, err := src.Snapshot(t.Context()); err != nil {
			t.Errorf("%s: %v", driver, err)
		}
		keptAtLeast = 0
		if _, err := src.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "may be among the changes") {
			t.Errorf("%s: %v", driver, err)
		}
		testenv.Commit(t, tx)
	}
}
