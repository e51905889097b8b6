package postgres

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/internal/golden"
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
	for _, rule := range types() {
		listed[rule.Name] = true
	}
	n := 0
	for rows.Next() {
		var pt Type
		if err := rows.Scan(&pt.OID, &pt.Name, &pt.Class, &pt.category, &pt.Schema); err != nil {
			t.Fatal(err)
		}
		n++
		v := pt.Value()
		switch {
		case v.Refused == "" && v.Kind == engine.KindNone, v.Refused != "" && v.Kind != engine.KindNone:
			t.Errorf("%s is neither mapped nor refused: %+v", pt.Name, v)
		case pt.Class == "b" && pt.category != "A" && !listed[pt.Name]:
			t.Errorf("%s is not decided: add it to named and to types", pt.Name)
		case strings.Contains(v.Refused, "that is known"):
			t.Errorf("%s is refused for being unknown, not by name", pt.Name)
		}
	}
	if err := rows.Err(); err != nil || n < 400 {
		t.Fatalf("%d types (%v)", n, err)
	}
}

// TestRightsStatement pins what a server is asked of the login.
func TestRightsStatement(t *testing.T) {
	golden.Pin(t, "rights.sql", rightsSQL+"\n")
}

// TestPlainName: the names of two tables stay two, and short ones stay as they are.
func TestPlainName(t *testing.T) {
	long := "shop." + strings.Repeat("x", 60)
	names := map[string]string{}
	for _, name := range []string{"o", "shop.orders", "shop.order lines", "shop.order_lines", "shop.order.lines",
		long + "1", long + "2"} {
		plain := plainName(name)
		if before, taken := names[plain]; taken {
			t.Errorf("%s and %s are both %s", before, name, plain)
		}
		if len(plain) > 40 || strings.ContainsAny(plain, `. "'`) {
			t.Errorf("%s: %s", name, plain)
		}
		names[plain] = name
	}
	if names["shop_orders"] != "shop.orders" {
		t.Errorf("%v", names)
	}
}

// TestTypeNameIsNoPattern: a type's name may hold %s.
func TestTypeNameIsNoPattern(t *testing.T) {
	v := Type{Schema: "shop", Name: "size%s", Class: "e"}.Value()
	if got, want := engine.Fill(v.Param, "$1"), `$1::"shop"."size%s"`; got != want {
		t.Errorf("a parameter is written %s, want %s (%+v)", got, want, v)
	}
}
