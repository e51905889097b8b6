package tracking_test

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
)

// TestSchemaChanges: the table is altered under a poller that goes on. No write fails for the triggers, and no read for
// the columns: one that is gone is left out at once, and one that came is there for who reads the catalog after that.
func TestSchemaChanges(t *testing.T) {
	t.Parallel()
	for _, name := range everyEngine {
		t.Run(name, func(t *testing.T) {
			r := watching(t, name)
			src := r.openChanged()
			at, _, err := src.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range []struct{ ddl, sql, want string }{
				{"", "INSERT INTO orders VALUES (1, 1, 'a')", `{"id":1,"v":1,"note":"a"}`},
				{"ALTER TABLE orders ADD COLUMN w int", "UPDATE orders SET w = 7", `{"id":1,"v":1,"note":"a","w":7}`},
				{"ALTER TABLE orders RENAME COLUMN w TO x", "UPDATE orders SET x = 8", `{"id":1,"v":1,"note":"a","x":8}`},
				{"ALTER TABLE orders DROP COLUMN note", "UPDATE orders SET v = 2", `{"id":1,"v":2,"x":8}`},
				{"ALTER TABLE orders ADD COLUMN note int", "UPDATE orders SET note = 5", `{"id":1,"v":2,"x":8,"note":5}`},
			} {
				if step.ddl != "" {
					r.exec(step.ddl)
				}
				r.exec(step.sql)
				before := at
				var events []change.Event
				if at, events, err = r.read(src, at); err != nil || len(events) != 1 {
					t.Fatalf("%s: %d events, %v", step.ddl, len(events), err)
				}
				if _, events, err = r.read(r.openChanged(), before); err != nil || len(events) != 1 {
					t.Fatalf("%s, a new process: %d events, %v", step.ddl, len(events), err)
				}
				// how a bigint is written is the formats' business
				if got := strings.NewReplacer(`"1"`, `1`, `"2"`, `2`).Replace(string(events[0].Row)); got != step.want {
					t.Errorf("%s: %s, want %s", step.ddl, got, step.want)
				}
			}
		})
	}
}
