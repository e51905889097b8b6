package publisher

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/feed"
	"github.com/rowrelay/rowrelay/publisher/rows"
)

// instance is one instance's view of an outbox.
type instance struct {
	*catalog
	claims *claims.Table
	rows   *rows.Table
}

// bench is an outbox of its own on a real engine.
type bench struct {
	*instance
	tb  testing.TB
	cfg Config
	// url opens further tables on the same outbox; raw is what an application has: its own connection.
	url string
	raw *sql.DB
}

// realEngines are those that run here, and SQL Server where a server is given.
var realEngines = []struct {
	name string
	url  func(testing.TB) string
}{
	{"postgres", testenv.Postgres}, {"mysql", testenv.MySQL}, {"sqlite", sqliteFile}, {"sqlserver", testenv.SQLServer},
}

// sqliteFile is a new database in WAL mode, as applications that write and read at once have it.
func sqliteFile(tb testing.TB) string {
	tb.Helper()
	url := testenv.SQLite(tb)
	db, err := sql.Open("sqlite", strings.TrimPrefix(url, "sqlite:"))
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := db.Exec("PRAGMA journal_mode = WAL"); err != nil {
		tb.Fatal(err)
	}
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
	return url
}

func everyEngine(t *testing.T, test func(t *testing.T, b *bench), change ...func(*Config)) {
	t.Helper()
	for _, e := range realEngines {
		t.Run(e.name, func(t *testing.T) { test(t, newBench(t, e.url, change...)) })
	}
}

// everyEngineAndStrategy runs a test on every engine with every strategy: which claims are taken, and by which
// statements, depends on both.
func everyEngineAndStrategy(t *testing.T, test func(t *testing.T, b *bench, strategy claims.Strategy)) {
	t.Helper()
	for _, strategy := range []claims.Strategy{claims.Leader, claims.Partitioned, claims.SkipLocked} {
		t.Run(string(strategy), func(t *testing.T) {
			everyEngine(t, func(t *testing.T, b *bench) { test(t, b, strategy) },
				func(c *Config) { c.Strategy = strategy })
		})
	}
}

func newBench(tb testing.TB, url func(testing.TB) string, change ...func(*Config)) *bench {
	tb.Helper()
	cfg := Config{Table: "outbox", ClaimsTable: "rowrelay_claims",
		Config: feed.Config{App: "shop", Poller: "orders", Partitions: 4, Policy: poller.Policy{Block: true},
			Ordering: poller.OrderKey},
		Timeout: 30 * time.Second, Connections: 4, MaxRowBytes: 1 << 20}
	for _, c := range change {
		c(&cfg)
	}
	b := &bench{tb: tb, cfg: cfg, url: url(tb)}
	b.instance = &instance{catalog: b.view()}
	b.raw = b.conn.WriteDB(8)
	tb.Cleanup(func() {
		if err := b.raw.Close(); err != nil {
			tb.Error(err)
		}
	})
	statements, err := DDL(b.conn.Engine, cfg.Table, cfg.ClaimsTable)
	if err != nil {
		tb.Fatal(err)
	}
	if b.conn.Engine == "sqlite" { // the publisher does not create a file
		if db, err := sql.Open("sqlite", strings.TrimPrefix(b.url, "sqlite:")); err != nil {
			tb.Fatal(err)
		} else if err := errors.Join(db.Ping(), db.Close()); err != nil {
			tb.Fatal(err)
		}
	}
	for range 2 { // it may be repeated
		for _, s := range statements {
			b.exec(s)
		}
	}
	b.instance = b.open()
	return b
}

// open returns another instance.
func (b *bench) open(change ...func(*Config)) *instance {
	b.tb.Helper()
	c := b.view(change...)
	o, err := c.open(context.Background())
	if err != nil {
		b.tb.Fatal(err)
	}
	return &instance{c, o.events.Claims, o.events}
}

// view returns the outbox as another instance has it before it was opened.
func (b *bench) view(change ...func(*Config)) *catalog {
	b.tb.Helper()
	conn, err := engines.Parse(b.url)
	if err != nil {
		b.tb.Fatal(err)
	}
	cfg := b.cfg
	for _, c := range change {
		c(&cfg)
	}
	t, err := newCatalog(cfg, conn, conn.WriteDB(max(cfg.Connections, 1)))
	if err != nil {
		b.tb.Fatal(err)
	}
	b.tb.Cleanup(func() {
		if err := t.db.Pool.Close(); err != nil {
			b.tb.Error(err)
		}
	})
	return t
}

func (b *bench) exec(text string, args ...any) {
	b.tb.Helper()
	if _, err := b.raw.ExecContext(context.Background(), text, args...); err != nil {
		b.tb.Fatalf("%v\n%s", err, text)
	}
}

// insert writes an event as an application does.
func (b *bench) insert(q statement.Querier, a event.Aggregate, payload string) {
	b.tb.Helper()
	s := b.db.Statement()
	s.Add("INSERT INTO ", b.outbox.String(),
		" (aggregate_type, aggregate_id, event_type, payload, idempotency_key) VALUES (", s.Arg(a.Type), ", ", s.Arg(a.ID),
		", 'Happened', ", s.Arg(payload), ", ", s.Arg("key-"+strconv.FormatInt(counter.Add(1), 10)), ")")
	if _, err := s.Exec(context.Background(), q); err != nil {
		b.tb.Fatal(err)
	}
}

// write inserts one event for each aggregate named "type/id", in their order, with payloads {"n":1} and so on.
func (b *bench) write(aggregates ...string) {
	b.tb.Helper()
	for i, text := range aggregates {
		typ, id, _ := strings.Cut(text, "/")
		b.insert(b.raw, event.Aggregate{Type: typ, ID: id}, fmt.Sprintf(`{"n":%d}`, i+1))
	}
}

// states are the rows' states by seq.
func (b *bench) states() []event.State {
	b.tb.Helper()
	s := b.db.Statement()
	s.Add("SELECT state FROM ", b.outbox.String(), " ORDER BY ", b.texts.rows.Seq())
	list, err := s.Texts(context.Background(), b.raw)
	if err != nil {
		b.tb.Fatal(err)
	}
	states := make([]event.State, len(list))
	for i := range list {
		states[i] = event.State(list[i])
	}
	return states
}

func (b *bench) wantStates(want ...event.State) {
	b.tb.Helper()
	if diff := cmp.Diff(want, b.states()); diff != "" {
		b.tb.Errorf("states (-want +got):\n%s", diff)
	}
}

// all fetches everything that is pending, by seq.
func (b *bench) all() []event.Row {
	b.tb.Helper()
	rows, _, err := b.rows.Fetch(context.Background(), nil, false, poller.Limit{Rows: 1000})
	if err != nil {
		b.tb.Fatal(err)
	}
	slices.SortFunc(rows, func(a, b event.Row) int { return int(a.Ref.Seq - b.Ref.Seq) })
	return rows
}

func (b *bench) must(err error) {
	b.tb.Helper()
	if err != nil {
		b.tb.Fatal(err)
	}
}

// lead takes a claim.
func (b *bench) lead(owner string, ttl time.Duration) {
	b.tb.Helper()
	if got := b.take(owner, ttl, 0); len(got.Partitions) != 1 {
		b.tb.Fatalf("%s did not get the claim", owner)
	}
}

func markedRow(r *event.Row) event.Marked {
	return event.Marked{Ref: r.Ref, Aggregate: r.Aggregate()}
}
