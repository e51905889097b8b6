package source

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestPgBouncer: behind a pooler in transaction mode the application's statements run on the connections that ours ran
// on. It writes through the same pooler while a source does everything that it can do, and after it was closed.
func TestPgBouncer(t *testing.T) {
	t.Parallel()
	for _, way := range []late.Mode{late.None, late.Exact} {
		t.Run(string(way), func(t *testing.T) {
			direct := testenv.Postgres(t)
			pooled := testenv.PgBouncer(t, direct)
			app := testenv.Open(t, "pgx", pooled+"&default_query_exec_mode=exec")
			testenv.Exec(t, app, "CREATE TABLE o (id bigint PRIMARY KEY, v text, tx xid8 NOT NULL DEFAULT pg_current_xact_id())",
				"CREATE INDEX ON o (tx, id)")
			before := sessionSettings(t, app)

			cfg := plan.Config{Poller: "p", Table: "o", Cursor: []string{"id"}, Key: []string{"id"}, LateCommits: string(way),
				Connections: 3}
			if way == late.Exact {
				cfg.Cursor = []string{"tx"}
			}
			src := newSource(t, pooled, cfg)
			if found, err := src.Check(t.Context(), nil, 5, 5); err != nil || !strings.Contains(found.Version, "pooler") {
				t.Errorf("nothing is said of the pooler: %q, %v", found.Version, err)
			}
			var at change.Page
			insert := func(n int) {
				t.Helper()
				if _, err := app.Exec("INSERT INTO o (id, v) VALUES ($1, now()::text)", n); err != nil {
					t.Fatalf("the application's INSERT %d fails: %v", n, err)
				}
			}
			seen := 0
			position, _, err := src.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for n := range 40 {
				insert(n)
				for {
					if at, err = src.Fetch(t.Context(), change.Range{After: position}, everything); err != nil {
						t.Fatal(err)
					}
					if at.Incarnation == "" {
						t.Fatal("a page does not say which database answered")
					}
					for i := range at.Events {
						position = at.Events[i].Position()
						seen++
					}
					if at.To != nil {
						position = at.To
					}
					if len(at.Events) == 0 && !at.More {
						break
					}
				}
			}
			if seen != 40 {
				t.Errorf("%d of 40 rows came", seen)
			}
			everythingElse(t, src)
			insert(100)
			// A statement that fails leaves nothing behind either.
			bad := newSource(t, pooled, plan.Config{Poller: "p", Table: "o", Cursor: []string{"id"}, Key: []string{"id"},
				Where: "1 / (id - id) = 0"})
			if _, err := bad.Fetch(t.Context(), change.Range{}, everything); err == nil {
				t.Error("a division by zero brought a page")
			}
			insert(101)
			cut, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			slow := newSource(t, pooled, plan.Config{Poller: "p", Table: "o", Cursor: []string{"id"}, Key: []string{"id"},
				Where: "pg_sleep(10) IS NOT NULL"})
			if _, err := slow.Fetch(cut, change.Range{}, everything); err == nil {
				t.Error("ten seconds passed within 0.3")
			}
			insert(102)
			if err := src.Close(); err != nil {
				t.Error(err)
			}
			for n := range 20 {
				insert(200 + n)
			}
			if after := sessionSettings(t, app); after != before {
				t.Errorf("settings were left on a connection that others use:\nbefore %s\nafter  %s", before, after)
			}
		})
	}
}

// everythingElse calls what a source can do beside paging.
func everythingElse(t *testing.T, src *Cursor) {
	t.Helper()
	ctx := t.Context()
	if _, err := src.Horizon(ctx); err != nil {
		t.Error(err)
	}
	if rows, err := src.Reread(ctx, [][]byte{[]byte(`{"id":1}`), []byte(`{"id":7}`)}); err != nil || len(rows) != 2 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	if _, err := src.Other(ctx, nil, nil); err != nil {
		t.Error(err)
	}
	if n, err := src.Count(ctx, change.Range{}); err != nil || n != 40 {
		t.Errorf("%d rows, %v", n, err)
	}
	latest, err := src.Latest(ctx)
	if err != nil {
		t.Error(err)
	}
	if err := src.Gap(ctx, latest); err != nil {
		t.Error(err)
	}
	if _, err := src.Check(ctx, nil, 5, 5); err != nil {
		t.Error(err)
	}
}

// sessionSettings are the settings of the pooler's one connection that statements have set on it, and what else they
// left there.
func sessionSettings(t *testing.T, app *sql.DB) string {
	t.Helper()
	var settings string
	// PgBouncer itself keeps these apart for each client.
	err := app.QueryRow(`SELECT concat_ws(' ', (SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings
		WHERE source = 'session' AND name NOT IN ('application_name', 'client_encoding', 'DateStyle', 'TimeZone', ` +
		`'standard_conforming_strings')),
		(SELECT string_agg('prepared ' || statement, ' ') FROM pg_prepared_statements),
		(SELECT count(*) || ' advisory locks' FROM pg_locks WHERE locktype = 'advisory' AND pid = ` +
		`pg_backend_pid()))`).Scan(&settings)
	if err != nil {
		t.Fatal(err)
	}
	return settings
}
