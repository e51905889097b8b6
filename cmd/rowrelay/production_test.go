package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/production"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/source"
)

const outboxMode = "pollers__orders__source__mode=outbox"

// factsOf are facts of an app that runs alone, in which nothing is to mend, with settings changed or added, "name=value", or taken away,
// "name=". No service is asked.
func factsOf(t *testing.T, settings ...string) (*gathering, *gatheredPoller) {
	t.Helper()
	return factsIn(t, nil, settings...)
}

// factsIn are those of a Function App with files; "" leaves one out that is there otherwise. Without files there is no Function App.
func factsIn(t *testing.T, files map[string]string, settings ...string) (*gathering, *gatheredPoller) {
	t.Helper()
	root := t.TempDir()
	env := map[string]string{
		"state__kind": "file", "state__path": "/var/lib/rowrelay", "state__app_name": "shop", "DB": "postgres://reader:x@db.example.com/shop",
		"pollers__orders__source__connection": "DB", "pollers__orders__source__table": "orders", "pollers__orders__output__url": "https://hooks.example.com/x",
		"pollers__orders__output__kind": "http", "pollers__orders__output__secret": "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
		"FUNCTIONS_APP_ROOT_PATH": root,
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
	c := &console{out: io.Discard, err: io.Discard, settings: filepath.Join(root, "local.settings.json")}
	for name, value := range env {
		c.environ = append(c.environ, name+"="+value)
	}
	cfg, err := config.Load(c.environ)
	if err != nil {
		t.Fatal(err)
	}
	if files != nil {
		writeApp(t, root, cfg.Pollers[0], files)
	}
	a := wire(c, cfg)
	t.Cleanup(func() { _ = a.Close() })
	w := a.pollers[0]
	if len(w.faults) > 0 {
		t.Fatal(w.faults)
	}
	g := newGathering(c, a)
	p := g.poller(w)
	p.answer()
	return g, p
}

// writeApp writes the files of a Function App as `rowrelay functions` does, and what is given in their place.
func writeApp(t *testing.T, root string, p *config.Poller, files map[string]string) {
	t.Helper()
	all := map[string]string{"host.json": `{"functionTimeout":"00:05:00","customHandler":{"description":{"defaultExecutablePath":"rowrelay"}}}`}
	for _, fn := range functionsOf(p) {
		all[fn.name+"/function.json"] = string(fn.content)
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
func (p *gatheredPoller) answer() {
	p.facts.Store.Copies = production.Copies{Documents: 1}
	f := p.found
	f.Rights = engine.Rights{Told: true, Login: "reader", Autovacuum: true, Vacuums: "autovacuum_vacuum_scale_factor=0", RowVersions: true}
	f.Queues = map[string]error{}
	view := &pollerView{Schedule: "*/10 * * * * *", gap: 10 * time.Second, fires: true, NullCursors: -1}
	if p.w.cfg.Source.Mode.Can(mode.Marks) {
		f.Outbox = outboxFacts(&publisher.About{Strategy: claims.Partitioned, Partitions: p.w.cfg.Source.Partitions, Layout: "own"}, p.w)
	} else {
		f.Cursor = []source.CursorColumn{{Name: "tx", Type: "xid8", Moved: "is an xid8"}}
		view.Late, view.Index, view.Key, view.Incarnation = &lateCheck{Mode: poller.LateExact, Why: "tx is an xid8", shown: true}, "orders_tx", "primary key (id)", "1"
	}
	p.check(view)
}

// verdictOn is the answer on one item.
func verdictOn(t *testing.T, g *gathering, id string) production.Answer {
	t.Helper()
	for _, i := range production.Judge(g.facts, nil).Items {
		if i.ID == id {
			return i.Answers[0]
		}
	}
	t.Fatalf("no item %s", id)
	return production.Answer{}
}

// gatheringCase is a verdict on what settings and files say. The judges have tests of their own; here it is seen that they are told.
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
		g, _ := factsIn(t, c.files, c.settings...)
		if got := verdictOn(t, g, c.id); got.Verdict != c.want || !strings.Contains(got.Seen+" → "+got.Mend, c.says) {
			t.Errorf("%s with %q and %q is %s: %s → %s; want %s, %q", c.id, c.settings, c.files, got.Verdict, got.Seen, got.Mend, c.want, c.says)
		}
	}
}

var hosted = map[string]string{} // a Function App as it should be
