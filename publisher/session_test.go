package publisher

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// in runs a test in a bubble whose time is its own.
func in(t *testing.T, test func(t *testing.T, db *fakeDB)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newFakeDB()) })
}

func TestIdleCostsOneRoundTripAndWritesNothing(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		table := db.connect()
		s := open(t, testConfig(Leader), table)
		s.expect("")
		if got := table.called(); got != "look" {
			t.Errorf("the first Next of an idle outbox calls %s", got)
		}
		s.expect("")
		if got := table.called(); got != "look" {
			t.Errorf("the second Next calls %s", got)
		}
		s.close()
		if got := table.called(); got != "figures" {
			t.Errorf("Close calls %s", got)
		}
	})
}

func TestIdleWithClaimsCostsOneRoundTrip(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		table := db.connect()
		db.add("a")
		s := open(t, testConfig(Leader), table)
		s.settled("a", s.expect("1"))
		s.expect("")
		table.called()
		for range 20 {
			time.Sleep(100 * time.Millisecond)
			s.expect("")
			if got := table.called(); got != "fetch" && got != "look" {
				t.Errorf("an idle Next calls %s", got)
			}
		}
		s.close()
	})
}

func TestWorkIsClaimedFetchedMarkedAndReleased(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		table := db.connect()
		db.add("a", "b", "a")
		s := open(t, testConfig(Leader), table)
		g := s.next()
		if got := table.called(); got != "look draw×2 join survey take due fetch" {
			t.Errorf("the first Next with work calls %s", got)
		}
		if len(g.Batch.Events) != 3 || g.Token != 2 || g.Check() != nil || g.Right.Err() != nil || g.Source.Table != "outbox" {
			t.Errorf("%+v", g)
		}
		s.settled("aaa", g)
		s.states("xxx")
		s.close()
		if len(db.claims) != 0 || len(db.members) != 0 {
			t.Errorf("left behind: %v %v", db.claims, db.members)
		}
		if err := g.Check(); !errors.Is(err, errReleased) || g.Right.Err() == nil {
			t.Errorf("the right after Close: %v, %v", err, g.Right.Err())
		}
	})
}

func TestPausedOutbox(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a")
		db.pause("by ann")
		s := open(t, testConfig(Leader), db.connect())
		s.fault(poller.Paused, "by ann", "rowrelay outbox resume outbox")
		s.close()
		db.pause("")
		s = open(t, testConfig(Leader), db.connect())
		s.settled("a", s.expect("1"))
		db.add("a")
		db.pause("by bob")
		time.Sleep(lookEvery)
		s.fault(poller.Paused, "by bob")
		s.close()
	})
}

func TestLeaderIsOne(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a")
		first, second := open(t, testConfig(Leader), db.connect()), open(t, testConfig(Leader), db.connect())
		g := first.expect("1")
		second.fault(poller.LeaseAcquireSkipped, first.owner)
		second.close()
		time.Sleep(2 * time.Minute) // it is renewed
		first.settled("a", g)
		first.close()
		db.add("a")
		third := open(t, testConfig(Leader), db.connect())
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
		first := open(t, testConfig(Leader), table)
		g := first.expect("1")
		table.crash()
		time.Sleep(first.cfg.ClaimTTL + time.Second)
		if err := g.Check(); !errors.Is(err, errExpired) {
			t.Errorf("the right of a session that could not renew: %v", err)
		}
		second := open(t, testConfig(Leader), db.connect())
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
		s := open(t, testConfig(Leader), db.connect())
		g := s.next()
		db.mu.Lock()
		db.claims[leaderUnit] = fakeClaim{owner: "other", expires: db.now().Add(time.Hour)}
		db.mu.Unlock()
		n, err := s.settle("aa", g)
		wantFault(t, err, poller.LostLease)
		if n != 0 || !errors.Is(g.Check(), errLost) || g.Right.Err() == nil {
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
		s := open(t, testConfig(Leader), db.connect())
		g := s.next()
		db.mu.Lock()
		delete(db.claims, leaderUnit)
		db.mu.Unlock()
		time.Sleep(s.cfg.ClaimTTL/3 + time.Millisecond)
		if err := cause(g); !errors.Is(err, errLost) {
			t.Errorf("the right after the renewal: %v", err)
		}
		s.fault(poller.LostLease)
		s.close()
	})
}

func TestFailedEventHoldsItsAggregateUp(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "a", "b", "a")
		s := open(t, testConfig(Leader), db.connect())
		g := s.expect("1 2 3 4") // 1 2 4 of a, 3 of b
		key := g.Batch.Events[0].OrderKey
		s.settled("rwaw", g)
		s.states("FWxW")
		if !s.Parked(key) || s.Parked([]byte("{}")) {
			t.Error("Parked")
		}
		db.add("a", "b")
		s.settled("wa", s.expect("5w 6"))
		s.states("FWxWWx")
		time.Sleep(time.Second)
		retry := s.expect("retry 1+")
		if retry.Batch.Events[0].Attempts != 1 {
			t.Errorf("attempts %d", retry.Batch.Events[0].Attempts)
		}
		s.settled("r", retry)
		s.states("FWxWWx")
		time.Sleep(4 * time.Second)
		s.expect("")
		time.Sleep(time.Second)
		s.settled("a", s.expect("retry 1+"))
		s.states("xPxPPx")
		if s.Parked(key) {
			t.Error("parked after its retry")
		}
		s.settled("aaa", s.expect("2 4 5"))
		s.close()
	})
}

func TestLastAttemptIsADeadLetter(t *testing.T) {
	for _, block := range []bool{true, false} {
		in(t, func(t *testing.T, db *fakeDB) {
			db.block = block
			db.add("a", "a")
			cfg := testConfig(Leader)
			cfg.Policy.MaxAttempts, cfg.Policy.Block = 2, block
			place := &letters{}
			cfg.DeadLetters = place
			s := open(t, cfg, db.connect())
			s.settled("rw", s.expect("1 2"))
			time.Sleep(time.Second)
			place.err = errors.New("no room")
			g := s.expect("retry 1+")
			s.settled("r", g)
			s.states("FW") // not before the other place has it
			time.Sleep(5 * time.Second)
			place.err = nil
			s.settled("r", s.expect("retry 1+"))
			if block {
				s.states("DW")
				if !s.Parked(g.Batch.Events[0].OrderKey) {
					t.Error("not parked")
				}
			} else {
				s.states("DP")
				s.settled("a", s.expect("2"))
			}
			var report poller.Report
			err := s.Close(t.Context(), &report)
			wantFault(t, err, poller.HandlerFailed, "no room")
			if len(report.DeadLettered) != 1 || len(place.got) != 1 || place.got[0].Attempts != 3 || place.got[0].Status != 422 || report.DeadLettered[0].Event.Row != nil {
				t.Errorf("%+v, %+v", report.DeadLettered, place.got)
			}
		})
	}
}

func TestOutageRepeatsAsLittleAsPossible(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "b", "c")
		s := open(t, testConfig(Leader), db.connect())
		g := s.next()
		if n, err := s.settle("a-a", g); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		states := db.states()
		if n := len(slices.DeleteFunc(states, func(s State) bool { return s != Published })); n != 2 {
			t.Errorf("%d are published", n)
		}
		if got := shape(s.next()); got != "" {
			t.Errorf("Next after the end: %s", got)
		}
		s.close()
	})
}

func TestWhatIsInFlightIsNotFetchedAgain(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		for range 25 {
			db.add("a")
		}
		s := open(t, testConfig(Leader), db.connect())
		first := s.expect("1 2 3 4 5 6 7 8 9 10+")
		second := s.expect("11 12 13 14 15+") // there is a backlog: half of a page for each half of the buckets
		s.settled("aaaaaaaaaa", first)
		third := s.expect("16 17 18 19 20 21 22 23 24 25+")
		s.settled("aaaaaaaaaaaaaaa", second, third)
		s.expect("+")
		s.expect("")
		s.close()
	})
}

func TestCommittedLateBehindThePassComesBeforeItsFollowers(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a")
		_, commit := db.insert("a") // takes its seq, and is slow
		db.add("b")
		s := open(t, testConfig(Leader), db.connect())
		g := s.next()
		commit()
		db.add("a")
		h := s.next()
		if got := shape(h); got != "2 4" {
			t.Errorf("then come %s", got)
		}
		s.settled("aaaa", g, h)
		s.close()
	})
}

// TestSettlementBesideAFetch: a fetch may show an aggregate half as it was before a settlement, half as it is after it.
func TestSettlementBesideAFetch(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a")
		table := db.connect()
		s := open(t, testConfig(Leader), table)
		g := s.expect("1")
		db.add("a", "b")
		table.gate = func(method string) {
			if method == "fetch" {
				table.mu.Lock()
				table.gate = nil
				table.mu.Unlock()
				s.settled("r", g)
			}
		}
		table.mu.Lock()
		table.mu.Unlock() //nolint:staticcheck // the gate is read under it
		if got := shape(s.next()); got != "3" && got != "2w 3" && got != "3 2w" {
			t.Errorf("got %s", got)
		}
		s.close()
	})
}

func TestOperatorFreesAParkedAggregate(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "a")
		s := open(t, testConfig(Leader), db.connect())
		g := s.expect("1 2")
		s.settled("rw", g)
		db.change(Failed, Discarded)
		s.settled("a", s.expect("2"))
		if s.Parked(g.Batch.Events[0].OrderKey) {
			t.Error("still parked")
		}
		s.close()
	})
}

func TestSourceOrderWaitsForItsHead(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.ordering = poller.OrderSource
		db.add("a", "b", "c")
		cfg := testConfig(Leader)
		cfg.Ordering, cfg.Policy.MaxAttempts = poller.OrderSource, 2
		s := open(t, cfg, db.connect())
		n, err := s.settle("ar-", s.expect("1 2 3"))
		wantFault(t, err, poller.HandlerFailed, "attempt 1 of 2", "seq 2")
		if n != 1 {
			t.Errorf("%d are done with", n)
		}
		s.close()
		s = open(t, cfg, db.connect())
		s.expect("")
		time.Sleep(time.Second)
		retry := s.expect("retry 2+")
		rest := s.expect("3")
		n, err = s.settle("r-", retry, rest)
		wantFault(t, err, poller.HandlerFailed, "dead letter", "rowrelay outbox requeue outbox")
		if n != 0 {
			t.Errorf("%d are done with", n)
		}
		s.states("xDP")
		if report := s.close(); len(report.DeadLettered) != 1 || report.Warnings == nil {
			t.Errorf("%+v", report)
		}
		s = open(t, cfg, db.connect())
		s.fault(poller.HandlerFailed, "blocked")
		s.close()
		db.change(Dead, Discarded)
		s = open(t, cfg, db.connect())
		s.settled("a", s.expect("3"))
		s.close()
	})
}

func TestSkipLockedPicksWhatNobodyHas(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "b", "a")
		one, two := open(t, testConfig(SkipLocked), db.connect()), open(t, testConfig(SkipLocked), db.connect())
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

func TestReportAtClose(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "a", "b")
		table := db.connect()
		p := newPublisher(testConfig(Leader), table)
		s := openFeed(t, p.Feed(), table)
		g := s.next()
		s.settled(map[string]string{"1 2 3": "rwa", "3 1 2": "arw"}[shape(g)], g)
		report := s.close()
		if report.Outbox == nil || report.Outbox.Failed != 1 || report.Outbox.Waiting != 1 || report.Parked != 2 {
			t.Errorf("%+v, %+v", report, report.Outbox)
		}
		table.called()
		s = openFeed(t, p.Feed(), table)
		if report := s.close(); report.Outbox == nil || table.called() != "" {
			t.Error("figures are kept for a while")
		}
		time.Sleep(figuresEvery)
		table.fail["figures"] = errCut
		s = openFeed(t, p.Feed(), table)
		if report := s.close(); report.Outbox != nil || report.Parked != -1 {
			t.Error("figures that are not known")
		}
	})
}

func TestFaultsSayWhatTheyAre(t *testing.T) {
	for method, event := range map[string]poller.Event{
		"look": poller.FetchFailed, "take": poller.LeaseAcquireFailed, "draw": poller.LeaseAcquireFailed, "fetch": poller.FetchFailed,
		"due": poller.FetchFailed, "mend": poller.FetchFailed, "join": poller.LeaseAcquireFailed, "survey": poller.LeaseAcquireFailed,
	} {
		in(t, func(t *testing.T, db *fakeDB) {
			db.add("a", "b")
			db.at(2).state = Waiting
			table := db.connect()
			table.fail[method] = errCut
			s := open(t, testConfig(Leader), table)
			s.fault(event, errCut.Error())
			s.close()
			if len(db.claims) != 0 {
				t.Errorf("left behind: %v", db.claims)
			}
		})
	}
	in(t, func(t *testing.T, db *fakeDB) {
		db.mapped = true
		db.add("a")
		for _, strategy := range []Strategy{Partitioned, SkipLocked} {
			s := open(t, testConfig(strategy), db.connect())
			s.fault(poller.ConfigInvalid, string(strategy), "leader")
			s.close()
		}
		s := open(t, testConfig(""), db.connect())
		s.expect("1")
		if s.strategy != Leader {
			t.Error(s.strategy)
		}
		s.close()
	})
}
