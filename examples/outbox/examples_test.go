// Package outbox_test runs the example programs that write events, in their own languages, against real databases: an
// event is there with its order, and a program waits for the aggregate's lock that another writer holds.
package outbox_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqlc-dev/teesql/parser"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/outbox"
	"github.com/rowrelay/rowrelay/publisher"
)

// customer is one whose name has to be escaped in JSON.
const customer = `Ada "Lady" L\`

// program returns the command that places order 42 of Ada for 99.50, and what it needs to be built first.
type program struct {
	name  string
	build func(tools, dir string) []string
	run   func(tools, dir string, database *url.URL) *exec.Cmd
}

func programs() []program {
	order := []string{"42", customer, "99.50"}
	return []program{
		{"Python", nil, func(tools, _ string, database *url.URL) *exec.Cmd {
			cmd := exec.Command(filepath.Join(tools, "venv/bin/python"), append([]string{"place_order.py"}, order...)...)
			cmd.Env = append(os.Environ(), "DATABASE_URL="+database.String())
			return cmd
		}},
		{"TypeScript", func(tools, dir string) []string {
			return []string{filepath.Join(tools, "node_modules/.bin/tsc"), "--strict", "--target", "es2022", "--module",
				"commonjs", "--esModuleInterop",
				"--moduleResolution", "node", "--typeRoots", filepath.Join(tools, "node_modules/@types"), "--types", "node",
				"--outDir", dir, "place_order.ts"}
		}, func(tools, dir string, database *url.URL) *exec.Cmd {
			cmd := exec.Command("node", append([]string{filepath.Join(dir, "place_order.js")}, order...)...)
			cmd.Env = append(os.Environ(), "DATABASE_URL="+database.String(), "NODE_PATH="+filepath.Join(tools, "node_modules"))
			return cmd
		}},
		{"Java", nil, func(tools, _ string, database *url.URL) *exec.Cmd {
			password, _ := database.User.Password()
			return exec.Command("java", append([]string{"-cp", filepath.Join(tools, "postgresql.jar"), "PlaceOrder.java",
				"jdbc:postgresql://" + database.Host + database.Path, database.User.Username(), password}, order...)...)
		}},
		{"C#", func(_, dir string) []string {
			return []string{"mcs", "-r:System.Data.dll", "-out:" + filepath.Join(dir, "PlaceOrder.exe"), "PlaceOrder.cs"}
		}, func(_, dir string, database *url.URL) *exec.Cmd {
			return exec.Command("mono",
				append([]string{filepath.Join(dir, "PlaceOrder.exe"), testenv.ODBC(database)}, order...)...)
		}},
	}
}

func TestPrograms(t *testing.T) {
	out, err := exec.Command("../../scripts/examples.sh").Output()
	if err != nil {
		t.Fatalf("scripts/examples.sh: %v: it says why on standard error", err)
	}
	tools := strings.TrimSpace(string(out))
	for _, p := range programs() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if p.build != nil {
				args := p.build(tools, dir)
				if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
				}
			}
			text := testenv.Postgres(t)
			database, err := url.Parse(text)
			if err != nil {
				t.Fatal("not a URL") // without the value: it holds a password
			}
			db := testenv.Open(t, "pgx", text)
			prepare(t, db, "postgres")

			// Another writer holds the aggregate: the program has to wait for its commit, and then comes after it.
			held := hold(t, db)
			var said strings.Builder
			cmd := p.run(tools, dir, database)
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			await(t, db, ended, &said)
			if err := held.Commit(); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err != nil {
				t.Fatalf("%v\n%s", err, said.String())
			}
			check(t, db, customer, "OrderSeen OrderPlaced")
		})
	}
}

// hold writes an event of the order, and leaves the transaction open.
func hold(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	w, err := outbox.NewWriter(outbox.Postgres, "outbox")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), tx,
		outbox.Event{AggregateType: "Order", AggregateID: "42", Type: "OrderSeen", Payload: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	return tx
}

// await waits until a session waits for an advisory lock.
func await(t *testing.T, db *sql.DB, ended chan error, said *strings.Builder) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for waiting := 0; waiting == 0; {
		if err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
			WHERE d.datname = current_database() AND locktype = 'advisory' AND NOT granted`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			t.Fatalf("the program did not wait for the aggregate's lock: %v\n%s", err, said.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// engines are the databases that the statements are for.
var engines = []struct {
	name string
	open func(t *testing.T) *sql.DB
}{
	{"postgres", func(t *testing.T) *sql.DB { return testenv.Open(t, "pgx", testenv.Postgres(t)) }},
	{"mysql", func(t *testing.T) *sql.DB { return testenv.Open(t, "mysql", testenv.MySQLDSN(t, testenv.MySQL(t))) }},
	{"sqlite", func(t *testing.T) *sql.DB {
		return testenv.Open(t, "sqlite", strings.TrimPrefix(testenv.SQLite(t), "sqlite:")+"?_pragma=busy_timeout(30000)")
	}},
	{"sqlserver", func(t *testing.T) *sql.DB { return testenv.Open(t, "sqlserver", testenv.SQLServer(t)) }},
}

// run opens the engine's database, makes the tables, and runs a script on one connection.
func run(t *testing.T, engine, file string, open func(t *testing.T) *sql.DB) *sql.DB {
	t.Helper()
	script := read(t, file)
	if engine == "sqlserver" {
		if _, err := parser.Parse(t.Context(), strings.NewReader(script)); err != nil {
			t.Error(err)
		}
	}
	db := open(t)
	prepare(t, db, engine)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // done with
	statements := []string{script}
	if engine == "mysql" { // which takes one at a time
		statements = strings.Split(strings.TrimSpace(script), ";\n")
	}
	for _, statement := range statements {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%v\n%s", err, statement)
		}
	}
	return db
}

// The statements do what the Go package does.
func TestStatements(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			check(t, run(t, e.name, e.name+".sql", e.open), "Ada", "OrderPlaced")
		})
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func prepare(t *testing.T, db *sql.DB, engine string) {
	t.Helper()
	statements, err := publisher.DDL(engine, "outbox", "rowrelay_claims")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range append(statements,
		`CREATE TABLE orders (id int PRIMARY KEY, customer varchar(100) NOT NULL, total numeric(10,2) NOT NULL)`) {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%v\n%s", err, statement)
		}
	}
}

// check wants one order, and its events in the order of their seqs.
func check(t *testing.T, db *sql.DB, customer, want string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT o.id, o.customer, e.aggregate_type, e.aggregate_id, e.event_type, e.payload, e.idempotency_key
		FROM outbox e CROSS JOIN orders o ORDER BY e.id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // read to the end
	var got []string
	for rows.Next() {
		var id, stored, kind, aggregate, event, payload, key string
		if err := rows.Scan(&id, &stored, &kind, &aggregate, &event, &payload, &key); err != nil {
			t.Fatal(err)
		}
		if id != "42" || stored != customer || kind != "Order" || aggregate != "42" {
			t.Errorf("order %s of %s, event of %s %s", id, stored, kind, aggregate)
		}
		var order struct{ Customer string }
		if err := json.Unmarshal([]byte(payload), &order); err != nil ||
			event == "OrderPlaced" && (key != "order-placed-42" || order.Customer != customer) {
			t.Errorf("idempotency key %s, payload %s: %v", key, payload, err)
		}
		got = append(got, event)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if strings.Join(got, " ") != want {
		t.Errorf("events %q, want %q", got, want)
	}
}
