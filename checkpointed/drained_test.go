package checkpointed

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
)

// TestDrained: a tick reports when no live row was left, and whether rows wait. A fetch that does not show it reports
// neither.
func TestDrained(t *testing.T) {
	away := func(context.Context, change.Delivery) error {
		return poller.FailAll(1, poller.Unavailable, 0, errors.New("refused"))
	}
	for name, c := range map[string]struct {
		rows           int
		answer         func(context.Context, change.Delivery) error
		adjust         func(*poller.Config)
		before         func(p *process, s *shop)
		drained, waits bool
	}{
		"idle":                              {drained: true},
		"one page":                          {rows: 3, drained: true},
		"several pages":                     {rows: 25, drained: true},
		"a full page, and nothing after it": {rows: 10, drained: true},
		"full, with max_batches":            {rows: 10, adjust: func(c *poller.Config) { c.MaxBatches = 1 }, drained: true},
		"more than max_batches":             {rows: 11, adjust: func(c *poller.Config) { c.MaxBatches = 1 }, waits: true},
		"the destination is away":           {rows: 1, answer: away, waits: true},
		"away, and more":                    {rows: 25, answer: away, waits: true},
		"paused":                            {rows: 1, before: func(p *process, _ *shop) { p.amend(pause1) }},
		"another source":                    {rows: 1, before: func(_ *process, s *shop) { s.describe.Fingerprint = "sha256:b" }},
		"a throttled backfill, nothing new": {before: func(p *process, s *shop) { replay(p, s) }, drained: true},
		"a throttled backfill, and rows": {rows: 25, before: func(p *process, s *shop) {
			replay(p, s)
		}, drained: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := newRows(pollertest.Keys(5, 5)...)
				store := memstore.New()
				newInstance(t, store, source, pollertest.NewSink(t, nil)).Tick(t.Context())
				one := newInstance(t, store, source, pollertest.NewSink(t, c.answer), func(cfg *poller.Config) {
					cfg.Retries = 1
					if c.adjust != nil {
						c.adjust(cfg)
					}
				})
				if c.before != nil {
					c.before(newProcess(t, store, newShop(), nil), source)
				}
				source.add(pollertest.Keys(c.rows, max(c.rows, 1))...)
				time.Sleep(time.Hour)
				r := one.Tick(t.Context())
				if r.DrainedAt.IsZero() == c.drained || r.RowsWait != c.waits {
					t.Errorf("%s: drained at %s, rows wait %v; want %v, %v", r.Event, r.DrainedAt, r.RowsWait, c.drained, c.waits)
				}
				if c.drained && (r.DrainedAt.Before(r.Started) || r.DrainedAt.After(r.Ended)) {
					t.Errorf("drained at %s, in a tick from %s to %s", r.DrainedAt, r.Started, r.Ended)
				}
			})
		})
	}
}

// replay asks for a backfill that takes longer than a tick.
func replay(p *process, s *shop) {
	p.backfill(state.Backfill{ID: "b1", To: position(len(s.rows)), PerSecond: 1, Total: 1000})
	p.amend(func(d *state.Document) { d.Backfill.To = position(1000) })
}

// TestDrainedBeforeMoreCame: a tick that goes on polling reports the last time, although it ends in a backlog.
func TestDrainedBeforeMoreCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newRows()
		slow := func(context.Context, change.Delivery) error { time.Sleep(time.Second); return nil }
		one := newInstance(t, memstore.New(), source, pollertest.NewSink(t, slow), func(c *poller.Config) {
			c.PollInterval, c.PollIntervalMax, c.Concurrency = time.Second, time.Second, 1
		})
		flood := 20*time.Second + 500*time.Millisecond
		time.AfterFunc(flood, func() { source.add(pollertest.Keys(1000, 1000)...) })
		r := one.Tick(t.Context())
		if at := r.DrainedAt.Sub(r.Started); at > flood || at < flood-2*time.Second || !r.RowsWait ||
			r.Event != poller.TickComplete || r.Drained {
			t.Errorf("%s: drained after %s, rows wait %v", r.Event, at, r.RowsWait)
		}
	})
}

// TestLagOfACursorWithoutATime: the moment of the fetch is no age of a row.
func TestLagOfACursorWithoutATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, undated := range []bool{false, true} {
			source := &undatedSource{newRows(pollertest.Keys(25, 25)...), undated}
			store := memstore.New()
			to := pollertest.NewSink(t, func(context.Context, change.Delivery) error { time.Sleep(time.Second); return nil })
			one := newInstance(t, store, source, to, func(c *poller.Config) { c.MaxBatches = 1 })
			r := one.Tick(t.Context())
			if r.Rows != 10 || undated && r.Lag != -1 || !undated && r.Lag < time.Second {
				t.Errorf("undated %v: %d rows, lag %s", undated, r.Rows, r.Lag)
			}
			if r = newInstance(t, store, source, to).Tick(t.Context()); r.Rows != 15 || r.Lag != 0 {
				t.Errorf("undated %v, drained: %d rows, lag %s", undated, r.Rows, r.Lag)
			}
		}
	})
}

type undatedSource struct {
	*shop
	undated bool
}

func (s *undatedSource) Fetch(ctx context.Context, r change.Range, limit poller.Limit) (change.Page, error) {
	page, err := s.shop.Fetch(ctx, r, limit)
	for i := range page.Events {
		page.Events[i].Undated = s.undated
	}
	return page, err
}

// TestSkipsAreKnownHoweverATickEnds: the document was read, also where the tick then paused, failed, or found another
// at work.
func TestSkipsAreKnownHoweverATickEnds(t *testing.T) {
	skip := func(d *state.Document) { d.Skips = []state.Skip{{At: time.Now(), Rows: 7}} }
	for name, c := range map[string]struct {
		ruin func(p *process, s *shop)
		want poller.Event
		read bool
	}{
		"idle":   {nil, poller.FetchEmpty, true},
		"paused": {func(p *process, _ *shop) { p.amend(pause1) }, poller.Paused, true},
		"another source": {func(_ *process, s *shop) {
			s.describe.Fingerprint = "sha256:b"
		}, poller.FingerprintMismatch, true},
		"another database": {func(_ *process, s *shop) { s.incarnation = "restored" }, poller.SourceGap, true},
		"another at work": {func(p *process, _ *shop) {
			at, err := p.keeper.Load(p.t.Context())
			if err != nil {
				p.t.Fatal(err)
			}
			lease, err := p.keeper.Acquire(p.t.Context(), at)
			if err != nil {
				p.t.Fatal(err)
			}
			p.t.Cleanup(func() { _ = lease.Release(context.Background()) }) // its heartbeat ends
		}, poller.LeaseAcquireSkipped, true},
		"no document to be read": {func(p *process, _ *shop) {
			at, err := p.memory.Load(p.t.Context(), testKey)
			if err == nil {
				_, err = p.memory.Replace(p.t.Context(), testKey, []byte("damaged"), at.Version)
			}
			if err != nil {
				p.t.Fatal(err)
			}
		}, poller.CheckpointLoadFailed, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := newRows()
				source.incarnation = "first"
				store := memstore.New()
				one := newInstance(t, store, source, pollertest.NewSink(t, nil))
				one.Tick(t.Context())
				p := newProcess(t, store, newShop(), nil)
				p.amend(skip)
				if c.ruin != nil {
					c.ruin(p, source)
				}
				r := one.Tick(t.Context())
				if r.Event != c.want || r.DocumentRead != c.read || c.read != (len(r.Skips) == 1) {
					t.Errorf("%s (%v): read %v, skips %v", r.Event, r.Err, r.DocumentRead, r.Skips)
				}
			})
		})
	}
}
