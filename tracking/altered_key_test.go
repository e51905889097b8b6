package tracking_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testfile"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestWideningTheKey: the statements of docs/change-tracking.md widen a key while sessions have the triggers' plans: no
// write fails or is lost, and there is no gap.
func TestWideningTheKey(t *testing.T) {
	t.Parallel()
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

// TestAlteredCollation: the key was given a collation that tells more texts apart than the change table's, which would
// keep one change of two rows.
func TestAlteredCollation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, alter []string }{
		"mysql": {[]string{"CREATE TABLE named (id varchar(9) COLLATE utf8mb4_general_ci PRIMARY KEY)"},
			[]string{"ALTER TABLE named MODIFY id varchar(9) COLLATE /*!80017 utf8mb4_0900_bin */ /*M!100202 utf8mb4_nopad_bin */ NOT NULL"}},
		"postgres": {[]string{"CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
			"CREATE TABLE named (id text COLLATE caseless PRIMARY KEY)"},
			[]string{`ALTER TABLE named ALTER id TYPE text COLLATE "C"`}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name, c.before...)
			r.install("named")
			describe := func() error {
				s, err := source.New(plan.Config{Table: "named", Tracked: true, Poller: "orders"}, r.conn)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = s.Close() }()
				_, err = s.Describe(t.Context())
				return err
			}
			if err := describe(); err != nil {
				t.Fatal(err)
			}
			r.exec(c.alter...)
			if err := describe(); !errors.Is(err, poller.ErrConfig) || !strings.Contains(err.Error(), "does not fit") ||
				!strings.Contains(err.Error(), "--to snapshot") {
				t.Error(err)
			}
		})
	}
}
