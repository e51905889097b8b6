package source

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestNamedAhead: a position that a person named may well be ahead of all rows, and is no gap. Ticks, a check and a
// reset say that what comes below it is never delivered; nothing is said where a row stands at it, or above.
func TestNamedAhead(t *testing.T) {
	t.Parallel()
	for name, e := range gapEngines(t) {
		if name == "sqlite" { // a position there has the row's form, whose key is the cursor: the counter says it
			continue
		}
		t.Run(name, func(t *testing.T) {
			_, src, _ := e.table(t)
			for value, ahead := range map[string]bool{"9": false, "10": false, "11": true} {
				at, err := src.Position(t.Context(), value, nil, TiesAfter)
				if err != nil {
					t.Fatal(err)
				}
				const says = "rows that come below it are never delivered"
				clear(src.places)
				page, err := src.Fetch(t.Context(), change.Range{After: at}, everything)
				if warned := len(page.Warnings) == 1 && strings.Contains(page.Warnings[0], says); err != nil ||
					warned != ahead {
					t.Errorf("at %s: %q, %v", value, page.Warnings, err)
				}
				if page, err = src.Fetch(t.Context(), change.Range{After: at}, everything); err != nil ||
					len(page.Warnings) > 0 {
					t.Errorf("at %s again: %q, %v", value, page.Warnings, err)
				}
				check, err := src.Check(t.Context(), at, 1, 10)
				if err != nil || check.ReadError != nil || strings.Contains(check.Ahead, says) != ahead {
					t.Errorf("a check at %s: %q, %v, %v", value, check.Ahead, check.ReadError, err)
				}
				if got, err := src.Ahead(t.Context(), at); err != nil || got != ahead {
					t.Errorf("asked at %s: %t, %v", value, got, err)
				}
			}
		})
	}
	at := change.Cursor(`{"kind":"integer+pk","value":5}`)
	url := testenv.SQLite(t)
	src := openSource(t, url, "sqlite", plan.Config{Poller: "o", Table: "o", Cursor: []string{"v"}},
		"CREATE TABLE o (id INTEGER PRIMARY KEY, v INTEGER NOT NULL)")
	page, err := idle(t, src, at)
	quiet(t, "no index shows it", page, err)
	testenv.Exec(t, testenv.Open(t, "sqlite", strings.TrimPrefix(url, "sqlite:")), "CREATE INDEX ix ON o (v, id)")
	page, err = idle(t, newSource(t, url, plan.Config{Poller: "o", Table: "o", Cursor: []string{"v"}}), at)
	if err != nil || len(page.Warnings) != 1 {
		t.Errorf("an index shows it: %q, %v", page.Warnings, err)
	}
}
