package feed

import (
	"errors"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
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
		if g := third.Expect("2"); g.Token <= 2 {
			t.Errorf("token %d", g.Token)
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
		db.claims[claims.LeaderShard] = fakeClaim{owner: "other", expires: db.now().Add(time.Hour)}
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
		delete(db.claims, claims.LeaderShard)
		db.mu.Unlock()
		time.Sleep(s.cfg.ClaimTTL/3 + time.Millisecond)
		if err := cause(g); !errors.Is(err, claims.ErrLost) {
			t.Errorf("the right after the renewal: %v", err)
		}
		s.ExpectFault(poller.LostLease)
		s.End()
	})
}

func TestSkipLockedPicksWhatNobodyHas(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "b", "a")
		one, two := open(t, testConfig(claims.SkipLocked), db.connect()), open(t, testConfig(claims.SkipLocked), db.connect())
		g, err := one.Next(t.Context(), poller.Limit{Rows: 1, Bytes: 1})
		if err != nil || feedtest.Shape(g) != "1+" {
			t.Fatal(feedtest.Shape(g), err)
		}
		h := two.Expect("2")
		if h.Token <= g.Token {
			t.Errorf("tokens %d, %d", g.Token, h.Token)
		}
		one.states("GGP")
		one.Settled("a", g)
		two.Settled("r", h)
		one.states("xFP")
		if len(db.claims) != 0 {
			t.Errorf("claims after the settlement: %v", db.claims)
		}
		i := two.Expect("3")
		if i.Token <= h.Token {
			t.Errorf("tokens %d, %d", h.Token, i.Token)
		}
		two.Settled("-", i)
		two.states("xFP")
		two.End()
		time.Sleep(time.Second)
		one.Settled("a", one.Expect("retry 2+"))
		one.End()
	})
}
