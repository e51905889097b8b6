package source

import (
	"context"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/source/pool"
)

// TestPostgresChunkCost: a chunk at the end of a table reads the changes of its own rows only. Where the two were
// merged, it read all that stands before the chunk in the change table, and the chunks of a large table took longer and
// longer.
func TestPostgresChunkCost(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	db := testenv.Open(t, "pgx", url)
	testenv.Exec(t, db, "CREATE TABLE o (id bigint PRIMARY KEY, v int NOT NULL)",
		"INSERT INTO o SELECT i, 1 FROM generate_series(1, 30000) i")
	conn := install(t, url, db, "o")
	testenv.Exec(t, db, "UPDATE o SET v = 2", "VACUUM ANALYZE o", "VACUUM ANALYZE rowrelay_changes_o")
	src, err := New(plan.Config{Poller: "orders", Table: "o", Tracked: true, Start: "snapshot"}, conn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = src.Close() }()
	p, err := src.current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := src.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := change.Range{After: plan.AfterRow([]byte(`{"id":29000}`), nil), UpTo: s.Rows.UpTo}
	if page, err := src.Fetch(t.Context(), at, poller.Limit{Rows: 100, Bytes: 1 << 20}); err != nil ||
		len(page.Events) != 100 || !page.More {
		t.Fatalf("%d events, %v", len(page.Events), err)
	}
	chunk, err := chunkOf(p, at, 501, new(string))
	if err != nil {
		t.Fatal(err)
	}
	var text string
	err = src.sessions.Run(t.Context(), func(ctx context.Context, s *pool.Session) (err error) {
		text, err = analyzed(ctx, s, src.dialect.Read, chunk.text, chunk.args)
		return err
	})
	if err != nil || strings.Contains(text, "Merge") || strings.Contains(text, "Hash") {
		t.Errorf("a chunk of 500 rows reads more than theirs: %v\n%s", err, text)
	}
}
