package receivers

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/output/webhook"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
)

// forgetful wraps a receiver in the worst of networks: every second answer is lost after the work was done.
type forgetful struct {
	http.Handler
	calls, lost atomic.Int64
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Handler.ServeHTTP(w, r)
	if f.calls.Add(1)%2 == 1 {
		f.lost.Add(1)
		panic(http.ErrAbortHandler)
	}
}

// From a table through the real source, tick and output, with half of all answers lost: the effect is there once.
func TestRelayedOnceInEffect(t *testing.T) {
	const orders, points = 200, 3
	path := filepath.Join(t.TempDir(), "shop.db")
	shop, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shop.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := shop.ExecContext(t.Context(), fmt.Sprintf(`
		CREATE TABLE orders (id INTEGER PRIMARY KEY, version INTEGER NOT NULL, customer TEXT NOT NULL, points INTEGER NOT NULL);
		CREATE INDEX by_version ON orders (version, id);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO orders SELECT i, i / 7, 'c' || (i %% 5), %d FROM n`, orders, points)); err != nil {
		t.Fatal(err)
	}
	db := openDB(t)
	p, err := NewProcessed(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	network := &forgetful{Handler: p}
	server := httptest.NewServer(network)
	t.Cleanup(server.Close)
	relay := newRelay(t, "sqlite:"+path, server.URL)
	for range 100 { // a tick that fails is followed by the next, which begins at what was committed
		report := relay.Tick(t.Context())
		if report.Event == poller.FetchEmpty {
			break
		}
	}
	got := table(t, db, "SELECT 'orders', COUNT(*) FROM processed_events UNION SELECT 'points', SUM(total) FROM points")
	same(t, "processed", got, map[string]string{"orders": fmt.Sprint(orders), "points": fmt.Sprint(orders * points)})
	if network.lost.Load() == 0 {
		t.Error("no answer was lost: the test shows nothing")
	}
}

func newRelay(t *testing.T, connection, url string) *poller.Relay {
	t.Helper()
	conn, err := engines.Parse(connection)
	if err != nil {
		t.Fatal(err)
	}
	src, err := source.New(plan.Config{Poller: "orders", Table: "orders", Cursor: []string{"version"}}, conn)
	if err != nil {
		t.Fatal(err)
	}
	keeper, err := state.New(state.Config{Store: memstore.New(), Key: state.Key("test", "orders", ""), Poller: "orders",
		Owner: "test", TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	out, err := webhook.New(webhook.Config{URL: url, Format: change.RowChange, Concurrency: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, closer := range []func() error{out.Close, src.Close} {
			if err := closer(); err != nil {
				t.Error(err)
			}
		}
	})
	feed, err := checkpointed.New(checkpointed.Config{
		App: "test", Poller: "orders", Source: src, Keeper: keeper, Ordering: poller.OrderKey,
		Policy:     poller.Policy{MaxAttempts: 5, Delays: []time.Duration{time.Second}, MaxParked: 1000},
		LateWindow: 2 * time.Minute, LateLimit: time.Minute, LateMemory: 1_000_000, DeadLetters: noDeadLetter{t},
	})
	if err != nil {
		t.Fatal(err)
	}
	relay, err := poller.NewRelay(poller.Config{
		App: "test", Poller: "orders", Feed: feed, To: out, Ordering: poller.OrderKey, Concurrency: 4,
		Fetch: poller.Limit{Rows: 40, Bytes: 1 << 20}, RequestEvents: 10, RequestBytes: 1 << 20,
		Size: func(e *change.Event) int { return e.Size() }, Retries: 1, Timeout: time.Minute, Budget: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return relay
}

// noDeadLetter takes none: a lost answer is an outage, and no outage is held against an event.
type noDeadLetter struct{ t *testing.T }

// Put fails the test.
func (n noDeadLetter) Put(_ context.Context, d poller.DeadLetter) error {
	n.t.Errorf("event %s of key %s was given up: %s", d.Event.ID, d.Event.Key, d.Reason)
	return nil
}
