package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// fault is one kind of chaos: what is done to two instances, their sink, their database or their state store, again and
// again while rows are written.
type fault struct {
	name string
	// long faults are those whose recovery takes long (leases of 10 s and more): only `make chaos` has the time.
	long  bool
	state string // the state store: file, blob, table, sql or disk (a small file system of its own)
	own   bool   // engines of its own, because it restarts them
	once  bool   // a request is tried once: what is given up comes again in a later tick, maybe as a newer version
	do    func(c *chaos)
}

func faults() []fault {
	return []fault{
		{name: "SIGKILL, state in files", state: "file", do: (*chaos).killOne},
		{name: "SIGSTOP beyond the lease", state: "file", do: (*chaos).stopOne},
		{name: "sink answers 503, 400, nothing", state: "file", do: (*chaos).sinkOutage},
		{name: "sink accepts after the timeout", state: "file", once: true, do: (*chaos).sinkLate},
		{name: "full disk under the state", state: "disk", do: (*chaos).fullDisk},
		{name: "SIGKILL, state in the database", state: "sql", do: (*chaos).killOne},
		{name: "SIGSTOP, state in the database", state: "sql", long: true, do: (*chaos).stopOne},
		{name: "SIGKILL, state in Azurite", state: "blob", long: true, do: (*chaos).killOne},
		{name: "SIGKILL, state in Azure tables", state: "table", long: true, do: (*chaos).killOne},
		{name: "PostgreSQL restarts", state: "file", long: true, own: true, do: func(c *chaos) {
			c.restart("postgres", syscall.SIGQUIT)
		}},
		{name: "PostgreSQL restarts under state", state: "sql", long: true, own: true, do: func(c *chaos) {
			c.restart("postgres", syscall.SIGQUIT)
		}},
		{name: "Azurite restarts", state: "blob", long: true, own: true, do: func(c *chaos) {
			c.restart("azurite", syscall.SIGTERM)
		}},
	}
}

// TestChaos counts, for each fault, what is LOST, DUPLICATED and INVERTED at a receiver, without and with the token
// rule of docs/duplicates.md. LOST is 0, and INVERTED with the rule is 0.
//
// ROWRELAY_CHAOS_FOR=2m (`make chaos`) says how long each fault goes on, and runs the long ones too.
func TestChaos(t *testing.T) {
	runFor, long := 8*time.Second, false
	if text := os.Getenv("ROWRELAY_CHAOS_FOR"); text != "" {
		var err error
		if runFor, err = time.ParseDuration(text); err != nil {
			t.Fatalf("ROWRELAY_CHAOS_FOR: %v", err)
		}
		long = true
	}
	if !long {
		t.Parallel()
	}
	for _, f := range faults() {
		if f.long && !long {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			if !long {
				t.Parallel() // with engines of their own, and minutes each, one after the other
			}
			runChaos(t, &f, runFor)
		})
	}
}

// chaos is one fault's stage.
type chaos struct {
	t         *testing.T
	ctx       context.Context //nolint:containedctx // the time that the fault goes on
	settings  settings
	instances []*instance
	sink      *chaosSink
	disk      string // where the small file system is mounted
	services  string // ROWRELAY_SERVICES_DIR of the engines of its own
}

func runChaos(t *testing.T, f *fault, runFor time.Duration) {
	c := &chaos{t: t, sink: newChaosSink(t)}
	if f.own {
		c.ownServices()
	}
	url := testenv.Postgres(t)
	db := openDatabase(t, "pgx", url)
	db.SetMaxOpenConns(4)
	execute(t, db, `CREATE TABLE chaos (id bigint PRIMARY KEY, version bigint NOT NULL, changed_at timestamptz NOT NULL)`)
	execute(t, db, `CREATE INDEX chaos_changed ON chaos (changed_at, id)`)
	if f.own {
		// the tests' own PostgreSQL does not wait for its disk: the table outlives the first crash
		execute(t, db, `CHECKPOINT`)
	}
	c.settings = settings{
		"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state"), "state__app_name": "chaos",
		"status__listen": "127.0.0.1:0",
		"CHAOS_DB":       url, "pollers__chaos__source__connection": "CHAOS_DB", "pollers__chaos__source__table": "chaos",
		"pollers__chaos__source__cursor": "changed_at", "pollers__chaos__source__late_window": "10s",
		"pollers__chaos__source__timeout": "5s",
		"pollers__chaos__output__kind":    "http", "pollers__chaos__output__url": c.sink.URL,
		"pollers__chaos__output__timeout": "500ms",
		"pollers__chaos__output__batch":   "5", "pollers__chaos__batch_size": "50", "pollers__chaos__poll_interval": "20ms",
		"pollers__chaos__tick_budget": "5s", "pollers__chaos__schedule": "* * * * * *", "pollers__chaos__lease_ttl": "1s",
		// A request that times out although the sink takes others looks like a bad event: here that is chance, again and
		// again.
		"pollers__chaos__max_attempts": "50", "pollers__chaos__retry_delays": "1s",
	}
	if f.once {
		c.settings["pollers__chaos__output__retries"] = "1"
	}
	switch f.state {
	case "blob":
		c.settings = c.settings.with(settings{
			"state__kind": "blob", "state__create": "true", "state__container": unique("chaos"),
			"pollers__chaos__lease_ttl": "10s",
			"AzureWebJobsStorage":       testenv.Azurite(t),
		})
	case "table":
		c.settings = c.settings.with(settings{
			"state__kind": "table", "state__create": "true", "state__table": strings.ReplaceAll(unique("chaos"), "-", ""),
			"pollers__chaos__lease_ttl": "10s", "AzureWebJobsStorage": testenv.Azurite(t),
		})
	case "sql":
		c.settings = c.settings.with(settings{
			"state__kind": "sql", "state__create": "true", "state__connection": "CHAOS_DB",
			"pollers__chaos__lease_ttl": "2s",
		})
	case "disk":
		c.mountDisk()
		c.settings["state__path"] = filepath.Join(c.disk, "state")
	}
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
		f.do(c)
		wait(c.ctx, time.Second)
	}
	writer.Wait()
	want := c.versions(db)

	missing := func(withRule bool) (lost int) {
		newest := c.sink.newest(withRule)
		for id, version := range want {
			if newest[id] < version {
				lost++
			}
		}
		return lost
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for missing(false) > 0 && ctx.Err() == nil {
		programtest.Pause(ctx)
	}
	lost, lostByRule := missing(false), missing(true)
	events, duplicated, inverted := c.sink.count(false)
	_, _, invertedByRule := c.sink.count(true)
	t.Logf("CHAOS %-32s rounds %3d, rows %4d, events %5d, LOST %d, DUPLICATED %4d, INVERTED %d, with the token rule: LOST %d, INVERTED %d",
		f.name, rounds, len(want), events, lost, duplicated, inverted, lostByRule, invertedByRule)
	if rounds == 0 || events == 0 || len(want) == 0 {
		t.Error("nothing happened")
	}
	if lost != 0 || lostByRule != 0 || invertedByRule != 0 {
		for _, in := range c.instances {
			t.Logf("an instance said:\n%s", in.tail())
		}
		t.Error("rows were lost, or inverted in spite of the token rule")
	}
}

// write inserts rows and updates them, some of them often, until the fault's time is over.
func (c *chaos) write(db *sql.DB) {
	for next := int64(1); c.ctx.Err() == nil; next++ {
		id := 1 + rand.Int64N(1+next)
		if rand.IntN(3) == 0 {
			id = 1 + rand.Int64N(5)
		}
		// The database may be on its way up. What counts is what it holds in the end: the tests' own PostgreSQL does not wait
		// for its disk, and forgets the last commits in a crash.
		_, _ = db.ExecContext(c.t.Context(), `INSERT INTO chaos VALUES ($1, $2, clock_timestamp())
			ON CONFLICT (id) DO UPDATE SET version = EXCLUDED.version, changed_at = clock_timestamp()`, id, next)
		wait(c.ctx, 5*time.Millisecond)
	}
}

// versions are the rows as they stand in the table.
func (c *chaos) versions(db *sql.DB) map[string]int64 {
	c.t.Helper()
	until(c.t, "the database", func() bool { return db.PingContext(c.t.Context()) == nil }) // it may be on its way up
	rows, err := db.QueryContext(c.t.Context(), `SELECT id, version FROM chaos`)
	if err != nil {
		c.t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // read to the end
	versions := map[string]int64{}
	for rows.Next() {
		var id string
		var version int64
		if err := rows.Scan(&id, &version); err != nil {
			c.t.Fatal(err)
		}
		versions[id] = version
	}
	if err := rows.Err(); err != nil {
		c.t.Fatal(err)
	}
	return versions
}

// instance is a `rowrelay run` that is started again when it dies.
type instance struct {
	dir string
	mu  sync.Mutex
	cmd *exec.Cmd
	log *os.File
}

func (c *chaos) start(in *instance) {
	c.t.Helper()
	log, err := os.OpenFile(filepath.Join(in.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	in.log = log
	in.cmd = programtest.Command(c.t.Context(), c.t, programtest.Options{Dir: in.dir, Settings: c.settings}, "run")
	in.cmd.Stdout, in.cmd.Stderr = log, log
	if err := in.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { in.kill(c.t) })
}

// kill ends it; it may have ended.
func (in *instance) kill(t *testing.T) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.cmd == nil {
		return
	}
	_ = in.cmd.Process.Kill() // it may have ended by itself
	_ = in.cmd.Wait()         // killed
	in.cmd = nil
	if err := in.log.Close(); err != nil {
		t.Error(err)
	}
}

// tail is the end of what an instance said.
func (in *instance) tail() string {
	data, err := os.ReadFile(filepath.Join(in.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-4000):])
}

func (c *chaos) killOne() {
	in := c.instances[rand.IntN(len(c.instances))]
	in.kill(c.t)
	wait(c.ctx, rand.N(300*time.Millisecond))
	c.start(in)
}

func (c *chaos) stopOne() {
	in := c.instances[rand.IntN(len(c.instances))]
	stopProcess(c.t, in.cmd.Process.Pid)
	wait(c.t.Context(), 2*time.Second) // the lease is 1 s, and the grace after it half a second
	continueProcess(c.t, in.cmd.Process.Pid)
}

func (c *chaos) sinkOutage() {
	c.sink.outage.Store([]int64{http.StatusServiceUnavailable, http.StatusBadRequest, -1}[rand.IntN(3)])
	wait(c.ctx, 2*time.Second)
	c.sink.outage.Store(0)
}

func (c *chaos) sinkLate() {
	c.sink.late.Store(true)
	wait(c.ctx, 2*time.Second)
	c.sink.late.Store(false)
}

// fullDisk fills the file system that the state lives on, for a while.
func (c *chaos) fullDisk() {
	filler := filepath.Join(c.disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 8<<20), 0o600); err == nil {
		c.t.Error("the disk did not fill up")
	}
	wait(c.ctx, 1500*time.Millisecond)
	if err := os.Remove(filler); err != nil {
		c.t.Error(err)
	}
}

// mountDisk makes a small file system; only root may.
func (c *chaos) mountDisk() {
	c.disk = c.t.TempDir()
	if err := syscall.Mount("tmpfs", c.disk, "tmpfs", 0, "size=1m"); err != nil {
		testenv.NotRun(c.t, "full disk", fmt.Sprintf("mounting a small file system: %v; run the tests as root", err))
		c.t.Skipf("a file system of its own cannot be mounted here (%v): run the tests as root", err)
	}
	c.t.Cleanup(func() {
		for _, in := range c.instances {
			in.kill(c.t)
		}
		if err := syscall.Unmount(c.disk, 0); err != nil {
			c.t.Error(err)
		}
	})
}

// ownServices brings up engines that the fault may restart, and points this test at them.
func (c *chaos) ownServices() {
	c.services = filepath.Join(os.TempDir(), fmt.Sprintf("rowrelay-chaos-%d", os.Getuid()))
	out, err := c.script("env")
	if err != nil {
		c.t.Fatalf("starting engines to restart: %v\n%s", err, out)
	}
	c.t.Cleanup(func() {
		if out, err := c.script("stop"); err != nil {
			c.t.Errorf("stopping the engines: %v\n%s", err, out)
		}
	})
	// Each line is export NAME='value'.
	for line := range strings.Lines(string(out)) {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if !ok {
			c.t.Fatalf("services.sh env says what is not read: %q", line)
		}
		c.t.Setenv(name, strings.Trim(value, "'"))
	}
}

func (c *chaos) script(command string) ([]byte, error) {
	cmd := exec.Command("../scripts/services.sh", command)
	cmd.Env = append(os.Environ(), "ROWRELAY_SERVICES_DIR="+c.services)
	return cmd.Output()
}

// restart stops a server in the middle of what it does, and brings it up again on its data. PostgreSQL crashes
// (SIGQUIT: no checkpoint, recovery at the start). Azurite has to be asked (SIGTERM): killed, it forgets what it
// acknowledged up to 5 s before, fencing tokens included, which no real store does.
func (c *chaos) restart(service string, with syscall.Signal) {
	text := testfile.Read(c.t, filepath.Join(c.services, service, "pid"))
	var pid int
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		c.t.Fatal(err)
	}
	signal(c.t, pid, with)
	wait(c.ctx, time.Second)
	if out, err := c.script("start"); err != nil {
		c.t.Fatalf("starting %s again: %v\n%s", service, err, out)
	}
	wait(c.ctx, 5*time.Second)
}
