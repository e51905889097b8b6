package sqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/internal/tsqltest"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/sqlstore"
	"github.com/rowrelay/rowrelay/state/storetest"
)

// databases are those that run here, and SQL Server where ROWRELAY_TEST_SQLSERVER names one.
var databases = map[string]func(testing.TB) string{
	"postgres": testenv.Postgres,
	"mysql":    testenv.MySQL, "sqlserver": testenv.SQLServer,
	"sqlite": func(tb testing.TB) string {
		text := testenv.SQLite(tb)
		if err := os.WriteFile(strings.TrimPrefix(text, "sqlite:"), nil, 0o600); err != nil { // an empty database
			tb.Fatal(err)
		}
		return text
	},
}

// store opens a store in the database of a connection string.
func store(t *testing.T, text, table string, create bool) *sqlstore.Store {
	t.Helper()
	c, err := engines.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlstore.New(sqlstore.Config{Connection: c, Table: table, Create: create})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, state.MaxObject, func(t *testing.T) state.Store {
				t.Helper()
				return store(t, database(t), sqlstore.DefaultTable, true)
			})
		})
	}
}

// TestStoreOnSQLServer: set ROWRELAY_TEST_SQLSERVER to run it.
func TestStoreOnSQLServer(t *testing.T) {
	t.Parallel()
	text := testenv.SQLServer(t)
	storetest.Run(t, state.MaxObject, func(t *testing.T) state.Store {
		t.Helper()
		return store(t, text, "state "+strings.ReplaceAll(t.Name(), "/", " "), true)
	})
}

func TestLease(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			text := database(t)
			storetest.RunLease(t, storetest.Lease{TTL: time.Minute, ShortTTL: 5 * time.Second,
				Open: func(t *testing.T) state.Store {
					t.Helper()
					_, test, _ := strings.Cut(t.Name(), "/")
					_, test, _ = strings.Cut(test, "/")
					return store(t, text, `"`+test[:min(len(test), 60)]+`"`, true)
				}})
		})
	}
}

// TestMissingTable: whoever has to create it is told how; nothing passes for an empty store.
func TestMissingTable(t *testing.T) {
	t.Parallel()
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			s := store(t, database(t), "odd state", false)
			_, loadErr := s.Load(t.Context(), "state/app/orders.json")
			_, createErr := s.Create(t.Context(), "state/app/orders.json", []byte("{}"))
			_, replaceErr := s.Replace(t.Context(), "state/app/orders.json", []byte("{}"), "1")
			_, listErr := s.List(t.Context(), "state/")
			for name, err := range map[string]error{"Load": loadErr, "Create": createErr, "Replace": replaceErr,
				"List": listErr} {
				var permanent *state.PermanentError
				if !errors.As(err, &permanent) || !strings.Contains(err.Error(), "rowrelay state init --apply") {
					t.Errorf("%s: %v, want a permanent fault that says how to create the table", name, err)
				}
			}
			for range 2 { // what is there stays
				if err := s.Init(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.Create(t.Context(), "state/app/orders.json", []byte("{}")); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDeadlock: a creation that the server ends as one side of a deadlock is done again. The other side has written
// more, or waits for a shorter time: it is not the one that the server chooses.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		connect func(*testing.T) (text string, db *sql.DB)
		waiting string
	}{
		"postgres": {func(t *testing.T) (string, *sql.DB) {
			text := testenv.Postgres(t)
			return text, open(t, "pgx", text)
		}, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`},
		"mysql": {func(t *testing.T) (string, *sql.DB) {
			text := testenv.MySQL(t)
			return text, open(t, "mysql", testenv.MySQLDSN(t, text))
			// What is shown is as old as the last reading, unless that is over 0.1 s ago.
		}, `SELECT count(*) FROM (SELECT sleep(0.2)) s, information_schema.innodb_trx t JOIN information_schema.processlist p
			ON p.id = t.trx_mysql_thread_id WHERE t.trx_state = 'LOCK WAIT' AND p.db = database()`},
	} {
		t.Run(name, func(t *testing.T) {
			text, db := c.connect(t)
			s := store(t, text, "documents", true)
			if err := s.Init(t.Context()); err != nil {
				t.Fatal(err)
			}
			tx := testenv.Begin(t, db)
			insert := func(name string, part int) {
				t.Helper()
				if _, err := tx.ExecContext(t.Context(), fmt.Sprintf(
					`INSERT INTO documents (name, part, parts, version, data) VALUES ('%s', %d, 2, 'x', 'x')`, name, part)); err != nil {
					t.Error(err)
				}
			}
			for i := range 100 {
				insert(fmt.Sprint("other-", i), 0)
			}
			insert("large", 1)
			created := make(chan error, 1)
			go func() {
				_, err := s.Create(t.Context(), "large", make([]byte, 5<<20))
				created <- err
			}()
			programtest.Until(t, "the creation to wait for the second row", func() bool {
				var n int
				if err := db.QueryRowContext(t.Context(), c.waiting).Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n > 0
			})
			insert("large", 0)
			if err := tx.Rollback(); err != nil {
				t.Error(err)
			}
			if err := <-created; err != nil {
				t.Error(err)
			}
			if got, err := s.Load(t.Context(), "large"); err != nil || len(got.Data) != 5<<20 {
				t.Errorf("%d bytes, %v", len(got.Data), err)
			}
		})
	}
}

func open(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// TestNameThatIsTooLong: MySQL's INSERT IGNORE would cut it.
func TestNameThatIsTooLong(t *testing.T) {
	t.Parallel()
	s := store(t, testenv.MySQL(t), sqlstore.DefaultTable, true)
	var permanent *state.PermanentError
	if _, err := s.Create(t.Context(), strings.Repeat("x", 441), nil); !errors.As(err, &permanent) {
		t.Errorf("Create: %v, want a permanent fault", err)
	}
}

// TestLogin: a refused login is told as such, without the password.
func TestLogin(t *testing.T) {
	t.Parallel()
	text := testenv.Postgres(t)
	_, rest, _ := strings.Cut(text, "@")
	_, err := store(t, "postgres://nobody:planted-secret@"+rest, sqlstore.DefaultTable, false).Load(t.Context(), "state/x")
	var permanent *state.PermanentError
	if !errors.As(err, &permanent) || strings.Contains(err.Error(), "planted-secret") ||
		!strings.Contains(err.Error(), "state__connection") {
		t.Errorf("Load: %v", err)
	}
}

// TestSQLServerTexts: the statements are T-SQL, as far as a parser can say.
func TestSQLServerTexts(t *testing.T) {
	t.Parallel()
	ddl, err := sqlstore.DDL("sqlserver", "ops.[it's state]")
	if err != nil {
		t.Fatal(err)
	}
	tsqltest.Is(t, ddl, "IfStatement")
	said := &recorder{}
	s, err := sqlstore.New(sqlstore.Config{Table: "ops.state", Connection: engine.Connection{
		Engine: "sqlserver", Dialect: sqlserver.Dialect{}, Connectors: engine.Connectors{Writing: said},
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = s.Load(t.Context(), "state/shop/orders.json") // every answer is an error
	_, _ = s.Create(t.Context(), "state/shop/orders.json", []byte("{}"))
	_, _ = s.Replace(t.Context(), "state/shop/orders.json", []byte("{}"), "1")
	_ = s.Delete(t.Context(), "state/shop/orders.json", "1")
	_, _ = s.List(t.Context(), "state/")
	_ = s.Init(t.Context())
	for _, text := range said.texts {
		if !strings.HasPrefix(text, "IF ") {
			tsqltest.Is(t, text, kinds[strings.Fields(text)[0]])
		}
	}
	golden.Pin(t, "sqlserver", strings.Join(said.texts, "\n\n")+"\n")
}

var kinds = map[string]string{"SELECT": "SelectStatement", "INSERT": "InsertStatement", "UPDATE": "UpdateStatement",
	"DELETE": "DeleteStatement"}

// recorder is a database that keeps the texts of statements, and answers each with an error.
type recorder struct {
	driver.Conn
	texts []string
}

func (r *recorder) Connect(context.Context) (driver.Conn, error) { return r, nil }
func (r *recorder) Driver() driver.Driver                        { return nil }
func (r *recorder) Close() error                                 { return nil }

func (r *recorder) Prepare(text string) (driver.Stmt, error) {
	r.texts = append(r.texts, text)
	return nil, errors.New("a recorder has no rows")
}

// TestReadOnlyServer: on a standby documents can be read, and none be written. `rowrelay check` found no fault there.
func TestReadOnlyServer(t *testing.T) {
	t.Parallel()
	text := testenv.Postgres(t)
	const key = "state/app/orders.json"
	if _, err := store(t, text, sqlstore.DefaultTable, true).Create(t.Context(), key, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	writable := testenv.ReadOnly(t, text)
	s := store(t, text, sqlstore.DefaultTable, true)
	stored, err := s.Load(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	_, replaced := s.Replace(t.Context(), key, []byte("[]"), stored.Version)
	for name, err := range map[string]error{"check": s.Writable(t.Context()), "a write": replaced} {
		if err == nil || !strings.Contains(err.Error(), "state__connection") || !strings.Contains(err.Error(), "primary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	writable()
	if _, err := s.Replace(t.Context(), key, []byte("[]"), stored.Version); err != nil {
		t.Errorf("its name leads to a primary now: %v", err)
	}
}
