package tracking_test

import (
	"fmt"
	"testing"
)

// TestUpdatesWithoutInserts: source__operations=update tells an update of a row whose insert a tick has passed, also
// soon after it, where no event came in between, and where another process goes on.
func TestUpdatesWithoutInserts(t *testing.T) {
	t.Parallel()
	for _, operations := range [][]string{{"update"}, {"update", "delete"}} {
		for _, name := range everyEngine {
			t.Run(fmt.Sprint(name, operations), func(t *testing.T) {
				r := newRig(t, name)
				s := usual
				s.operations = operations
				i := r.instance(s)
				i.Tick(t.Context())
				for n := 1; n <= 4; n++ {
					r.insert(n, n)
					if check, err := i.src.Check(t.Context(), nil, 1, 10); err != nil || len(check.Events) > 0 {
						t.Errorf("check would send %q, %v", toldOf(check.Events), err)
					}
					i.Tick(t.Context())
					if n%2 == 0 {
						i.kill()
						i = r.instance(s)
					}
					if told := r.to.take(); told != "" {
						t.Errorf("an insert: told %q", told)
					}
					r.exec(fmt.Sprintf("UPDATE orders SET v = 2 WHERE id = %d", n))
					r.until(i, fmt.Sprintf("update %d=2", n))
				}
			})
		}
	}
}
