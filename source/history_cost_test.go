package source

import (
	"context"
	"database/sql"
	"regexp"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
	"github.com/rowrelay/rowrelay/tracking"
)

// sorts finds in an engine's account that it reads all that is left and sorts it, for each page.
var sorts = regexp.MustCompile(`filesort|TEMP B-TREE`)

// historySource reads a table with many rows, each of which was written since its history began.
func historySource(t *testing.T, driver, url string) (*Cursor, *sql.DB) {
	t.Helper()
	dsn := url
	switch driver {
	case "mysql":
		dsn = testenv.MySQLDSN(t, url)
	case "sqlite":
		dsn = strings.TrimPrefix(url, "sqlite:")
	}
	db := testenv.Open(t, driver, dsn)
	rows := map[string]int{"mysql": 900}[driver] // whose recursion ends at a thousand
	if rows == 0 {
		rows = 30000
	}
	exec := func(texts ...string) { testenv.Exec(t, db, texts...) }
	conn := trackedTable(t, url, exec, rows, tracking.Writes{Every: true})
	exec(map[string]string{"mysql": "ANALYZE TABLE o, rowrelay_history_o", "sqlite": "ANALYZE",
		"pgx": "VACUUM ANALYZE"}[driver])
	return trackedSource(t, plan.Config{EveryChange: true}, conn), db
}

// TestHistoryIsReadInItsOrder: a page of a history reads no more than it shows, however many changes follow.
// (PostgreSQL sorts what has one number, as far as a page goes.)
func TestHistoryIsReadInItsOrder(t *testing.T) {
	t.Parallel()
	for driver, url := range map[string]string{"mysql": testenv.MySQL(t), "sqlite": testenv.SQLite(t)} {
		src, _ := historySource(t, driver, url)
		check, err := src.Check(t.Context(), nil, 1, 500)
		if err != nil || check.Plan == "" || check.Index == "" || sorts.MatchString(check.Plan) {
			t.Errorf("%s: %v, index %s\n%s", driver, err, check.Index, check.Plan)
		}
	}
}

// TestHistoryTableIsReadByItsKey: rows of the table beside its history, in chunks and by their keys, are read by the
// index of its key. What they have as constants is in no condition that the engine would look for rows by.
func TestHistoryTableIsReadByItsKey(t *testing.T) {
	t.Parallel()
	for driver, url := range map[string]string{"pgx": testenv.Postgres(t), "mysql": testenv.MySQL(t),
		"sqlite": testenv.SQLite(t)} {
		src, _ := historySource(t, driver, url)
		p, err := src.current(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s, err := src.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		after := plan.AfterRow([]byte(`{"id":800}`), []byte("7"))
		chunk, err := chunkOf(p, change.Range{After: after, UpTo: s.Rows.UpTo}, 20, nil)
		if err != nil {
			t.Fatal(err)
		}
		keys := []keyset.Key{}
		for _, text := range []string{`{"id":800,"rowrelay_read":7}`, `{"id":7,"rowrelay_read":7}`} {
			key, err := chunk.plan.DecodeKey([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, key)
		}
		st := chunk.plan.Sel.ByKeys(chunk.plan.KeyColumns(), keys, false)
		args, err := chunk.plan.Args(st, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for text, args := range map[string][]any{chunk.text: chunk.args, st.Text: args} {
			var account string
			err = src.sessions.Run(t.Context(), func(ctx context.Context, s *pool.Session) (err error) {
				account, err = src.dialect.Explain(ctx, s.Conn, text, args)
				return err
			})
			if err != nil || !byKey.MatchString(account) || sorts.MatchString(account) {
				t.Errorf("%s: %v\n%s\n%s", driver, err, text, account)
			}
		}
	}
}

// byKey finds in an engine's account that it looks for rows by the primary key.
var byKey = regexp.MustCompile(`SEARCH t USING INDEX|o_pkey|range.*PRIMARY|PRIMARY.*range`)
