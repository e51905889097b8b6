package inspect_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/azure"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/config/localsettings"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/production"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/blobstore"
	"github.com/rowrelay/rowrelay/state/memstore"
)

const outboxMode = "pollers__orders__source__mode=outbox"

// factsOf are facts of an app that runs alone, in which nothing is to mend, with settings changed or added,
// "name=value", or taken away, "name=". No service is asked.
func factsOf(t *testing.T, settings ...string) (*inspect.App, *inspect.Poller) {
	t.Helper()
	return factsIn(t, nil, settings...)
}

// factsIn are those of a Function App with files; "" leaves one out that is there otherwise. Without files there is no
// Function App.
func factsIn(t *testing.T, files map[string]string, settings ...string) (*inspect.App, *inspect.Poller) {
	t.Helper()
	root := t.TempDir()
	env := map[string]string{
		"state__kind": "file", "state__path": "/var/lib/rowrelay", "state__app_name": "shop",
		"DB":                                  "postgres://reader:x@db.example.com/shop",
		"pollers__orders__source__connection": "DB", "pollers__orders__source__table": "orders",
		"pollers__orders__output__url":    "https://hooks.example.com/x",
		"pollers__orders__output__kind":   "http",
		"pollers__orders__output__secret": "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
		"FUNCTIONS_APP_ROOT_PATH":         root, "ORDERS_SCHEDULE": "*/10 * * * * *",
	}
	if !slices.Contains(settings, outboxMode) {
		env["pollers__orders__source__cursor"] = "tx"
	}
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		if env[name] = value; value == "" {
			delete(env, name)
		}
	}
	var environ []string
	for name, value := range env {
		environ = append(environ, name+"="+value)
	}
	cfg, err := config.Load(environ)
	if err != nil {
		t.Fatal(err)
	}
	if files != nil {
		writeApp(t, root, cfg.Pollers[0], files)
	}
	file := filepath.Join(root, "local.settings.json")
	added, err := localsettings.Read(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	app := host.AppOf(environ)
	f := inspect.New(inspect.Wiring{
		Config: cfg, File: file, Added: added, Functions: app, Hosted: app.File().Err == nil, Store: storeOf(t, &cfg.State),
		Pollers: []inspect.Wired{{Config: cfg.Pollers[0], Connection: connectionOf(t, cfg.Pollers[0]), Runs: true}},
	})
	answer(f)
	return f, f.Pollers[0]
}

func connectionOf(t *testing.T, p *config.Poller) engine.Connection {
	t.Helper()
	d := p.Source.Connection
	conn, err := engines.Parse(d.ConnectionString.Reveal())
	if d.Server != "" {
		conn, err = sqlserver.IdentityConnection(d.Server, d.Database, d.Credential, d.ClientID)
	}
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// storeOf opens the state store, and does not connect.
func storeOf(t *testing.T, s *config.State) state.Store {
	t.Helper()
	if s.Kind != "blob" {
		return memstore.New()
	}
	client, err := azure.Container(&s.Connection, s.Container)
	if err != nil {
		t.Fatal(err)
	}
	store, err := blobstore.New(blobstore.Config{Client: client, Create: s.Create || s.Connection.Development})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// writeApp writes the files of a Function App as `rowrelay functions` does, and what is given in their place.
func writeApp(t *testing.T, root string, p *config.Poller, files map[string]string) {
	t.Helper()
	all := map[string]string{"host.json": `{"version":"2.0","functionTimeout":"00:05:00","customHandler":{"description":{"defaultExecutablePath":"rowrelay"}}}`}
	for _, fn := range host.FunctionsOf(p) {
		all[fn.Name+"/function.json"] = string(fn.Content)
	}
	for name, text := range files {
		if all[name] = text; text == "" {
			delete(all, name)
		}
	}
	for name, text := range all {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// answer is what services say of which nothing is to mend.
func answer(f *inspect.App) {
	f.Store.Copies = inspect.Copies{Documents: 1}
	p := f.Pollers[0]
	p.Rights = engine.Rights{Told: true, Login: "reader", Autovacuum: true, Vacuums: "autovacuum_vacuum_scale_factor=0",
		RowVersions: true}
	p.Queues = map[string]error{}
	p.Timer = inspect.Timer{Text: "*/10 * * * * *", Gap: 10 * time.Second, Fires: true}
	if p.Can(mode.Marks) {
		p.Outbox = &inspect.Outbox{About: publisher.About{Strategy: claims.Partitioned,
			Partitions: p.Config.Source.Partitions, Layout: "own"}}
		return
	}
	p.Cursor = []source.CursorColumn{{Name: "tx", Type: "xid8", Moved: "is an xid8"}}
	p.Table = inspect.Table{
		Late:  &inspect.Late{Mode: late.Exact, Why: "tx is an xid8", Shown: true},
		Check: source.Check{Index: "orders_tx", KeyProof: "primary key (id)", Incarnation: "1", NullCursors: -1},
	}
}

// verdictOn is the answer on one item.
func verdictOn(t *testing.T, f *inspect.App, id string) production.Answer {
	t.Helper()
	for _, i := range production.Judge(f, nil).Items {
		if i.ID == id {
			return i.Answers[0]
		}
	}
	t.Fatalf("no item %s", id)
	return production.Answer{}
}

// gatheringCase is a verdict on what settings and files say. The judges have tests of their own; here it is seen that
// they are told.
type gatheringCase struct {
	id       string
	settings []string
	files    map[string]string // of a Function App; nil: there is none
	want     production.Verdict
	says     string // in what was seen, or in the mend
}

func tryGathering(t *testing.T, cases []gatheringCase) {
	t.Helper()
	for _, c := range cases {
		f, _ := factsIn(t, c.files, c.settings...)
		if got := verdictOn(t, f, c.id); got.Verdict != c.want || !strings.Contains(got.Seen+" → "+got.Mend, c.says) {
			t.Errorf("%s with %q and %q is %s: %s → %s; want %s, %q", c.id, c.settings, c.files, got.Verdict, got.Seen, got.Mend,
				c.want, c.says)
		}
	}
}

var hosted = map[string]string{} // a Function App as it should be
