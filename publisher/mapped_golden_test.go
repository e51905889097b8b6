package publisher

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqlc-dev/teesql/parser"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/internal/golden"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// goldenTypes are the types of a mapped table's columns, by engine.
var goldenTypes = map[string]struct{ id, uuid, text, moment, flag, number string }{
	"postgres":  {"bigint", "uuid", "character varying(255)", "timestamp with time zone", "boolean", "integer"},
	"mysql":     {"bigint(20)", "binary(16)", "varchar(255)", "datetime(6)", "tinyint(1)", "int(11)"},
	"sqlserver": {"bigint", "uniqueidentifier", "nvarchar(255)", "datetimeoffset(7)", "bit", "int"},
	"sqlite":    {"INTEGER", "uuid", "VARCHAR(255)", "TIMESTAMP", "BOOLEAN", "INT"},
}

// goldenLayouts are a table with a number and a flag (the seed's), one with a text state and no aggregate, one whose rows are
// deleted, and one that is ordered by time.
func goldenLayouts(t *testing.T, engine string) map[string]layout {
	t.Helper()
	g := goldenTypes[engine]
	seed := kinds(engine, []column.Column{
		{Name: "id", Type: g.id, Kind: 0, Nullable: false}, {Name: "aggregate_type", Type: g.text, Kind: 0, Nullable: false}, {Name: "aggregate_id", Type: g.text, Kind: 0, Nullable: false}, {Name: "event_type", Type: g.text, Kind: 0, Nullable: false},
		{Name: "payload", Type: g.text, Kind: 0, Nullable: false}, {Name: "created_at", Type: g.moment, Kind: 0, Nullable: false}, {Name: "published", Type: g.flag, Kind: 0, Nullable: false}, {Name: "published_at", Type: g.moment, Kind: 0, Nullable: true},
		{Name: "retry_count", Type: g.number, Kind: 0, Nullable: false}, {Name: "idempotency_key", Type: g.text, Kind: 0, Nullable: false},
	})
	foreign := kinds(engine, []column.Column{
		{Name: "Id", Type: g.uuid, Kind: 0, Nullable: false}, {Name: "Status", Type: g.text, Kind: 0, Nullable: false}, {Name: "Body", Type: g.text, Kind: 0, Nullable: true}, {Name: "Added", Type: g.moment, Kind: 0, Nullable: false}, {Name: "Key", Type: g.text, Kind: 0, Nullable: true}, {Name: "Sent", Type: g.moment, Kind: 0, Nullable: true},
	})
	layouts := map[string]layout{}
	for name, c := range map[string]struct {
		columns  []column.Column
		settings map[string]string
	}{
		"seed": {seed, nil},
		"state": {foreign, map[string]string{"id": "Id", "aggregate_id": "none", "payload": "Body", "created_at": "Added", "state": "Status", "pending": "New",
			"done": "Sent", "published_at": "Sent"}},
		"deleted": {foreign, map[string]string{"id": "Id", "aggregate_id": "Key", "payload": "Body", "created_at": "Added", "on_published": "delete"}},
	} {
		m, err := parseMapping(c.settings)
		if err != nil {
			t.Fatal(err)
		}
		m.textTimes = textsOf[engine].mapping.TextTimes()
		if layouts[name], err = m.resolve("outbox", c.columns); err != nil {
			t.Fatal(err)
		}
	}
	return layouts
}

// script collects named statements, and parses those of SQL Server.
type script struct {
	t      *testing.T
	engine string
	strings.Builder
}

func (g *script) add(name string, s *statement.Statement) {
	g.t.Helper()
	g.WriteString("-- " + name + "\n" + s.String() + "\n")
	for _, a := range s.Args() {
		_, _ = fmt.Fprintf(g, "--   %v\n", a)
	}
	g.parse(s.String())
	if g.engine == "sqlserver" {
		declaresOneLength(g.t, s.String(), s.Args())
	}
}

func (g *script) parse(text string) {
	g.t.Helper()
	if g.engine != "sqlserver" {
		return
	}
	// The parser does not know COLLATE everywhere where Microsoft's grammar has it.
	if _, err := parser.Parse(g.t.Context(), strings.NewReader(strings.ReplaceAll(text, sqlserver.Exact, ""))); err != nil {
		g.t.Errorf("not T-SQL: %v\n%s", err, text)
	}
}

func goldenTable(engine string) *catalog {
	e := textsOf[engine]
	return &catalog{
		cfg:   Config{Policy: poller.Policy{Block: true}, Ordering: poller.OrderKey, MaxRowBytes: 4 << 20, Retention: 720 * time.Hour},
		texts: e, db: statement.NewDB(e.syntax, e.low, nil, 0, nil, nil),
		outbox: statement.NewName(e.syntax, "shop", "outbox"), claims: statement.NewName(e.syntax, "shop", "rowrelay_claims"),
	}
}

var goldenFilter = event.Filter{
	States: []event.State{event.Pending, event.Waiting, event.Failed, event.Published}, IDs: []string{"7", "0b5ab1a0-0000-4000-8000-000000000001", "0b5ab1a000004000"},
	Keys:          []string{"7", "0b5ab1a0-0000-4000-8000-000000000001", "0b5ab1a000004000"},
	AggregateType: "Order", Aggregate: "42", EventType: "OrderPlaced", OlderThan: time.Hour, YoungerThan: 1000 * time.Hour,
}

// TestGoldenMapped pins every statement that a mapped table is sent.
func TestGoldenMapped(t *testing.T) {
	for _, engine := range []string{"postgres", "mysql", "sqlserver", "sqlite"} {
		table := goldenTable(engine)
		for layoutName, l := range goldenLayouts(t, engine) {
			g := &script{t: t, engine: engine}
			claims := claims.New(table.db, table.texts.claims, table.place("shop.outbox"), "", nil)
			m := newMapped(table.db, table.texts.mapping, claims, table.outbox, SideOf(table.claims), l, table.mappedConfig())
			q := &m.sql
			ids := []string{"7", "8"}
			if layoutName != "seed" {
				ids = []string{"0b5ab1a0-0000-4000-8000-000000000001"}
			}
			place := "2026-01-31 23:59:59.123456"
			if layoutName == "seed" {
				place = "7"
			}
			f := &event.Failure{Marked: event.Marked{Ref: event.Ref{ID: ids[0]}}, Attempts: 2, Delay: 5 * time.Second, Reason: "422"}
			dead := &event.Failure{Marked: event.Marked{Ref: event.Ref{ID: ids[0]}}, Attempts: 5, Dead: true, Reason: "422"}
			g.add("look", m.lookStatement())
			g.add("fetch", q.publishable(q.projection(), 501, nil))
			g.add("a probe", q.publishable(q.projection(), 1, []event.Aggregate{{Type: "Order", ID: "42"}, {Type: "Order", ID: "43"}}))
			g.add("when is the next due", q.nextDue())
			g.add("due ids", q.dueIDs(100))
			g.add("rows by id", q.byID(ids))
			guarded := q.mark(ids)
			claims.Guard(guarded.Add(" AND "), "me", 1)
			g.add("mark", guarded)
			g.add("forget", q.forget(ids))
			g.add("failed again", q.failAgain(f))
			g.add("failed for the first time", q.failFirst(f))
			g.add("given up", q.failAgain(dead))
			if q.attempts != nil {
				g.add("count the attempt", q.countAttempt(ids[0]))
			}
			g.add("entries", q.entries("", 1000))
			g.add("still pending", q.stillPending(ids))
			g.add("count pending", q.countVisible())
			g.add("count waiting", q.countWaiting())
			g.add("count failed", q.countEntries(event.Failed))
			g.add("list", q.entriesOf(&goldenFilter, nil, place, ids[0], 1000))
			g.add("list everything", q.entriesOf(&event.Filter{}, nil, "", "", 1000))
			g.add("list dead letters: ids", q.sideIDs([]event.State{event.Dead}, "1", ids[0], 1000))
			g.add("list dead letters", q.entriesOf(&event.Filter{States: []event.State{event.Dead}}, ids, "", "", 1000))
			g.add("requeue", q.requeueStatement(ids))
			g.add("discard", q.discardStatement(ids, "by ann"))
			g.add("discard waiting", q.discardWaiting(ids, "by ann"))
			if q.publishedAt != nil {
				g.add("clean-up looks", q.cleanLook(place, ids[0], 3600_000, 1000))
				g.add("clean-up deletes", q.cleanDelete("", ids, 3600_000))
			}
			golden.Pin(t, filepath.Join(engine, "mapped_"+layoutName+".sql"), g.String())
		}
	}
}

// TestGoldenAdmin pins what operators and the clean-up send to a table of `rowrelay outbox init`, and MappedDDL.
func TestGoldenAdmin(t *testing.T) {
	for _, engine := range []string{"postgres", "mysql", "sqlserver", "sqlite"} {
		table := goldenTable(engine)
		e := table.rows("shop.outbox")
		g := &script{t: t, engine: engine}
		g.add("list", e.PageStatement(&goldenFilter, 7, 1000))
		g.add("list everything", e.PageStatement(&event.Filter{}, 7, 1000))
		g.add("requeue", e.RequeueStatement([]int64{1, 2}))
		g.add("discard", e.DiscardStatement([]int64{1, 2}, "by ann"))
		g.add("clean-up looks", e.CleanLook(7, 4000))
		prefix := ""
		if engine == "sqlserver" {
			prefix = "SET DEADLOCK_PRIORITY LOW; "
		}
		g.add("clean-up deletes", e.CleanDelete(prefix, 7, 4007))
		golden.Pin(t, filepath.Join(engine, "admin.sql"), g.String())

		ddl, err := MappedDDL(engine, "shop.outbox", "rowrelay_claims")
		if err != nil {
			t.Fatal(err)
		}
		d := &script{t: t, engine: engine}
		for _, text := range ddl {
			d.WriteString(text + ";\n")
			d.parse(text)
		}
		golden.Pin(t, filepath.Join(engine, "mapped_ddl.sql"), d.String())
	}
}
