package publisher

import (
	"errors"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
)

func TestLeaderIsOne(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a")
		first, second := open(t, testConfig(claims.Leader), db.connect()), open(t, testConfig(claims.Leader), db.connect())
		g := first.expect("1")
		second.fault(poller.LeaseAcquireSkipped, first.owner)
		second.close()
		time.Sleep(2 * time.Minute) // it is renewed
		first.settled("a", g)
		first.close()
		db.add("a")
		third := open(t, testConfig(claims.Leader), db.connect())
		if g := third.expect("2"); g.Token <= 2 {
			t.Errorf("token %d", g.Token)
		}
		third.close()
	})
}

func TestCrashedLeaderIsFollowedAfterItsClaimsHaveExpired(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a")
		table := db.connect()
		first := open(t, testConfig(claims.Leader), table)
		g := first.expect("1")
		table.crash()
		time.Sleep(first.cfg.ClaimTTL + time.Second)
		if err := g.Check(); !errors.Is(err, errExpired) {
			t.Errorf("the right of a session that could not renew: %v", err)
		}
		second := open(t, testConfig(claims.Leader), db.connect())
		h := second.expect("1")
		if h.Token <= g.Token {
			t.Errorf("tokens %d, %d", g.Token, h.Token)
		}
		second.settled("a", h)
		second.close()
		first.close()
	})
}

func TestLostClaimEndsTheRightAndRefusesMarks(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "b")
		s := open(t, testConfig(claims.Leader), db.connect())
		g := s.next()
		db.mu.Lock()
		db.claims[claims.LeaderShard] = fakeClaim{owner: "other", expires: db.now().Add(time.Hour)}
		db.mu.Unlock()
		n, err := s.settle("aa", g)
		wantFault(t, err, poller.LostLease)
		if n != 0 || !errors.Is(g.Check(), claims.ErrLost) || g.Context.Err() == nil {
			t.Errorf("%d settled, the right is %v", n, g.Check())
		}
		s.states("PP")
		if got := shape(s.next()); got != "" {
			t.Errorf("a lost session fetches %s", got)
		}
		s.close()
	})
}

func TestRenewalFindsALostClaim(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a")
		s := open(t, testConfig(claims.Leader), db.connect())
		g := s.next()
		db.mu.Lock()
		delete(db.claims, claims.LeaderShard)
		db.mu.Unlock()
		time.Sleep(s.cfg.ClaimTTL/3 + time.Millisecond)
		if err := cause(g); !errors.Is(err, claims.ErrLost) {
			t.Errorf("the right after the renewal: %v", err)
		}
		s.fault(poller.LostLease)
		s.close()
	})
}

func TestSkipLockedPicksWhatNobodyHas(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "b", "a")
		one, two := open(t, testConfig(claims.SkipLocked), db.connect()), open(t, testConfig(claims.SkipLocked), db.connect())
		g, err := one.Next(t.Context(), poller.Limit{Rows: 1, Bytes: 1})
		if err != nil || shape(g) != "1+" {
			t.Fatal(shape(g), err)
		}
		h := two.expect("2")
		if h.Token <= g.Token {
			t.Errorf("tokens %d, %d", g.Token, h.Token)
		}
		one.states("GGP")
		one.settled("a", g)
		two.settled("r", h)
		one.states("xFP")
		if len(db.claims) != 0 {
			t.Errorf("claims after the settlement: %v", db.claims)
		}
		i := two.expect("3")
		if i.Token <= h.Token {
			t.Errorf("tokens %d, %d", h.Token, i.Token)
		}
		two.settled("-", i)
		two.states("xFP")
		two.close()
		time.Sleep(time.Second)
		one.settled("a", one.expect("retry 2+"))
		one.close()
	})
}
