package leased_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// TestSlowApplicationLock: somebody keeps the application lock for less than Sql_Trigger_AppLockTimeoutMs, and for
// longer. The tick waits, or fails and says why; nothing is taken meanwhile, and an idle poll waits for no lock.
func TestSlowApplicationLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		in := m.start(t, nil)
		m.commit("i 1 1")
		m.locked = time.Now().Add(20 * time.Second)
		in.want("insert 1=1")
		m.locked = time.Now().Add(time.Hour)
		begun := time.Now()
		if in.want(""); time.Since(begun) > time.Second {
			t.Errorf("a poll that finds nothing took %s", time.Since(begun))
		}
		m.commit("u 1 2")
		r, sent := in.tick()
		if sent != "" || r.Event != poller.FetchFailed || !strings.Contains(r.Err.Error(), "Sql_Trigger_AppLockTimeoutMs") ||
			!strings.Contains(r.Err.Error(), "source__leases_lock=table") || len(m.leases) != 0 {
			t.Errorf("%q; %s %v; %d leases", sent, r.Event, r.Err, len(m.leases))
		}
		m.locked = time.Time{}
		in.want("update 1=2")
	})
}

// TestApplicationLockIsTakenMeanwhile: somebody takes the lock while rows are delivered, and keeps it until their
// leases have lapsed: these cannot be renewed. The request under way ends, and the rows come again with the same ids
// from whoever takes them when the lock is free.
func TestApplicationLockIsTakenMeanwhile(t *testing.T) {
	m := newServer()
	m.ttl = time.Second
	m.commit("i 1 1", "i 2 1")
	ids := map[string]int{}
	keep := func(d time.Duration) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.locked = time.Now().Add(d)
	}
	relay := pollertest.Relay(t, m.start(t, nil).feed, pollertest.Func(func(ctx context.Context, d change.Delivery) error {
		for i := range d.Events {
			ids[d.Events[i].ID]++
		}
		keep(time.Hour)
		<-ctx.Done()
		return context.Cause(ctx)
	}), pollertest.Hundred)
	if r := relay.Tick(t.Context()); r.Event != poller.LostLease || len(ids) != 2 {
		t.Errorf("%s %v, %v", r.Event, r.Err, ids)
	}
	keep(0)
	second := m.start(t, func(e change.Event) error { ids[e.ID]++; return nil })
	programtest.Until(t, "the leases to have lapsed", func() bool {
		_, sent := second.tick()
		return sent == "insert 1=1, insert 2=1"
	})
	if len(ids) != 2 || m.from != m.Current {
		t.Errorf("%v, LastSyncVersion %d of %d", ids, m.from, m.Current)
	}
}

// lock waits for the application lock, where a text takes it.
func (m *server) lock(ctx context.Context, text string, p map[string]any) error {
	if !strings.Contains(text, "sp_getapplock") {
		return nil
	}
	m.mu.Lock()
	left := time.Until(m.locked)
	if strings.Contains(text, "INSERT INTO @page") && !m.looks(number(p["read"])) {
		left = 0
	}
	m.mu.Unlock()
	wait := time.Duration(number(p["wait"])) * time.Millisecond
	if left <= 0 {
		return nil
	}
	const way = 50 * time.Millisecond // the server begins to wait after its client, and answers before it hears of that
	if err := clock.Sleep(ctx, min(left, wait)+way); err != nil {
		return err
	}
	if left > wait {
		return mssql.Error{Number: 51208, Message: "the application lock was not free in time"}
	}
	return nil
}
