package rows

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/mysql"
	"github.com/rowrelay/rowrelay/engine/postgres"
	"github.com/rowrelay/rowrelay/engine/sqlite"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/engine/statement/statementtest"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/internal/tsqltest"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/mapping"
)

// goldenTypes are the types of a mapped table's columns, by engine.
var goldenTypes = map[string]struct{ id, uuid, text, long, moment, flag, number string }{
	"postgres":  {"bigint", "uuid", "character varying(255)", "text", "timestamp with time zone", "boolean", "integer"},
	"mysql":     {"bigint(20)", "binary(16)", "varchar(255)", "longtext", "datetime(6)", "tinyint(1)", "int(11)"},
	"sqlserver": {"bigint", "uniqueidentifier", "nvarchar(255)", "nvarchar(max)", "datetimeoffset(7)", "bit", "int"},
	"sqlite":    {"INTEGER", "uuid", "VARCHAR(255)", "TEXT", "TIMESTAMP", "BOOLEAN", "INT"},
}

// goldenEngines are what engines write.
var goldenEngines = map[string]struct {
	statement statement.Syntax
	claims    claims.Syntax
	own       Syntax
	values    Values
	kind      func(string) column.Kind
}{
	"postgres": {postgres.Statement{}, postgres.Claims{}, postgres.Outbox{}, postgres.Mapping{}, postgres.KindOf},
	"mysql":    {mysql.Statement{}, mysql.Claims{}, mysql.Outbox{}, mysql.Mapping{}, column.KindOf},
	"sqlite":   {sqlite.Statement{}, sqlite.Claims{}, sqlite.Outbox{}, sqlite.Mapping{}, sqlite.KindOf},
	"sqlserver": {sqlserver.Statement{}, sqlserver.Claims{}, sqlserver.Outbox{}, sqlserver.Mapping{},
		column.KindOf},
}

// goldenLayouts are a table with a number and a flag (the seed's), one with a text state and no aggregate, one whose
// rows are deleted, and one that is ordered by time. The third one's aggregates have ids of any length.
func goldenLayouts(t *testing.T, engine string) map[string]mapping.Layout {
	t.Helper()
	g := goldenTypes[engine]
	seed := []column.Column{
		{Name: "id", Type: g.id, Kind: 0, Nullable: false}, {Name: "aggregate_type", Type: g.text, Kind: 0, Nullable: false},
		{Name: "aggregate_id", Type: g.text, Kind: 0, Nullable: false},
		{Name: "event_type", Type: g.text, Kind: 0, Nullable: false},
		{Name: "payload", Type: g.text, Kind: 0, Nullable: false},
		{Name: "created_at", Type: g.moment, Kind: 0, Nullable: false},
		{Name: "published", Type: g.flag, Kind: 0, Nullable: false},
		{Name: "published_at", Type: g.moment, Kind: 0, Nullable: true},
		{Name: "retry_count", Type: g.number, Kind: 0, Nullable: false},
		{Name: "idempotency_key", Type: g.text, Kind: 0, Nullable: false},
	}
	foreign := []column.Column{
		{Name: "Id", Type: g.uuid, Kind: 0, Nullable: false}, {Name: "Status", Type: g.text, Kind: 0, Nullable: false},
		{Name: "Body", Type: g.text, Kind: 0, Nullable: true}, {Name: "Added", Type: g.moment, Kind: 0, Nullable: false},
		{Name: "Key", Type: g.long, Kind: 0, Nullable: true}, {Name: "Sent", Type: g.moment, Kind: 0, Nullable: true},
	}
	layouts := map[string]mapping.Layout{}
	for name, c := range map[string]struct {
		columns  []column.Column
		settings map[string]string
	}{
		"seed": {seed, nil},
		"state": {foreign, map[string]string{"id": "Id", "aggregate_id": "none", "payload": "Body", "created_at": "Added",
			"state": "Status", "pending": "New",
			"done": "Sent", "published_at": "Sent"}},
		"deleted": {foreign, map[string]string{"id": "Id", "aggregate_id": "Key", "payload": "Body", "created_at": "Added",
			"on_published": "delete", "available_at": "Sent", "expires_at": "Sent"}},
	} {
		for i := range c.columns {
			c.columns[i].Kind = goldenEngines[engine].kind(c.columns[i].Type)
		}
		l, err := mapping.Read(c.settings, "outbox", c.columns, engine == "sqlite")
		if err != nil {
			t.Fatal(err)
		}
		layouts[name] = l
	}
	return layouts
}

var goldenFilter = event.Filter{
	States:        []event.State{event.Pending, event.Waiting, event.Failed, event.Published},
	IDs:           []string{"7", "0b5ab1a0-0000-4000-8000-000000000001", "0b5ab1a000004000"},
	Keys:          []string{"7", "0b5ab1a0-0000-4000-8000-000000000001", "0b5ab1a000004000"},
	AggregateType: "Order", Aggregate: "42", EventType: "OrderPlaced", OlderThan: time.Hour, YoungerThan: 1000 * time.Hour,
}

// goldenNames are the tables of these tests.
func goldenNames(engine string) (db *statement.DB, outbox, beside statement.Name) {
	e := goldenEngines[engine].statement
	return statement.NewDB(e, statement.Low{}, nil, 0, nil, nil), statement.NewName(e, "shop", "outbox"),
		statement.NewName(e, "shop", "rowrelay_claims")
}

// goldenClaims are the claims beside these tables.
func goldenClaims(db *statement.DB, engine string) *claims.Table {
	_, _, beside := goldenNames(engine)
	place := claims.Place{Table: beside.String(), Outbox: "shop.outbox"}
	return claims.New(db, goldenEngines[engine].claims, place, 1, nil)
}

var goldenConfig = Config{Ordering: poller.OrderKey, Block: true, MaxRowBytes: 4 << 20, Retention: 720 * time.Hour}

// TestGoldenAdmin pins what operators, the clean-up and a settlement beside locks send to a table of `rowrelay outbox
// init`.
func TestGoldenAdmin(t *testing.T) {
	for engine, e := range goldenEngines {
		db, outbox, _ := goldenNames(engine)
		table := Own(db, e.own, outbox, goldenConfig, goldenClaims(db, engine))
		g := &statementtest.Script{T: t, Engine: engine}
		refs := []event.Ref{{Seq: 1}, {Seq: 2}}
		g.Add("list", table.pageStatement(&goldenFilter, nil, "7", 1000))
		g.Add("list everything", table.pageStatement(&event.Filter{}, nil, "", 1000))
		g.Add("requeue", table.requeue(refs))
		g.Add("discard", table.discard(refs, "by ann"))
		g.Add("settle looks for what is not locked", table.free(refs))
		g.Add("marks no row", table.mark(nil))
		g.Add("clean-up looks", table.cleanLook("7", 4000))
		prefix := ""
		if engine == "sqlserver" {
			prefix = "SET DEADLOCK_PRIORITY LOW; "
		}
		g.Add("clean-up counts", table.countOld())
		g.Add("clean-up deletes", table.cleanDelete(prefix, "7", "4007"))
		golden.Pin(t, filepath.Join(engine, "admin.sql"), g.String())
	}
}

// goldenCalls are what sessions ask of another framework's table.
var goldenCalls = []struct {
	name string
	do   func(ctx context.Context, t *Table, refs []event.Ref) error
}{
	{"look", func(ctx context.Context, t *Table, _ []event.Ref) error { _, err := t.Look(ctx); return err }},
	{"fetch", func(ctx context.Context, t *Table, _ []event.Ref) error {
		_, _, err := t.Fetch(ctx, nil, false, poller.Limit{Rows: 500})
		return err
	}},
	{"others", func(ctx context.Context, t *Table, _ []event.Ref) error {
		_, err := t.Others(ctx, nil, []event.Aggregate{{Type: "Order", ID: "42"}, {Type: "Order", ID: "43"}},
			poller.Limit{Rows: 1})
		return err
	}},
	{"again", func(ctx context.Context, t *Table, refs []event.Ref) error { _, err := t.Again(ctx, refs); return err }},
	{"due", func(ctx context.Context, t *Table, _ []event.Ref) error {
		_, _, err := t.Due(ctx, nil, poller.Limit{Rows: 100})
		return err
	}},
	{"settle published", func(ctx context.Context, t *Table, refs []event.Ref) error {
		return t.Settle(ctx, "me", 1, event.Marks{Published: refs})
	}},
	{"settle everything else", func(ctx context.Context, t *Table, refs []event.Ref) error {
		one := event.Marked{Ref: refs[0]}
		return t.Settle(ctx, "me", 1, event.Marks{Retried: []event.Marked{one},
			Failed: []event.Failure{{Marked: one, Attempts: 2, Delay: 5 * time.Second, Reason: "422"}}})
	}},
	{"settle what has a time", func(ctx context.Context, t *Table, refs []event.Ref) error {
		one := event.Marked{Ref: refs[0]}
		return t.Settle(ctx, "me", 1, event.Marks{Woken: []event.Marked{one}, Expired: []event.Marked{one},
			Held: []event.Failure{{Marked: one, Delay: time.Hour, Reason: "later"}}})
	}},
	{"mend", func(ctx context.Context, t *Table, _ []event.Ref) error { _, err := t.Mend(ctx); return err }},
	{"figures", func(ctx context.Context, t *Table, _ []event.Ref) error { _, err := t.Figures(ctx); return err }},
}

// TestGoldenMapped pins every statement that another framework's table is sent.
func TestGoldenMapped(t *testing.T) {
	for engine, e := range goldenEngines {
		for layoutName, l := range goldenLayouts(t, engine) {
			_, outbox, beside := goldenNames(engine)
			r := &statementtest.Recorder{}
			pool := sql.OpenDB(r)
			db := statement.NewDB(e.statement, statement.Low{}, pool, 0, func(error) bool { return false },
				func(_ string, err error) error { return err })
			table := Mapped(db, e.values, l, outbox, SideOf(beside), "pending", goldenConfig, goldenClaims(db, engine))
			refs, end := []event.Ref{{ID: "7"}, {ID: "8"}}, "7"+pageBreak+"7"
			if layoutName != "seed" {
				refs = []event.Ref{{ID: "0b5ab1a0-0000-4000-8000-000000000001"}}
				end = "2026-01-31 23:59:59.123456" + pageBreak + refs[0].ID
			}
			for _, call := range goldenCalls {
				r.Text.WriteString("-- " + call.name + "\n")
				if err := call.do(t.Context(), table, refs); err != nil {
					t.Errorf("%s: %s: %v", engine, call.name, err)
				}
			}
			if engine == "sqlserver" {
				for i, text := range r.Plain {
					tsqltest.One(t, text)
					statementtest.DeclaresOneLength(t, text, r.Args[i])
				}
			}
			f := event.Failure{Marked: event.Marked{Ref: refs[0]}, Attempts: 2, Delay: 5 * time.Second, Reason: "422"}
			g := &statementtest.Script{T: t, Engine: engine}
			g.Add("failed for the first time", table.failFirst(&f))
			f.Dead = true
			g.Add("given up", table.failAgain(&f))
			g.Add("list", table.pageStatement(&goldenFilter, nil, end, 1000))
			g.Add("list everything", table.pageStatement(&event.Filter{}, nil, "", 1000))
			g.Add("list dead letters: keys", table.sideKeys([]event.State{event.Dead}, end, 1000))
			g.Add("list dead letters", table.pageStatement(&event.Filter{States: []event.State{event.Dead}}, refs, "", 1000))
			g.Add("requeue", table.requeue(refs))
			g.Add("discard", table.discard(refs, "by ann"))
			g.Add("marks no row", table.mark(nil))
			g.Add("discard waiting", table.discardWaiting(refs, "by ann"))
			if l.PublishedAt != nil {
				g.Add("clean-up looks", table.cleanLook(end, 1000))
				g.Add("clean-up counts", table.countOld())
				g.Add("clean-up deletes", table.cleanDelete("", "", end))
				g.Add("clean-up deletes after a page", table.cleanDelete("", end, end))
			}
			golden.Pin(t, filepath.Join(engine, layoutName+".sql"), r.Text.String()+g.String())
			if err := pool.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
