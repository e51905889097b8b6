package source

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/dsn"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/engine/enginetest/typerules"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestTypedRowVersion: a rowversion is typed as SQL Server shows it, and stands in the position as a row's own does.
func TestTypedRowVersion(t *testing.T) {
	t.Parallel()
	p, err := plan.New(sqlserver.Dialect{},
		&plan.Config{Table: "x", Cursor: []string{"version"}, Start: "0x00000000000007D1"}, "h/d", sqlServerSample())
	if err != nil {
		t.Fatal(err)
	}
	want := change.Cursor(`{"kind":"rowversion+pk","value":"AAAAAAAAB9E="}`)
	at, err := p.StartAt(&plan.Config{Start: "0x00000000000007D1"})
	if err != nil || !at.Equal(want) {
		t.Errorf("source__start: %s, %v", at, err)
	}
	// It is unique for every write, so that the value alone is a position.
	c := &Cursor{cfg: plan.Config{}, dialect: sqlserver.Dialect{}}
	if at, err := (rowPages{c, p}).position(t.Context(), "0x00000000000007d1", nil, ""); err != nil || !at.Equal(want) {
		t.Errorf("typed: %s, %v", at, err)
	}
	if at, err := (rowPages{c, p}).position(t.Context(), "2001", nil, ""); err == nil {
		t.Errorf("no rowversion: %s", at)
	}
}

// TestTypedKeys: what a person types for a key is read as the column's kind on every engine.
func TestTypedKeys(t *testing.T) {
	t.Parallel()
	for _, engineName := range everyDialect {
		d, err := engines.Find(engineName)
		if err != nil {
			t.Fatal(err)
		}
		flag := engine.KindBool
		if engineName == dsn.MySQL { // a boolean is a tinyint there
			flag = engine.KindInteger
		}
		columns := []engine.Column{
			goldenColumn(t, d, "n", engine.KindInteger, false), goldenColumn(t, d, "flag", flag, false),
			goldenColumn(t, d, "name", engine.KindText, false),
			goldenColumn(t, d, "uid", engine.KindUUID, false), goldenColumn(t, d, "day", engine.KindDate, false),
			goldenColumn(t, d, "hash", engine.KindBinary, false),
		}
		p := &plan.Plan{Dialect: d, StoredTimes: d.Syntax().StoredTimes,
			Sel: keyset.Selection{Syntax: syntaxOf(d), Columns: columns}, Key: []int{0, 1, 2, 3, 4, 5}}
		p.KeyNames = plan.JSONNames(columns, p.Key)
		typed := map[string]string{"N": "9007199254740993", "flag": "true", "name": ` a"b `,
			"uid": "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "day": "2026-04-07", "hash": "AP8="}
		want := `{"n":"9007199254740993","flag":true,"name":"a\"b","uid":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","day":"2026-04-07","hash":"AP8="}`
		switch engineName {
		case dsn.MySQL:
			typed["flag"], want = "1", `{"n":"9007199254740993","flag":1,"name":"a\"b","uid":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","day":"2026-04-07","hash":"AP8="}`
		case dsn.SQLite: // a uuid is stored text
			want = `{"n":"9007199254740993","flag":true,"name":"a\"b","uid":"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11","day":"2026-04-07","hash":"AP8="}`
		}
		cfg := plan.Config{Table: "x"}
		if err := cfg.Complete(); err != nil {
			t.Fatal(err)
		}
		got, err := p.KeyOf(typed, nil, &cfg)
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n got %s\nwant %s", engineName, err, got, want)
			continue
		}
		if _, err := p.DecodeKey(got); err != nil {
			t.Errorf("%s: what was typed is no key: %v", engineName, err)
		}
	}
}

// FuzzKey: whatever stands in a stored object, it is refused, or read as a key that reads the same again.
func FuzzKey(f *testing.F) {
	for _, seed := range []string{`{"n":1,"name":"a"}`, `{"name":"\u0061","n":"9007199254740993"}`,
		`{"n":null,"name":"a"}`, `{}`, `[]`, `{"n":[],"name":{}}`, "", `{"n":1e999,"name":true}`} {
		f.Add([]byte(seed))
	}
	var plans []*plan.Plan
	for _, engineName := range everyDialect {
		d, err := engines.Find(engineName)
		if err != nil {
			f.Fatal(err)
		}
		var columns []engine.Column
		for _, k := range []engine.Kind{engine.KindInteger, engine.KindText} {
			for _, rule := range typerules.Of(d) {
				if rule.Value.Kind == k && rule.Value.Refused == "" && rule.Value.NoKey == "" {
					columns = append(columns, engine.Column{Name: []string{"n", "name"}[len(columns)], Type: rule.Sample,
						Value: rule.Value})
					break
				}
			}
		}
		plans = append(plans, &plan.Plan{Dialect: d, Sel: keyset.Selection{Syntax: syntaxOf(d), Columns: columns},
			Key: []int{0, 1}, KeyNames: plan.JSONNames(columns, []int{0, 1})})
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		for _, p := range plans {
			k, err := p.DecodeKey(stored)
			if err != nil {
				continue
			}
			again, err := p.DecodeKey(k.JSON)
			if err != nil || string(again.JSON) != string(k.JSON) || len(k.Args) != 2 {
				t.Errorf("%s became %s, then %s: %v", stored, k.JSON, again.JSON, err)
			}
		}
	})
}

// TestBefore: from the position before a row it comes again, with those that share its cursor, and none below them.
func TestBefore(t *testing.T) {
	t.Parallel()
	sqlite := openSource(t, testenv.SQLite(t), "sqlite", plan.Config{Poller: "o", Table: "o", Cursor: []string{"v"}},
		"CREATE TABLE o (id INTEGER PRIMARY KEY, v INTEGER NOT NULL)",
		"INSERT INTO o VALUES (1, 1), (2, 3), (3, 3), (4, 4)")
	url, db := snapshotTable(t)
	testenv.Exec(t, db, "INSERT INTO o (id) VALUES (6)", "INSERT INTO o (id) VALUES (7), (8)")
	for name, c := range map[string]struct {
		src  *Cursor
		of   string
		want string
	}{
		"rows":           {sqlite, `{"id":3}`, `[{"id":2} {"id":3} {"id":4}]`},
		"the first":      {sqlite, `{"id":1}`, `[{"id":1} {"id":2} {"id":3} {"id":4}]`},
		"of transaction": {snapshotSource(t, url, nil), `{"id":8}`, `[{"id":7} {"id":8}]`},
	} {
		t.Run(name, func(t *testing.T) {
			row, err := c.src.Reread(t.Context(), [][]byte{[]byte(c.of)})
			if err != nil || len(row) != 1 {
				t.Fatalf("%d rows, %v", len(row), err)
			}
			at, known, err := c.src.Before(t.Context(), row[0].Cursor)
			if err != nil || !known {
				t.Fatalf("known %t, %v", known, err)
			}
			page, err := c.src.Fetch(t.Context(), change.Range{After: at}, everything)
			var keys []string
			for i := range page.Events {
				keys = append(keys, string(page.Events[i].Key))
			}
			if got := fmt.Sprint(keys); err != nil || got != c.want {
				t.Errorf("from %s: %s, %v", at, got, err)
			}
		})
	}
}

// TestLatestOfABadRow: a message about a row that is read by itself names no key that nobody has read.
func TestLatestOfABadRow(t *testing.T) {
	t.Parallel()
	url := testenv.SQLite(t)
	writer(t, "sqlite", url, "CREATE TABLE orders (id INTEGER PRIMARY KEY, c INTEGER)",
		"INSERT INTO orders VALUES (1, 1), (2, x'ff')")
	src := newSource(t, url, plan.Config{Poller: "orders", Table: "orders", Cursor: []string{"c"}})
	at, err := src.Latest(t.Context())
	if !errors.Is(err, poller.ErrNormalize) || !strings.Contains(err.Error(), "read the latest row") ||
		strings.Contains(err.Error(), "{}") {
		t.Errorf("%s, %v", at, err)
	}
}
