package e2e

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	dialects "github.com/rowrelay/rowrelay/engine/engines" // engines are those of another test
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// audits note in the destination itself what each statement changed there.
var audits = map[string][]string{
	"postgres": {`CREATE TABLE audit (n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id bigint, version bigint)`,
		`CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS
		$$BEGIN INSERT INTO audit (id, version) VALUES (NEW.id, NEW.version); RETURN NEW; END$$`,
		`CREATE TRIGGER noted AFTER INSERT OR UPDATE ON copies FOR EACH ROW EXECUTE FUNCTION noted()`},
	"mysql": {`CREATE TABLE audit (n bigint AUTO_INCREMENT PRIMARY KEY, id bigint, version bigint)`,
		`CREATE TRIGGER inserted AFTER INSERT ON copies FOR EACH ROW INSERT INTO audit (id, version) VALUES (NEW.id, NEW.version)`,
		`CREATE TRIGGER updated AFTER UPDATE ON copies FOR EACH ROW INSERT INTO audit (id, version) VALUES (NEW.id, NEW.version)`},
	"sqlite": {`CREATE TABLE audit (n integer PRIMARY KEY, id bigint, version bigint)`,
		`CREATE TRIGGER inserted AFTER INSERT ON copies BEGIN INSERT INTO audit (id, version) VALUES (NEW.id, NEW.version); END`,
		`CREATE TRIGGER updated AFTER UPDATE ON copies BEGIN INSERT INTO audit (id, version) VALUES (NEW.id, NEW.version); END`},
}

// TestTableIsWrittenOnce: two instances write into a table while one of them is killed or frozen beyond its lease,
// again and again. The table ends as the source, and a trigger in it has seen each version of a row once at most, in
// order.
// ROWRELAY_CHAOS_FOR says how long.
func TestTableIsWrittenOnce(t *testing.T) {
	t.Parallel()
	runFor := 5 * time.Second
	if text := os.Getenv("ROWRELAY_CHAOS_FOR"); text != "" {
		var err error
		if runFor, err = time.ParseDuration(text); err != nil {
			t.Fatalf("ROWRELAY_CHAOS_FOR: %v", err)
		}
	}
	for name, statements := range audits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := map[string]func(testing.TB) string{"postgres": testenv.Postgres, "mysql": testenv.MySQL,
				"sqlite": testenv.SQLite}[name](t)
			if path, file := strings.CutPrefix(url, "sqlite:"); file {
				testfile.Write(t, path, "")
			}
			conn, err := dialects.Parse(url)
			if err != nil {
				t.Fatal(err)
			}
			copies := conn.WriteDB(1)
			t.Cleanup(func() { _ = copies.Close() })
			testenv.Exec(t, copies, `CREATE TABLE copies (id bigint PRIMARY KEY, version bigint)`)
			testenv.Exec(t, copies, statements...)
			writtenOnce(t, url, copies, runFor)
		})
	}
}

func writtenOnce(t *testing.T, url string, copies *sql.DB, runFor time.Duration) {
	source := testenv.Postgres(t)
	db := openDatabase(t, "pgx", source)
	db.SetMaxOpenConns(2)
	execute(t, db, `CREATE TABLE chaos (id bigint PRIMARY KEY, version bigint NOT NULL, changed_at timestamptz NOT NULL)`)
	execute(t, db, `CREATE INDEX chaos_changed ON chaos (changed_at, id)`)
	// A backlog, so that a kill meets requests that were accepted and are not committed yet.
	execute(t, db, `INSERT INTO chaos SELECT -i, 0, now() - interval '1 hour' FROM generate_series(1, 5000) AS i`)
	c := &chaos{t: t, settings: settings{
		"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state"), "state__create": "true",
		"status__listen": "127.0.0.1:0", "CHAOS_DB": source, "COPY_DB": url, "pollers__chaos__source__connection": "CHAOS_DB",
		"pollers__chaos__source__table": "chaos", "pollers__chaos__source__cursor": "changed_at",
		"pollers__chaos__source__late_window": "10s", "pollers__chaos__source__timeout": "5s",
		"pollers__chaos__output__kind": "sql", "pollers__chaos__output__connection": "COPY_DB",
		"pollers__chaos__output__table": "copies", "pollers__chaos__output__columns": "id, version",
		"pollers__chaos__output__timeout": "2s", "pollers__chaos__output__batch": "5", "pollers__chaos__batch_size": "1000",
		"pollers__chaos__poll_interval": "20ms", "pollers__chaos__tick_budget": "5s",
		"pollers__chaos__schedule":  "* * * * * *",
		"pollers__chaos__lease_ttl": "1s", "pollers__chaos__max_attempts": "50", "pollers__chaos__retry_delays": "1s",
	}}
	for range 2 {
		in := &instance{dir: t.TempDir()}
		c.instances = append(c.instances, in)
		c.start(in)
	}
	var done context.CancelFunc
	c.ctx, done = context.WithTimeout(t.Context(), runFor)
	defer done()
	var writer sync.WaitGroup
	writer.Go(func() { c.write(db) })
	rounds := 0
	for ; c.ctx.Err() == nil; rounds++ {
		if rand.IntN(2) == 0 {
			c.killOne()
		} else {
			c.stopOne()
		}
		wait(c.ctx, 300*time.Millisecond)
	}
	writer.Wait()
	state := func(db *sql.DB, table string) (rows, sum int64) {
		if err := db.QueryRowContext(t.Context(), `SELECT count(*), coalesce(sum(version * (abs(id) % 1000 + 1)), 0) FROM `+table).Scan(&rows,
			&sum); err != nil {
			t.Fatal(err)
		}
		return rows, sum
	}
	wantRows, want := state(db, "chaos")
	programtest.UntilWithin(t, 3*time.Minute, "the copy", func() bool {
		rows, sum := state(copies, "copies")
		return rows == wantRows && sum == want
	})
	for _, in := range c.instances {
		in.kill(t)
	}
	var noted, twice, back int64
	err := copies.QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM audit),
		(SELECT count(*) FROM audit a JOIN audit b ON b.id = a.id AND b.version = a.version AND b.n > a.n),
		(SELECT count(*) FROM audit a JOIN audit b ON b.id = a.id AND b.version < a.version AND b.n > a.n)`).
		Scan(&noted, &twice, &back)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("CHAOS a table is written: rounds %d, rows %d, written %d, TWICE %d, BACK %d", rounds, wantRows, noted, twice, back)
	if twice != 0 || back != 0 || noted < wantRows || rounds == 0 {
		t.Error("written twice, or an older version after a newer one")
	}
}
