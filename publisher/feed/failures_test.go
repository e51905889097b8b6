package feed

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/feed/feedtest"
)

func TestFailedEventHoldsItsAggregateUp(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "a", "b", "a")
		s := open(t, testConfig(claims.Leader), db.connect())
		g := s.Expect("1 2 3 4") // 1 2 4 of a, 3 of b
		key := g.Batch.Events[0].OrderKey
		s.Settled("rwaw", g)
		s.states("FWxW")
		if !s.Parked(key) || s.Parked([]byte("{}")) {
			t.Error("Parked")
		}
		db.add("a", "b")
		s.Settled("wa", s.Expect("5w 6"))
		s.states("FWxWWx")
		time.Sleep(time.Second)
		retry := s.Expect("retry 1+")
		if retry.Batch.Events[0].Attempts != 1 {
			t.Errorf("attempts %d", retry.Batch.Events[0].Attempts)
		}
		s.Settled("r", retry)
		s.states("FWxWWx")
		time.Sleep(4 * time.Second)
		s.Expect("")
		time.Sleep(time.Second)
		s.Settled("a", s.Expect("retry 1+"))
		s.states("xPxPPx")
		if s.Parked(key) {
			t.Error("parked after its retry")
		}
		s.Settled("aaa", s.Expect("2 4 5"))
		s.End()
	})
}

func TestLastAttemptIsADeadLetter(t *testing.T) {
	for _, block := range []bool{true, false} {
		in(t, func(t *testing.T, db *fakeDB) {
			db.block = block
			db.add("a", "a")
			cfg := testConfig(claims.Leader)
			cfg.Policy.MaxAttempts, cfg.Policy.Block = 2, block
			place := &letters{}
			cfg.DeadLetters = place
			s := open(t, cfg, db.connect())
			s.Settled("rw", s.Expect("1 2"))
			time.Sleep(time.Second)
			place.err = errors.New("no room")
			g := s.Expect("retry 1+")
			s.Settled("r", g)
			s.states("FW") // not before the other place has it
			time.Sleep(5 * time.Second)
			place.err = nil
			s.Settled("r", s.Expect("retry 1+"))
			if block {
				s.states("DW")
				if !s.Parked(g.Batch.Events[0].OrderKey) {
					t.Error("not parked")
				}
			} else {
				s.states("DP")
				s.Settled("a", s.Expect("2"))
			}
			var report poller.Report
			err := s.Close(t.Context(), &report)
			feedtest.WantFault(t, err, poller.HandlerFailed, "no room")
			if len(report.DeadLettered) != 1 || len(place.got) != 1 || place.got[0].Attempts != 3 ||
				place.got[0].Status != 422 || report.DeadLettered[0].Event.Row != nil {
				t.Errorf("%+v, %+v", report.DeadLettered, place.got)
			}
		})
	}
}

func TestOutageRepeatsAsLittleAsPossible(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "b", "c")
		s := open(t, testConfig(claims.Leader), db.connect())
		g := s.Fetch()
		if n, err := s.Outcomes(t.Context(), "a-a", g); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		states := db.states()
		if n := len(slices.DeleteFunc(states, func(s event.State) bool { return s != event.Published })); n != 2 {
			t.Errorf("%d are published", n)
		}
		if got := feedtest.Shape(s.Fetch()); got != "" {
			t.Errorf("Next after the end: %s", got)
		}
		s.End()
	})
}

func TestOperatorFreesAParkedAggregate(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "a")
		s := open(t, testConfig(claims.Leader), db.connect())
		g := s.Expect("1 2")
		s.Settled("rw", g)
		db.change(event.Failed, event.Discarded)
		s.Settled("a", s.Expect("2"))
		if s.Parked(g.Batch.Events[0].OrderKey) {
			t.Error("still parked")
		}
		s.End()
	})
}

func TestSourceOrderWaitsForItsHead(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.ordering = poller.OrderSource
		db.add("a", "b", "c")
		cfg := testConfig(claims.Leader)
		cfg.Ordering, cfg.Policy.MaxAttempts = poller.OrderSource, 2
		s := open(t, cfg, db.connect())
		n, err := s.Outcomes(t.Context(), "ar-", s.Expect("1 2 3"))
		feedtest.WantFault(t, err, poller.HandlerFailed, "attempt 1 of 2", "seq 2")
		if n != 1 {
			t.Errorf("%d are done with", n)
		}
		s.End()
		s = open(t, cfg, db.connect())
		s.Expect("")
		time.Sleep(time.Second)
		retry := s.Expect("retry 2+")
		s.Expect("+")
		n, err = s.Outcomes(t.Context(), "r", retry)
		feedtest.WantFault(t, err, poller.HandlerFailed, "dead letter", "rowrelay outbox requeue outbox")
		if n != 0 {
			t.Errorf("%d are done with", n)
		}
		s.states("xDP")
		if report := s.End(); len(report.DeadLettered) != 1 || report.Warnings == nil {
			t.Errorf("%+v", report)
		}
		s = open(t, cfg, db.connect())
		s.ExpectFault(poller.HandlerFailed, "blocked")
		s.End()
		db.change(event.Dead, event.Discarded)
		s = open(t, cfg, db.connect())
		s.Settled("a", s.Expect("3"))
		s.End()
	})
}
