package tracking_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestChangedWithinTheWindow: a write of another column is not told, also where the last window is read again and
// again, and the row's insert or update is in it. One that commits late is told, also where another column was written
// since.
func TestChangedWithinTheWindow(t *testing.T) {
	t.Parallel()
	for _, name := range everyEngine {
		t.Run(name, func(t *testing.T) {
			r := watching(t, name, "v")
			s := usual
			s.changed = []string{"v"}
			i := r.instance(s)
			nothing := func(after string) {
				t.Helper()
				for until := time.Now().Add(2500 * time.Millisecond); time.Now().Before(until); {
					i.Tick(t.Context())
				}
				if told := r.to.take(); told != "" {
					t.Errorf("after %s: told %q", after, told)
				}
			}
			r.insert2(1)
			r.insert2(2)
			r.until(i, "insert 1=1, insert 2=1")
			for n := range 2 {
				r.exec(fmt.Sprintf("UPDATE orders SET note = '%d'", n))
				nothing("another column")
			}
			r.exec("UPDATE orders SET v = 2 WHERE id = 1")
			r.until(i, "update 1=2")
			i = r.instance(s)
			r.exec("UPDATE orders SET note = 'c'")
			nothing("the column, then another, and a restart")
			if name == "sqlite" { // one writer at a time
				return
			}
			tx := testenv.Begin(t, r.db)
			testenv.ExecOn(t, tx, "UPDATE orders SET v = 3 WHERE id = 2")
			r.exec("UPDATE orders SET v = 4 WHERE id = 1")
			r.until(i, "update 1=4")
			testenv.Commit(t, tx)
			r.exec("UPDATE orders SET note = 'd' WHERE id = 2")
			r.until(i, "update 2=3")
			nothing("all of it")
		})
	}
}
