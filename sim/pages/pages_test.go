package pages

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
)

// sqliteRow is a row of the real table, with ties in its cursor.
type sqliteRow struct {
	id, at, kind int
}

// seeds is how many tables are read.
const seeds = 100

// TestPages reads real SQLite tables, whose rows, conditions and limits come from the seed, and compares every page
// with what it must be.
func TestPages(t *testing.T) {
	for seed := range seeds {
		if err := read(t.Context(), filepath.Join(t.TempDir(), fmt.Sprintf("%d.db", seed)), uint64(seed)); err != nil {
			t.Fatalf("found by seed %d: %v", seed, err)
		}
	}
}

func read(ctx context.Context, file string, seed uint64) (err error) {
	r := rand.New(rand.NewPCG(seed, 0x5417e))
	conn, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, conn.Close()) }()
	composite := r.IntN(2) == 0
	key := "id INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind INTEGER NOT NULL"
	if composite {
		key = "id INTEGER NOT NULL, at INTEGER NOT NULL, kind INTEGER NOT NULL, PRIMARY KEY (id, kind)"
	}
	statements := "PRAGMA synchronous=OFF; BEGIN; CREATE TABLE orders (" + key + ");"
	where, keep := "", func(sqliteRow) bool { return true }
	if r.IntN(2) == 0 {
		where, keep = "kind = 1 OR kind = 2", func(o sqliteRow) bool { return o.kind == 1 || o.kind == 2 }
	}
	var rows []sqliteRow
	for id := range 1 + r.IntN(20) {
		o := sqliteRow{id, r.IntN(5), r.IntN(4)}
		statements += fmt.Sprintf("INSERT INTO orders (id, at, kind) VALUES (%d, %d, %d);", o.id, o.at, o.kind)
		if keep(o) {
			rows = append(rows, o)
		}
	}
	if _, err := conn.ExecContext(ctx, statements+"COMMIT"); err != nil {
		return err
	}
	slices.SortFunc(rows, func(a, b sqliteRow) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id), cmp.Compare(a.kind, b.kind))
	})
	parsed, err := engines.Parse("sqlite:" + file)
	if err != nil {
		return err
	}
	src, err := source.New(plan.Config{Poller: "orders", Table: "orders", Cursor: []string{"at"}, Where: where,
		LateCommits: "none"}, parsed)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, src.Close()) }()
	var after change.Cursor
	for from := 0; ; {
		limit := 1 + r.IntN(4)
		page, err := src.Fetch(ctx, change.Range{After: after}, poller.Limit{Rows: limit, Bytes: 1 << 20})
		if err != nil {
			return err
		}
		end := min(from+limit, len(rows))
		if len(page.Events) != end-from || page.More != (end < len(rows)) {
			return fmt.Errorf("after %s came %d rows (more: %v), want %d", after, len(page.Events), page.More, end-from)
		}
		for i, e := range page.Events {
			o := rows[from+i]
			want := fmt.Sprintf(`{"id":%d,"at":%d,"kind":%d}`, o.id, o.at, o.kind)
			if string(e.Row) != want {
				return fmt.Errorf("after %s came %s, want %s", after, e.Row, want)
			}
			after = e.Cursor
		}
		if from = end; !page.More {
			return nil
		}
	}
}
