package feed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/feed/feedtest"
)

func TestLeaderIsOne(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a")
		first, second := open(t, testConfig(claims.Leader), db.connect()), open(t, testConfig(claims.Leader), db.connect())
		g := first.Expect("1")
		second.ExpectFault(poller.LeaseAcquireSkipped, first.owner)
		second.End()
		time.Sleep(2 * time.Minute) // it is renewed
		first.Settled("a", g)
		first.End()
		db.add("a")
		third := open(t, testConfig(claims.Leader), db.connect())
		if h := third.Expect("2"); h.Token <= g.Token {
			t.Errorf("token %d after %d", h.Token, g.Token)
		}
		third.End()
	})
}

func TestCrashedLeaderIsFollowedAfterItsClaimsHaveExpired(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a")
		table := db.connect()
		first := open(t, testConfig(claims.Leader), table)
		g := first.Expect("1")
		table.crash()
		time.Sleep(first.cfg.ClaimTTL + time.Second)
		if err := g.Check(); !errors.Is(err, errExpired) {
			t.Errorf("the right of a session that could not renew: %v", err)
		}
		second := open(t, testConfig(claims.Leader), db.connect())
		h := second.Expect("1")
		if h.Token <= g.Token {
			t.Errorf("tokens %d, %d", g.Token, h.Token)
		}
		second.Settled("a", h)
		second.End()
		first.End()
	})
}

func TestLostClaimEndsTheRightAndRefusesMarks(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "b")
		s := open(t, testConfig(claims.Leader), db.connect())
		g := s.Fetch()
		db.mu.Lock()
		db.claims[0] = fakeClaim{owner: "other", expires: db.now().Add(time.Hour)}
		db.mu.Unlock()
		n, err := s.Outcomes(t.Context(), "aa", g)
		feedtest.WantFault(t, err, poller.LostLease)
		if n != 0 || !errors.Is(g.Check(), claims.ErrLost) || g.Context.Err() == nil {
			t.Errorf("%d settled, the right is %v", n, g.Check())
		}
		s.states("PP")
		if got := feedtest.Shape(s.Fetch()); got != "" {
			t.Errorf("a lost session fetches %s", got)
		}
		s.End()
	})
}

func TestRenewalFindsALostClaim(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a")
		s := open(t, testConfig(claims.Leader), db.connect())
		g := s.Fetch()
		db.mu.Lock()
		delete(db.claims, 0)
		db.mu.Unlock()
		time.Sleep(s.cfg.ClaimTTL/3 + time.Millisecond)
		if err := cause(g); !errors.Is(err, claims.ErrLost) {
			t.Errorf("the right after the renewal: %v", err)
		}
		s.ExpectFault(poller.LostLease)
		s.End()
	})
}

// TestSkipLockedTakesWhatNobodyHas: partitions with work are taken for one batch.
func TestSkipLockedTakesWhatNobodyHas(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "b") // each in a partition of its own
		one, two := open(t, testConfig(claims.SkipLocked), db.connect()), open(t, testConfig(claims.SkipLocked), db.connect())
		g := one.Fetch()
		if len(g.Batch.Events) != 2 { // chance says which of them comes first
			t.Fatalf("the first brings %s", feedtest.Shape(g))
		}
		two.Expect("")
		db.add("c", "a")
		h := two.Expect("3")
		if len(one.hold.partitions()) != 2 || len(two.hold.partitions()) != 1 || h.Token <= g.Token {
			t.Fatalf("%v and %v, tokens %d, %d", one.hold.partitions(), two.hold.partitions(), g.Token, h.Token)
		}
		one.Settled("aa", g)
		two.Settled("r", h)
		one.Settled("a", one.Expect("4"))
		one.Expect("")
		two.Expect("")
		if len(db.claims) != 0 {
			t.Errorf("claims after the batches: %v", db.claims)
		}
		time.Sleep(time.Second)
		retry := one.Expect("retry 3+")
		if retry.Token <= h.Token {
			t.Errorf("token %d after %d", retry.Token, h.Token)
		}
		one.Settled("a", retry)
		two.End()
		one.End()
	})
}

// TestSkipLockedLeavesABacklogToOthers: after full pages an instance takes fewer partitions.
func TestSkipLockedLeavesABacklogToOthers(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		for i := range 40 * 64 {
			db.add(fmt.Sprint("order-", i))
		}
		table := db.connect()
		table.partitions = 64
		s := open(t, testConfig(claims.SkipLocked), table)
		for range 6 {
			g := s.Fetch()
			s.Settled(strings.Repeat("a", len(g.Batch.Events)), g)
		}
		if s.width != fewest {
			t.Errorf("it takes %d partitions", s.width)
		}
		s.End()
	})
}

// TestSkipLockedGivesBackWhatThePageHadNoRoomFor, and does not fetch from partitions of a batch in flight.
func TestSkipLockedGivesBackWhatThePageHadNoRoomFor(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "b", "c", "a", "b", "c")
		one := open(t, testConfig(claims.SkipLocked), db.connect())
		g, err := one.Next(t.Context(), poller.Limit{Rows: 1, Bytes: 1})
		if err != nil || len(g.Batch.Events) != 1 || len(db.claims) != 1 {
			t.Fatalf("%s, %v, claims %v", feedtest.Shape(g), err, db.claims)
		}
		h := one.Fetch()
		for _, e := range h.Batch.Events {
			if e.Outbox.AggregateID == g.Batch.Events[0].Outbox.AggregateID {
				t.Errorf("%s are fetched beside %s", feedtest.Shape(h), feedtest.Shape(g))
			}
		}
		one.End()
	})
}

// TestUnknownPartitions: while one publishes and nobody can tell in how many partitions, nothing is taken.
func TestUnknownPartitions(t *testing.T) {
	for _, strategy := range []claims.Strategy{claims.Leader, claims.Partitioned, claims.SkipLocked} {
		in(t, func(t *testing.T, db *fakeDB) {
			db.add("a")
			db.foreign = "shop/old#1"
			s := open(t, testConfig(strategy), db.connect())
			s.ExpectFault(poller.LeaseAcquireSkipped, "shop/old#1", "in how many partitions")
			s.End()
			if len(db.claims)+len(db.members) > 0 {
				t.Errorf("%s has claimed %v, %v", strategy, db.claims, db.members)
			}
		})
	}
}

// TestClaimsGoOnWithTheNextSession of a process, under another token, and end when none follows, or when it ends ill.
func TestClaimsGoOnWithTheNextSession(t *testing.T) {
	for _, strategy := range []claims.Strategy{claims.Leader, claims.Partitioned} {
		in(t, func(t *testing.T, db *fakeDB) {
			cfg := testConfig(strategy)
			table := db.connect()
			feed := New(cfg, table.open)
			feed.Stay()
			db.add("a")
			s := openFeed(t, feed, table)
			g := s.Expect("1")
			s.Settled("a", g)
			s.End()
			if g.Check() == nil || g.Context.Err() == nil {
				t.Error("a batch outlives its session")
			}
			time.Sleep(cfg.ClaimTTL/3 - time.Second)
			table.called()
			db.add("a")
			s = openFeed(t, feed, table)
			h := s.Expect("2")
			if h.Token <= g.Token || len(s.hold.partitions()) != 4 {
				t.Errorf("tokens %d, %d, partitions %v", g.Token, h.Token, s.hold.partitions())
			}
			time.Sleep(cfg.ClaimTTL) // renewed
			s.Settled("a", h)
			if called := table.called(); strings.Contains(called, "take×") || db.claims[0].token >= h.Token {
				t.Errorf("called %s, and claimed again: %v", called, db.claims)
			}
			s.End()
			time.Sleep(cfg.ClaimTTL/3 + time.Second)
			synctest.Wait()
			if len(db.claims)+len(db.members) > 0 {
				t.Errorf("still claimed: %v, %v", db.claims, db.members)
			}
			db.add("a")
			s = openFeed(t, feed, table)
			g = s.Expect("3")
			table.fail["settle"] = errCut
			if _, err := s.Outcomes(t.Context(), "a", g); err == nil {
				t.Error("the marks were not stored")
			}
			s.End()
			if len(db.claims)+len(db.members) > 0 {
				t.Errorf("claimed after a failure: %v, %v", db.claims, db.members)
			}
			if err := feed.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCloseGivesBackWhatRests.
func TestCloseGivesBackWhatRests(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		cfg := testConfig(claims.Partitioned)
		table := db.connect()
		feed := New(cfg, table.open)
		feed.Stay()
		db.add("a")
		s := openFeed(t, feed, table)
		s.Settled("a", s.Expect("1"))
		s.End()
		if err := feed.Close(); err != nil || len(db.claims)+len(db.members) > 0 {
			t.Errorf("%v, still claimed: %v, %v", err, db.claims, db.members)
		}
	})
}

// TestGoingOnFindsALostClaim: the database's clock has jumped while claims rested, and another has taken one. Nothing
// is sent under a token that would be larger than the other's.
func TestGoingOnFindsALostClaim(t *testing.T) {
	for _, strategy := range []claims.Strategy{claims.Leader, claims.Partitioned} {
		in(t, func(t *testing.T, db *fakeDB) {
			table := db.connect()
			feed := New(testConfig(strategy), table.open)
			feed.Stay()
			db.add("a")
			s := openFeed(t, feed, table)
			s.Settled("a", s.Expect("1"))
			s.End()
			db.mu.Lock()
			db.claims[2] = fakeClaim{owner: "other", expires: db.now().Add(time.Hour)}
			db.mu.Unlock()
			db.add("a")
			s = openFeed(t, feed, table)
			s.ExpectFault(poller.LostLease)
			s.End()
			if c, live := db.live(2); len(db.claims) != 1 || !live || c.owner != "other" {
				t.Errorf("claims %v", db.claims)
			}
		})
	}
}

// lateAnswer are claims whose Take is answered late.
type lateAnswer struct {
	*fakeTable
	by time.Duration
}

func (l *lateAnswer) Take(ctx context.Context, owner string, ttl time.Duration, join bool,
	choose func(*claims.Survey) []int) (claims.Taken, error) {
	got, err := l.fakeTable.Take(ctx, owner, ttl, join, choose)
	time.Sleep(l.by)
	return got, err
}

// TestRenewalBesideATake: a renewal does not extend what is granted beside it. So the right ends before that expires.
func TestRenewalBesideATake(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		const ttl = 30 * time.Second
		table := db.connect()
		h := newHolding(&lateAnswer{table, ttl / 2}, "me", ttl)
		begun := time.Now()
		got, err := h.take(t.Context(), false, func(*claims.Survey) []int { return []int{1} })
		if err != nil || len(got.Partitions) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		table.mu.Lock()
		table.fail["renew"] = errCut
		table.mu.Unlock()
		time.Sleep(time.Until(begun.Add(ttl - clock.Margin(ttl) - time.Second)))
		if err := h.deadline.Check(); err != nil {
			t.Errorf("it ends early: %v", err)
		}
		time.Sleep(time.Second)
		if err := h.deadline.Check(); err == nil {
			t.Error("the right outlives the claim")
		}
		if err := h.end(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
