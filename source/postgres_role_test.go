package source

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestPostgresReader uses a role that may do nothing but SELECT on one table: it is all that a source needs.
func TestPostgresReader(t *testing.T) {
	t.Parallel()
	admin := testenv.Postgres(t)
	db, err := sql.Open("pgx", admin)
	if err != nil {
		t.Fatal(err)
	}
	role := "rr_reader_" + strings.ToLower(rand.Text())
	exec := func(s string) {
		t.Helper()
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%v", err)
		}
	}
	exec("CREATE ROLE " + role + " LOGIN PASSWORD 'planted-secret'")
	t.Cleanup(func() {
		_, err := db.Exec("DROP OWNED BY " + role)
		_, err2 := db.Exec("DROP ROLE " + role)
		if err := errors.Join(err, err2, db.Close()); err != nil {
			t.Errorf("drop the role: %v", err)
		}
	})
	exec("CREATE TABLE orders (id int PRIMARY KEY, v int NOT NULL)")
	exec("INSERT INTO orders VALUES (1, 1)")
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatal("the URL does not parse")
	}
	u.User = url.UserPassword(role, "planted-secret")

	src := openSource(t, u.String(), "pgx", plan.Config{Table: "orders", Cursor: []string{"v"}})
	_, err = src.Fetch(t.Context(), change.Range{After: nil}, everything)
	if !errors.Is(err, poller.ErrConfig) || !strings.Contains(err.Error(), "GRANT SELECT") ||
		strings.Contains(err.Error(), "planted-secret") {
		t.Errorf("without a grant: %v", err)
	}
	exec("GRANT SELECT ON orders TO " + role)
	page, err := src.Fetch(t.Context(), change.Range{After: nil}, everything)
	if err != nil || len(page.Events) != 1 {
		t.Fatalf("%d rows, %v", len(page.Events), err)
	}
	t.Logf("incarnation: %s", page.Incarnation)
	// What the catalog said to somebody without the right is not believed any more.
	if page, err = src.Fetch(t.Context(), change.Range{Late: true}, everything); err != nil || page.Numbers == "" {
		t.Errorf("%v; with the right to read the table, its rows do not tell who wrote them", err)
	}
	if _, err := src.Check(t.Context(), nil, 1, 10); err != nil {
		t.Errorf("check: %v", err)
	}
}
