package tracking_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/tracking"
)

// rig is a database with the tracked table `orders (id, v)`, a store, and a receiver.
type rig struct {
	testing.TB
	url   string
	conn  engine.Connection
	db    *sql.DB
	store *memstore.Store
	to    *receiver
	keys  int    // that transactions write; 1000 at least
	hold  string // what some transactions run for a while before they end; "" for none
	graves
}

// newRig makes one; before are statements that run before there are triggers.
func newRig(t testing.TB, name string, before ...string) *rig {
	t.Helper()
	url := ""
	switch name {
	case "postgres":
		url = testenv.Postgres(t)
	case "mysql":
		url = testenv.MySQL(t)
	}
	return newRigAt(t, name, url, before...)
}

// newRigAt makes one in a database that is there; SQLite's is made.
func newRigAt(t testing.TB, name, url string, before ...string) *rig {
	t.Helper()
	r := &rig{TB: t, url: url, store: memstore.New(), to: &receiver{rows: map[string]event{}, seen: map[string]bool{}}}
	switch name {
	case "postgres":
		r.db = testenv.Open(t, "pgx", r.url)
	case "mysql":
		r.db = testenv.Open(t, "mysql", testenv.MySQLDSN(t, r.url))
	default:
		r.url = testenv.SQLite(t)
		r.db = testenv.Open(t, "sqlite", strings.TrimPrefix(r.url, "sqlite:")+
			"?_pragma=journal_mode(wal)&_pragma=synchronous(normal)&_pragma=busy_timeout(10000)&_txlock=immediate")
	}
	r.exec("CREATE TABLE orders (id bigint NOT NULL PRIMARY KEY, v bigint NOT NULL)")
	r.exec(before...)
	var err error
	if r.conn, err = engines.Parse(r.url); err != nil {
		t.Fatal(err)
	}
	r.install("orders")
	return r
}

func (r *rig) install(table string) {
	r.Helper()
	w, err := tracking.Install(r.Context(), r.conn, table, "", "orders", tracking.Writes{})
	if err == nil {
		err = w.Apply(r.Context(), r.db)
	}
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) uninstall(writes tracking.Writes) {
	r.Helper()
	w, err := tracking.Uninstall(r.Context(), r.conn, "orders", "", "orders", writes)
	if err == nil {
		err = w.Apply(r.Context(), r.db)
	}
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) exec(statements ...string) {
	r.Helper()
	for _, s := range statements {
		if _, err := r.db.ExecContext(r.Context(), s); err != nil {
			r.Fatalf("%s: %v", s, err)
		}
	}
}

// instance is one process. Once it is dead nothing of it has an effect.
type instance struct {
	*poller.Relay
	src  *source.Cursor
	dead *bool
	mu   *sync.Mutex
	// stopped, where it is not nil, holds up every write to the store until it is closed: a process that stands still.
	stopped *atomic.Pointer[chan struct{}]
}

// settings are what differs between tests.
type settings struct {
	ttl, delay  time.Duration
	maxAttempts int
	batch       int
	batches     int // of a tick; 0: as many as there are
	operations  []string
	changed     []string
	ignored     string
	// snapshot is source__start=snapshot, resync source__on_gap=resync.
	snapshot, resync bool
	// window is source__late_window; 0: 20s.
	window time.Duration
	// every is source__every_change with source__before_image.
	every bool
}

func (s *settings) start() string {
	if s.snapshot {
		return "snapshot"
	}
	return ""
}

func (r *rig) instance(s settings) instance {
	r.Helper()
	src, err := source.New(plan.Config{Poller: "orders", Table: "orders", Tracked: true, Operations: s.operations,
		Start: s.start(), Changed: s.changed, Ignored: s.ignored, EveryChange: s.every, BeforeImage: s.every}, r.conn)
	if err != nil {
		r.Fatal(err)
	}
	i := instance{src: src, dead: new(bool), mu: new(sync.Mutex), stopped: new(atomic.Pointer[chan struct{}])}
	keeper, err := state.New(state.Config{Store: mortalStore{r.store, i}, Key: "state/app/orders.json", Poller: "orders",
		Owner: "app/test", TTL: s.ttl})
	if err != nil {
		r.Fatal(err)
	}
	feed, err := checkpointed.New(checkpointed.Config{App: "app", Poller: "orders", Source: src, Keeper: keeper,
		Ordering: poller.OrderKey, DeadLetters: &r.graves,
		Policy:   poller.Policy{MaxAttempts: s.maxAttempts, Delays: []time.Duration{s.delay}, MaxParked: 1000},
		Snapshot: s.snapshot, Resync: s.resync,
		LateWindow: cmp.Or(s.window, 20*time.Second), LateLimit: time.Minute, LateMemory: 1_000_000})
	if err != nil {
		r.Fatal(err)
	}
	i.Relay, err = poller.NewRelay(poller.Config{App: "app", Poller: "orders", Feed: feed, To: mortalOutput{r.to, i},
		Ordering: poller.OrderKey, Concurrency: 4, Fetch: poller.Limit{Rows: s.batch, Bytes: 1 << 20}, RequestEvents: 20,
		RequestBytes: 1 << 20, Size: func(e *change.Event) int { return e.Size() }, Retries: 1, Timeout: 5 * time.Second,
		Budget: time.Minute, MaxBatches: s.batches})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = src.Close() })
	return i
}

func (i instance) kill() {
	i.mu.Lock()
	defer i.mu.Unlock()
	*i.dead = true
}

// dieLater is for who is called while the process is alive.
func (i instance) dieLater() { *i.dead = true }

func (i instance) isDead() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return *i.dead
}

var errDead = errors.New("the process is dead")

// alive does something while the process cannot die.
func (i instance) alive(do func() error) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if *i.dead {
		return errDead
	}
	return do()
}

type mortalStore struct {
	state.Store
	of instance
}

func (s mortalStore) Create(ctx context.Context, key string, data []byte) (stamp state.Stamp, err error) {
	err = s.of.alive(func() error { stamp, err = s.Store.Create(ctx, key, data); return err })
	return stamp, err
}

func (s mortalStore) Replace(ctx context.Context, key string, data []byte, v state.Version) (stamp state.Stamp,
	err error) {
	if until := s.of.stopped.Load(); until != nil {
		<-*until
	}
	err = s.of.alive(func() error { stamp, err = s.Store.Replace(ctx, key, data, v); return err })
	return stamp, err
}

type mortalOutput struct {
	to *receiver
	of instance
}

func (o mortalOutput) Deliver(_ context.Context, d change.Delivery) error {
	return o.of.alive(func() error { return o.to.deliver(d) })
}

type graves struct {
	mu      sync.Mutex
	letters []poller.DeadLetter
}

func (g *graves) Put(_ context.Context, d poller.DeadLetter) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.letters = append(g.letters, d)
	return nil
}

// table is what the database has.
func (r *rig) table() map[string]int64 {
	r.Helper()
	rows, err := r.db.QueryContext(r.Context(), "SELECT id, v FROM orders")
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	found := map[string]int64{}
	for rows.Next() {
		var id, v int64
		if err := rows.Scan(&id, &v); err != nil {
			r.Fatal(err)
		}
		found[fmt.Sprint(id)] = v
	}
	if err := rows.Err(); err != nil {
		r.Fatal(err)
	}
	return found
}

// differ are the keys of which the receiver's last state is not the table's.
func (r *rig) differ() (keys []string) {
	r.Helper()
	table := r.table()
	r.to.mu.Lock()
	defer r.to.mu.Unlock()
	for id, v := range table {
		if is, known := r.to.rows[id]; !known || is.op == change.Delete || is.v != v {
			keys = append(keys, fmt.Sprintf("%s is %d, and the receiver has %+v", id, v, is))
		}
	}
	for id, is := range r.to.rows {
		if _, there := table[id]; !there && is.op != change.Delete {
			keys = append(keys, fmt.Sprintf("%s is gone, and the receiver has %+v", id, is))
		}
	}
	return keys
}
