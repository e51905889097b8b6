package source

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestUniqueByTheComparison: an index that tells more texts apart than the source's own statements do is no proof of a
// key. One that tells fewer apart is.
func TestUniqueByTheComparison(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ddl, byN string // a table (id, n), and how an index on n goes on
		refused  string
		warned   bool
	}{
		"column's collation":     {"(id text NOT NULL COLLATE nocase UNIQUE, n int NOT NULL)", "id", "", false},
		"no collation":           {"(id text NOT NULL UNIQUE, n int NOT NULL)", "id", "", false},
		"an order of another":    {"(id text NOT NULL UNIQUE, n int NOT NULL)", "id COLLATE rtrim", "", true},
		"index holds more equal": {"(id text NOT NULL, n int NOT NULL, UNIQUE (id COLLATE nocase))", "id", "", false},
		"key holds more equal":   {"(id text NOT NULL, n int NOT NULL, PRIMARY KEY (id COLLATE nocase))", "id", "", false},
		"index tells apart": {"(id text NOT NULL COLLATE nocase, n int NOT NULL, UNIQUE (id COLLATE binary))", "id",
			"no unique index of orders proves that (id) is unique", false},
		"index of another": {"(id text NOT NULL COLLATE rtrim, n int NOT NULL, UNIQUE (id COLLATE nocase))", "id",
			"no unique index of orders proves that (id) is unique", false},
		"key tells apart": {"(id text NOT NULL COLLATE nocase, n int NOT NULL, PRIMARY KEY (id COLLATE binary))", "id",
			`its primary key holds texts of "id" apart`, false},
		"key without rowid tells apart": {
			"(id text NOT NULL COLLATE rtrim, n int NOT NULL, PRIMARY KEY (id COLLATE binary)) WITHOUT ROWID", "id",
			`its primary key holds texts of "id" apart`, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := plan.Config{Table: "orders", Cursor: []string{"n"}, Key: []string{"id"}}
			url := testenv.SQLite(t)
			src := openSource(t, url, "sqlite", cfg, "CREATE TABLE orders "+c.ddl,
				"CREATE INDEX by_n ON orders (n, "+c.byN+")")
			if strings.Contains(c.refused, "its primary key") {
				tracked := newSource(t, url, plan.Config{Table: "orders", Tracked: true})
				if _, err := tracked.Describe(t.Context()); !errors.Is(err, poller.ErrConfig) ||
					!strings.Contains(err.Error(), c.refused) {
					t.Errorf("its changes: %v", err)
				}
			}
			check, err := src.Check(t.Context(), nil, 1, 10)
			if c.refused != "" {
				if !errors.Is(err, poller.ErrConfig) || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("%v, want %s", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(check.Warnings, "; "); strings.Contains(got, "no index serves the order") != c.warned {
				t.Errorf("warnings: %s", got)
			}
		})
	}
}

// TestUniqueAmongChildren: a row of a table that inherits is a row of its parent, whose key does not hold it.
// Partitions share the key of their parent.
func TestUniqueAmongChildren(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	db := testenv.Open(t, "pgx", url)
	testenv.Exec(t, db, "CREATE TABLE orders (id bigint PRIMARY KEY, n int NOT NULL)",
		"CREATE TABLE orders_2025 (PRIMARY KEY (id)) INHERITS (orders)",
		"CREATE TABLE parted (id bigint PRIMARY KEY, n int NOT NULL) PARTITION BY RANGE (id)",
		"CREATE TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (9)", "CREATE SCHEMA _timescaledb_internal",
		"CREATE TABLE lone (id bigint NOT NULL, n int NOT NULL) PARTITION BY RANGE (id)",
		"CREATE TABLE keyless PARTITION OF lone FOR VALUES FROM (0) TO (9)", "ALTER TABLE ONLY lone ADD PRIMARY KEY (id)",
		"CREATE TABLE hyper (id bigint PRIMARY KEY, n int NOT NULL)",
		"CREATE TABLE _timescaledb_internal.chunk () INHERITS (hyper)",
		"CREATE TABLE childless (id bigint PRIMARY KEY, n int NOT NULL)", "CREATE TABLE child () INHERITS (childless)",
		"DROP TABLE child")
	cursor := func(table string) plan.Config { return plan.Config{Table: table, Cursor: []string{"n"}} }
	only := plan.Config{Query: "SELECT * FROM ONLY orders", Cursor: []string{"n"}, Key: []string{"id"}}
	const child = "orders_2025 inherits from it"
	for name, c := range map[string]struct {
		cfg     plan.Config
		refused string
	}{
		"parent":                {cursor("orders"), child},
		"its changes":           {plan.Config{Table: "orders", Tracked: true}, child},
		"child":                 {cursor("orders_2025"), ""},
		"its own rows":          {only, ""},
		"partitioned":           {cursor("parted"), ""},
		"partition":             {cursor("part"), ""},
		"partition without key": {cursor("lone"), "because partitions lack it"},
		"hypertable":            {cursor("hyper"), ""},
		"child is gone":         {cursor("childless"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newSource(t, url, c.cfg).Describe(t.Context())
			if c.refused == "" && err != nil || c.refused != "" && (!errors.Is(err, poller.ErrConfig) ||
				!strings.Contains(err.Error(), c.refused)) {
				t.Errorf("%v, want %q", err, c.refused)
			}
		})
	}
}
