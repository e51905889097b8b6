package publisher

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/engine/statement/statementtest"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/internal/tsqltest"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/feed"
)

// recorded is a table that sends its statements to a recorder.
func recorded(t *testing.T, engine string, change ...func(*Config)) (*instance, *statementtest.Recorder) {
	t.Helper()
	e := textsOf[engine]
	return recordedAs(t, engine, statement.NewName(e.syntax, "shop", "outbox"),
		statement.NewName(e.syntax, "shop", "rowrelay_claims"), "shop.outbox", change...)
}

// recordedAs is recorded for tables of other names.
func recordedAs(t *testing.T, engine string, outbox, beside statement.Name, qualified string,
	change ...func(*Config)) (*instance, *statementtest.Recorder) {
	t.Helper()
	e := textsOf[engine]
	cfg := Config{Config: feed.Config{Policy: poller.Policy{Block: true}, Ordering: poller.OrderKey,
		Partitions: 32}, MaxRowBytes: 1 << 20}
	for _, c := range change {
		c(&cfg)
	}
	r := &statementtest.Recorder{}
	c := &catalog{cfg: cfg, texts: e, outbox: outbox, claims: beside}
	c.db = statement.NewDB(e.syntax, e.low, sql.OpenDB(r), 0, func(error) bool { return false }, c.explain)
	rows := c.ownEvents(qualified, true)
	t.Cleanup(func() {
		if err := c.db.Pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return &instance{c, rows.Claims, rows}, r
}

// TestGolden pins every statement that is sent, by engine, and has SQL Server's parsed: no server runs here.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"postgres", "mysql", "sqlite", "sqlserver"} {
		t.Run(engine, func(t *testing.T) {
			var all strings.Builder
			for _, c := range goldenCases {
				table, r := recorded(t, engine, c.change...)
				if err := c.do(t.Context(), table); err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
				all.WriteString("-- " + c.name + "\n" + r.Text.String() + "\n")
				if engine == "sqlserver" {
					for i, text := range r.Plain {
						tsqltest.One(t, text)
						statementtest.DeclaresOneLength(t, text, r.Args[i])
						if strings.Contains(text, "HOLDLOCK") {
							t.Errorf("locks the places of rows that are not there:\n%s", text)
						}
					}
				}
			}
			golden.Pin(t, filepath.Join(engine, "statements.sql"), all.String())
		})
	}
}

var (
	goldenMarked = event.Marked{Ref: event.Ref{Seq: 1}, Aggregate: event.Aggregate{Type: "O", ID: "1"}}
	byOrder      = func(o poller.Ordering) func(*Config) { return func(c *Config) { c.Ordering = o } }
)

var goldenCases = []struct {
	name   string
	do     func(context.Context, *instance) error
	change []func(*Config)
}{
	{name: "look", do: func(ctx context.Context, t *instance) error { _, err := t.rows.Look(ctx); return err }},
	{name: "survey", do: func(ctx context.Context, t *instance) error { _, err := t.claims.Survey(ctx); return err }},
	{name: "renew", do: func(ctx context.Context, t *instance) error {
		_, err := t.claims.Renew(ctx, "me", []int{0, 1}, time.Minute)
		return err
	}},
	{name: "take", do: func(ctx context.Context, t *instance) error {
		_, err := t.claims.Take(ctx, "me", time.Minute, true, just(1, 0))
		return err
	}},
	{name: "release two partitions", do: func(ctx context.Context, t *instance) error {
		return t.claims.Release(ctx, "me", []int{0, 1})
	}},
	{name: "release everything", do: func(ctx context.Context, t *instance) error {
		return t.claims.Release(ctx, "me", nil)
	}},
	{name: "pause", do: func(ctx context.Context, t *instance) error { return t.claims.Pause(ctx, "ann") }},
	{name: "resume", do: func(ctx context.Context, t *instance) error { return t.claims.Resume(ctx) }},
	{name: "fetch the whole table", do: func(ctx context.Context, t *instance) error {
		return fetched(ctx, t, nil, false)
	}},
	{name: "fetch two ranges", do: func(ctx context.Context, t *instance) error {
		return fetched(ctx, t, []claims.Range{{From: 0, To: 16}, {From: 64, To: 80}}, false)
	}},
	{name: "fetch two ranges by seq", do: func(ctx context.Context, t *instance) error {
		return fetched(ctx, t, []claims.Range{{From: 0, To: 512}, {From: 640, To: 768}}, true)
	}},
	{name: "fetch the whole table by seq", do: func(ctx context.Context, t *instance) error {
		return fetched(ctx, t, nil, true)
	}},
	{name: "fetch in the order of the source", do: func(ctx context.Context, t *instance) error {
		return fetched(ctx, t, nil, true)
	},
		change: []func(*Config){byOrder(poller.OrderSource)}},
	{name: "fetch without an order, dead letters not blocking", do: func(ctx context.Context, t *instance) error {
		return fetched(ctx, t, nil, false)
	},
		change: []func(*Config){byOrder(poller.OrderNone), func(c *Config) { c.Policy.Block = false }}},
	{name: "due", do: func(ctx context.Context, t *instance) error {
		_, _, err := t.rows.Due(ctx, []claims.Range{{From: 0, To: 16}, {From: 64, To: 80}}, poller.Limit{Rows: 10})
		return err
	}},
	{name: "other", do: func(ctx context.Context, t *instance) error {
		_, err := t.rows.Others(ctx, []claims.Range{{From: 0, To: 16}},
			[]event.Aggregate{{Type: "O", ID: "1"}, {Type: "O", ID: "2"}}, poller.Limit{Rows: 1})
		return err
	}},
	{name: "again", do: func(ctx context.Context, t *instance) error {
		_, err := t.rows.Again(ctx, []event.Ref{{Seq: 1}, {Seq: 2}})
		return err
	}},
	{name: "settle published", do: func(ctx context.Context, t *instance) error {
		return t.rows.Settle(ctx, "me", 1, event.Marks{Published: []event.Ref{{Seq: 1}, {Seq: 2}}})
	}},
	{name: "settle everything else", do: func(ctx context.Context, t *instance) error {
		return t.rows.Settle(ctx, "me", 1, goldenMarks)
	}},
	{name: "settle what has a time", do: func(ctx context.Context, t *instance) error {
		one := []event.Marked{goldenMarked}
		return t.rows.Settle(ctx, "me", 1, event.Marks{Woken: one, Expired: one, Held: []event.Failure{{Marked: goldenMarked, Delay: time.Hour, Reason: "later"}}})
	}},
	{name: "settle a retry in the order of the source", do: func(ctx context.Context, t *instance) error {
		return t.rows.Settle(ctx, "me", 1,
			event.Marks{Retried: []event.Marked{goldenMarked}, Waiting: []event.Marked{goldenMarked}})
	}, change: []func(*Config){byOrder(poller.OrderSource)}},
	{name: "mend", do: func(ctx context.Context, t *instance) error { _, err := t.rows.Mend(ctx); return err }},
	{name: "work", do: func(ctx context.Context, t *instance) error {
		_, err := t.rows.Work(ctx, []int{0, 1}, 2)
		return err
	}},
	{name: "figures", do: func(ctx context.Context, t *instance) error { _, err := t.rows.Figures(ctx); return err }},
}

var goldenMarks = event.Marks{Published: []event.Ref{{Seq: 1}}, Retried: []event.Marked{goldenMarked},
	Waiting: []event.Marked{goldenMarked},
	Failed:  []event.Failure{{Marked: goldenMarked, Attempts: 2, Delay: 5 * time.Second, Reason: "refused"}}}

func fetched(ctx context.Context, t *instance, ranges []claims.Range, bySeq bool) error {
	_, _, err := t.rows.Fetch(ctx, ranges, bySeq, poller.Limit{Rows: 500})
	return err
}

// TestGoldenDDL pins what `rowrelay outbox init` prints.
func TestGoldenDDL(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"postgres", "mysql", "sqlite", "sqlserver"} {
		statements, err := DDL(engine, "shop.outbox", "rowrelay_claims")
		if err != nil {
			t.Fatal(err)
		}
		golden.Pin(t, filepath.Join(engine, "ddl.sql"), strings.Join(statements, ";\n")+";\n")
		if engine == "sqlserver" {
			for _, text := range statements {
				tsqltest.One(t, text)
			}
		}
	}
}
