package receivers

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // database/sql driver "sqlite"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/output/webhook"
	"github.com/rowrelay/rowrelay/poller"
)

func openDB(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "receiver.db")+
		"?_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// relay sends what Rowrelay sends: real requests of its own output.
func relay(t *testing.T, h http.Handler, format change.Format, single bool) *webhook.Output {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	o, err := webhook.New(webhook.Config{URL: server.URL, Format: format, Single: single, Concurrency: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

// event is version n of an order; row is its content.
func event(id, version int, row string) change.Event {
	key := fmt.Appendf(nil, `{"id":%d}`, id)
	cursor := change.Cursor(fmt.Appendf(nil, `{"kind":"integer+pk","value":%d,"tiebreaker":{"id":%d}}`, version, id))
	return change.Event{
		ID: change.EventID("orders", change.Upsert, key, cursor, []byte(row)), Key: key, OrderKey: key, Row: []byte(row),
		Cursor: cursor, Time: time.Unix(int64(version), 0),
	}
}

// delivery is one request under a token, with its number.
func delivery(token, number uint64, events ...change.Event) change.Delivery {
	return change.Delivery{
		App: "shop", Poller: "orders", Engine: "sqlite", Table: "orders", Fingerprint: "sha256:0", BatchID: "batch_1",
		Token: token, Number: number, Attempt: 1, Events: events,
	}
}

func deliver(t *testing.T, o *webhook.Output, d change.Delivery) {
	t.Helper()
	if err := o.Deliver(t.Context(), d); err != nil {
		t.Fatalf("delivery (%d, %d): %v", d.Token, d.Number, err)
	}
}

// refused checks that exactly the events of these indices are refused.
func refused(t *testing.T, o *webhook.Output, d change.Delivery, indices ...int) {
	t.Helper()
	var failure *poller.DeliveryError
	if err := o.Deliver(t.Context(), d); !errors.As(err, &failure) {
		t.Fatalf("delivery (%d, %d) was taken: %v", d.Token, d.Number, err)
	}
	var got []int
	for _, f := range failure.Failed {
		if f.Cause != poller.Refused {
			t.Errorf("event %d: %s", f.Index, f.Cause)
		}
		got = append(got, f.Index)
	}
	if !slices.Equal(got, indices) {
		t.Errorf("refused %v, want %v", got, indices)
	}
}

// table reads a table of two columns.
func table(t *testing.T, db *sql.DB, query string) map[string]string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	got := map[string]string{}
	for rows.Next() {
		var k, v string
		if err := rows.Scan(&k, &v); err != nil {
			t.Fatal(err)
		}
		got[k] = v
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return got
}

func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestUpsert(t *testing.T) {
	db := openDB(t)
	u, err := NewUpsert(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	keepsTheNewest(t, relay(t, u, change.CloudEvents, false), func(query string) map[string]string {
		return table(t, db, query)
	}, "json_extract(data, '$.id'), json_extract(data, '$.v')")
}

// keepsTheNewest sends duplicates and late requests to a receiver that keeps states. idAndVersion are the columns that
// its database makes of data.
func keepsTheNewest(t *testing.T, o *webhook.Output, table func(query string) map[string]string, idAndVersion string) {
	t.Helper()
	newest := func() map[string]string { return table("SELECT " + idAndVersion + " FROM orders") }
	a1, a2, a3 := event(1, 1, `{"id":1,"v":1}`), event(1, 3, `{"id":1,"v":3}`), event(1, 5, `{"id":1,"v":5}`)
	b := event(2, 2, `{"id":2,"v":2}`)

	deliver(t, o, delivery(1, 1, a1, b))
	deliver(t, o, delivery(1, 2, a2))
	// The request timed out at the relay but took effect: the relay repeats it with a higher number.
	deliver(t, o, delivery(1, 3, a2))
	same(t, "after a duplicate", newest(), map[string]string{"1": "3", "2": "2"})
	// A first attempt that was given up arrives late, after its repetition and more.
	deliver(t, o, delivery(1, 4, a3))
	refused(t, o, delivery(1, 2, a2), 0)
	same(t, "after a late request", newest(), map[string]string{"1": "5", "2": "2"})
	// The owner was frozen, and a new one delivers the batch again, from the position that was committed.
	deliver(t, o, delivery(2, 1, a1, b))
	deliver(t, o, delivery(2, 2, a2))
	deliver(t, o, delivery(2, 3, a3))
	// Then the old one wakes up. b's fence is the new owner's too.
	refused(t, o, delivery(1, 5, a2, b), 0, 1)
	// Of a request that is late for one key only, the other key's event is taken.
	c := event(3, 4, `{"id":3,"v":4}`)
	refused(t, o, delivery(2, 1, a1, c), 0)
	same(t, "at the end", newest(), map[string]string{"1": "5", "2": "2", "3": "4"})

	gone := event(2, 6, `{"id":2,"v":6}`)
	gone.Op = change.Delete
	deliver(t, o, delivery(2, 4, gone))
	states := table("SELECT 'states', CAST(COUNT(*) AS text) FROM order_states UNION " +
		"SELECT 'deleted', CAST(COUNT(*) AS text) FROM orders WHERE deleted")
	same(t, "counts", states, map[string]string{"states": "6", "deleted": "1"})
}

func TestProcessed(t *testing.T) {
	db := openDB(t)
	p, err := NewProcessed(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	o := relay(t, p, change.RowChange, false)
	ada1, ada2 := event(1, 1, `{"customer":"Ada","points":10}`), event(2, 2, `{"customer":"Ada","points":5}`)
	bob := event(3, 3, `{"customer":"Bob","points":7}`)

	deliver(t, o, delivery(1, 1, ada1, ada2))
	deliver(t, o, delivery(1, 2, ada1, ada2)) // done, but reported failed
	deliver(t, o, delivery(2, 1, bob, ada2))  // in another order, by another owner, in another request
	deliver(t, o, delivery(1, 3, bob))        // late
	gone := bob
	gone.Op, gone.Cursor = change.Delete, change.Cursor(`{"kind":"integer+pk","value":9,"tiebreaker":{"id":3}}`)
	deliver(t, o, delivery(2, 2, gone))
	same(t, "points", table(t, db, "SELECT customer, total FROM points"), map[string]string{"Ada": "15", "Bob": "7"})

	// The same order written again is a new event: it has a new cursor.
	deliver(t, o, delivery(2, 3, event(3, 4, `{"customer":"Bob","points":1}`)))
	same(t, "points", table(t, db, "SELECT customer, total FROM points"), map[string]string{"Ada": "15", "Bob": "8"})
}

// A request that fails in its middle leaves nothing: neither the effect nor the note that it was done.
func TestProcessedIsAtomic(t *testing.T) {
	db := openDB(t)
	p, err := NewProcessed(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	testenv.ExecOn(t, db, `CREATE TRIGGER full BEFORE INSERT ON points WHEN NEW.customer = 'Bob'
		BEGIN SELECT RAISE(ABORT, 'disk full'); END`)
	o := relay(t, p, change.RowChange, false)
	events := []change.Event{event(1, 1, `{"customer":"Ada","points":10}`), event(2, 2, `{"customer":"Bob","points":5}`)}
	if err := o.Deliver(t.Context(), delivery(1, 1, events...)); err == nil {
		t.Fatal("it vouched for what it did not keep")
	}
	same(t, "points", table(t, db, "SELECT customer, total FROM points"), nil)
	testenv.ExecOn(t, db, "DROP TRIGGER full")
	deliver(t, o, delivery(1, 2, events...))
	same(t, "points", table(t, db, "SELECT customer, total FROM points"), map[string]string{"Ada": "10", "Bob": "5"})
}

// api is somebody else's service: it remembers keys, and loses some answers after it has done its work.
type api struct {
	mu    sync.Mutex
	done  map[string]string
	calls int
	lose  int // so many answers
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls++
	body, err := io.ReadAll(r.Body)
	key := r.Header.Get("Idempotency-Key")
	if err != nil || key == "" {
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	if _, again := a.done[key]; !again {
		a.done[key] = string(body)
	}
	if a.lose > 0 {
		a.lose--
		panic(http.ErrAbortHandler)
	}
}

func TestDownstream(t *testing.T) {
	service := &api{done: map[string]string{}, lose: 2}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	o := relay(t, &Downstream{URL: server.URL, Client: &http.Client{Timeout: time.Minute}}, change.Row, true)
	first, second := event(1, 1, `{"v":1}`), event(1, 2, `{"v":2}`)

	for number := uint64(1); number <= 2; number++ {
		var failure *poller.DeliveryError
		if err := o.Deliver(t.Context(), delivery(1, number, first)); !errors.As(err, &failure) ||
			failure.Failed[0].Cause != poller.Unavailable {
			t.Fatalf("a lost answer must leave the event unacknowledged: %v", err)
		}
	}
	deliver(t, o, delivery(1, 3, first))
	deliver(t, o, delivery(1, 4, second))
	deliver(t, o, delivery(2, 1, first)) // by a new owner
	want := map[string]string{
		"orders:" + first.KeyHash() + ":" + string(first.Cursor):   `{"v":1}`,
		"orders:" + second.KeyHash() + ":" + string(second.Cursor): `{"v":2}`,
	}
	service.mu.Lock()
	defer service.mu.Unlock()
	same(t, "done", service.done, want)
	if service.calls < 5 {
		t.Errorf("%d calls", service.calls)
	}
}

func TestDownstreamWantsOneEvent(t *testing.T) {
	o := relay(t, &Downstream{Client: http.DefaultClient}, change.Row, false)
	refused(t, o, delivery(1, 1, event(1, 1, `{}`), event(2, 2, `{}`)), 0, 1)
}

// Events of another format have no key and cursor for these receivers: they must not all look like one.
func TestOtherFormatsAreRefused(t *testing.T) {
	db := openDB(t)
	u, err := NewUpsert(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewProcessed(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	d := delivery(1, 1, event(1, 1, `{"customer":"Ada","points":10}`))
	for _, format := range []change.Format{change.CloudEvents, change.RowChange, change.SQLTrigger, change.Row} {
		if format != change.CloudEvents {
			refused(t, relay(t, u, format, false), d, 0)
		}
		if format != change.RowChange {
			refused(t, relay(t, p, format, false), d, 0)
		}
	}
	for _, query := range []string{"SELECT key, data FROM order_states", "SELECT pk_hash, cursor FROM processed_events"} {
		same(t, query, table(t, db, query), nil)
	}
}
