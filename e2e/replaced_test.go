package e2e

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// TestTableMadeAnew: a table that was dropped, made again and filled past the position holds rows that no tick would
// show. The tick stops and names the two ways on, which lead on.
func TestTableMadeAnew(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"accept-gap", "reset"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			to := newSink(t)
			db, url := openPostgres(t)
			create := func() {
				execute(t, db, `CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, version int)`)
			}
			create()
			execute(t, db, `INSERT INTO orders (version) SELECT g FROM generate_series(1, 50) g`)
			s := ordersByCursor(t, url, to.URL, "id")
			dir := t.TempDir()
			once(t, dir, s)
			execute(t, db, `ALTER TABLE orders ADD COLUMN note text, ALTER COLUMN version TYPE bigint`)
			execute(t, db, `VACUUM FULL orders`)
			execute(t, db, `INSERT INTO orders (version) VALUES (51)`)
			once(t, dir, s) // it is the same table
			execute(t, db, `DROP TABLE orders`)
			create()
			execute(t, db, `INSERT INTO orders (version) SELECT 1000 + g FROM generate_series(1, 60) g`)
			out, errs, err := command(t, dir, s, "run", "--once")
			if exitCode(t, err) != 1 {
				t.Errorf("51 rows are lost in silence: %s%s", out, errs)
			}
			wants(t, out+errs, "source_gap", "dropped and made anew", "rowrelay state accept-gap orders",
				"rowrelay state reset orders --to beginning")
			want := 51 + 9
			if way == "accept-gap" {
				operate(t, dir, s, "state", "accept-gap", "orders")
			} else {
				operate(t, dir, s, "state", "reset", "orders", "--to", "beginning")
				want = 51 + 60
			}
			once(t, dir, s)
			if came := to.column("version"); len(came) != want {
				t.Errorf("%d rows came, want %d", len(came), want)
			}
			execute(t, db, `INSERT INTO orders (version) VALUES (2000)`)
			once(t, dir, s)
		})
	}
}

// TestColumnRetyped: 10:00 without a zone becomes another moment with one, where the server's zone is not UTC: rows
// between the two would be passed over.
func TestColumnRetyped(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	db, url := openPostgres(t)
	execute(t, db, `CREATE TABLE orders (id int PRIMARY KEY, version int, at timestamp NOT NULL)`)
	execute(t, db, `INSERT INTO orders VALUES (1, 1, '2026-04-07 10:00:00')`)
	s := ordersByCursor(t, url, to.URL, "at").with(settings{"pollers__orders__outputs__archive__kind": "stdout"})
	dir := t.TempDir()
	once(t, dir, s)
	execute(t, db, `ALTER TABLE orders ALTER at TYPE timestamptz USING at AT TIME ZONE 'Asia/Tokyo', ALTER id TYPE bigint`)
	// after the first row, and before 10:00 in UTC
	execute(t, db, `INSERT INTO orders VALUES (2, 2, '2026-04-07 10:30:00+09')`)
	out, errs, err := command(t, dir, s, "run", "--once")
	if exitCode(t, err) != 1 {
		t.Errorf("a row is lost in silence: %s%s", out, errs)
	}
	wants(t, out+errs, "fingerprint_mismatch", "datetime", "instant", "rowrelay state accept-fingerprint orders",
		"rowrelay state reset orders --to beginning",
		"run `rowrelay state accept-fingerprint orders --output archive`",
		"`rowrelay state reset orders --output archive --to beginning`")
	out, errs, err = command(t, dir, s, "check")
	if exitCode(t, err) != 1 {
		t.Errorf("check passes where every tick fails: %s%s", out, errs)
	}
	wants(t, out+errs, "datetime", "instant", "`rowrelay state accept-fingerprint orders`",
		"`rowrelay state accept-fingerprint orders --output archive`")
	wants(t, operate(t, dir, s, "state", "reset", "orders", "--to", "beginning", "--dry-run"), "datetime", "instant")
	operate(t, dir, s, "state", "accept-fingerprint", "orders", "--output", "archive")
	operate(t, dir, s, "state", "accept-fingerprint", "orders")
	once(t, dir, s)
	operate(t, dir, s, "state", "reset", "orders", "--to", "beginning")
	once(t, dir, s)
	if came := to.column("version"); came["2"] != 1 {
		t.Errorf("the rows that came are %v", came)
	}
}

// TestKeyResorted: the key gets another collation while rows of one cursor value are being delivered. What sorts before
// the position now would be passed over.
func TestKeyResorted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		open        func(*testing.T) (*sql.DB, string)
		make, alter string
	}{
		"postgres": {openPostgres, `CREATE TABLE orders (code text COLLATE "C" PRIMARY KEY, version int, day date)`,
			`ALTER TABLE orders ALTER code TYPE text COLLATE "und-x-icu"`},
		"mariadb": {openMySQL, `CREATE TABLE orders (code varchar(9) COLLATE utf8mb4_bin PRIMARY KEY, version int, day date)`,
			`ALTER TABLE orders MODIFY code varchar(9) COLLATE utf8mb4_unicode_ci NOT NULL`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := newSink(t)
			db, url := c.open(t)
			execute(t, db, c.make)
			execute(t, db, `INSERT INTO orders VALUES ('B', 1, '2026-04-07'), ('a', 2, '2026-04-07')`)
			s := ordersByCursor(t, url, to.URL, "day").with(settings{"pollers__orders__batch_size": "1",
				"pollers__orders__max_batches": "1"})
			dir := t.TempDir()
			once(t, dir, s)
			execute(t, db, c.alter)
			out, errs, err := command(t, dir, s, "run", "--once")
			if exitCode(t, err) != 1 {
				t.Errorf("a row is lost in silence: %s%s", out, errs)
			}
			wants(t, out+errs, "fingerprint_mismatch", "collation", "rowrelay state accept-fingerprint orders",
				"rowrelay state reset orders --to beginning")
			operate(t, dir, s, "state", "reset", "orders", "--to", "cursor=2026-04-07", "--ties", "before")
			once(t, dir, s)
			once(t, dir, s)
			if came := to.column("version"); came["1"] != 2 || came["2"] != 1 {
				t.Errorf("the rows that came are %v", came)
			}
		})
	}
}

// TestBehindPgBouncer: the application writes through the same pooler while the relay runs, and after it has ended.
func TestBehindPgBouncer(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	pooled := testenv.PgBouncer(t, testenv.Postgres(t))
	db := testenv.Open(t, "pgx", pooled+"&default_query_exec_mode=exec")
	execute(t, db, `CREATE TABLE orders (id int PRIMARY KEY, version int)`)
	s := ordersByCursor(t, pooled, to.URL, "id")
	dir := t.TempDir()
	written, ended := 0, make(chan struct{})
	go func() {
		defer close(ended)
		for range 5 {
			if _, errs, err := command(t, dir, s, "run", "--once"); err != nil {
				t.Errorf("%v: %s", err, errs)
			}
		}
	}()
	for running := true; running; {
		select {
		case <-ended:
			running = false
		default:
			written++
			execute(t, db, `INSERT INTO orders VALUES ($1, $1)`, written)
		}
	}
	for range 20 {
		written++
		execute(t, db, `INSERT INTO orders VALUES ($1, $1)`, written)
	}
	once(t, dir, s)
	if came := to.column("version"); len(came) != written {
		t.Errorf("%d of %d rows came", len(came), written)
	}
}

// ordersByCursor are the settings of a poller of the table orders.
func ordersByCursor(t *testing.T, source, sink, cursor string) settings {
	t.Helper()
	return settings{
		"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state"), "state__app_name": "shop",
		"SHOP_DB": source, "pollers__orders__source__connection": "SHOP_DB", "pollers__orders__source__table": "orders",
		"pollers__orders__source__cursor": cursor, "pollers__orders__source__late_commits": "none",
		"pollers__orders__output__kind": "http", "pollers__orders__output__url": sink,
	}
}
