package sqltable_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/output/sqltable"
	"github.com/rowrelay/rowrelay/poller"
)

// TestOwnersAtOnce: holders of three leases, of which two are stale, write the same keys at once, and send some
// requests twice. Each row ends as the latest request left it that was accepted, a delete included.
func TestOwnersAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *sqltable.Output, db *sql.DB) {
		type pair struct{ token, number uint64 }
		newest, text := map[int]pair{}, map[int]string{}
		accepted := map[uint64]int{}
		var mu sync.Mutex
		var owners sync.WaitGroup
		for token := uint64(1); token <= 3; token++ {
			r := rand.New(rand.NewPCG(token, 7)) //nolint:gosec // nothing secret
			owners.Go(func() {
				for number := uint64(1); number <= 40; number++ {
					var events []string
					keys := r.Perm(6)[:3]
					for _, key := range keys {
						event := fmt.Sprintf("%d=%d.%d", key, token, number)
						if r.IntN(5) == 0 {
							event = fmt.Sprint(key)
						}
						events = append(events, event)
					}
					d := request(token, number, events...)
					for i := range d.Events {
						d.Events[i].ID = fmt.Sprintf("%d.%d.%d", token, number, i)
					}
					for range 1 + r.IntN(2) {
						if o.Deliver(t.Context(), d) != nil {
							continue // late, or a deadlock: the tick sends it again
						}
						mu.Lock()
						accepted[token]++
						for i, key := range keys {
							p, was := pair{token, number}, newest[key]
							if p.token > was.token || p.token == was.token && p.number >= was.number {
								_, value, _ := strings.Cut(events[i], "=")
								newest[key], text[key] = p, value
							}
						}
						mu.Unlock()
					}
				}
			})
		}
		owners.Wait()
		if accepted[3] < 20 {
			t.Errorf("accepted by token: %v", accepted)
		}
		var want []string
		for key := range 6 {
			if text[key] != "" {
				want = append(want, fmt.Sprintf("%d=%s", key, text[key]))
			}
		}
		if got := rows(t, db); got != strings.Join(want, " ") {
			t.Errorf("the table holds %s, want %s", got, want)
		}
	})
}

// TestLargeRequest: more rows than a statement of any engine holds.
func TestLargeRequest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *sqltable.Output, db *sql.DB) {
		var events, want []string
		for i := range 2500 {
			events = append(events, fmt.Sprintf("%d=x", i))
		}
		if err := o.Deliver(t.Context(), request(1, 1, events...)); err != nil {
			t.Fatal(err)
		}
		for i := 1; i < 2500; i++ {
			want = append(want, fmt.Sprintf("%d=x", i))
			events[i] = fmt.Sprint(i) // a delete
		}
		if got := rows(t, db); got != "0=x "+strings.Join(want, " ") {
			t.Errorf("%d characters", len(got))
		}
		if err := o.Deliver(t.Context(), request(1, 2, events...)); err != nil || rows(t, db) != "0=x" {
			t.Errorf("after deletes: %.100s, %v", rows(t, db), err)
		}
	})
}

// TestLacks: what a person has to mend is no row's fault: nothing is written, nothing counts against an event, and the
// error says what to do. When it is mended, the same output goes on.
func TestLacks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o *sqltable.Output, db *sql.DB) {
		refused := func(d change.Delivery, want string) {
			t.Helper()
			err := o.Deliver(t.Context(), d)
			var failure *poller.DeliveryError
			if !errors.As(err, &failure) || failure.Failed[0].Cause != poller.Unavailable ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
		wider := request(1, 1, "1=a")
		wider.Events[0].Row = []byte(`{"id":1,"text":"a","more":1}`)
		refused(wider, "has no column more: add it, or leave it out by output__columns")
		add, rename := "ALTER TABLE copies ADD COLUMN more int", "ALTER TABLE %s RENAME TO %s"
		if strings.HasSuffix(t.Name(), "/sqlserver") {
			add, rename = "ALTER TABLE copies ADD more int", "EXEC sp_rename '%s', '%s', 'OBJECT'"
		}
		testenv.Exec(t, db, add)
		if err := o.Deliver(t.Context(), wider); err != nil {
			t.Errorf("after the column was added: %v", err)
		}
		other := request(1, 2, "1=a")
		other.Events[0].Key = []byte(`{"text":"a"}`)
		refused(other, "needs a primary key or a unique index of exactly the columns of the key (text)")
		testenv.Exec(t, db, "DROP TABLE rowrelay_applied")
		refused(request(1, 3, "1=b"), "rowrelay_applied")
		testenv.Exec(t, db, o.DDL(), fmt.Sprintf(rename, "copies", "away"))
		refused(request(1, 4, "1=b"), "copies")
		testenv.Exec(t, db, fmt.Sprintf(rename, "away", "copies"))
		named := request(1, 5, "1=b")
		named.Backfill = "history"
		refused(named, "backfill without a name")
		if err := o.Deliver(t.Context(), request(1, 6, "1=b")); err != nil || rows(t, db) != "1=b" {
			t.Errorf("at last: %s, %v", rows(t, db), err)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
		refused(request(1, 7, "1=c"), "closed")
	})
}

// TestUniqueIndexOfMySQL: an upsert of MySQL takes any unique index for the key.
func TestUniqueIndexOfMySQL(t *testing.T) {
	t.Parallel()
	c, err := engines.Parse(testenv.MySQL(t))
	if err != nil {
		t.Fatal(err)
	}
	db := c.WriteDB(1)
	defer db.Close() //nolint:errcheck // a test's
	o, err := sqltable.New(sqltable.Config{Connection: c, Table: "copies", Sender: "shop/orders", Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close() //nolint:errcheck // a test's
	testenv.Exec(t, db, "CREATE TABLE copies (id bigint PRIMARY KEY, text varchar(20) NOT NULL, UNIQUE (text))")
	err = o.Deliver(t.Context(), request(1, 1, "1=a", "2=a"))
	if err == nil || !strings.Contains(err.Error(), "has the unique index text beside its key") || rows(t, db) != "" {
		t.Errorf("%v: %s", err, rows(t, db))
	}
	testenv.Exec(t, db, "ALTER TABLE copies DROP INDEX text")
	if err := o.Deliver(t.Context(), request(1, 2, "1=a", "2=a")); err != nil {
		t.Error(err)
	}
}

// TestValuesThatDoNotFit: a row whose value its column does not take is named, and nothing is cut.
func TestValuesThatDoNotFit(t *testing.T) {
	t.Parallel()
	for name, database := range databases {
		if name == "sqlite" {
			continue // its columns take any length
		}
		t.Run(name, func(t *testing.T) {
			c, err := engines.Parse(database(t))
			if err != nil {
				t.Fatal(err)
			}
			o, err := sqltable.New(sqltable.Config{Connection: c, Table: "copies", Sender: "shop/orders", Create: true})
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close() //nolint:errcheck // a test's
			db := c.WriteDB(1)
			defer db.Close() //nolint:errcheck // a test's
			testenv.Exec(t, db, "CREATE TABLE copies (id int PRIMARY KEY, text varchar(3), amount decimal(4,2), small smallint, day date)")
			for i, member := range []string{`"text":"long"`, `"amount":"123.45"`, `"small":70000`, `"day":"2026-02-30"`,
				`"day":"2026-02-28T10:00:00Z"`, `"small":"x"`, `"amount":{}`} {
				d := request(1, uint64(i+1), "1=a") //nolint:gosec // small
				d.Events[0].Row = []byte(`{"id":1,` + member + `}`)
				var failure *poller.DeliveryError
				if err := o.Deliver(t.Context(), d); !errors.As(err, &failure) || failure.Failed[0].Cause != poller.Refused {
					t.Errorf("%s: %v", member, err)
				}
			}
			var n int
			if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM copies").Scan(&n); err != nil || n != 0 {
				t.Errorf("%d rows, %v", n, err)
			}
		})
	}
}

// TestAlteredTable: rows that were refused are taken when the column was altered, by the same output.
func TestAlteredTable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ engine, typ, value, alter string }{
		"postgres scale":  {"postgres", "numeric(6,2)", `"1.239"`, "ALTER TABLE copies ALTER COLUMN v TYPE numeric(8,4)"},
		"postgres kind":   {"postgres", "int", `"x"`, "ALTER TABLE copies ALTER COLUMN v TYPE text"},
		"postgres length": {"postgres", "varchar(2)", `"abc"`, "ALTER TABLE copies ALTER COLUMN v TYPE varchar(5)"},
		"mysql scale":     {"mysql", "decimal(6,2)", `"1.239"`, "ALTER TABLE copies MODIFY v decimal(8,4)"},
		"mysql kind":      {"mysql", "int", `"x"`, "ALTER TABLE copies MODIFY v text"},
		"sqlserver scale": {"sqlserver", "decimal(6,2)", `"1.239"`, "ALTER TABLE copies ALTER COLUMN v decimal(8,4)"},
		"sqlserver kind":  {"sqlserver", "int", `"x"`, "ALTER TABLE copies ALTER COLUMN v nvarchar(20)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, db := into(t, c.engine, "CREATE TABLE copies (id int PRIMARY KEY, v "+c.typ+")")
			good, bad := rowOf(1, "1", `,"v":null`), rowOf(2, "2", `,"v":`+c.value)
			if err := o.Deliver(t.Context(), good); err != nil {
				t.Fatal(err)
			}
			if err := o.Deliver(t.Context(), bad); causeOf(err) != "refused" {
				t.Errorf("before: %v", err)
			}
			testenv.Exec(t, db, c.alter)
			both := rowOf(3, "3", `,"v":null`)
			both.Events = append(both.Events, bad.Events...)
			programtest.Until(t, "the row is taken", func() bool { return o.Deliver(t.Context(), both) == nil })
			if got := first(t, db, "SELECT id FROM copies ORDER BY id"); got != "1 | 2 | 3" {
				t.Error(got)
			}
		})
	}
}

// TestIdentityOfPostgres: a table that was made LIKE the source's INCLUDING ALL has its identity, which takes the
// source's values.
func TestIdentityOfPostgres(t *testing.T) {
	t.Parallel()
	o, db := into(t, "postgres", "CREATE TABLE copies (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v text)")
	for n, row := range []string{`,"v":"a"`, `,"v":"b"`} {
		if err := o.Deliver(t.Context(), rowOf(uint64(n+1), "7", row)); err != nil { //nolint:gosec // small
			t.Fatal(err)
		}
	}
	if got := first(t, db, "SELECT id || v FROM copies"); got != "7b" {
		t.Error(got)
	}
}

// TestComputedColumn: a value for a column that the database computes is no row's fault, and no outage.
func TestComputedColumn(t *testing.T) {
	t.Parallel()
	for engine, ddl := range map[string]string{
		"postgres": "CREATE TABLE copies (id int PRIMARY KEY, a int, b int GENERATED ALWAYS AS (a * 2) STORED)",
		"mysql":    "CREATE TABLE copies (id int PRIMARY KEY, a int, b int AS (a * 2))",
		"sqlite":   "CREATE TABLE copies (id int PRIMARY KEY, a int, b int AS (a * 2))",
	} {
		t.Run(engine, func(t *testing.T) {
			o, db := into(t, engine, ddl)
			err := o.Deliver(t.Context(), rowOf(1, "1", `,"a":2,"b":4`))
			if !errors.Is(err, change.ErrConfig) || causeOf(err) != "unavailable" ||
				!strings.Contains(err.Error(), "takes no value for its column b") {
				t.Error(err)
			}
			if err := o.Deliver(t.Context(), rowOf(2, "1", `,"a":2`)); err != nil {
				t.Error(err)
			}
			if got := first(t, db, "SELECT b FROM copies"); got != "4" {
				t.Error(got)
			}
		})
	}
}
