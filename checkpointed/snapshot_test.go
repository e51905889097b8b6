package checkpointed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
	"github.com/rowrelay/rowrelay/state"
)

// snapshots is a shop whose rows can be read beside their changes.
type snapshots struct {
	*shop
	begun int
	then  func() // after the position was noted
	gap   bool   // Fetch of changes finds one before a snapshot
	again bool   // and after it
}

func (s *snapshots) Snapshot(context.Context) (Snapshot, error) {
	s.mu.Lock()
	s.begun++
	s.mu.Unlock()
	begin := Snapshot{After: position(s.writes), Count: int64(len(s.rows)), Incarnation: s.incarnation}
	if len(s.rows) > 0 {
		begin.Rows.UpTo = position(s.writes)
	}
	if s.then != nil {
		s.then()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gap = s.again; !s.gap {
		s.anew = nil
	}
	return begin, nil
}

func (s *snapshots) Fetch(ctx context.Context, r change.Range, limit poller.Limit) (change.Page, error) {
	s.mu.Lock()
	gap := s.gap
	s.mu.Unlock()
	if gap && r.UpTo.IsStart() {
		return change.Page{}, fmt.Errorf("%w: changes are missing", poller.ErrGap)
	}
	return s.shop.Fetch(ctx, r, limit)
}

func (s *snapshots) config(c *Config) { c.Source, c.Snapshot, c.Resync = s, true, true }

// rests are what the first fetches of a session say of what is left.
func rests(p *process, n int) (all []poller.Rest) {
	s := p.open()
	defer func() { _ = s.Close(p.t.Context(), &poller.Report{}) }()
	for range n {
		grant, err := s.Next(p.t.Context(), poller.Limit{Rows: p.limit, Bytes: 1 << 20})
		if err != nil {
			p.t.Fatal(err)
		}
		all = append(all, grant.Rest)
	}
	return all
}

// TestSnapshot: all rows come beside the changes, in chunks whose progress is stored, and until then the poller has not
// delivered all that it could see.
func TestSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &snapshots{shop: newShop()}
		s.fill(1, 20)
		p := newProcess(t, nil, s.shop, s.config)
		p.limit = 4
		sent := 0
		p.verdict = func(*change.Event, change.Kind) poller.Outcome {
			if sent++; sent > 10 {
				return poller.Deferred
			}
			return poller.Accepted
		}
		p.tick()
		if b := p.doc().Backfill; b == nil || !b.Whole || b.Done != 10 || b.Total != 20 {
			t.Fatalf("%+v", b)
		}
		if rests := rests(p, 2); slices.Contains(rests, poller.RestNone) {
			t.Errorf("rest %v, in the middle of the snapshot", rests)
		}
		s.put(3, "t3", "newer")
		p = newProcess(t, p.memory, s.shop, s.config) // another process
		p.limit = 4
		r := p.tick()
		rows := p.got(poller.Accepted)
		slices.Sort(rows)
		if want := []int{3, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}; !slices.Equal(rows, want) {
			t.Errorf("accepted %v, want %v", rows, want)
		}
		if text := strings.Join(r.Warnings, "\n"); !strings.Contains(text, "of the whole table is complete: 20 rows") {
			t.Errorf("%s", text)
		}
		if d := p.doc(); d.Backfill != nil || index(d.Checkpoint.Cursor) != 21 || s.begun != 1 {
			t.Errorf("%+v, position %s, begun %d times", d.Backfill, d.Checkpoint.Cursor, s.begun)
		}
		if rests := rests(p, 1); rests[0] != poller.RestNone {
			t.Errorf("rest %v", rests)
		}
	})
}

// TestResyncAfterGaps: a gap begins a snapshot, once; one that is there again at once, or that is another database's,
// stops; and so does every one where nothing else was asked for.
func TestResyncAfterGaps(t *testing.T) {
	missing := func(s *snapshots) { s.gap = true }
	for name, c := range map[string]struct {
		happens func(*snapshots)
		stop    bool // source__on_gap=stop
		event   poller.Event
	}{
		"changes are missing":      {happens: missing, event: poller.TickComplete},
		"stop":                     {happens: missing, stop: true, event: poller.SourceGap},
		"missing at once":          {happens: func(s *snapshots) { s.gap, s.again = true, true }, event: poller.SourceGap},
		"another database":         {happens: func(s *snapshots) { s.incarnation = "db 2" }, event: poller.SourceGap},
		"another one, and missing": {happens: func(s *snapshots) { s.gap, s.incarnation = true, "db 2" }, event: poller.SourceGap},
		"another table": {happens: func(s *snapshots) {
			s.table, s.anew = "oid 2", fmt.Errorf("%w: made anew", poller.ErrGap)
		}, event: poller.TickComplete},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &snapshots{shop: newShop()}
				s.table, s.incarnation = "oid 1", "db 1"
				s.fill(1, 6)
				adjust := func(cfg *Config) { s.config(cfg); cfg.Resync = !c.stop }
				p := newProcess(t, nil, s.shop, adjust)
				p.tick()
				before, begun := p.doc(), s.begun
				s.fill(7, 8)
				c.happens(s)
				p.sent = nil
				r := p.tick()
				if r.Event != c.event {
					t.Fatalf("%s, %v", r.Event, r.Err)
				}
				after := p.doc()
				if c.event == poller.SourceGap {
					if len(p.sent) > 0 || !after.Checkpoint.Cursor.Equal(before.Checkpoint.Cursor) || after.Backfill != nil {
						t.Errorf("sent %d, position %s, %+v", len(p.sent), after.Checkpoint.Cursor, after.Backfill)
					}
					return
				}
				rows := p.got(poller.Accepted)
				slices.Sort(rows)
				if !slices.Equal(rows, []int{1, 2, 3, 4, 5, 6, 7, 8}) || s.begun != begun+1 {
					t.Errorf("accepted %v, begun %d times", rows, s.begun-begun)
				}
				if text := strings.Join(r.Warnings, "\n"); !strings.Contains(text, "resync begins again at") {
					t.Errorf("%s", text)
				}
				if after.Backfill != nil || index(after.Checkpoint.Cursor) != 8 || after.Checkpoint.Table != s.table {
					t.Errorf("%+v", after)
				}
				p.sent = nil
				if r := p.tick(); r.Err != nil || len(p.sent) > 0 || len(r.Warnings) > 0 || s.begun != begun+1 {
					t.Errorf("the next tick: %v, %q, sent %d", r.Err, r.Warnings, len(p.sent))
				}
			})
		})
	}
}

// TestResyncUnderTheLease: a gap in the middle of a tick leaves what is on its way alone; the next tick begins.
func TestResyncUnderTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &snapshots{shop: newShop()}
		p := newProcess(t, nil, s.shop, s.config)
		p.tick()
		s.fill(1, 6)
		p.limit = 2
		p.verdict = func(*change.Event, change.Kind) poller.Outcome {
			s.gap = true
			return poller.Accepted
		}
		if r := p.tick(); r.Err != nil || s.begun != 1 {
			t.Fatalf("%v, begun %d times", r.Err, s.begun)
		}
		p.verdict = func(*change.Event, change.Kind) poller.Outcome { return poller.Accepted }
		p.sent = nil
		if r := p.tick(); r.Err != nil || s.begun != 2 || len(p.sent) != 6 {
			t.Errorf("%v, begun %d times, sent %d", r.Err, s.begun, len(p.sent))
		}
	})
}

// TestResyncWhileTheTableIsRead: changes are missing while the whole table is read, in a tick that goes on polling. It
// ends, and the next one begins with the read anew instead of with the next chunk.
func TestResyncWhileTheTableIsRead(t *testing.T) {
	quick.Skip(t)
	synctest.Test(t, func(t *testing.T) {
		s := &snapshots{shop: newShop()}
		s.fill(1, 100)
		p := newProcess(t, nil, s.shop, s.config)
		to := pollertest.NewSink(t, func(context.Context, change.Delivery) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.gap = s.begun == 1
			return nil
		})
		relay := pollertest.Relay(t, p.feed, to, func(c *poller.Config) {
			c.Concurrency, c.Budget, c.PollInterval, c.PollIntervalMax = 1, time.Hour, time.Second, time.Second
		})
		if r := relay.Tick(t.Context()); r.Err != nil || len(to.Accepted) == 0 || r.Ended.Sub(r.Started) > time.Minute {
			t.Errorf("%v, %d events in %s", r.Err, len(to.Accepted), r.Ended.Sub(r.Started))
		}
		if r := relay.Tick(t.Context()); r.Err != nil || s.begun != 2 || len(to.Accepted) != 100 {
			t.Errorf("%v, begun %d times, %d events", r.Err, s.begun, len(to.Accepted))
		}
		if doc := p.doc(); doc.Backfill != nil {
			t.Errorf("%+v", doc.Backfill)
		}
	})
}

// retrying is a process whose row 2 is parked, and due in each tick of a minute.
func retrying(t *testing.T) (*snapshots, *process) {
	t.Helper()
	s := &snapshots{shop: newShop()}
	s.fill(1, 3)
	p := newProcess(t, nil, s.shop, func(c *Config) {
		s.config(c)
		c.Policy.Delays = []time.Duration{time.Second}
		c.Policy.MaxAttempts = 100
	})
	p.verdict = poison(2)
	p.tick()
	return s, p
}

// TestResyncBesideRetries: in each tick a parked row is due, which takes the lease. The read of the table begins all
// the same.
func TestResyncBesideRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := retrying(t)
		s.gap = true
		for n := 0; n < 5 && s.begun < 2; n++ {
			time.Sleep(time.Minute)
			p.tick()
		}
		if s.begun != 2 {
			t.Errorf("begun %d times", s.begun)
		}
	})
}

// TestResyncThatDoesNotHelp: changes are missing at the new position, too, and a parked row that is due takes the
// lease in each tick. All but the first say so, and nothing stands in the way of going on once they are back.
func TestResyncThatDoesNotHelp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := retrying(t)
		s.gap, s.again = true, true
		for n := range 6 {
			time.Sleep(time.Minute)
			if r := p.tick(); r.Event != poller.SourceGap && n > 0 {
				t.Errorf("tick %d: %s, %v", n, r.Event, r.Err)
			}
		}
		s.gap, s.again = false, false
		for range 2 {
			time.Sleep(time.Minute)
			if r := p.tick(); r.Event == poller.SourceGap {
				t.Errorf("%s, %v", r.Event, r.Err)
			}
		}
	})
}

// TestResyncBesideOthers: another instance that was quicker has begun the snapshot, and this one goes on with it.
func TestResyncBesideOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &snapshots{shop: newShop()}
		s.fill(1, 3)
		p := newProcess(t, nil, s.shop, s.config)
		p.tick()
		s.gap = true
		s.then = func() {
			s.then = nil
			p.amend(func(d *state.Document) {
				d.Backfill = &state.Backfill{ID: "theirs", Whole: true, To: position(2), Total: 2}
			})
		}
		p.sent = nil
		r := p.tick()
		if rows := p.got(poller.Accepted); r.Err != nil || !slices.Equal(rows, []int{1, 2}) {
			t.Errorf("%v, %v", r.Err, rows)
		}
		if text := strings.Join(r.Warnings, "\n"); !strings.Contains(text, "snapshot theirs of the whole table is complete") {
			t.Errorf("%s", text)
		}
	})
}
