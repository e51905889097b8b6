package publisher

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

func TestPartitionsCoverEveryBucketOnce(t *testing.T) {
	for n := 1; n <= Buckets; n++ {
		next := 0
		for i := range n {
			r := bucketsOf(i, n)
			if r.from != next || r.to <= r.from {
				t.Fatalf("partition %d of %d is %v, and the one before ends at %d", i, n, r, next)
			}
			for b := r.from; b < r.to; b++ {
				if got := partitionAt(b, n); got != i {
					t.Fatalf("bucket %d of %d partitions is in %d, not %d", b, n, got, i)
				}
			}
			next = r.to
		}
		if next != Buckets {
			t.Fatalf("%d partitions end at %d", n, next)
		}
	}
}

func TestUnitNames(t *testing.T) {
	for _, i := range []int{0, 7, 1023} {
		if got, ok := partitionOf(partitionShard(i)); !ok || got != i {
			t.Errorf("%d: %d, %t", i, got, ok)
		}
	}
	for _, unit := range []string{"", "p", "p-1", "p01", "leader", "p1x", "i:p1", "a:p1"} {
		if i, ok := partitionOf(unit); ok {
			t.Errorf("%q is partition %d", unit, i)
		}
	}
}

func TestContiguousPartitionsAreOneRange(t *testing.T) {
	for _, c := range []struct {
		has  []int
		want []bucketRange
	}{
		{nil, nil},
		{[]int{0, 1, 2, 3}, []bucketRange{{0, 1024}}},
		{[]int{3, 0, 1}, []bucketRange{{0, 512}, {768, 1024}}},
		{[]int{2}, []bucketRange{{512, 768}}},
	} {
		if got := rangesOf(c.has, 4); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v are %v, want %v", c.has, got, c.want)
		}
	}
}

func TestPlan(t *testing.T) {
	for name, c := range map[string]struct {
		survey survey
		has    []int
		before map[int]bool
		want   plan
	}{
		"alone":              {survey{force: force{Partitions: 4}, members: []string{"me"}, held: nil}, nil, nil, plan{take: []int{0, 1, 2, 3}}},
		"half":               {survey{force: force{Partitions: 4}, members: []string{"me", "you"}, held: nil}, nil, nil, plan{take: []int{0, 1}}},
		"what is left":       {survey{force: force{Partitions: 4}, members: []string{"me", "you"}, held: map[int]string{0: "you", 1: "you", 2: "you"}}, nil, nil, plan{take: []int{3}}},
		"as before":          {survey{force: force{Partitions: 4}, members: []string{"me", "you"}, held: nil}, nil, map[int]bool{3: true}, plan{take: []int{3, 0}}},
		"too many":           {survey{force: force{Partitions: 4}, members: []string{"me", "you"}, held: map[int]string{0: "me", 1: "me", 2: "me"}}, []int{0, 1, 2}, nil, plan{leave: []int{2}}},
		"enough":             {survey{force: force{Partitions: 5}, members: []string{"me", "you"}, held: map[int]string{0: "me"}}, []int{0, 1, 2}, nil, plan{take: []int{}}},
		"not yet a member":   {survey{force: force{Partitions: 4}, members: []string{"you"}, held: nil}, nil, nil, plan{take: []int{0, 1}}},
		"an answer got lost": {survey{force: force{Partitions: 2}, members: []string{"me"}, held: map[int]string{0: "me", 1: "me"}}, []int{1}, nil, plan{take: []int{0}}},
	} {
		if got := planOf(&c.survey, "me", c.has, c.before, 0); !slices.Equal(got.take, c.want.take) || !slices.Equal(got.leave, c.want.leave) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestPlansComeToRest: whatever the members hold, carrying out their plans in any order ends with everything held, and
// nobody with more than the share.
func TestPlansComeToRest(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		s := survey{force: force{Partitions: 1 + rnd.IntN(64)}, held: map[int]string{}}
		for i := range 1 + rnd.IntN(9) {
			s.members = append(s.members, fmt.Sprint("m", i))
		}
		has := map[string][]int{}
		for i := range s.Partitions {
			if rnd.IntN(3) > 0 {
				m := s.members[rnd.IntN(len(s.members))]
				s.held[i], has[m] = m, append(has[m], i)
			}
		}
		for range 20 * len(s.members) {
			m := s.members[rnd.IntN(len(s.members))]
			p := planOf(&s, m, has[m], nil, rnd.IntN(1<<16))
			for _, i := range p.take {
				if s.held[i] != "" {
					t.Fatalf("seed %d: %s takes %d of %s", seed, m, i, s.held[i])
				}
				s.held[i], has[m] = m, append(has[m], i)
			}
			for _, i := range p.leave {
				delete(s.held, i)
				has[m] = slices.DeleteFunc(has[m], func(j int) bool { return i == j })
			}
		}
		for m, list := range has {
			if len(list) > fairShare(s.Partitions, len(s.members)) {
				t.Errorf("seed %d: %s has %d of %d, with %d members", seed, m, len(list), s.Partitions, len(s.members))
			}
		}
		if len(s.held) != s.Partitions {
			t.Errorf("seed %d: %d of %d are held", seed, len(s.held), s.Partitions)
		}
	}
}

func TestSecondInstanceGetsItsShare(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		aggregates := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		db.add(aggregates...)
		first, second := open(t, testConfig(Partitioned), db.connect()), open(t, testConfig(Partitioned), db.connect())
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
		if !slices.Equal(second.units.has, []int{2, 3}) || i.Token <= h.Token || len(i.Batch.Events)+len(h.Batch.Events) != len(aggregates) {
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
		first, second := open(t, testConfig(Partitioned), db.connect()), open(t, testConfig(Partitioned), db.connect())
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
		cfg := testConfig(Partitioned)
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
		p := newFeed(testConfig(Partitioned), table.open)
		seen := 0
		for n := range 4 {
			s, rival := openFeed(t, p.Partition(n), table), openFeed(t, p.Partition(n), table)
			g := s.next()
			for _, e := range g.Batch.Events {
				if got := partitionAt(db.at(seqOf(t, &e)).bucket, 4); got != n {
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
		s = openFeed(t, newFeed(testConfig(Leader), table.open).Partition(0), table)
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
		s := open(t, testConfig(Leader), db.connect())
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
	for _, ranges := range [][]bucketRange{{{0, 1024}}, {{0, 16}, {32, 48}, {1000, 1024}}, {{7, 8}, {9, 11}}} {
		for n := 2; n < 12; n++ {
			var got []bucketRange
			for _, p := range piecesOf(ranges, n) {
				if p.bucket != p.from || p.done || p.to <= p.from {
					t.Errorf("%+v", p)
				}
				if last := len(got) - 1; last >= 0 && got[last].to == p.from {
					got[last].to = p.to
				} else {
					got = append(got, p.bucketRange)
				}
			}
			if !reflect.DeepEqual(got, ranges) {
				t.Errorf("%v in %d pieces is %v", ranges, n, got)
			}
		}
	}
	if piecesOf([]bucketRange{{5, 6}}, 8) != nil || piecesOf([]bucketRange{{0, 1024}}, 1) != nil {
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
		s := open(t, testConfig(Partitioned), db.connect())
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
