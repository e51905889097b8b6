package claims

import "slices"

// fairShare is how many of n partitions each member may hold. If each holds that many, all partitions are held.
func fairShare(n, members int) int {
	members = max(members, 1)
	return (n + members - 1) / members
}

// Plan is what a session should change about its partitions.
type Plan struct {
	Take  []int // free, or expired; no more than its share
	Leave []int // beyond its share
}

// PlanOf compares what a session holds with its share. Each session searches the free ones from its own start, so that
// sessions which begin together do not all ask for the same.
func PlanOf(s *Survey, owner string, has []int, start int) Plan {
	share := fairShare(s.Partitions, len(s.Members))
	if !slices.Contains(s.Members, owner) {
		share = fairShare(s.Partitions, len(s.Members)+1)
	}
	if len(has) > share {
		leave := slices.Sorted(slices.Values(has))
		return Plan{Leave: leave[share:]}
	}
	free := s.Free(owner, has)
	if n := len(free); n > 0 {
		free = slices.Concat(free[start%n:], free[:start%n])
	}
	return Plan{Take: free[:min(len(free), share-len(has))]}
}
