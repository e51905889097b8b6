package mapping

import (
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
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
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
	mapping   Syntax
}{
	"postgres":  {postgres.Statement{}, postgres.Claims{}, postgres.Mapping{}},
	"mysql":     {mysql.Statement{}, mysql.Claims{}, mysql.Mapping{}},
	"sqlite":    {sqlite.Statement{}, sqlite.Claims{}, sqlite.Mapping{}},
	"sqlserver": {sqlserver.Statement{}, sqlserver.Claims{}, sqlserver.Mapping{}},
}

// goldenLayouts are a table with a number and a flag (the seed's), one with a text state and no aggregate, one whose
// rows are deleted, and one that is ordered by time. The third one's aggregates have ids of any length.
func goldenLayouts(t *testing.T, engine string) map[string]layout {
	t.Helper()
	g := goldenTypes[engine]
	seed := kinds(engine, []column.Column{
		{Name: "id", Type: g.id, Kind: 0, Nullable: false}, {Name: "aggregate_type", Type: g.text, Kind: 0, Nullable: false},
		{Name: "aggregate_id", Type: g.text, Kind: 0, Nullable: false},
		{Name: "event_type", Type: g.text, Kind: 0, Nullable: false},
		{Name: "payload", Type: g.text, Kind: 0, Nullable: false},
		{Name: "created_at", Type: g.moment, Kind: 0, Nullable: false},
		{Name: "published", Type: g.flag, Kind: 0, Nullable: false},
		{Name: "published_at", Type: g.moment, Kind: 0, Nullable: true},
		{Name: "retry_count", Type: g.number, Kind: 0, Nullable: false},
		{Name: "idempotency_key", Type: g.text, Kind: 0, Nullable: false},
	})
	foreign := kinds(engine, []column.Column{
		{Name: "Id", Type: g.uuid, Kind: 0, Nullable: false}, {Name: "Status", Type: g.text, Kind: 0, Nullable: false},
		{Name: "Body", Type: g.text, Kind: 0, Nullable: true}, {Name: "Added", Type: g.moment, Kind: 0, Nullable: false},
		{Name: "Key", Type: g.long, Kind: 0, Nullable: true}, {Name: "Sent", Type: g.moment, Kind: 0, Nullable: true},
	})
	layouts := map[string]layout{}
	for name, c := range map[string]struct {
		columns  []column.Column
		settings map[string]string
	}{
		"seed": {seed, nil},
		"state": {foreign, map[string]string{"id": "Id", "aggregate_id": "none", "payload": "Body", "created_at": "Added",
			"state": "Status", "pending": "New",
			"done": "Sent", "published_at": "Sent"}},
		"deleted": {foreign, map[string]string{"id": "Id", "aggregate_id": "Key", "payload": "Body", "created_at": "Added",
			"on_published": "delete"}},
	} {
		m, err := parseMapping(c.settings)
		if err != nil {
			t.Fatal(err)
		}
		m.textTimes = goldenEngines[engine].mapping.TextTimes()
		if layouts[name], err = m.resolve("outbox", c.columns); err != nil {
			t.Fatal(err)
		}
	}
	return layouts
}

var goldenFilter = event.Filter{
	States:        []event.State{event.Pending, event.Waiting, event.Failed, event.Published},
	IDs:           []string{"7", "0b5ab1a0-0000-4000-8000-000000000001", "0b5ab1a000004000"},
	Keys:          []string{"7", "0b5ab1a0-0000-4000-8000-000000000001", "0b5ab1a000004000"},
	AggregateType: "Order", Aggregate: "42", EventType: "OrderPlaced", OlderThan: time.Hour, YoungerThan: 1000 * time.Hour,
}

// TestGoldenMapped pins every statement that a mapped table is sent.
func TestGoldenMapped(t *testing.T) {
	for _, engine := range []string{"postgres", "mysql", "sqlserver", "sqlite"} {
		e := goldenEngines[engine]
		db := statement.NewDB(e.statement, statement.Low{}, nil, 0, nil, nil)
		outbox, beside := statement.NewName(e.statement, "shop", "outbox"),
			statement.NewName(e.statement, "shop", "rowrelay_claims")
		for layoutName, l := range goldenLayouts(t, engine) {
			g := &statementtest.Script{T: t, Engine: engine}
			who := claims.New(db, e.claims, claims.Place{Table: beside.String(), Outbox: "shop.outbox"}, 1)
			m := newTable(db, e.mapping, who, outbox, SideOf(beside), l,
				Config{Ordering: poller.OrderKey, Block: true, MaxRowBytes: 4 << 20, Retention: 720 * time.Hour})
			q := &m.sql
			ids := []string{"7", "8"}
			if layoutName != "seed" {
				ids = []string{"0b5ab1a0-0000-4000-8000-000000000001"}
			}
			place := "2026-01-31 23:59:59.123456"
			if layoutName == "seed" {
				place = "7"
			}
			f := &event.Failure{Marked: event.Marked{Ref: event.Ref{ID: ids[0]}}, Attempts: 2, Delay: 5 * time.Second,
				Reason: "422"}
			dead := &event.Failure{Marked: event.Marked{Ref: event.Ref{ID: ids[0]}}, Attempts: 5, Dead: true, Reason: "422"}
			g.Add("look", m.lookStatement())
			g.Add("fetch", q.publishable(q.projection(), 501, nil))
			g.Add("a probe", q.publishable(q.projection(), 1,
				[]event.Aggregate{{Type: "Order", ID: "42"}, {Type: "Order", ID: "43"}}))
			g.Add("again", q.again(ids))
			g.Add("when is the next due", q.nextDue())
			g.Add("due ids", q.dueIDs(100))
			g.Add("rows by id", q.byID(ids))
			guarded := q.mark(ids)
			who.Guard(guarded.Add(" AND "), "me", 1)
			g.Add("mark", guarded)
			g.Add("forget", q.forget(ids))
			g.Add("failed again", q.failAgain(f))
			g.Add("failed for the first time", q.failFirst(f))
			g.Add("given up", q.failAgain(dead))
			if q.attempts != nil {
				g.Add("count the attempt", q.countAttempt(ids[0]))
			}
			g.Add("entries", q.entries("", 1000))
			g.Add("still pending", q.stillPending(ids))
			g.Add("count pending", q.countVisible())
			g.Add("count waiting", q.countWaiting())
			g.Add("count failed", q.countEntries(event.Failed))
			g.Add("list", q.entriesOf(&goldenFilter, nil, place, ids[0], 1000))
			g.Add("list everything", q.entriesOf(&event.Filter{}, nil, "", "", 1000))
			g.Add("list dead letters: ids", q.sideIDs([]event.State{event.Dead}, "1", ids[0], 1000))
			g.Add("list dead letters", q.entriesOf(&event.Filter{States: []event.State{event.Dead}}, ids, "", "", 1000))
			g.Add("requeue", q.requeueStatement(ids))
			g.Add("discard", q.discardStatement(ids, "by ann"))
			g.Add("discard waiting", q.discardWaiting(ids, "by ann"))
			if q.publishedAt != nil {
				g.Add("clean-up looks", q.cleanLook(place, ids[0], 3600_000, 1000))
				g.Add("clean-up deletes", q.cleanDelete("", ids, 3600_000))
			}
			golden.Pin(t, filepath.Join(engine, layoutName+".sql"), g.String())
		}
	}
}
