package publisher

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// in runs a test in a bubble whose time is its own.
func in(t *testing.T, test func(t *testing.T, db *fakeDB)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newFakeDB()) })
}

func TestIdleCostsOneRoundTripAndWritesNothing(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		table := db.connect()
		s := open(t, testConfig(claims.Leader), table)
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
		s := open(t, testConfig(claims.Leader), table)
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
		s := open(t, testConfig(claims.Leader), table)
		g := s.next()
		if got := table.called(); got != "look draw×2 join survey take due fetch" {
			t.Errorf("the first Next with work calls %s", got)
		}
		if len(g.Batch.Events) != 3 || g.Token != 2 || g.Check() != nil || g.Context.Err() != nil ||
			g.Origin.Table != "outbox" {
			t.Errorf("%+v", g)
		}
		s.settled("aaa", g)
		s.states("xxx")
		s.close()
		if len(db.claims) != 0 || len(db.members) != 0 {
			t.Errorf("left behind: %v %v", db.claims, db.members)
		}
		if err := g.Check(); !errors.Is(err, errReleased) || g.Context.Err() == nil {
			t.Errorf("the right after Close: %v, %v", err, g.Context.Err())
		}
	})
}

func TestPausedOutbox(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a")
		db.pause("by ann")
		s := open(t, testConfig(claims.Leader), db.connect())
		s.fault(poller.Paused, "by ann", "rowrelay outbox resume outbox")
		s.close()
		db.pause("")
		s = open(t, testConfig(claims.Leader), db.connect())
		s.settled("a", s.expect("1"))
		db.add("a")
		db.pause("by bob")
		time.Sleep(lookEvery)
		s.fault(poller.Paused, "by bob")
		s.close()
	})
}

func TestWhatIsInFlightIsNotFetchedAgain(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		for range 25 {
			db.add("a")
		}
		s := open(t, testConfig(claims.Leader), db.connect())
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
		s := open(t, testConfig(claims.Leader), db.connect())
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

// TestSettlementBesideAFetch: a fetch may show an aggregate half as it was before a settlement, half as it is after
// it.
func TestSettlementBesideAFetch(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a")
		table := db.connect()
		s := open(t, testConfig(claims.Leader), table)
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

func TestReportAtClose(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "a", "b")
		table := db.connect()
		p := newFeed(testConfig(claims.Leader), table.open)
		s := openFeed(t, p, table)
		g := s.next()
		s.settled(map[string]string{"1 2 3": "rwa", "3 1 2": "arw"}[shape(g)], g)
		report := s.close()
		if report.Outbox == nil || report.Outbox.Failed != 1 || report.Outbox.Waiting != 1 || report.Parked != 2 {
			t.Errorf("%+v, %+v", report, report.Outbox)
		}
		table.called()
		s = openFeed(t, p, table)
		if report := s.close(); report.Outbox == nil || table.called() != "" {
			t.Error("figures are kept for a while")
		}
		time.Sleep(figuresEvery)
		table.fail["figures"] = errCut
		s = openFeed(t, p, table)
		if report := s.close(); report.Outbox != nil || report.Parked != -1 {
			t.Error("figures that are not known")
		}
	})
}

func TestFaultsSayWhatTheyAre(t *testing.T) {
	for method, want := range map[string]poller.Event{
		"look": poller.FetchFailed, "take": poller.LeaseAcquireFailed, "draw": poller.LeaseAcquireFailed,
		"fetch": poller.FetchFailed,
		"due":   poller.FetchFailed, "mend": poller.FetchFailed, "join": poller.LeaseAcquireFailed,
		"survey": poller.LeaseAcquireFailed,
	} {
		in(t, func(t *testing.T, db *fakeDB) {
			db.add("a", "b")
			db.at(2).state = event.Waiting
			table := db.connect()
			table.fail[method] = errCut
			s := open(t, testConfig(claims.Leader), table)
			s.fault(want, errCut.Error())
			s.close()
			if len(db.claims) != 0 {
				t.Errorf("left behind: %v", db.claims)
			}
		})
	}
	in(t, func(t *testing.T, db *fakeDB) {
		db.mapped = true
		db.add("a")
		for _, strategy := range []claims.Strategy{claims.Partitioned, claims.SkipLocked} {
			s := open(t, testConfig(strategy), db.connect())
			s.fault(poller.ConfigInvalid, string(strategy), "leader")
			s.close()
		}
		s := open(t, testConfig(""), db.connect())
		s.expect("1")
		if s.strategy != claims.Leader {
			t.Error(s.strategy)
		}
		s.close()
	})
}
