package publisher

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
)

func TestPartitionsCoverEveryBucketOnce(t *testing.T) {
	for n := 1; n <= claims.Buckets; n++ {
		next := 0
		for i := range n {
			r := claims.BucketsOf(i, n)
			if r.From != next || r.To <= r.From {
				t.Fatalf("partition %d of %d is %v, and the one before ends at %d", i, n, r, next)
			}
			for b := r.From; b < r.To; b++ {
				if got := claims.PartitionAt(b, n); got != i {
					t.Fatalf("bucket %d of %d partitions is in %d, not %d", b, n, got, i)
				}
			}
			next = r.To
		}
		if next != claims.Buckets {
			t.Fatalf("%d partitions end at %d", n, next)
		}
	}
}

func TestUnitNames(t *testing.T) {
	for _, i := range []int{0, 7, 1023} {
		if got, ok := claims.PartitionOf(claims.PartitionShard(i)); !ok || got != i {
			t.Errorf("%d: %d, %t", i, got, ok)
		}
	}
	for _, unit := range []string{"", "p", "p-1", "p01", "leader", "p1x", "i:p1", "a:p1"} {
		if i, ok := claims.PartitionOf(unit); ok {
			t.Errorf("%q is partition %d", unit, i)
		}
	}
}

func TestContiguousPartitionsAreOneRange(t *testing.T) {
	for _, c := range []struct {
		has  []int
		want []claims.Range
	}{
		{nil, nil},
		{[]int{0, 1, 2, 3}, []claims.Range{{From: 0, To: 1024}}},
		{[]int{3, 0, 1}, []claims.Range{{From: 0, To: 512}, {From: 768, To: 1024}}},
		{[]int{2}, []claims.Range{{From: 512, To: 768}}},
	} {
		if got := claims.RangesOf(c.has, 4); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v are %v, want %v", c.has, got, c.want)
		}
	}
}

func TestPlan(t *testing.T) {
	for name, c := range map[string]struct {
		survey claims.Survey
		has    []int
		before map[int]bool
		want   claims.Plan
	}{
		"alone": {claims.Survey{Force: claims.Force{Partitions: 4}, Members: []string{"me"}, Held: nil}, nil,
			nil, claims.Plan{Take: []int{0, 1, 2, 3}}},
		"half": {claims.Survey{Force: claims.Force{Partitions: 4}, Members: []string{"me", "you"}, Held: nil},
			nil, nil, claims.Plan{Take: []int{0, 1}}},
		"what is left": {claims.Survey{Force: claims.Force{Partitions: 4}, Members: []string{"me", "you"},
			Held: map[int]string{0: "you", 1: "you", 2: "you"}}, nil, nil, claims.Plan{Take: []int{3}}},
		"as before": {claims.Survey{Force: claims.Force{Partitions: 4}, Members: []string{"me", "you"}, Held: nil},
			nil, map[int]bool{3: true}, claims.Plan{Take: []int{3, 0}}},
		"too many": {claims.Survey{Force: claims.Force{Partitions: 4}, Members: []string{"me", "you"},
			Held: map[int]string{0: "me", 1: "me", 2: "me"}}, []int{0, 1, 2}, nil, claims.Plan{Leave: []int{2}}},
		"enough": {claims.Survey{Force: claims.Force{Partitions: 5}, Members: []string{"me", "you"},
			Held: map[int]string{0: "me"}}, []int{0, 1, 2}, nil, claims.Plan{Take: []int{}}},
		"not yet a member": {claims.Survey{Force: claims.Force{Partitions: 4}, Members: []string{"you"}, Held: nil}, nil,
			nil, claims.Plan{Take: []int{0, 1}}},
		"an answer got lost": {claims.Survey{Force: claims.Force{Partitions: 2}, Members: []string{"me"},
			Held: map[int]string{0: "me", 1: "me"}}, []int{1}, nil, claims.Plan{Take: []int{0}}},
	} {
		if got := claims.PlanOf(&c.survey, "me", c.has, c.before, 0); !slices.Equal(got.Take, c.want.Take) ||
			!slices.Equal(got.Leave, c.want.Leave) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestPlansComeToRest: whatever the members hold, carrying out their plans in any order ends with everything held,
// and nobody with more than the share.
func TestPlansComeToRest(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		s := claims.Survey{Force: claims.Force{Partitions: 1 + rnd.IntN(64)}, Held: map[int]string{}}
		for i := range 1 + rnd.IntN(9) {
			s.Members = append(s.Members, fmt.Sprint("m", i))
		}
		has := map[string][]int{}
		for i := range s.Partitions {
			if rnd.IntN(3) > 0 {
				m := s.Members[rnd.IntN(len(s.Members))]
				s.Held[i], has[m] = m, append(has[m], i)
			}
		}
		for range 20 * len(s.Members) {
			m := s.Members[rnd.IntN(len(s.Members))]
			p := claims.PlanOf(&s, m, has[m], nil, rnd.IntN(1<<16))
			for _, i := range p.Take {
				if s.Held[i] != "" {
					t.Fatalf("seed %d: %s takes %d of %s", seed, m, i, s.Held[i])
				}
				s.Held[i], has[m] = m, append(has[m], i)
			}
			for _, i := range p.Leave {
				delete(s.Held, i)
				has[m] = slices.DeleteFunc(has[m], func(j int) bool { return i == j })
			}
		}
		for m, list := range has {
			if len(list) > claims.FairShare(s.Partitions, len(s.Members)) {
				t.Errorf("seed %d: %s has %d of %d, with %d members", seed, m, len(list), s.Partitions, len(s.Members))
			}
		}
		if len(s.Held) != s.Partitions {
			t.Errorf("seed %d: %d of %d are held", seed, len(s.Held), s.Partitions)
		}
	}
}

func TestSecondInstanceGetsItsShare(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		aggregates := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		db.add(aggregates...)
		first, second := open(t, testConfig(claims.Partitioned), db.connect()),
			open(t, testConfig(claims.Partitioned), db.connect())
		g := first.next()
		if len(first.units.has) != 4 || len(g.Batch.Events) != len(aggregates) {
			t.Fatalf("%v, %s", first.units.has, shape(g))
		}
		second.expect("") // it has none, and waits: the first one hands over what it does not need
		time.Sleep(first.cfg.ClaimTTL / 3)
		first.expect("")
		if len(first.units.leaving) != 2 || len(first.units.has) != 4 {
			t.Fatalf("nothing is handed over while it is in flight: %+v", first.units)
		}
		db.add(aggregates...)
		h := first.next() // of its own share alone
		for _, e := range h.Batch.Events {
			if b := db.at(seqOf(t, &e)).bucket; b >= 512 {
				t.Errorf("bucket %d is being handed over", b)
			}
		}
		first.settled("aaaaaaaa", g)
		first.next()
		if !slices.Equal(first.units.has, []int{0, 1}) {
			t.Fatalf("the first has %v", first.units.has)
		}
		i := second.next()
		if !slices.Equal(second.units.has, []int{2, 3}) || i.Token <= h.Token ||
			len(i.Batch.Events)+len(h.Batch.Events) != len(aggregates) {
			t.Fatalf("the second has %v, token %d after %d, %s and %s", second.units.has, i.Token, h.Token, shape(h), shape(i))
		}
		first.close()
		time.Sleep(second.cfg.ClaimTTL / 3)
		second.next()
		if len(second.units.has) != 4 {
			t.Errorf("the second has %v after the first has gone", second.units.has)
		}
		second.close()
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
		first.settled(strings.Repeat("a", 10), first.next())
		second.expect("")
		for range 30 {
			time.Sleep(time.Second / 2)
			if g := first.next(); len(g.Batch.Events) > 0 {
				first.settled(strings.Repeat("a", len(g.Batch.Events)), g)
			}
		}
		second.next()
		if len(first.units.has) != 2 || len(second.units.has) != 2 {
			t.Errorf("the first has %v, the second %v", first.units.has, second.units.has)
		}
		first.close()
		second.close()
	})
}

func TestInstanceTooMany(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		cfg := testConfig(claims.Partitioned)
		cfg.Partitions = 1
		db.add("a")
		first, second := open(t, cfg, db.connect()), open(t, cfg, db.connect())
		first.expect("1")
		for range 30 {
			second.expect("")
			time.Sleep(time.Second)
		}
		second.fault(poller.LeaseAcquireSkipped, first.owner)
		second.close()
		first.close()
	})
}

func TestOnePartition(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a", "b", "c", "d", "e", "f", "g", "h")
		table := db.connect()
		p := newFeed(testConfig(claims.Partitioned), table.open)
		seen := 0
		for n := range 4 {
			s, rival := openFeed(t, p.Partition(n), table), openFeed(t, p.Partition(n), table)
			g := s.next()
			for _, e := range g.Batch.Events {
				if got := claims.PartitionAt(db.at(seqOf(t, &e)).bucket, 4); got != n {
					t.Errorf("partition %d brings an event of %d", n, got)
				}
			}
			seen += len(g.Batch.Events)
			if seen < 8 || len(g.Batch.Events) > 0 {
				rival.fault(poller.LeaseAcquireSkipped, s.owner)
			}
			rival.close()
			s.close()
		}
		if seen != 8 {
			t.Errorf("%d events in all", seen)
		}
		s := openFeed(t, p.Partition(9), table)
		s.expect("")
		if report := s.close(); len(report.Warnings) != 1 {
			t.Error(report.Warnings)
		}
		s = openFeed(t, newFeed(testConfig(claims.Leader), table.open).Partition(0), table)
		s.fault(poller.ConfigInvalid, "partitioned")
		s.close()
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
			g := s.next()
			for _, e := range g.Batch.Events {
				seen[e.Outbox.AggregateID] = true
			}
			if n := len(g.Batch.Events); n > 0 {
				s.settled("aaaaaaaaaa"[:n], g)
			}
		}
		if len(seen) != 3 {
			t.Errorf("after 8 pages only %v were seen", seen)
		}
		s.close()
	})
}

func TestPassGoesRound(t *testing.T) {
	var p pass
	if !p.next(7, true) || p.bucket != 7 || !p.next(9, true) || p.bucket != 9 {
		t.Errorf("%+v", p)
	}
	for range maxSame {
		p.next(9, true)
	}
	if p.bucket != 10 {
		t.Errorf("a bucket that is never empty: %+v", p)
	}
	if !p.next(10, false) || p.bucket != 0 {
		t.Errorf("the way round is not complete: %+v", p)
	}
	if p.next(5, false) {
		t.Error("a short page from the top is all there is")
	}
}

func TestPiecesCoverTheRanges(t *testing.T) {
	for _, ranges := range [][]claims.Range{{{From: 0, To: 1024}},
		{{From: 0, To: 16}, {From: 32, To: 48}, {From: 1000, To: 1024}}, {{From: 7, To: 8}, {From: 9, To: 11}}} {
		for n := 2; n < 12; n++ {
			var got []claims.Range
			for _, p := range piecesOf(ranges, n) {
				if p.bucket != p.From || p.done || p.To <= p.From {
					t.Errorf("%+v", p)
				}
				if last := len(got) - 1; last >= 0 && got[last].To == p.From {
					got[last].To = p.To
				} else {
					got = append(got, p.Range)
				}
			}
			if !reflect.DeepEqual(got, ranges) {
				t.Errorf("%v in %d pieces is %v", ranges, n, got)
			}
		}
	}
	if piecesOf([]claims.Range{{From: 5, To: 6}}, 8) != nil || piecesOf([]claims.Range{{From: 0, To: 1024}}, 1) != nil {
		t.Error("one page does as well")
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
				s.settled(strings.Repeat("a", n), g)
			} else if !g.Batch.More {
				t.Fatalf("the end after %d", seen)
			}
		}
		if most < 5 {
			t.Errorf("at most %d aggregates in a page of 40", most)
		}
		s.close()
	})
}
