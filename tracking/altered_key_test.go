package tracking_test

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// TestWideningTheKey: the statements of docs/change-tracking.md widen a key while sessions have the triggers' plans: no
// write fails or is lost, and there is no gap.
func TestWideningTheKey(t *testing.T) {
	page := string(testfile.Read(t, "../docs/change-tracking.md"))
	for _, name := range []string{"postgres", "mysql"} {
		t.Run(name, func(t *testing.T) {
			_, recipe, found := strings.Cut(page, "```sql "+name+"\n")
			if recipe, _, _ = strings.Cut(recipe, "```"); !found {
				t.Fatal("the page has no statements")
			}
			r := newRig(t, name)
			narrow := strings.ReplaceAll(recipe, "bigint", "int")
			alter := func(recipe string) {
				t.Helper()
				for text := range strings.SplitSeq(strings.TrimSpace(recipe), ";") {
					if text = strings.TrimSpace(text); text != "" && text != "BEGIN" && text != "COMMIT" {
						r.exec(text)
					}
				}
			}
			alter(narrow)
			r.db.SetMaxOpenConns(1) // every statement in one session
			i := r.instance(usual)
			r.insert(1, 1)
			r.exec("UPDATE orders SET v = 2 WHERE id = 1")
			r.until(i, "insert 1=2")
			alter(recipe)
			r.insert(5_000_000_000, 5_000_000_000)
			r.exec("UPDATE orders SET v = 3 WHERE id = 1", "DELETE FROM orders WHERE id = 5000000000")
			r.insert(5_000_000_001, 5_000_000_001)
			r.until(i, `update 1=3, delete 5000000000, insert 5000000001=1`)
		})
	}
}
