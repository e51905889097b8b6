package source

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/tracking"
)

// sorts finds in an engine's account that it reads all that is left and sorts it, for each page.
var sorts = regexp.MustCompile(`filesort|TEMP B-TREE`)

// TestHistoryIsReadInItsOrder: a page of a history reads no more than it shows, however many changes follow.
// (PostgreSQL sorts what has one number, as far as a page goes.)
func TestHistoryIsReadInItsOrder(t *testing.T) {
	t.Parallel()
	for driver, url := range map[string]string{"mysql": testenv.MySQL(t), "sqlite": testenv.SQLite(t)} {
		dsn := url
		switch driver {
		case "mysql":
			dsn = testenv.MySQLDSN(t, url)
		case "sqlite":
			dsn = strings.TrimPrefix(url, "sqlite:")
		}
		db := testenv.Open(t, driver, dsn)
		testenv.Exec(t, db, "CREATE TABLE o (id bigint NOT NULL PRIMARY KEY, v int NOT NULL)")
		conn, err := engines.Parse(url)
		if err != nil {
			t.Fatal(err)
		}
		w, err := tracking.Install(t.Context(), conn, "o", "", "orders", tracking.Writes{Every: true})
		if err == nil {
			one := conn.WriteDB(1)
			defer func() { _ = one.Close() }() // nothing is under way
			err = w.Apply(t.Context(), one)
		}
		if err != nil {
			t.Fatal(err)
		}
		testenv.Exec(t, db, "INSERT INTO o WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, 1 FROM n",
			map[string]string{"mysql": "ANALYZE TABLE rowrelay_history_o", "sqlite": "ANALYZE"}[driver])
		src, err := New(plan.Config{Poller: "orders", Table: "o", Tracked: true, EveryChange: true}, conn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = src.Close() })
		check, err := src.Check(t.Context(), nil, 1, 500)
		if err != nil || check.Plan == "" || check.Index == "" || sorts.MatchString(check.Plan) {
			t.Errorf("%s: %v, index %s\n%s", driver, err, check.Index, check.Plan)
		}
	}
}
