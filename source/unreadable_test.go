package source

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestUnreadableKeysThatAreGone: a row whose key has no form stops the poller, because it can be corrected. Once it is,
// or is deleted, its old key stops nobody: its delete is broken, and what comes after it is told.
func TestUnreadableKeysThatAreGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key  string
		bad  []string
		good string
	}{
		"text":    {"text", []string{"CAST(x'fe' AS text)", "CAST(x'ff' AS text)", "x'41'"}, "'a'"},
		"integer": {"bigint", []string{"9e999", "CAST(x'ff' AS text)", "x'41'"}, "7"},
		"blob":    {"blob", []string{"1", "1.5", "'x'"}, "x'41'"},
		"untyped": {"", []string{"'9007199254740993'", "x'41'"}, "'a'"},
	} {
		t.Run(name, func(t *testing.T) {
			url := testenv.SQLite(t)
			db := writer(t, "sqlite", url, "CREATE TABLE k (k "+c.key+" NOT NULL, v bigint NOT NULL, PRIMARY KEY (k, v))")
			install(t, url, db, "k")
			src := newSource(t, url, plan.Config{Poller: "k", Table: "k", Tracked: true})
			for i, bad := range c.bad {
				testenv.Exec(t, db, fmt.Sprintf("INSERT INTO k VALUES (%s, %d)", bad, i))
			}
			_, err := src.Fetch(t.Context(), change.Range{}, everything)
			if !errors.Is(err, poller.ErrNormalize) || !strings.Contains(err.Error(), "correct the row") {
				t.Errorf("rows that are there: %v", err)
			}
			testenv.Exec(t, db, "UPDATE k SET k = "+c.good+" WHERE v > 0", "DELETE FROM k WHERE v = 0")
			for _, rows := range []int{1, 2, 100} {
				var told []string
				r := &reader{t: t, src: src}
				r.drain(rows)
				for _, e := range r.events {
					if (e.Broken == nil) == strings.Contains(string(e.Key), `{"k":{"`) {
						t.Errorf("%s is broken by %v", e.Key, e.Broken)
					}
					told = append(told, e.Op.String())
					if again, err := src.Reread(t.Context(), [][]byte{e.Key}); err != nil || len(again) != 1 ||
						(again[0].Broken == nil) != (e.Broken == nil) || again[0].ID != e.ID {
						t.Errorf("%s is read again as %+v, %v", e.Key, again, err)
					}
				}
				all := strings.Join(told, ", ")
				if strings.Count(all, "delete") != len(c.bad) || strings.Count(all, "insert") != len(c.bad)-1 {
					t.Errorf("in pages of %d: %s", rows, all)
				}
			}
		})
	}
}
