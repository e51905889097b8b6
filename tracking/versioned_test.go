package tracking_test

import (
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/tracking"
)

// TestSystemVersioned: MariaDB adds the end of a row's time to the keys of a table that keeps its past, and tells a
// trigger on a DELETE the moment of the delete there. The key of a row, and of its delete, is the declared one.
func TestSystemVersioned(t *testing.T) {
	t.Parallel()
	r := newRig(t, "mysql")
	if !testenv.IsMariaDB(t, r.db) {
		return // MySQL has no such tables
	}
	r.uninstall(tracking.Writes{})
	r.exec("DROP TABLE orders", `CREATE TABLE orders (id bigint NOT NULL PRIMARY KEY, v bigint NOT NULL,
		since timestamp(6) GENERATED ALWAYS AS ROW START, until timestamp(6) GENERATED ALWAYS AS ROW END,
		PERIOD FOR SYSTEM_TIME (since, until)) WITH SYSTEM VERSIONING`, "INSERT INTO orders (id, v) VALUES (1, 1)")
	r.install("orders")
	src := r.open()
	at := r.start(src)
	r.exec("DELETE FROM orders WHERE id = 1", "INSERT INTO orders (id, v) VALUES (2, 2)", "UPDATE orders SET v = 3")
	_, events, err := r.read(src, at)
	if err != nil || len(events) != 2 || string(events[0].Key) != `{"id":1}` || events[0].Op != change.Delete ||
		string(events[1].Key) != `{"id":2}` {
		t.Errorf("%+v, %v", events, err)
	}
	r.recordEvery(everyWithRows)
	r.exec("INSERT INTO orders (id, v) VALUES (4, 4)", "UPDATE orders SET v = 5 WHERE id = 4",
		"DELETE FROM orders WHERE id = 4")
	page, err := r.history().Fetch(t.Context(), change.Range{}, poller.Limit{Rows: 100, Bytes: 1 << 20})
	if err != nil || len(page.Events) != 3 {
		t.Fatal(len(page.Events), err)
	}
	for i := range page.Events {
		if key := string(page.Events[i].OrderKey); key != `{"id":4}` {
			t.Errorf("%s of %s", page.Events[i].Op, key)
		}
	}
}
