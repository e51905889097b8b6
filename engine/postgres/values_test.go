package postgres_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/enginetest/typerules"
	"github.com/rowrelay/rowrelay/engine/postgres"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestPostgresCatalog lists every type of the real engine's catalog as mapped or refused by name: a type that a new
// version brings fails here until it is decided.
func TestPostgresCatalog(t *testing.T) {
	db, err := sql.Open("pgx", testenv.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // the test is over
	rows, err := db.QueryContext(t.Context(), `SELECT t.oid, t.typname, t.typtype::text, t.typcategory::text, n.nspname
		FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE n.nspname = 'pg_catalog'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err is what tells
	listed := map[string]bool{}
	for _, rule := range typerules.Of(postgres.Dialect{}) {
		listed[rule.Name] = true
	}
	n := 0
	for rows.Next() {
		var pt postgres.Type
		if err := rows.Scan(&pt.OID, &pt.Name, &pt.Class, &pt.Category, &pt.Schema); err != nil {
			t.Fatal(err)
		}
		n++
		v := pt.Value()
		switch {
		case v.Refused == "" && v.Kind == engine.KindNone, v.Refused != "" && v.Kind != engine.KindNone:
			t.Errorf("%s is neither mapped nor refused: %+v", pt.Name, v)
		case pt.Class == "b" && pt.Category != "A" && !listed[pt.Name]:
			t.Errorf("%s is not decided: add it to named and to typerules", pt.Name)
		case strings.Contains(v.Refused, "that is known"):
			t.Errorf("%s is refused for being unknown, not by name", pt.Name)
		}
	}
	if err := rows.Err(); err != nil || n < 400 {
		t.Fatalf("%d types (%v)", n, err)
	}
}
