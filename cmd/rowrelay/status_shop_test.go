package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/internal/testfile"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/status"
	"github.com/rowrelay/rowrelay/wiring"
)

// statusShop is an app with a receiver that refuses, fails and recovers as it is told.
type statusShop struct {
	t        *testing.T
	settings map[string]string
	db       *sql.DB

	mu     sync.Mutex
	refuse string // requests whose body has this in it are answered 422
	down   bool   // every request is answered 503
}

func newStatusShop(t *testing.T, driver, url, dsn string) *statusShop {
	t.Helper()
	db := testenv.Open(t, driver, dsn)
	if err := db.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := &statusShop{t: t, db: db}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case s.down:
			w.WriteHeader(http.StatusServiceUnavailable)
		case s.refuse != "" && bytes.Contains(body, []byte(s.refuse)):
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write(body) // as talkative receivers do
		}
	}))
	t.Cleanup(receiver.Close)
	s.settings = map[string]string{
		"state__app_name": "shop", "SHOP_DB": url, "log__level": "debug",
		"pollers__orders__source__connection": "SHOP_DB", "pollers__orders__source__table": "orders",
		"pollers__orders__output__kind": "http", "pollers__orders__output__url": receiver.URL,
		"pollers__orders__output__retries": "1",
		"pollers__orders__retry_delays":    "1h", "pollers__orders__max_attempts": "2",
	}
	return s
}

// ordersShop watches a table orders(id, changed, note) in SQLite.
func ordersShop(t *testing.T, more map[string]string) *statusShop {
	t.Helper()
	url := testenv.SQLite(t)
	s := newStatusShop(t, "sqlite", url, strings.TrimPrefix(url, "sqlite:")+"?_pragma=busy_timeout(10000)")
	s.execute(`CREATE TABLE orders (id INTEGER PRIMARY KEY, changed INTEGER NOT NULL, note TEXT)`)
	s.settings["pollers__orders__source__cursor"] = "changed"
	s.settings["pollers__orders__source__late_commits"] = "none"
	maps.Copy(s.settings, more)
	return s
}

func (s *statusShop) execute(text string, args ...any) {
	s.t.Helper()
	if _, err := s.db.ExecContext(s.t.Context(), text, args...); err != nil {
		s.t.Fatal(err)
	}
}

// receiver tells the receiver what to do from now on.
func (s *statusShop) receiver(refuse string, down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse, s.down = refuse, down
}

func (s *statusShop) environ() []string {
	var environ []string
	for name, value := range s.settings {
		environ = append(environ, name+"="+value)
	}
	return environ
}

// sharedBuffer is written to by several pollers at the same time, as a file may be.
type sharedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *sharedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// cli runs a command in this process, as main does.
func (s *statusShop) cli(args ...string) (out, errs string, err error) {
	s.t.Helper()
	var stdout, stderr sharedBuffer
	args = append(args, "--settings", emptySettings(s.t))
	err = execute(s.t.Context(), args, s.environ(), strings.NewReader(""), &stdout, &stderr)
	return stdout.String(), stderr.String(), err
}

// emptySettings keeps a local.settings.json of whoever runs the tests out of them.
func emptySettings(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "settings.json")
	testfile.Write(t, path, `{"Values":{}}`)
	return path
}

func (s *statusShop) must(args ...string) {
	s.t.Helper()
	if out, errs, err := s.cli(args...); err != nil {
		s.t.Fatalf("%q: %v\n%s%s", args, err, out, errs)
	}
}

// tick runs one tick of every poller, well or not.
func (s *statusShop) tick() {
	s.t.Helper()
	out, errs, err := s.cli("run", "--once")
	var shown *exitError
	if err != nil && !errors.As(err, &shown) {
		s.t.Fatalf("%v\n%s%s", err, out, errs)
	}
}

// report is what the command shows, which is another instance than the one that ticked.
func (s *statusShop) report() (r status.Report, failed bool) {
	s.t.Helper()
	out, errs, err := s.cli("status", "--json")
	var shown *exitError
	if err != nil && !errors.As(err, &shown) {
		s.t.Fatalf("%v\n%s", err, errs)
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	return r, err != nil
}

// want is the only output, which has to be in this health.
func (s *statusShop) want(what string, want status.Health) status.Output {
	s.t.Helper()
	r, failed := s.report()
	o := r.Outputs[0]
	if o.Health != want {
		s.t.Errorf("%s: %s: %s; want %s\n%+v", what, o.Health, o.Says, want, o)
	}
	if broken := want == status.Failing || want == status.Silent || want == status.Unknown; failed != broken {
		s.t.Errorf("%s: the command failed: %t", what, failed)
	}
	out, _, _ := s.cli("status")
	if !strings.Contains(out, strings.ToUpper(string(want))) {
		s.t.Errorf("%s: for people:\n%s", what, out)
	}
	return o
}

// page is what the process of the page has: the app, the report, and the buttons, with its log.
func (s *statusShop) page() (*statusSide, *bytes.Buffer) {
	s.t.Helper()
	c := &console{environ: s.environ(), out: io.Discard, err: io.Discard}
	cfg, err := config.Load(c.environ)
	if err != nil {
		s.t.Fatal(err)
	}
	a := wiring.New(cfg, c.process())
	log := &bytes.Buffer{}
	side := newStatusSide(c, a, false, nil, slog.New(slog.NewJSONHandler(log, nil)))
	s.t.Cleanup(func() {
		side.close()
		if err := a.Close(); err != nil {
			s.t.Error(err)
		}
	})
	return side, log
}

func (s *statusShop) says(text string, err error) func(want string) {
	return func(want string) {
		s.t.Helper()
		if err != nil || !strings.Contains(text, want) {
			s.t.Errorf("%q, %v; want %q", text, err, want)
		}
	}
}

// stores are the state stores that the same story is told on.
func stores(t *testing.T) map[string]map[string]string {
	return map[string]map[string]string{
		"file": {"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state")},
		"blob": {
			"state__kind": "blob", "AzureWebJobsStorage": testenv.Azurite(t), "state__create": "true",
			"pollers__orders__lease_ttl": "10s",
			"state__container":           fmt.Sprintf("status-%d", time.Now().UnixNano()),
		},
	}
}

// sameEverywhere compares what two instances show that have not ticked, but for what is theirs alone.
func (s *statusShop) sameEverywhere() {
	s.t.Helper()
	var shown [2]string
	for i := range shown {
		s.settings["WEBSITE_INSTANCE_ID"] = fmt.Sprintf("instance%d", i)
		side, _ := s.page()
		r := side.Reader.Report(s.t.Context())
		if r.Instance != s.settings["WEBSITE_INSTANCE_ID"] {
			s.t.Errorf("%s answers", r.Instance)
		}
		r.Instance, r.At = "", time.Time{}
		for j := range r.Outputs {
			r.Outputs[j].NextRun = nil
			r.Outputs[j].Lease.HeartbeatSeconds = 0
		}
		data, err := json.Marshal(r)
		if err != nil {
			s.t.Fatal(err)
		}
		shown[i] = string(data)
	}
	delete(s.settings, "WEBSITE_INSTANCE_ID")
	if shown[0] != shown[1] {
		s.t.Errorf("two instances show\n%s\n%s", shown[0], shown[1])
	}
}

// heldBack lets an instance tell of a tick whose rows were held back; another shows it.
func (s *statusShop) heldBack() {
	s.t.Helper()
	side, _ := s.page()
	now := time.Now()
	side.observe(&poller.Report{
		Poller: "orders", Event: poller.FetchEmpty, Started: now, Ended: now, HeldBack: 40 * time.Second,
		HeldBy: "session 7 of appuser", Parked: -1,
	}, "")
	side.close()
	if o := s.want("held back", status.Blocked); o.HeldBack == nil || o.HeldBack.By != "session 7 of appuser" ||
		o.HeldBack.Seconds != 40 {
		s.t.Errorf("%+v", o.HeldBack)
	}
}
