package source

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/dsn"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// slow makes a source whose pages take for ever.
func slow(t *testing.T, engine string, timeout time.Duration) *Cursor {
	t.Helper()
	ddl := []string{"CREATE TABLE orders (id bigint PRIMARY KEY, v bigint NOT NULL)", "INSERT INTO orders VALUES (1, 1)"}
	cfg := plan.Config{Table: "orders", Cursor: []string{"v"}, Timeout: timeout}
	if engine == dsn.SQLite {
		cfg.Where = "id < (WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s) SELECT max(n) FROM s)"
		return openSource(t, testenv.SQLite(t), "sqlite", cfg, ddl...)
	}
	cfg.Where = "pg_sleep(600) IS NULL"
	return openSource(t, testenv.Postgres(t), "pgx", cfg, ddl...)
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{dsn.Postgres, dsn.SQLite} {
		src := slow(t, engine, 3*time.Second)
		if _, err := src.Describe(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := src.Fetch(t.Context(), change.Range{After: nil}, everything)
		if err == nil || !strings.Contains(err.Error(), "source__timeout (3s)") || errors.Is(err, poller.ErrConfig) {
			t.Errorf("%s: %v", engine, err)
		}
	}
}

// TestCancel: a fetch ends when its context does, and says why that ended.
func TestCancel(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{dsn.Postgres, dsn.SQLite} {
		src := slow(t, engine, time.Minute)
		if _, err := src.Describe(t.Context()); err != nil {
			t.Fatal(err)
		}
		ended := errors.New("the lease was lost")
		ctx, cancel := context.WithCancelCause(t.Context())
		timer := time.AfterFunc(100*time.Millisecond, func() { cancel(ended) })
		defer timer.Stop()
		if _, err := src.Fetch(ctx, change.Range{After: nil}, everything); !errors.Is(err, ended) {
			t.Errorf("%s: %v", engine, err)
		}
	}
}

// TestPlanAge: a column that was added appears after at most five minutes, without any fault.
func TestPlanAge(t *testing.T) {
	t.Parallel()
	url := testenv.SQLite(t)
	src := openSource(t, url, "sqlite", plan.Config{Table: "orders", Cursor: []string{"v"}},
		"CREATE TABLE orders (id INTEGER PRIMARY KEY, v int NOT NULL)", "INSERT INTO orders VALUES (1, 1)")
	row := func() string {
		page, err := src.Fetch(t.Context(), change.Range{After: nil}, everything)
		if err != nil {
			t.Fatal(err)
		}
		return string(page.Events[0].Row)
	}
	if got := row(); got != `{"id":1,"v":1}` {
		t.Error(got)
	}
	openSource(t, url, "sqlite", plan.Config{Table: "orders", Cursor: []string{"v"}},
		"ALTER TABLE orders ADD COLUMN extra text DEFAULT 'x'")
	if got := row(); got != `{"id":1,"v":1}` {
		t.Errorf("at once: %s", got)
	}
	src.mu.Lock()
	src.planned = src.planned.Add(-planAge)
	src.mu.Unlock()
	if got := row(); got != `{"id":1,"v":1,"extra":"x"}` {
		t.Errorf("five minutes later: %s", got)
	}
}

// TestPostgresTypeChange: a column that got another type is encoded by its new type, on a kept connection (where the
// server refuses the prepared statement) and on a new one (where the result's types tell).
func TestPostgresTypeChange(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	cfg := plan.Config{Table: "orders", Cursor: []string{"v"}}
	src := openSource(t, url, "pgx", cfg, "CREATE TABLE orders (id int PRIMARY KEY, v int NOT NULL, note varchar(10))",
		"INSERT INTO orders VALUES (1, 1, '7')")
	row := func() string {
		page, err := src.Fetch(t.Context(), change.Range{After: nil}, everything)
		if err != nil {
			t.Fatal(err)
		}
		return string(page.Events[0].Row)
	}
	if got := row(); got != `{"id":1,"v":1,"note":"7"}` {
		t.Error(got)
	}
	openSource(t, url, "pgx", cfg, "ALTER TABLE orders ALTER COLUMN note TYPE int USING note::int")
	if got := row(); got != `{"id":1,"v":1,"note":7}` {
		t.Errorf("on the kept connection: %s", got)
	}
	openSource(t, url, "pgx", cfg, "ALTER TABLE orders ALTER COLUMN note TYPE boolean USING note > 1",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	if got := row(); got != `{"id":1,"v":1,"note":true}` {
		t.Errorf("on a new connection: %s", got)
	}
}
