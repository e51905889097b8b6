package production

import (
	"errors"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/source"
)

func TestSourceItems(t *testing.T) { try(t, sourceCases()) }

func sourceCases() []verdictCase {
	table := func(change func(t *inspect.Table)) func(*inspect.App, *inspect.Poller) {
		return func(_ *inspect.App, p *inspect.Poller) { change(&p.Table) }
	}
	cursor := func(change func(c *source.CursorColumn)) func(*inspect.App, *inspect.Poller) {
		return func(_ *inspect.App, p *inspect.Poller) { change(&p.Cursor[0]) }
	}
	warns := func(text string) func(*inspect.App, *inspect.Poller) {
		return func(_ *inspect.App, p *inspect.Poller) { p.Warnings = []string{text} }
	}
	engineName := func(name string) func(*inspect.App, *inspect.Poller) {
		return func(_ *inspect.App, p *inspect.Poller) { p.Engine = name }
	}
	unread := func(_ *inspect.App, p *inspect.Poller) {
		p.Table, p.Cursor, p.Broken = inspect.Table{}, nil, "the poller has a fault: see settings"
	}
	refused := func(_ *inspect.App, p *inspect.Poller) {
		p.Table, p.RightsErr = inspect.Table{}, errors.New("connection refused")
	}
	standbys := func(names, commits string) func(*inspect.App, *inspect.Poller) {
		return func(_ *inspect.App, p *inspect.Poller) { p.Rights.Standbys, p.Rights.Commits = names, commits }
	}
	failover := []string{"pollers__orders__source__on_failover=continue"}
	outbox := []string{outboxMode}
	tracked := []string{"pollers__orders__source__mode=changetracking", "pollers__orders__source__cursor="}
	kept := func(text string) func(*inspect.App, *inspect.Poller) {
		return both(engineName("sqlserver"), table(func(t *inspect.Table) { t.Retained = text }))
	}
	return []verdictCase{
		{"retention", nil, nil, NoMatter, ""},
		{"retention", outbox, nil, NoMatter, ""},
		{"retention", tracked, nil, OK, "an outage of up to 168h"},
		{"retention", append(tracked, "pollers__orders__source__track_retention=48h"), nil, ToMend, "up to 48h"},
		{"retention", append(tracked, "pollers__orders__source__track_max_deletes=1000"), nil, OK, "of no more than 1000"},
		{"retention", tracked, kept("7 days"), OK, "an outage of up to 168h"},
		{"retention", tracked, kept("2 days"), ToMend, "up to 48h"},
		{"retention", tracked, kept("2 days, but AUTO_CLEANUP is off"), CannotTell, "AUTO_CLEANUP is off"},
		{"retention", tracked, kept("4320 minutes"), OK, "up to 72h"},
		{"retention", tracked, kept(""), CannotTell, ""},
		{"late-commits", nil, nil, OK, "exact: tx is an xid8"},
		{"late-commits", outbox, nil, NoMatter, ""},
		{"late-commits", nil, unread, CannotTell, "has a fault"},
		{"late-commits", nil, refused, CannotTell, "connection refused"},
		{"late-commits", nil, both(refused, func(_ *inspect.App, p *inspect.Poller) { p.Faults = []string{"it says so"} }),
			CannotTell, "see settings"},
		{"late-commits", nil, found(late.Overlap, true, time.Second), OK, "the oldest is 1s old"},
		{"late-commits", nil, found(late.None, true, 0), ToMend, "none: rows"},
		{"late-commits", nil, found(late.Overlap, false, 0), ToMend, "not shown"},
		{"late-commits", nil, both(found(late.Overlap, false, 0), engineName("sqlite")), OK, "one writer"},
		{"late-commits", nil, both(found(late.Overlap, true, time.Second), engineName("sqlite")), OK, "the oldest is 1s old"},
		{"late-commits", nil, found(late.Overlap, true, time.Hour), ToMend, "late_window is 2m"},
		{"late-commits", nil, found(late.Settle, true, time.Hour), ToMend, "late_window is 2m"},
		{"index", nil, nil, OK, "orders_tx"},
		{"index", outbox, nil, NoMatter, ""},
		{"index", nil, unread, CannotTell, "has a fault"},
		{"index", nil, table(func(t *inspect.Table) { t.Index = "" }), CannotTell, "a query or a view"},
		{"index", nil, table(func(t *inspect.Table) { t.Index, t.CreateIndex = "", "CREATE INDEX x" }), ToMend,
			"CREATE INDEX"},
		{"key", nil, nil, OK, "primary key"},
		{"key", outbox, nil, NoMatter, ""},
		{"key", nil, unread, CannotTell, "has a fault"},
		{"key", nil, table(func(t *inspect.Table) { t.KeyProof = "not provable for a query" }), CannotTell, "not provable"},
		{"key", nil, warns("key column x may hold NULL, although it is in the primary key"), ToMend, "NOT NULL"},
		{"cursor", nil, nil, OK, "tx xid8"},
		{"cursor", outbox, nil, NoMatter, ""},
		{"cursor", nil, unread, CannotTell, "has a fault"},
		{"cursor", nil, table(func(t *inspect.Table) { t.NullCursors = -1 }), OK, ""}, // not counted
		{"cursor", nil, table(func(t *inspect.Table) { t.NullCursors = 3 }), ToMend, "3 row"},
		{"cursor", nil, cursor(func(c *source.CursorColumn) { c.Nullable = true }), ToMend, "may be NULL"},
		{"cursor", nil, cursor(func(c *source.CursorColumn) { c.Nullable, c.Query = true, true }), OK, ""},
		{"cursor", nil, cursor(func(c *source.CursorColumn) { c.Float = true }), ToMend, "fractions"},
		{"cursor", nil, cursor(func(c *source.CursorColumn) { c.Step = time.Microsecond }), OK, ""},
		{"cursor", nil, cursor(func(c *source.CursorColumn) { c.Step = 10 * time.Millisecond / 3 }), ToMend,
			"3.333333ms only"},
		{"cursor", nil, func(_ *inspect.App, p *inspect.Poller) {
			p.Cursor = []source.CursorColumn{{Name: "at", Type: "timestamp(0)", Step: time.Second}, {Name: "id", Type: "bigint"}}
		}, OK, "at timestamp(0), id bigint"},
		{"cursor-moves", nil, nil, OK, "tx is an xid8"},
		{"cursor-moves", outbox, nil, NoMatter, ""},
		{"cursor-moves", nil, unread, CannotTell, "has a fault"},
		{"cursor-moves", nil, cursor(func(c *source.CursorColumn) { c.Moved = "" }), CannotTell, "nothing about tx"},
		{"cursor-moves", nil, warns("new rows are seen: updates will not be seen"), ToMend, "updates will not"},
		{"gaps", nil, nil, OK, "the incarnation is known"},
		{"gaps", outbox, nil, NoMatter, ""},
		{"gaps", nil, unread, CannotTell, "has a fault"},
		{"gaps", nil, table(func(t *inspect.Table) { t.Incarnation = "" }), ToMend, "incarnation"},
		{"gaps", nil, both(table(func(t *inspect.Table) { t.Incarnation = "" }), engineName("sqlite")), CannotTell,
			"SQLite file"},
		{"gaps", failover, nil, ToMend, "asynchronous"},
		{"gaps", failover, standbys("ANY 1 (a, b)", "on"), CannotTell,
			"synchronous_standby_names is ANY 1 (a, b), and synchronous_commit is on here"},
		{"gaps", failover, standbys("*", "local"), CannotTell,
			"synchronous_standby_names is *, and synchronous_commit is local here"},
		{"gaps", nil, engineName("sqlite"), OK, "the incarnation is known"},
		{"gaps", failover, func(_ *inspect.App, p *inspect.Poller) {
			p.Rights = engine.Rights{}
		}, CannotTell, "not seen here"},
		{"gaps", failover, engineName("sqlserver"), CannotTell, "not seen here"},
		{"connections", nil, nil, OK, "for 1 output(s)"},
		{"connections", []string{"pollers__orders__source__connections=1", "pollers__orders__outputs__b__kind=stdout"}, nil,
			ToMend, "for 2 outputs"},
	}
}

func found(mode late.Mode, shown bool, age time.Duration) func(*inspect.App, *inspect.Poller) {
	return func(_ *inspect.App, p *inspect.Poller) {
		p.Table.Late = &inspect.Late{Mode: mode, Shown: shown, Age: age, Missed: "rows", Mend: "GRANT pg_read_all_stats",
			Held: "a transaction is open"}
	}
}
