package tracking_test

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
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

// event is what the receiver has of one.
type event struct {
	op change.Op
	v  int64
}

// receiver keeps the last state of every key.
type receiver struct {
	mu   sync.Mutex
	rows map[string]event // by key
	seen map[string]bool  // ids
	told []string         // what was accepted first: "insert 1=5"
	// refuse says which events are refused, down that nothing is answered.
	refuse func(*change.Event) bool
	down   bool
	some   bool // not every change is told
	// numbers are, of each key, that of the last change; kept where rows of the table come beside a history, which have
	// none, and may be newer than the changes that come after them.
	numbers  map[string]int64
	inverted []string
	repeated int
	changes  int // that were numbered
}

func (o *receiver) deliver(d change.Delivery) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down {
		return poller.FailAll(len(d.Events), poller.Unavailable, 503, errors.New("down"))
	}
	var failed []poller.FailedEvent
	for i := range d.Events {
		e := &d.Events[i]
		if o.refuse != nil && o.refuse(e) {
			failed = append(failed, poller.FailedEvent{Index: i, Cause: poller.Refused, Status: 422, Named: true})
			continue
		}
		o.accept(e)
	}
	if failed != nil {
		return &poller.DeliveryError{Failed: failed, Err: errors.New("refused")}
	}
	return nil
}

func (o *receiver) accept(e *change.Event) {
	if o.seen[e.ID] {
		o.repeated++
		return
	}
	o.seen[e.ID] = true
	id := keyOf(e)
	was, is := o.rows[id], event{op: e.Op}
	if e.Before != nil && !o.some {
		o.follows(id, was, e.Before)
	}
	if e.Op != change.Delete {
		var row struct{ V json.RawMessage } // a string beyond 2^53
		err := json.Unmarshal(e.Row, &row)
		if err == nil {
			is.v, err = strconv.ParseInt(strings.Trim(string(row.V), `"`), 10, 64)
		}
		if err != nil {
			panic(err)
		}
		if is.v <= was.v && o.numbers == nil {
			o.inverted = append(o.inverted, fmt.Sprintf("%s: %d after %d", id, is.v, was.v))
		}
	} else {
		is.v = was.v
	}
	if o.numbers != nil {
		o.numbered(id, e)
	}
	o.rows[id] = is
	text := e.Op.String() + " " + id
	if e.Op != change.Delete {
		text += fmt.Sprintf("=%d", is.v)
	}
	o.told = append(o.told, text)
}

// numbered holds the number of a change against the last one of its key.
func (o *receiver) numbered(id string, e *change.Event) {
	var key struct {
		Change int64 `json:"rowrelay_change"`
	}
	if err := json.Unmarshal(e.Key, &key); err != nil {
		panic(err)
	}
	if key.Change == 0 {
		return
	}
	if last := o.numbers[id]; key.Change < last {
		o.inverted = append(o.inverted, fmt.Sprintf("%s: change %d after %d", id, key.Change, last))
	}
	o.numbers[id] = key.Change
	o.changes++
}

// follows holds the row before a change against the last state of its key.
func (o *receiver) follows(id string, was event, before []byte) {
	var row *struct {
		ID int64
		V  json.RawMessage
	}
	if err := json.Unmarshal(before, &row); err != nil {
		panic(err)
	}
	got, want := "null", "null"
	if row != nil {
		got = fmt.Sprint(row.ID, "=", strings.Trim(string(row.V), `"`))
	}
	if was.v > 0 && was.op != change.Delete {
		want = fmt.Sprint(id, "=", was.v)
	}
	if got != want {
		o.inverted = append(o.inverted,
			fmt.Sprintf("%s: before the change it was %s, and the receiver has %s", id, got, want))
	}
}

func keyOf(e *change.Event) string {
	return strings.TrimSuffix(strings.TrimPrefix(string(e.OrderKey), `{"id":`), "}")
}

// take returns what was accepted since it was asked last.
func (o *receiver) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	told := strings.Join(o.told, ", ")
	o.told = nil
	return told
}

func (o *receiver) set(refuse func(*change.Event) bool, down bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refuse, o.down = refuse, down
}

// refuseKey has it refuse what is of a key.
func (o *receiver) refuseKey(key string) {
	o.set(func(e *change.Event) bool { return keyOf(e) == key }, false)
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
