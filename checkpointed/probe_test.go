package checkpointed

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// TestNoProbeAheadOfItsKey: a probe that was cut is no reason to send a later row of its order key before it, in the
// next tick.
func TestNoProbeAheadOfItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		shop.describe.Coarse = true
		shop.put(1, "a", "bad")
		shop.put(2, "a", "new")
		shop.put(3, "b", "new")
		shop.put(4, "b", "new")
		p := newProcess(t, nil, shop, nil)
		var got []int
		cut := false
		bad := &anySink{got: map[int]int{}}
		sink := pollertest.Func(func(ctx context.Context, d change.Delivery) error {
			if id := idOf(&d.Events[0]); id == 3 && !cut {
				cut = true
				return fmt.Errorf("%w: connection closed", poller.ErrCut)
			}
			if err := bad.Deliver(ctx, d); err != nil {
				return err
			}
			for i := range d.Events {
				if id := idOf(&d.Events[i]); !slices.Contains(got, id) {
					got = append(got, id)
				}
			}
			return nil
		})
		relay := pollertest.Relay(t, p.feed, sink, func(c *poller.Config) { c.Fetch.Rows, c.RequestEvents = 1, 1 })
		for range 5 {
			relay.Tick(t.Context())
			time.Sleep(time.Second)
		}
		if !cut || slices.Index(got, 4) < slices.Index(got, 3) {
			t.Errorf("cut %v, accepted %v: row 3 is before row 4", cut, got)
		}
	})
}

// TestProbesGoOnAfterTheLastOne: over sessions, too, the source shows each order key once, and those of rows in flight
// not at all, until there is no other row.
func TestProbesGoOnAfterTheLastOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		shop.describe.Coarse = true
		for id, tenant := range []string{"a", "b", "c", "b", "a", "c", "d", "d"} {
			shop.put(id+1, tenant, "new")
		}
		p := newProcess(t, nil, shop, nil)
		p.limit = 1
		probe := func(fetches int) int {
			t.Helper()
			s := p.open()
			defer func() { _ = s.Close(t.Context(), &poller.Report{}) }()
			for range fetches {
				p.next(s)
			}
			grant, err := s.Other(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(grant.Batch.Events) == 0 {
				return 0
			}
			return idOf(&grant.Batch.Events[0])
		}
		// The first has rows 1 and 2 in flight, the others row 1.
		if got, want := []int{probe(2), probe(1), probe(1)}, []int{3, 7, 2}; !slices.Equal(got, want) {
			t.Errorf("probes were rows %v, want %v", got, want)
		}
	})
}

// TestProbeFromTheRestOfATable: where no change comes after a whole table that is read, a row of it that was never sent
// shows whether the destination accepts anything.
func TestProbeFromTheRestOfATable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := &snapshots{shop: newRows("a", "a", "b")}
		p := newProcess(t, nil, shop.shop, shop.config)
		p.limit = 1
		s := p.open()
		defer func() { _ = s.Close(t.Context(), &poller.Report{}) }()
		p.next(s)
		p.next(s)
		grant, err := s.Other(t.Context(), [][]byte{[]byte(`{"tenant":"a"}`)})
		if err != nil || len(grant.Batch.Events) != 1 || idOf(&grant.Batch.Events[0]) != 3 {
			t.Errorf("the probe is %v, %v: want row 3", grant.Batch.Events, err)
		}
	})
}

// TestProbeIsNoParkedRow: a parked row has to wait for its retry, also where more are parked than a source is asked to
// leave out.
func TestProbeIsNoParkedRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rows = poller.MaxAvoid + 60
		shop := newShop()
		var bad []int
		for id := 1; id <= rows; id++ {
			if id%4 == 0 {
				shop.put(id, "t", "new") // an event that is accepted in each batch
				continue
			}
			bad = append(bad, id)
			shop.put(id, "t", "bad")
		}
		p := newProcess(t, nil, shop, nil)
		relay := pollertest.Relay(t, p.feed, &anySink{got: map[int]int{}}, func(c *poller.Config) {
			c.RejectStatus = []int{422}
		})
		for range 50 { // three probes may all be bad rows: then the next tick goes on
			relay.Tick(t.Context())
		}
		if n := len(p.parked()); n != len(bad) || n <= poller.MaxAvoid {
			t.Fatalf("%d of %d bad rows are parked", n, len(bad))
		}
		for _, id := range bad {
			shop.put(id, "t", "new") // all that comes after the position is parked
		}
		s := p.open()
		grant, err := s.Other(t.Context(), nil)
		if err != nil || len(grant.Batch.Events) > 0 {
			t.Errorf("a parked row is a probe: %v, %+v", err, grant.Batch.Events)
		}
		if err := s.Close(t.Context(), &poller.Report{}); err != nil {
			t.Error(err)
		}
	})
}
