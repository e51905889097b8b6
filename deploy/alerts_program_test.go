package deploy_test

import (
	"bytes"
	"database/sql"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // database/sql driver "sqlite"

	"github.com/rowrelay/rowrelay/internal/programtest"
)

func TestMain(m *testing.M) {
	programtest.AtOnce(4) // the applications whose alerts are watched wait for their ticks
	programtest.Main(m)
}

// application is the program with its settings, in a directory of its own.
type application struct {
	dir, listen string
	settings    map[string]string
	databases   map[string]*sql.DB // by poller
}

func newApplication(t *testing.T) *application {
	return &application{
		dir: t.TempDir(), listen: programtest.FreeAddress(t), databases: map[string]*sql.DB{},
		settings: map[string]string{"state__kind": "file", "state__app_name": "shop"},
	}
}

// poller adds a poller over a table of its own, in a database of its own. More settings are pairs of key and value.
func (a *application) poller(t *testing.T, name, url string, more ...string) {
	t.Helper()
	a.set(name, append([]string{"source__table", "orders", "source__cursor", "id", "output__kind", "http", "output__url",
		url,
		"output__retries", "1", "output__timeout", "5s"}, more...)...)
	db := a.database(t, name)
	execute(t, db, `CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, note TEXT NOT NULL, updated_at TIMESTAMP)`)
}

// outbox adds a poller over an outbox of its own.
func (a *application) outbox(t *testing.T, name, url string, more ...string) {
	t.Helper()
	a.set(name, append([]string{"source__mode", "outbox", "source__table", "outbox", "poll_interval", "0", "output__kind",
		"http", "output__url", url,
		"output__retries", "1", "output__batch", "1", "output__timeout", "5s"}, more...)...)
	a.database(t, name)
	a.command(t, "outbox", "init", name, "--apply")
}

func (a *application) set(name string, pairs ...string) {
	prefix := "pollers__" + name + "__"
	a.settings[prefix+"source__connection"] = "DB_" + name
	a.settings[prefix+"schedule"] = "* * * * * *"
	a.settings["DB_"+name] = "sqlite:" + filepath.Join(a.dir, name+".db")
	for i := 0; i < len(pairs); i += 2 {
		a.settings[prefix+pairs[i]] = pairs[i+1]
	}
}

func (a *application) database(t *testing.T, name string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(a.dir, name+".db")+
		"?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // a file of a temporary directory
	a.databases[name] = db
	return db
}

// insert puts rows with a note into the table of a poller.
func (a *application) insert(t *testing.T, name string, notes ...string) {
	t.Helper()
	for _, note := range notes {
		execute(t, a.databases[name], `INSERT INTO orders (note, updated_at) VALUES (?, strftime('%Y-%m-%d %H:%M:%f', 'now'))`, note)
	}
}

// write puts an event into the outbox of a poller.
func (a *application) write(t *testing.T, name, key, payload string) {
	t.Helper()
	execute(t, a.databases[name], `INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key) VALUES ('order', ?, 'placed', ?, ?)`, key, payload, key)
}

func execute(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// options start the program with more settings than the application's own.
func (a *application) options(more map[string]string) programtest.Options {
	all := map[string]string{"status__listen": a.listen}
	maps.Copy(all, a.settings)
	maps.Copy(all, more)
	return programtest.Options{Dir: a.dir, Settings: all}
}

// command runs a command of the program to its end.
func (a *application) command(t *testing.T, args ...string) {
	t.Helper()
	if out, err := programtest.Command(t.Context(), t, a.options(nil), args...).CombinedOutput(); err != nil {
		t.Fatalf("rowrelay %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// start starts `rowrelay run`. The end of the test kills it.
func (a *application) start(t *testing.T, more map[string]string, pollers ...string) *programtest.Process {
	t.Helper()
	return programtest.Start(t, a.options(more), append([]string{"run"}, pollers...)...)
}

// receiver is a destination: /ok takes everything, /picky refuses what has "poison" in it, /forbid refuses all, and
// /hang answers when the test ends.
type receiver struct {
	*httptest.Server
	hanging chan struct{} // one for each request that hangs
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{hanging: make(chan struct{}, 64)}
	end := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/picky", func(w http.ResponseWriter, req *http.Request) {
		if body, _ := io.ReadAll(req.Body); bytes.Contains(body, []byte("poison")) {
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
	})
	mux.HandleFunc("/forbid", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body) // else the end of the connection is not seen
		r.hanging <- struct{}{}
		select {
		case <-end:
		case <-req.Context().Done():
		}
	})
	r.Server = httptest.NewServer(mux)
	t.Cleanup(func() { close(end); r.Close() })
	return r
}
