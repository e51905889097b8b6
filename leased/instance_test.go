package leased_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/internal/changetest"
	"github.com/rowrelay/rowrelay/leased"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
)

// instance is a program that shares the changes.
type instance struct {
	*testing.T
	src    *source.Cursor
	leases *source.Leases
	feed   *leased.Feed
	relay  *poller.Relay
	cut    bool
	compat bool
	sent   []string // "insert 1=5", in the order of acceptance
	to     func(change.Event) error
	mu     sync.Mutex
}

// start starts an instance. How it delivers, to says; nil accepts everything.
func (m *server) start(t *testing.T, to func(change.Event) error, adjust ...func(*plan.Config)) *instance {
	t.Helper()
	in := &instance{T: t, to: to, compat: m.compat}
	cfg := plan.Config{Poller: "orders", Table: "dbo.orders", Tracked: true, Leased: true, ReadCommitted: true}
	for _, f := range adjust {
		f(&cfg)
	}
	c := conn{m: m, cut: &in.cut}
	src, err := source.New(cfg, engine.Connection{Engine: "sqlserver", Dialect: changetest.Dialect{Tracking: m.modelled},
		Connectors: engine.Connectors{Plain: c, Reading: c}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	in.src, in.leases = src, src.Leases(source.LeasesConfig{Function: leased.FunctionID("shop", "orders"),
		Legacy: "0a1b2c3d4e5f6071", LockTimeout: 30 * time.Second, Binding: m.compat})
	var letters poller.DeadLetters
	if m.letters != nil {
		letters = m.letters
	}
	in.feed, err = leased.New(leased.Config{App: "shop", Poller: "orders", TTL: m.ttl, Changes: in.leases,
		Binding: m.compat, DeadLetters: letters,
		Policy: poller.Policy{MaxAttempts: 5, Delays: []time.Duration{time.Second}}})
	if err != nil {
		t.Fatal(err)
	}
	in.relay = pollertest.Relay(t, in.feed, pollertest.Func(in.deliver), pollertest.Hundred, in.whole)
	return in
}

// whole adjusts a relay of an instance that does as the binding does.
func (in *instance) whole(c *poller.Config) {
	if in.compat {
		c.Whole, c.Concurrency, c.RequestEvents, c.Retries = true, 1, 100, 1
		c.Budget, c.Timeout = 10*time.Minute, 10*time.Minute
	}
}

// modelled leaves the catalog out of what is asked.
func (m *server) modelled(t *engine.Tracking) {
	t.Faults = func(context.Context, *sql.Conn, *engine.ChangeTable) ([]string, error) { return nil, nil }
	builtIn, leasing := *t.BuiltIn, *t.BuiltIn.Leasing
	leasing.Lookup = func(context.Context, *sql.Conn, *engine.ChangeTable) (int64, []engine.KeyColumn, error) {
		return 901578250, []engine.KeyColumn{{Name: "id", Type: "bigint"}}, nil
	}
	if m.reserved != nil {
		leasing.Reserved = m.reserved
	}
	builtIn.Leasing = &leasing
	t.BuiltIn = &builtIn
}

// deliver takes events one by one, in order.
func (in *instance) deliver(_ context.Context, d change.Delivery) error {
	var failed []poller.FailedEvent
	var sent []string
	defer func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.sent = append(in.sent, sent...)
	}()
	for i := range d.Events {
		e := &d.Events[i]
		if in.to != nil {
			if err := in.to(*e); err != nil {
				cause := poller.Refused
				if errors.Is(err, errDown) {
					cause = poller.Unavailable
				}
				failed = append(failed, poller.FailedEvent{Index: i, Cause: cause, Status: 422, Named: cause == poller.Refused,
					Err: err})
				continue
			}
		}
		sent = append(sent, told(e))
	}
	if failed == nil {
		return nil
	}
	return &poller.DeliveryError{Failed: failed, Err: failed[0].Err}
}

var (
	errDown = errors.New("down")
	errBad  = errors.New("bad")
)

// told is an event as the tests write it.
func told(e *change.Event) string {
	text := e.Op.String() + " " + strings.TrimSuffix(strings.TrimPrefix(string(e.Key), `{"id":`), "}")
	if e.Op != change.Delete {
		_, v, _ := strings.Cut(string(e.Row), `"v":`)
		text += "=" + strings.TrimSuffix(v, "}")
	}
	return text
}

// tick is one tick, and what it delivered.
func (in *instance) tick() (poller.Report, string) {
	in.mu.Lock()
	in.sent = nil
	in.mu.Unlock()
	r := in.relay.Tick(in.Context())
	in.mu.Lock()
	defer in.mu.Unlock()
	slices.Sort(in.sent)
	return r, strings.Join(in.sent, ", ")
}

// want takes one tick that ends well.
func (in *instance) want(sent string) poller.Report {
	in.Helper()
	r, got := in.tick()
	if got != sent || r.Event.Fails() {
		in.Errorf("delivered %q, want %q; %s %v", got, sent, r.Event, r.Err)
	}
	return r
}
