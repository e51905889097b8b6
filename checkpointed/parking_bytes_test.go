package checkpointed

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// weighed is a source that keeps what each of its re-reads brought, in bytes.
type weighed struct {
	*shop
	brought []int
}

func (s *weighed) Reread(ctx context.Context, keys [][]byte) ([]change.Event, error) {
	events, err := s.shop.Reread(ctx, keys)
	bytes := 0
	for i := range events {
		bytes += events[i].Size()
	}
	s.brought = append(s.brought, bytes)
	return events, err
}

// TestRetriesObeyTheBoundOfBytes: a hundred large rows that are due at once are read again in portions, by the
// instance that parked them, and by one that does not know their sizes. Small rows come in one round trip where their
// sizes are known.
func TestRetriesObeyTheBoundOfBytes(t *testing.T) {
	const row, limit = 1000, 8000
	for name, c := range map[string]struct {
		text    int
		another bool // another instance retries
		trips   int  // 0: as many as it takes
	}{
		"large rows":                       {row - 200, false, 0},
		"large rows of another instance's": {row - 200, true, 0},
		"small rows":                       {10, false, 1},
		"small rows of another instance's": {10, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &weighed{shop: newShop()}
				for id := 1; id <= 100; id++ {
					s.put(id, "t", strings.Repeat("x", c.text))
				}
				adjust := func(c *Config) { c.Source, c.MaxRowBytes = s, row }
				p := newProcess(t, nil, s.shop, adjust)
				p.verdict = func(*change.Event, change.Kind) poller.Outcome { return poller.Rejected }
				p.tick()
				if c.another {
					p = newProcess(t, p.memory, s.shop, adjust)
				}
				p.verdict = poison()
				time.Sleep(time.Second)
				session := p.open()
				for {
					grant, err := session.Next(t.Context(), poller.Limit{Rows: 100, Bytes: limit})
					if err != nil {
						t.Fatal(err)
					}
					b := grant.Batch
					if b.Kind != change.Retry {
						break
					}
					bytes := 0
					for i := range b.Events {
						bytes += b.Events[i].Size()
					}
					if bytes >= limit+row {
						t.Errorf("a batch of retries has %d bytes", bytes)
					}
					p.settle(session, p.judge(session, b))
				}
				for _, bytes := range s.brought {
					if bytes > limit {
						t.Errorf("a re-read brought %d bytes", bytes)
					}
				}
				if n := len(p.got(poller.Accepted)); n != 100 || c.trips > 0 && len(s.brought) != c.trips {
					t.Errorf("%d rows arrived, after %d re-reads", n, len(s.brought))
				}
				if err := session.Close(t.Context(), &poller.Report{}); err != nil || len(p.parked()) != 0 {
					t.Errorf("%v, still parked: %d", err, len(p.parked()))
				}
			})
		})
	}
}

// TestFollowersOfAGoneHeadAreLookedAtInPortions: they are read only to know whether they are there.
func TestFollowersOfAGoneHeadAreLookedAtInPortions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const row, limit = 1000, 8000
		s := &weighed{shop: newShop()}
		s.describe.Coarse = true
		for id := 1; id <= 90; id++ {
			s.put(id, "a", fmt.Sprint(strings.Repeat("x", row-200), id))
		}
		p := newProcess(t, nil, s.shop, func(c *Config) { c.Source, c.MaxRowBytes = s, row })
		p.verdict = func(*change.Event, change.Kind) poller.Outcome { return poller.Rejected }
		p.limit = 100
		p.tick()
		s.remove(1)
		for id := 60; id <= 90; id++ {
			s.remove(id)
		}
		time.Sleep(time.Second)
		session := p.open()
		grant, err := session.Next(t.Context(), poller.Limit{Rows: 100, Bytes: limit})
		if err != nil {
			t.Fatal(err)
		}
		p.settle(session, poller.Settled{Batch: grant.Batch})
		if err := session.Close(t.Context(), &poller.Report{}); err != nil {
			t.Fatal(err)
		}
		for _, bytes := range s.brought {
			if bytes > limit {
				t.Errorf("a re-read brought %d bytes", bytes)
			}
		}
		if e := p.parked(); len(e) != 1 || len(e[0].Followers) != 57 {
			t.Errorf("%d entries, %d followers", len(e), len(e[0].Followers))
		}
	})
}
