package feed

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/feed/feedtest"
)

func TestSecondInstanceGetsItsShare(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		aggregates := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		db.add(aggregates...)
		first, second := open(t, testConfig(claims.Partitioned), db.connect()),
			open(t, testConfig(claims.Partitioned), db.connect())
		g := first.Fetch()
		if len(first.hold.partitions()) != 4 || len(g.Batch.Events) != len(aggregates) {
			t.Fatalf("%v, %s", first.hold.partitions(), feedtest.Shape(g))
		}
		second.Expect("") // it has none, and waits: the first one hands over what it does not need
		time.Sleep(first.cfg.ClaimTTL / 3)
		first.Expect("")
		if len(first.hold.leaving) != 2 || len(first.hold.partitions()) != 4 {
			t.Fatalf("nothing is handed over while it is in flight: %+v", first.hold.leaving)
		}
		db.add(aggregates...)
		h := first.Fetch() // of its own share alone
		for _, e := range h.Batch.Events {
			if b := db.at(feedtest.SeqOf(t, &e)).bucket; b >= 512 {
				t.Errorf("bucket %d is being handed over", b)
			}
		}
		first.Settled("aaaaaaaa", g)
		first.Fetch()
		if !slices.Equal(first.hold.partitions(), []int{0, 1}) {
			t.Fatalf("the first has %v", first.hold.partitions())
		}
		i := second.Fetch()
		if !slices.Equal(second.hold.partitions(), []int{2, 3}) || i.Token <= h.Token ||
			len(i.Batch.Events)+len(h.Batch.Events) != len(aggregates) {
			t.Fatalf("the second has %v, token %d after %d, %s and %s", second.hold.partitions(), i.Token, h.Token,
				feedtest.Shape(h), feedtest.Shape(i))
		}
		first.End()
		time.Sleep(second.cfg.ClaimTTL / 3)
		second.Fetch()
		if len(second.hold.partitions()) != 4 {
			t.Errorf("the second has %v after the first has gone", second.hold.partitions())
		}
		second.End()
	})
}

func TestHandOverDuringABacklog(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		for range 400 {
			for _, a := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
				db.add(a)
			}
		}
		first, second := open(t, testConfig(claims.Partitioned), db.connect()),
			open(t, testConfig(claims.Partitioned), db.connect())
		first.Settled(strings.Repeat("a", 10), first.Fetch())
		second.Expect("")
		for range 30 {
			time.Sleep(time.Second / 2)
			if g := first.Fetch(); len(g.Batch.Events) > 0 {
				first.Settled(strings.Repeat("a", len(g.Batch.Events)), g)
			}
		}
		second.Fetch()
		if len(first.hold.partitions()) != 2 || len(second.hold.partitions()) != 2 {
			t.Errorf("the first has %v, the second %v", first.hold.partitions(), second.hold.partitions())
		}
		first.End()
		second.End()
	})
}

func TestInstanceTooMany(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		cfg := testConfig(claims.Partitioned)
		cfg.Partitions = 1
		db.add("a")
		one, two := db.connect(), db.connect()
		one.partitions, two.partitions = 1, 1
		first, second := open(t, cfg, one), open(t, cfg, two)
		first.Expect("1")
		for range 30 {
			second.Expect("")
			time.Sleep(time.Second)
		}
		second.ExpectFault(poller.LeaseAcquireSkipped, first.owner)
		second.End()
		first.End()
	})
}

func TestOnePartition(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "b", "c", "d", "e", "f", "g", "h")
		table := db.connect()
		p := New(testConfig(claims.Partitioned), table.open)
		seen := 0
		for n := range 4 {
			s, rival := openFeed(t, p.Partition(n), table), openFeed(t, p.Partition(n), table)
			g := s.Fetch()
			for _, e := range g.Batch.Events {
				if got := claims.PartitionAt(db.at(feedtest.SeqOf(t, &e)).bucket, 4); got != n {
					t.Errorf("partition %d brings an event of %d", n, got)
				}
			}
			seen += len(g.Batch.Events)
			if seen < 8 || len(g.Batch.Events) > 0 {
				rival.ExpectFault(poller.LeaseAcquireSkipped, s.owner)
			}
			rival.End()
			s.End()
		}
		if seen != 8 {
			t.Errorf("%d events in all", seen)
		}
		s := openFeed(t, p.Partition(9), table)
		s.Expect("")
		if report := s.End(); len(report.Warnings) != 1 {
			t.Error(report.Warnings)
		}
		s = openFeed(t, New(testConfig(claims.Leader), table.open).Partition(0), table)
		s.ExpectFault(poller.ConfigInvalid, "partitioned")
		s.End()
	})
}

func TestHotBucketDoesNotStarveOthers(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		for range 100 {
			db.add("a")
		}
		db.add("b", "c")
		s := open(t, testConfig(claims.Leader), db.connect())
		seen := map[string]bool{}
		for range 8 {
			g := s.Fetch()
			for _, e := range g.Batch.Events {
				seen[e.Outbox.AggregateID] = true
			}
			if n := len(g.Batch.Events); n > 0 {
				s.Settled("aaaaaaaaaa"[:n], g)
			}
		}
		if len(seen) != 3 {
			t.Errorf("after 8 pages only %v were seen", seen)
		}
		s.End()
	})
}

func TestRoundGoesRound(t *testing.T) {
	var p round
	for _, last := range []int{7, 9, 3} { // 3 was read from the low end up
		if p.next(last, true); p.bucket != last {
			t.Errorf("after a page that ends in %d: %+v", last, p)
		}
	}
	for range maxRepeats {
		p.next(3, true)
	}
	if p.bucket != 4 {
		t.Errorf("a bucket that is never empty: %+v", p)
	}
	if p.next(10, false); p != (round{}) {
		t.Errorf("a page that is not full has gone all the way: %+v", p)
	}
}

// TestAPageGoesRoundTheEnd: it begins at a partition that chance has put first, and holds what lies below that, too; or
// it is full, and says that there is more.
func TestAPageGoesRoundTheEnd(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "b", "c", "d", "e")
		for i := range 50 {
			limit := 1 + i%5
			s := open(t, testConfig(claims.SkipLocked), db.connect())
			grant, err := s.Next(t.Context(), poller.Limit{Rows: limit, Bytes: 1 << 20})
			if n := len(grant.Batch.Events); err != nil || n != limit || grant.Batch.More != (n < 5) {
				t.Errorf("the first page holds %d of 5 events, at most %d, more: %v, %v", n, limit, grant.Batch.More, err)
			}
			s.End()
		}
	})
}

func TestCrowdedBucketsAreLeftOut(t *testing.T) {
	all := []claims.Range{{From: 0, To: 16}, {From: 32, To: 48}, {From: 1000, To: 1001}}
	s := &session{crowded: []int{1000, 33, 0, 47, 34, 20}}
	want := []claims.Range{{From: 1, To: 16}, {From: 32, To: 33}, {From: 35, To: 47}}
	if got := s.uncrowded(all); !reflect.DeepEqual(got, want) {
		t.Errorf("left are %v", got)
	}
	if got := s.uncrowded(all[2:]); len(got) != 0 {
		t.Errorf("left are %v", got)
	}
	if got := from(all, 40); !reflect.DeepEqual(got, []claims.Range{{From: 40, To: 48}, {From: 1000, To: 1001}}) {
		t.Errorf("from 40: %v", got)
	}
	if got := below(all, 33); !reflect.DeepEqual(got, []claims.Range{{From: 0, To: 16}, {From: 32, To: 33}}) {
		t.Errorf("below 33: %v", got)
	}
}

func TestBacklogIsReadFromManyAggregatesAtOnce(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		for range 50 {
			for i := range 20 {
				db.add(fmt.Sprintf("order-%d", i))
			}
		}
		s := open(t, testConfig(claims.Partitioned), db.connect())
		seen, most := 0, 0
		for seen < 1000 {
			g, err := s.Next(t.Context(), poller.Limit{Rows: 40, Bytes: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			aggregates := map[string]bool{}
			for _, e := range g.Batch.Events {
				aggregates[e.Outbox.AggregateID] = true
			}
			most, seen = max(most, len(aggregates)), seen+len(g.Batch.Events)
			if n := len(g.Batch.Events); n > 0 {
				s.Settled(strings.Repeat("a", n), g)
			} else if !g.Batch.More {
				t.Fatalf("the end after %d", seen)
			}
		}
		if most < 5 {
			t.Errorf("at most %d aggregates in a page of 40", most)
		}
		s.End()
	})
}

// TestWarningsAboutTheOutbox: what the catalog showed is said once an hour, and not in each tick.
func TestWarningsAboutTheOutbox(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		table := db.connect()
		p := New(testConfig(claims.Leader), func(ctx context.Context) (*Outbox, error) {
			o, err := table.open(ctx)
			o.Warnings = []string{"an index is missing"}
			return o, err
		})
		said := 0
		for range 130 {
			db.add("a")
			s := openFeed(t, p, table)
			s.Settled("a", s.Fetch())
			said += len(s.End().Warnings)
			time.Sleep(time.Minute)
		}
		if said != 3 {
			t.Errorf("said %d times in 130 ticks, one a minute", said)
		}
	})
}

// TestReleaseWithoutAnswer: partitions whose release was not answered may be somebody else's. Nothing of them is sent,
// not even as a probe.
func TestReleaseWithoutAnswer(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "b", "c", "d")
		table := db.connect()
		s := open(t, testConfig(claims.SkipLocked), table)
		table.mu.Lock()
		table.fail["release"] = errCut
		table.mu.Unlock()
		_, err := s.Next(t.Context(), poller.Limit{Rows: 1, Bytes: 1 << 20})
		feedtest.WantFault(t, err, poller.LeaseAcquireFailed, "giving partitions back")
		if held := s.hold.partitions(); len(held) != 1 {
			t.Errorf("it goes on with %v, and one has an event in flight", held)
		}
		table.mu.Lock()
		clear(table.fail)
		table.mu.Unlock()
		s.End()
	})
}
