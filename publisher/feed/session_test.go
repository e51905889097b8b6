package feed

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/feed/feedtest"
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
		s.Expect("")
		if got := table.called(); got != "look" {
			t.Errorf("the first Next of an idle outbox calls %s", got)
		}
		s.Expect("")
		if got := table.called(); got != "look" {
			t.Errorf("the second Next calls %s", got)
		}
		s.End()
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
		s.Settled("a", s.Expect("1"))
		s.Expect("")
		table.called()
		for range 20 {
			time.Sleep(100 * time.Millisecond)
			s.Expect("")
			if got := table.called(); got != "fetch" && got != "look" {
				t.Errorf("an idle Next calls %s", got)
			}
		}
		s.End()
	})
}

func TestWorkIsClaimedFetchedMarkedAndReleased(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		table := db.connect()
		db.add("a", "b", "a")
		s := open(t, testConfig(claims.Leader), table)
		g := s.Fetch()
		if got := table.called(); got != "look take due fetch" {
			t.Errorf("the first Next with work calls %s", got)
		}
		if len(g.Batch.Events) != 3 || g.Token != 1 || g.Check() != nil || g.Context.Err() != nil ||
			g.Origin.Table != "outbox" {
			t.Errorf("%+v", g)
		}
		s.Settled("aaa", g)
		s.states("xxx")
		s.End()
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
		s.ExpectFault(poller.Paused, "by ann", "rowrelay outbox resume outbox")
		s.End()
		db.pause("")
		s = open(t, testConfig(claims.Leader), db.connect())
		s.Settled("a", s.Expect("1"))
		db.add("a")
		db.pause("by bob")
		time.Sleep(lookEvery)
		s.ExpectFault(poller.Paused, "by bob")
		s.End()
	})
}

func TestWhatIsInFlightIsNotFetchedAgain(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		for range 25 {
			db.add("a")
		}
		s := open(t, testConfig(claims.Leader), db.connect())
		first := s.Expect("1 2 3 4 5+") // one aggregate gets half of a page
		s.Expect("+")
		db.add("b")
		second := s.Expect("26+")
		s.Settled("aaaaaa", first, second)
		third := s.Expect("6 7 8 9 10+")
		s.Settled("aa", poller.Grant{Batch: change.Batch{ID: third.Batch.ID, Events: third.Batch.Events[:2]}})
		s.Expect("+")
		s.Settled("a", poller.Grant{Batch: change.Batch{ID: third.Batch.ID, Events: third.Batch.Events[2:3]}})
		fourth := s.Expect("11 12 13+") // half of these is settled
		s.Settled("aaaaa", poller.Grant{Batch: change.Batch{ID: third.Batch.ID, Events: third.Batch.Events[3:]}}, fourth)
		for _, want := range []string{"14 15 16 17 18+", "19 20 21 22 23+", "24 25"} {
			s.Settled("aaaaa"[:(len(want)+1)/3], s.Expect(want))
		}
		s.Expect("")
		s.End()
	})
}

func TestCommittedLateBehindThePassComesBeforeItsFollowers(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a")
		_, commit := db.insert("a") // takes its seq, and is slow
		db.add("b")
		s := open(t, testConfig(claims.Leader), db.connect())
		g := s.Fetch()
		commit()
		db.add("a")
		h := s.Fetch()
		if got := feedtest.Shape(h); got != "2 4" {
			t.Errorf("then come %s", got)
		}
		s.Settled("aaaa", g, h)
		s.End()
	})
}

// TestSettlementBesideAFetch: a fetch may show an aggregate half as it was before a settlement, half as it is after
// it.
func TestSettlementBesideAFetch(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a")
		table := db.connect()
		s := open(t, testConfig(claims.Leader), table)
		g := s.Expect("1")
		db.add("a", "b")
		table.gate = func(method string) {
			if method == "fetch" {
				table.mu.Lock()
				table.gate = nil
				table.mu.Unlock()
				s.Settled("r", g)
			}
		}
		table.mu.Lock()
		table.mu.Unlock() //nolint:staticcheck // the gate is read under it
		if got := feedtest.Shape(s.Fetch()); got != "3" && got != "2w 3" && got != "3 2w" {
			t.Errorf("got %s", got)
		}
		s.End()
	})
}

func TestReportAtClose(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "a", "b")
		table := db.connect()
		p := New(testConfig(claims.Leader), table.open)
		s := openFeed(t, p, table)
		g := s.Fetch()
		s.Settled(map[string]string{"1 2 3": "rwa", "3 1 2": "arw"}[feedtest.Shape(g)], g)
		report := s.End()
		if report.Outbox == nil || report.Outbox.Failed != 1 || report.Outbox.Waiting != 1 || report.Parked != 2 {
			t.Errorf("%+v, %+v", report, report.Outbox)
		}
		table.called()
		s = openFeed(t, p, table)
		if report := s.End(); report.Outbox == nil || table.called() != "" {
			t.Error("figures are kept for a while")
		}
		time.Sleep(figuresEvery)
		table.fail["figures"] = errCut
		s = openFeed(t, p, table)
		if report := s.End(); report.Outbox != nil || report.Parked != -1 {
			t.Error("figures that are not known")
		}
	})
}

// TestCountingHoldsNobodyUp: to count the events of a large outbox takes its time, and no session of a process that
// goes on waits for it, nor does the next one.
func TestCountingHoldsNobodyUp(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "b")
		table := db.connect()
		counted, counting := make(chan struct{}), false
		table.gate = func(method string) {
			if method == "figures" {
				counting = true
				<-counted
			}
		}
		p := New(testConfig(claims.Leader), table.open)
		p.Stay()
		begun := time.Now()
		for _, want := range []string{"1 2", ""} {
			s := openFeed(t, p, table)
			if g := s.Expect(want); want != "" {
				s.Settled("aa", g)
			}
			if report := s.End(); report.Outbox != nil {
				t.Errorf("counted already: %+v", report.Outbox)
			}
			synctest.Wait()
		}
		if took := time.Since(begun); took > 0 || !counting {
			t.Errorf("two sessions took %s beside a count", took)
		}
		close(counted)
		synctest.Wait()
		s := openFeed(t, p, table)
		if report := s.End(); report.Outbox == nil || report.Outbox.Pending != 0 {
			t.Errorf("afterwards: %+v", report.Outbox)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestFaultsSayWhatTheyAre(t *testing.T) {
	for method, want := range map[string]poller.Event{
		"look": poller.FetchFailed, "take": poller.LeaseAcquireFailed, "fetch": poller.FetchFailed, "due": poller.FetchFailed,
		"mend": poller.FetchFailed, "survey": poller.LeaseAcquireFailed,
	} {
		in(t, func(t *testing.T, db *fakeDB) {
			db.add("a", "b")
			db.at(2).state = event.Waiting
			table := db.connect()
			table.fail[method] = errCut
			strategy := claims.Leader
			if method == "survey" {
				strategy = claims.Partitioned
			}
			s := open(t, testConfig(strategy), table)
			s.ExpectFault(want, errCut.Error())
			s.End()
			if len(db.claims) != 0 {
				t.Errorf("left behind: %v", db.claims)
			}
		})
	}
	in(t, func(t *testing.T, db *fakeDB) {
		db.mapped = true
		db.add("a")
		s := open(t, testConfig(""), db.connect())
		s.Expect("1")
		if s.strategy != claims.Leader {
			t.Error(s.strategy)
		}
		s.End()
	})
}

// TestSmallPagesReachEveryAggregate: whoever holds few buckets, and reads few events at a time, comes to an event of
// every bucket, however many events come in the one before.
func TestSmallPagesReachEveryAggregate(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		cfg := testConfig(claims.Partitioned)
		cfg.Partitions = 16
		table := db.connect()
		first, second := "", ""
		for n := 0; second == ""; n++ {
			id := fmt.Sprint(n)
			seq, _ := db.insert(id) // it stays uncommitted
			switch bucket := db.at(seq).bucket; {
			case first == "" && bucket < 32:
				first = id
			case first != "" && bucket >= 32 && bucket < 64:
				second = id
			}
		}
		s := openFeed(t, New(cfg, table.open).Partition(0), table)
		db.add(first, first, first, first, second)
		want := int64(len(db.rows))
		for range 20 {
			g, err := s.Next(t.Context(), poller.Limit{Rows: 4, Bytes: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			s.Settled(strings.Repeat("a", len(g.Batch.Events)), g)
			db.add(first, first, first, first)
		}
		if got := db.at(want).state; got != event.Published {
			t.Errorf("the event of the second bucket is %s", got)
		}
		s.End()
	})
}
