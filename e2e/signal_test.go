package e2e

import (
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestOneSignalComesTwice: timeout(1) and make send one signal to the process and one to its group. The second is no
// wish to end at once: the request under way is waited for, and the lease given back.
func TestOneSignalComesTwice(t *testing.T) {
	t.Parallel()
	db, url := openSQLite(t)
	execute(t, db, `CREATE TABLE late (id INTEGER PRIMARY KEY AUTOINCREMENT)`)
	for again := true; again; {
		execute(t, db, `INSERT INTO late DEFAULT VALUES`)
		to := newSink(t)
		asked, answer := make(chan struct{}, 1), make(chan struct{})
		to.decide(func(http.ResponseWriter, []cloudEvent) bool {
			asked <- struct{}{}
			<-answer
			return true
		})
		relay := startRun(t, t.TempDir(), settings{
			"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state"), "status__listen": "127.0.0.1:0",
			"LATE_DB": url, "pollers__late__source__connection": "LATE_DB", "pollers__late__source__table": "late",
			"pollers__late__source__cursor": "id", "pollers__late__output__kind": "http", "pollers__late__output__url": to.URL,
		})
		<-asked
		first := time.Now()
		relay.Signal(syscall.SIGINT)
		wait(t.Context(), 20*time.Millisecond) // until it is heard; signals that come together are one
		if relay.Ended() {
			t.Fatal("it did not wait for the answer")
		}
		relay.Signal(syscall.SIGINT)
		again = time.Since(first) > 400*time.Millisecond // then it may be a second one
		close(answer)
		if code := relay.Wait(); code != 0 && !again {
			t.Errorf("exit code %d", code)
		}
	}
}
