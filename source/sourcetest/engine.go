// Package sourcetest is the suite that every engine's cursor source passes, on the real engine:
//
//	func TestPostgres(t *testing.T) {
//		url := testenv.Postgres(t)
//		sourcetest.Run(t, sourcetest.Engine{Name: "postgres", URL: url, DB: db, …})
//	}
//
// The suite writes rows through DB, beside the source, and reads them through source.New. What differs between engines
// in SQL (names of types, literals) is data in Engine; what must not differ, which rows come in which pages, is the
// suite.
package sourcetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
)

// Engine is a real engine, with an empty database of its own.
type Engine struct {
	// Name is the engine as Description.Engine names it.
	Name string
	// URL is what engines.Parse reads.
	URL string
	// DB writes to the same database.
	DB *sql.DB
	// Quote quotes an identifier.
	Quote func(name string) string
	// The types of columns in DDL: a 64-bit integer, text that a key may have, a boolean or what stands for it, a date
	// and time of the highest precision without a zone.
	BigInt, Text, Bool, DateTime string
	// True and False are the literals of Bool.
	True, False string
	// Boundaries are the types that a cursor can have, each with literals in strictly ascending order, adjacent ones as
	// close as the type allows: where precision is lost on the way into the cursor and back, two of them become one.
	Boundaries []Boundary
	// Network says that the engine is reached over TCP, so that round trips can be counted.
	Network bool
}

// Boundary is a cursor type and its values.
type Boundary struct {
	Type     string
	Literals []string
	// Default is appended to the column's DDL where the type needs it (MariaDB's TIMESTAMP).
	Default string
}

// fixture is one test's view of the engine.
type fixture struct {
	*testing.T
	e Engine
}

func (f fixture) ctx() context.Context { return f.Context() }

// exec runs statements of the writer.
func (f fixture) exec(statements ...string) {
	f.Helper()
	for _, s := range statements {
		if _, err := f.e.DB.ExecContext(f.ctx(), s); err != nil {
			f.Fatalf("%s: %v", s, err)
		}
	}
}

// table creates a table of the test's own and returns its name.
func (f fixture) table(columns string) string {
	f.Helper()
	name := strings.ToLower(strings.Map(func(r rune) rune {
		if (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9') {
			return r
		}
		return '_'
	}, "t_"+f.Name()[strings.LastIndex(f.Name(), "/")+1:]))
	f.exec("CREATE TABLE " + name + " (" + columns + ")")
	f.Cleanup(func() { _, _ = f.e.DB.Exec("DROP TABLE " + name) })
	return name
}

// open returns the source, closed when the test ends.
func (f fixture) open(cfg plan.Config) *source.Cursor {
	f.Helper()
	return f.openURL(f.e.URL, cfg)
}

func (f fixture) openURL(url string, cfg plan.Config) *source.Cursor {
	f.Helper()
	conn, err := engines.Parse(url)
	if err != nil {
		f.Fatal(err)
	}
	if cfg.Poller == "" {
		cfg.Poller = "orders"
	}
	src, err := source.New(cfg, conn)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := src.Close(); err != nil {
			f.Errorf("close: %v", err)
		}
	})
	return src
}

// describe proves the settings and returns the warnings.
func (f fixture) describe(src *source.Cursor) checkpointed.Description {
	f.Helper()
	d, err := src.Describe(f.ctx())
	if err != nil {
		f.Fatal(err)
	}
	return d
}

// refused expects the settings to be refused with every one of the words.
func (f fixture) refused(cfg plan.Config, words ...string) {
	f.Helper()
	_, err := f.open(cfg).Describe(f.ctx())
	f.isFault(err, poller.ErrConfig, words...)
}

func (f fixture) isFault(err, kind error, words ...string) {
	f.Helper()
	if err == nil {
		f.Fatalf("no error; want one with %q", words)
	}
	if !errors.Is(err, kind) {
		f.Errorf("the error does not wrap %v: %v", kind, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			f.Errorf("the error does not say %q: %v", w, err)
		}
	}
}

// page fetches one page, and checks that each of its positions has the form that a checkpoint gives back.
func (f fixture) page(src *source.Cursor, after change.Cursor, limit poller.Limit) change.Page {
	f.Helper()
	p, err := src.Fetch(f.ctx(), change.Range{After: after}, limit)
	if err != nil {
		f.Fatal(err)
	}
	positions := []change.Cursor{p.To}
	for _, e := range p.Events {
		positions = append(positions, e.Cursor, e.Position())
	}
	for _, at := range positions {
		if back := stored(f.T, at); !back.Equal(at) {
			f.Errorf("the position %s is stored as %s", at, back)
		}
	}
	return p
}

const plenty = 8 << 20

// drain reads to the end from a position, with every cursor taken through its stored form, and checks what holds for
// every page. It returns all events.
func (f fixture) drain(src *source.Cursor, after change.Cursor, rows int) []change.Event {
	f.Helper()
	var all []change.Event
	for range 10_000 {
		p := f.page(src, stored(f.T, after), poller.Limit{Rows: rows, Bytes: plenty})
		if len(p.Events) > rows {
			f.Fatalf("a page has %d rows, the limit is %d", len(p.Events), rows)
		}
		all = append(all, p.Events...)
		if len(p.Events) == 0 {
			if p.More {
				f.Fatal("an empty page says that there is more")
			}
			return all
		}
		after = p.Events[len(p.Events)-1].Cursor
	}
	f.Fatal("the source does not end")
	return nil
}

// stored takes a cursor through JSON, as a checkpoint does.
func stored(t *testing.T, c change.Cursor) change.Cursor {
	t.Helper()
	data, err := c.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var back change.Cursor
	if err := back.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return back
}

// keys returns the keys of events, as written in JSON, joined.
func keys(events []change.Event) string {
	var out []string
	for _, e := range events {
		out = append(out, string(e.Key))
	}
	return strings.Join(out, " ")
}

// ids formats the keys {"id":n}.
func ids(ns ...int) string {
	var out []string
	for _, n := range ns {
		out = append(out, fmt.Sprintf(`{"id":%d}`, n))
	}
	return strings.Join(out, " ")
}

func (f fixture) same(what, got, want string) {
	f.Helper()
	if got != want {
		f.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

func (f fixture) warned(warnings []string, word string) {
	f.Helper()
	if !slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, word) }) {
		f.Errorf("no warning says %q: %q", word, warnings)
	}
}
