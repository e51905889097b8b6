package feed

import (
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
)

// later gives an event of the model an available_at, and an expires_at.
func (db *fakeDB) later(seq int64, available, expires time.Duration) {
	r := db.at(seq)
	if available != 0 {
		r.available = db.now().Add(available)
	}
	if expires != 0 {
		r.expires = db.now().Add(expires)
	}
}

func TestDelayedEventHoldsItsAggregate(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "a", "b", "a", "b")
		db.later(2, 10*time.Second, 0)
		s := open(t, testConfig(claims.Leader), db.connect())
		s.Settled("aaa", s.Expect("1 3 5+"))
		s.states("xFxPx")
		s.Settled("w", s.Expect("4w"))
		s.states("xFxWx")
		db.add("c")
		s.Settled("a", s.Expect("6"))
		time.Sleep(9 * time.Second)
		s.Expect("")
		time.Sleep(time.Second)
		s.Settled("aa", s.Expect("2 4"))
		s.states("xxxxxx")
		s.End()
	})
}

// TestDelayIsNoAttempt: an event that was delayed has all of its attempts, and what an operator requeues is a retry.
func TestDelayIsNoAttempt(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a")
		db.later(1, time.Second, 0)
		s := open(t, testConfig(claims.Leader), db.connect())
		s.Expect("+")
		time.Sleep(time.Second)
		s.Settled("r", s.Expect("1"))
		time.Sleep(time.Second)
		retry := s.Expect("retry 1+")
		if retry.Batch.Events[0].Attempts != 1 {
			t.Errorf("attempts %d", retry.Batch.Events[0].Attempts)
		}
		s.Settled("a", retry)
		s.End()
	})
}

func TestDelayIsLookedAtAgain(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a")
		db.later(1, longestHold+time.Hour, 0)
		s := open(t, testConfig(claims.Leader), db.connect())
		s.Expect("+")
		s.End()
		for range 2 {
			s = open(t, testConfig(claims.Leader), db.connect())
			s.Expect("")
			s.End()
			time.Sleep(longestHold)
		}
		s = open(t, testConfig(claims.Leader), db.connect())
		s.Settled("a", s.Expect("1"))
		s.End()
	})
}

func TestExpiredEventsAreGivenUp(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "a", "b", "b", "b")
		db.later(1, 0, -time.Second)
		db.later(3, 5*time.Second, 4*time.Second)
		s := open(t, testConfig(claims.Leader), db.connect())
		s.Settled("a", s.Expect("2+"))
		s.Settled("ww", s.Expect("4w 5w"))
		s.states("0xFWW")
		time.Sleep(5 * time.Second)
		s.Settled("aa", s.Expect("4 5"))
		s.states("0x0xx")
		var report poller.Report
		if err := s.Close(t.Context(), &report); err != nil || report.Expired != 2 {
			t.Errorf("%d expired, %v", report.Expired, err)
		}
	})
}

// TestDelayInOrder: under ordering=source a delayed event holds everything that comes after it.
func TestDelayInOrder(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.ordering = poller.OrderSource
		db.add("a", "b", "c")
		db.later(2, 5*time.Second, 0)
		cfg := testConfig(claims.Leader)
		cfg.Ordering = poller.OrderSource
		s := open(t, cfg, db.connect())
		s.Settled("a", s.Expect("1+"))
		s.Expect("")
		s.states("xFP")
		time.Sleep(6 * time.Second)
		s.Expect("+")
		s.Settled("aa", s.Expect("2 3"))
		s.End()
	})
}
