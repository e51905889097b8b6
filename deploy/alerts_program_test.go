package deploy_test

import (
	"bytes"
	"context"
	"database/sql"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // database/sql driver "sqlite"
)

// buildProgram builds the product, as everybody builds it.
func buildProgram(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rowrelay")
	build := exec.Command("go", "build", "-o", path, "github.com/rowrelay/rowrelay/cmd/rowrelay")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the program: %v\n%s", err, out)
	}
	return path
}

// application is the program with its settings, in a directory of its own.
type application struct {
	program, dir, listen string
	settings             map[string]string
	databases            map[string]*sql.DB // by poller
}

func newApplication(t *testing.T, program string) *application {
	return &application{
		program: program, dir: t.TempDir(), listen: freeAddress(t), databases: map[string]*sql.DB{},
		settings: map[string]string{"state__kind": "file", "state__app_name": "shop"},
	}
}

// poller adds a poller over a table of its own, in a database of its own. More settings are pairs of key and value.
func (a *application) poller(t *testing.T, name, url string, more ...string) {
	t.Helper()
	a.set(name, append([]string{"source__table", "orders", "source__cursor", "id", "output__kind", "http", "output__url", url,
		"output__retries", "1", "output__timeout", "5s"}, more...)...)
	db := a.database(t, name)
	execute(t, db, `CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, note TEXT NOT NULL, updated_at TIMESTAMP)`)
}

// outbox adds a poller over an outbox of its own.
func (a *application) outbox(t *testing.T, name, url string, more ...string) {
	t.Helper()
	a.set(name, append([]string{"source__mode", "outbox", "source__table", "outbox", "poll_interval", "0", "output__kind", "http", "output__url", url,
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
	db, err := sql.Open("sqlite", filepath.Join(a.dir, name+".db")+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)")
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

func (a *application) environ(more map[string]string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + a.dir, "status__listen=" + a.listen}
	all := maps.Clone(a.settings)
	maps.Copy(all, more)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		env = append(env, name+"="+all[name])
	}
	return env
}

// command runs a command of the program to its end.
func (a *application) command(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), a.program, args...)
	cmd.Dir, cmd.Env = a.dir, a.environ(nil)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("rowrelay %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// process is a `rowrelay run`.
type process struct {
	cmd  *exec.Cmd
	said *output
}

// output is what a process says, from two streams.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start starts `rowrelay run`. The end of the test kills it.
func (a *application) start(t *testing.T, more map[string]string, pollers ...string) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(context.WithoutCancel(t.Context()), a.program, append([]string{"run"}, pollers...)...), said: &output{}}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = a.dir, a.environ(more), p.said, p.said
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("the program said:\n%s", tail(p.said.String(), 6000))
		}
	})
	return p
}

func tail(text string, most int) string { return text[max(len(text)-most, 0):] }

func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill() // it may have ended
		_ = p.cmd.Wait()         // killed
	}
}

// freeze stops the process as a platform does: it holds what it holds.
func (p *process) freeze(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// receiver is a destination: /ok takes everything, /picky refuses what has "poison" in it, /forbid refuses all, and /hang answers
// when the test ends.
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

// within waits for a condition, a minute and a half at most.
func within(t *testing.T, what string, met func() bool) {
	t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	for !met() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
		pause := time.NewTimer(50 * time.Millisecond)
		<-pause.C
	}
}
