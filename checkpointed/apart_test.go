package checkpointed

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
	"github.com/rowrelay/rowrelay/state/memstore"
)

// busyShop returns a shop whose rows can be read up to a position, with rows of one order key.
func busyShop(rows int) *shop {
	s := newShop()
	s.describe.Coarse, s.describe.Ranges, s.describe.Late = true, true, late.None
	s.add(slices.Repeat([]string{"busy"}, rows)...)
	return s
}

// arrival is when a row came.
type arrival struct {
	row int
	at  time.Time
}

// slowly is a receiver that takes 50 ms for each request.
func slowly(t *testing.T, to *[]arrival) *pollertest.Sink {
	var mu sync.Mutex
	return pollertest.NewSink(t, func(_ context.Context, d change.Delivery) error {
		time.Sleep(50 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		for i := range d.Events {
			*to = append(*to, arrival{idOf(&d.Events[i]), time.Now()})
		}
		return nil
	})
}

// TestBusyOrderKey: a backlog of 3,000 rows of one order key, which takes 150 s, holds up nobody else's rows: each
// comes within 200 ms. Its own come all, in order, at the receiver's pace. Ticks end in the middle of it, and nothing
// comes twice.
func TestBusyOrderKey(t *testing.T) {
	quick.Skip(t)
	synctest.Test(t, func(t *testing.T) {
		const backlog = 3000
		source := busyShop(backlog)
		var came []arrival
		i := newInstance(t, memstore.New(), source, slowly(t, &came), func(c *poller.Config) {
			c.Concurrency, c.Fetch.Rows, c.RequestEvents, c.Budget = 4, 200, 1, 20*time.Second
			c.PollInterval = 50 * time.Millisecond
		})
		written := map[int]time.Time{}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() {
			for n := 0; clock.Sleep(ctx, 300*time.Millisecond) == nil; n++ {
				source.put(10_000+n, "other"+string(rune('a'+n%20)), "new")
				written[10_000+n] = time.Now()
			}
		}()
		begun := time.Now()
		for time.Since(begun) < 170*time.Second {
			r := i.Tick(t.Context())
			if r.Failed() {
				t.Fatal(r.Event, r.Err)
			}
		}
		stop()
		synctest.Wait()
		next, others, slowest := 1, 0, time.Duration(0)
		var last time.Time
		for _, a := range came {
			switch at, other := written[a.row]; {
			case other:
				others++
				slowest = max(slowest, a.at.Sub(at))
			case a.row != next:
				t.Fatalf("row %d came where row %d is next", a.row, next)
			default:
				next, last = next+1, a.at
			}
		}
		if next != backlog+1 || last.Sub(begun) > 160*time.Second {
			t.Errorf("%d rows of the backlog came, the last after %s", next-1, last.Sub(begun))
		}
		if others < 500 || slowest > 200*time.Millisecond {
			t.Errorf("%d others, the slowest after %s", others, slowest)
		}
		doc := i.document(t)
		if len(doc.Apart) != 0 {
			t.Errorf("read apart still: %v", doc.Apart)
		}
	})
}

// TestBusyKeyAfterACrash: the document says which key is read apart, and from where. A process that begins with it
// brings the rest, and no other row again.
func TestBusyKeyAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := busyShop(300)
		source.add("other")
		store := memstore.New()
		var came []arrival
		change := func(c *poller.Config) {
			c.Concurrency, c.Fetch.Rows, c.RequestEvents, c.Budget = 2, 100, 1, 5*time.Second
		}
		one := newInstance(t, store, source, slowly(t, &came), change)
		one.Tick(t.Context())
		doc := one.document(t)
		if index(doc.Checkpoint.Cursor) != 301 || len(doc.Apart) != 1 ||
			string(doc.Apart[0].OrderKey) != `{"tenant":"busy"}` || !strings.Contains(strings.Join(doc.Requires, " "), "apart") {
			t.Fatalf("at %s, apart %+v, requires %s", doc.Checkpoint.Cursor, doc.Apart, doc.Requires)
		}
		if n := index(doc.Apart[0].At); n < 90 || n > 101 {
			t.Errorf("after 5 s at 50 ms a row the key is delivered up to %d", n)
		}
		another := newInstance(t, store, source, slowly(t, &came), change)
		for range 3 {
			another.Tick(t.Context())
		}
		rows := make([]int, len(came))
		for i, a := range came {
			rows[i] = a.row
		}
		at := slices.Index(rows, 301)
		rows = slices.Delete(rows, at, at+1)
		if at > 5 || len(rows) != 300 || !slices.IsSorted(rows) {
			t.Errorf("the other came at %d of %v", at, rows)
		}
	})
}

// TestBusyKeyThatIsParked: rows of a key that is read apart take no place among the parked ones while its first row
// waits for its next attempt.
func TestBusyKeyThatIsParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := busyShop(500)
		p := newProcess(t, nil, source, func(c *Config) { c.Policy.MaxParked = 70 })
		p.limit = 40
		p.verdict = poison(1)
		for range 20 {
			if r := p.tick(); r.Failed() {
				t.Fatal(r.Event, r.Err)
			}
			source.add("other")
		}
		if n := len(p.got(poller.Accepted)); n != 20 && n != 19 {
			t.Errorf("%d others came", n)
		}
		for range 400 {
			time.Sleep(time.Second)
			p.tick()
		}
		if got := p.got(poller.Accepted); len(got) < 518 || len(p.deadLetters.letters) != 1 {
			t.Errorf("%d rows came, %d were given up", len(got), len(p.deadLetters.letters))
		}
	})
}

// TestBusyKeyIsFreed: when the first row of a key that is parked, and read apart, is taken at last, those that wait
// behind it and those that are read apart come in the same tick.
func TestBusyKeyIsFreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rows = 300
		source := busyShop(rows)
		refuses, came := true, map[int]bool{}
		sink := refusesFirst(t, &refuses, came)
		i := newInstance(t, memstore.New(), source, sink, func(c *poller.Config) {
			c.Concurrency, c.Fetch.Rows, c.RequestEvents, c.RejectStatus = 1, 40, 1, []int{422}
		})
		source.add("other") // which is taken: the refusal is the row's fault
		i.Tick(t.Context())
		refuses = false
		time.Sleep(time.Minute) // it is due again
		i.Tick(t.Context())
		if len(came) != rows+1 {
			t.Errorf("%d of %d rows came", len(came), rows+1)
		}
	})
}

// refusesFirst is a destination that refuses the row with id 1 while refuses says so, and notes which of the others
// came.
func refusesFirst(t *testing.T, refuses *bool, came map[int]bool) *pollertest.Sink {
	t.Helper()
	return pollertest.NewSink(t, func(_ context.Context, d change.Delivery) error {
		if *refuses && idOf(&d.Events[0]) == 1 {
			return poller.FailAll(len(d.Events), poller.Refused, 422, errors.New("422"))
		}
		for i := range d.Events {
			came[idOf(&d.Events[i])] = true
		}
		return nil
	})
}
