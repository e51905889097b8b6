package claims_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/rowrelay/rowrelay/claims"
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
