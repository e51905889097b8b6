package source_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/internal/changetest"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
)

// follower reads a model's changes as a poller does.
type follower struct {
	*testing.T
	m   *tracked
	src *source.Cursor
	at  change.Cursor
	// table is the identity that was recorded with the position.
	table string
	got   map[string]string // key → the row's value; "" where it is gone
	told  []string
	known map[string]int64 // key → its newest version that was told
	had   map[string]bool  // ids
	drops bool             // what it had
}

func (m *tracked) follow(t *testing.T, cfg plan.Config) *follower {
	t.Helper()
	cfg.Poller, cfg.Table, cfg.Tracked = "orders", "dbo.orders", true
	m.columns, m.context = cfg.LeavesWrites(), cfg.Ignored != ""
	src, err := source.New(cfg, engine.Connection{Engine: "sqlserver", Dialect: m.dialect(),
		Connectors: engine.Connectors{Plain: m, Reading: m}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	f := &follower{T: t, m: m, src: src, got: map[string]string{}, known: map[string]int64{},
		had: map[string]bool{}}
	if f.at, _, err = src.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.asked = nil
	return f
}

// page takes one page, and holds the table's identity as a session does.
func (f *follower) page(rows int) (change.Page, error) {
	p, err := f.src.Fetch(f.Context(), change.Range{After: f.at}, poller.Limit{Rows: rows, Bytes: 1 << 20})
	if err != nil {
		return p, err
	}
	if f.table != "" && p.Table != f.table {
		if _, err := f.src.Replaced(f.Context(), f.at, f.table, p.Table); err != nil {
			return p, err
		}
	}
	f.table = p.Table
	for _, e := range p.Events {
		f.take(&e)
		f.at = e.Position()
	}
	if p.To != nil {
		f.at = p.To
	}
	return p, nil
}

// take is what the receiver does with an event.
func (f *follower) take(e *change.Event) {
	if f.drops && f.had[e.ID] {
		return
	}
	f.had[e.ID] = true
	key := strings.TrimSuffix(strings.TrimPrefix(string(e.Key), `{"id":`), "}")
	text := e.Op.String() + " " + key
	f.got[key] = ""
	if e.Op != change.Delete {
		_, v, _ := strings.Cut(string(e.Row), `"v":`)
		f.got[key] = strings.TrimSuffix(v, "}")
		text += "=" + f.got[key]
	}
	f.told = append(f.told, text)
	f.notOlder(e, key)
	f.named(e, key)
}

// notOlder checks that an event has the state of its version, or of a later one: its id may be that of the later event.
func (f *follower) notOlder(e *change.Event, key string) {
	f.Helper()
	var at struct{ Value int64 }
	if err := json.Unmarshal(e.Cursor, &at); err != nil {
		f.Fatal(err)
	}
	was := func(w changetest.Written) bool {
		return strconv.FormatInt(w.ID, 10) == key && w.Version >= at.Value && w.State == f.got[key]
	}
	if at.Value > 0 && !slices.ContainsFunc(f.m.Log, was) && !slices.ContainsFunc(f.m.Past, was) {
		f.Errorf("key %s is %q at version %d, and that was before it", key, f.got[key], at.Value)
	}
}

// named checks that an update which names columns leaves out none that was written since the key was told.
func (f *follower) named(e *change.Event, key string) {
	f.Helper()
	var at struct{ Value int64 }
	if err := json.Unmarshal(e.Cursor, &at); err != nil {
		f.Fatal(err)
	}
	for _, w := range slices.Concat(f.m.Past, f.m.Log) {
		if strconv.FormatInt(w.ID, 10) != key || w.Version <= f.known[key] || w.Version > at.Value ||
			!f.m.Columns || e.Written == nil || e.Written.Columns == "" {
			continue
		}
		if name := map[byte]string{'u': `"v"`, 'n': `"n\u00e4me"`}[w.Op]; name == "" || !strings.Contains(e.Written.Columns, name) {
			f.Errorf("key %s at %d: %s, and %c was written at %d", key, at.Value, e.Written.Columns, w.Op, w.Version)
		}
	}
	f.known[key] = max(f.known[key], at.Value)
}

// read takes everything that there is, and returns what was told.
func (f *follower) read(rows int) string {
	f.Helper()
	for {
		p, err := f.page(rows)
		if err != nil {
			f.Fatal(err)
		}
		if !p.More {
			told := strings.Join(f.told, ", ")
			f.told = nil
			return told
		}
	}
}

func (f *follower) want(what, got, want string) {
	f.Helper()
	if got != want {
		f.Errorf("%s: %s, want %s", what, got, want)
	}
}
