package claims

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

func TestPartitionsCoverEveryBucketOnce(t *testing.T) {
	for n := 1; n <= Buckets; n++ {
		next := 0
		for i := range n {
			r := BucketsOf(i, n)
			if r.From != next || r.To <= r.From {
				t.Fatalf("partition %d of %d is %v, and the one before ends at %d", i, n, r, next)
			}
			for b := r.From; b < r.To; b++ {
				if got := PartitionAt(b, n); got != i {
					t.Fatalf("bucket %d of %d partitions is in %d, not %d", b, n, got, i)
				}
			}
			next = r.To
		}
		if next != Buckets {
			t.Fatalf("%d partitions end at %d", n, next)
		}
	}
}

func TestUnitNames(t *testing.T) {
	for _, i := range []int{0, 7, 1023} {
		if got, ok := partitionOf(unitOf(i)); !ok || got != i {
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
		want []Range
	}{
		{nil, nil},
		{[]int{0, 1, 2, 3}, []Range{{From: 0, To: 1024}}},
		{[]int{3, 0, 1}, []Range{{From: 0, To: 512}, {From: 768, To: 1024}}},
		{[]int{2}, []Range{{From: 512, To: 768}}},
	} {
		if got := RangesOf(c.has, 4); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v are %v, want %v", c.has, got, c.want)
		}
	}
}

func TestPlan(t *testing.T) {
	both := []string{"me", "you"}
	for name, c := range map[string]struct {
		survey Survey
		has    []int
		start  int
		want   Plan
	}{
		"alone":        {Survey{Partitions: 4, Members: []string{"me"}}, nil, 0, Plan{Take: []int{0, 1, 2, 3}}},
		"half":         {Survey{Partitions: 4, Members: both}, nil, 0, Plan{Take: []int{0, 1}}},
		"from a start": {Survey{Partitions: 4, Members: both}, nil, 7, Plan{Take: []int{3, 0}}},
		"what is left": {Survey{Partitions: 4, Members: both, Held: map[int]string{0: "you", 1: "you", 2: "you"}}, nil, 0,
			Plan{Take: []int{3}}},
		"too many": {Survey{Partitions: 4, Members: both, Held: map[int]string{0: "me", 1: "me", 2: "me"}}, []int{0, 1, 2},
			0, Plan{Leave: []int{2}}},
		"enough": {Survey{Partitions: 5, Members: both, Held: map[int]string{0: "me"}}, []int{0, 1, 2}, 0,
			Plan{Take: []int{}}},
		"not yet a member": {Survey{Partitions: 4, Members: []string{"you"}}, nil, 0, Plan{Take: []int{0, 1}}},
		"an answer got lost": {Survey{Partitions: 2, Members: []string{"me"}, Held: map[int]string{0: "me", 1: "me"}},
			[]int{1}, 0, Plan{Take: []int{0}}},
	} {
		if got := PlanOf(&c.survey, "me", c.has, c.start); !slices.Equal(got.Take, c.want.Take) ||
			!slices.Equal(got.Leave, c.want.Leave) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestFree(t *testing.T) {
	s := Survey{Partitions: 5, Held: map[int]string{0: "me", 1: "you", 2: "me"}}
	if got := s.Free("me", []int{0}); !slices.Equal(got, []int{2, 3, 4}) {
		t.Errorf("%v: 0 is held already, and 1 another's; 2 was taken by an attempt whose answer was lost", got)
	}
}

// TestSurveyOfContent: whose partitions count, and when their number may change.
func TestSurveyOfContent(t *testing.T) {
	for name, c := range map[string]struct {
		stored int
		live   map[string]string
		want   Survey
	}{
		"a new table":    {0, nil, Survey{Partitions: 64}},
		"another number": {32, nil, Survey{Partitions: 64}},
		"another number in force": {32, map[string]string{"p3": "a", "i:b": "b"},
			Survey{Partitions: 32, Held: map[int]string{3: "a"}, Members: []string{"b"}, Owners: []string{"a", "b"}}},
		"nobody knows how many": {0, map[string]string{"i:a": "a"},
			Survey{Members: []string{"a"}, Owners: []string{"a"}}},
	} {
		if c.want.Held == nil {
			c.want.Held = map[int]string{}
		}
		if got := (&content{partitions: c.stored, live: c.live}).survey(64); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestPlansComeToRest: whatever the members hold, carrying out their plans in any order ends with everything held,
// and nobody with more than the share.
func TestPlansComeToRest(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		s := Survey{Partitions: 1 + rnd.IntN(64), Held: map[int]string{}}
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
			p := PlanOf(&s, m, has[m], rnd.IntN(1<<16))
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
			if len(list) > fairShare(s.Partitions, len(s.Members)) {
				t.Errorf("seed %d: %s has %d of %d, with %d members", seed, m, len(list), s.Partitions, len(s.Members))
			}
		}
		if len(s.Held) != s.Partitions {
			t.Errorf("seed %d: %d of %d are held", seed, len(s.Held), s.Partitions)
		}
	}
}
