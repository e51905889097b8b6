package tracking_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/tracking"
)

// D2: nothing fences an owner whose lease of a row has expired there: it renews or releases that of the next owner, and
// a row is delivered twice, out of order. Here an owner that stood still finds its lease taken: it moves nothing, and
// what it has in hand is not delivered after what came later.
func TestD2AnExpiredOwnerMovesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite")
	brief := usual
	brief.ttl = 500 * time.Millisecond
	first, second := r.instance(brief), r.instance(brief)
	r.insert(1, 3)
	r.until(first, inserts(1, 3))

	stopped := make(chan struct{})
	// What it delivers is accepted, and not committed.
	r.to.set(func(*change.Event) bool { first.stopped.Store(&stopped); return false }, false)
	r.exec("UPDATE orders SET v = 2")
	ended := make(chan poller.Report, 1)
	go func() { ended <- first.Tick(t.Context()) }()
	for until := time.Now().Add(20 * time.Second); first.stopped.Load() == nil && time.Now().Before(until); {
		runtime.Gosched()
	}
	r.to.set(nil, false)
	r.exec("UPDATE orders SET v = 3")
	for until := time.Now().Add(20 * time.Second); len(r.differ()) > 0 && time.Now().Before(until); {
		second.Tick(t.Context())
	}
	r.exec("UPDATE orders SET v = 4 WHERE id = 1")
	second.Tick(t.Context())
	r.to.take()
	close(stopped)
	report := <-ended
	if report.Err == nil {
		t.Errorf("the first owner says that all is well: %+v", report)
	}
	for range 3 {
		first.Tick(t.Context())
		second.Tick(t.Context())
	}
	if d := r.differ(); len(d) > 0 || len(r.to.inverted) > 0 || r.to.take() != "" || len(r.letters) > 0 {
		t.Errorf("differ %v, inverted %v, dead letters %v", d, r.to.inverted, r.letters)
	}
}

// D4: a batch whose keys make more than about 2100 parameters cannot renew its leases there. Here no statement grows
// with the batch: neither what is fetched, nor what is committed, nor what is read again.
func TestD4ABatchOfWideKeysIsNoLimit(t *testing.T) {
	t.Parallel()
	const keys, rows = 12, 1000
	for _, engine := range everyEngine {
		t.Run(engine, func(t *testing.T) {
			r := newRig(t, engine)
			r.exec("DROP TABLE orders")
			old, err := tracking.Uninstall(t.Context(), r.conn, "orders", "", "orders", tracking.Writes{})
			if err == nil {
				err = old.Apply(t.Context(), r.db)
			}
			if err != nil {
				t.Fatal(err)
			}
			var columns, names []string
			for k := range keys {
				columns = append(columns, fmt.Sprintf("k%d varchar(20) NOT NULL", k))
				names = append(names, fmt.Sprintf("k%d", k))
			}
			r.exec("CREATE TABLE orders (" + strings.Join(columns, ", ") + ", v bigint NOT NULL, PRIMARY KEY (" +
				strings.Join(names, ", ") + "))")
			r.install("orders")
			var values []string
			for n := range rows {
				values = append(values, "("+strings.Repeat(fmt.Sprintf("'%d', ", n), keys)+"1)")
			}
			large := usual
			large.batch, large.maxAttempts = rows, 1000
			i := r.instance(large)
			r.to.set(func(e *change.Event) bool { return strings.Contains(string(e.Key), `7","`) }, false)
			r.exec("INSERT INTO orders VALUES " + strings.Join(values, ", "))
			r.ticks(i, rows*9/10)
			r.to.set(nil, false)
			r.ticks(i, rows)
			r.exec("DELETE FROM orders")
			r.ticks(i, 2*rows)
			if len(r.letters) > 0 || len(r.to.rows) != rows {
				t.Errorf("%d rows, dead letters: %v", len(r.to.rows), r.letters)
			}
		})
	}
}

// ticks has an instance tick until so many events were accepted.
func (r *rig) ticks(i instance, events int) {
	r.Helper()
	for until := time.Now().Add(40 * time.Second); time.Now().Before(until); {
		i.Tick(r.Context())
		r.to.mu.Lock()
		n := len(r.to.seen)
		r.to.mu.Unlock()
		if n >= events {
			return
		}
	}
	r.Fatalf("%d of %d events were accepted", len(r.to.seen), events)
}
