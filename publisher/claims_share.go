package publisher

import "slices"

// fairShare is how many of n partitions each of so many members may hold: all are held when each holds that many.
func fairShare(n, members int) int {
	members = max(members, 1)
	return (n + members - 1) / members
}

// plan is what a session should change about its partitions.
type plan struct {
	take  []int // free, or expired; no more than its share
	leave []int // beyond its share
}

// planOf compares what a session has with its share. preferred are partitions that this process held before: their pages
// are warm, and a fleet that restarts settles down the way it was. Free ones are looked at from a start of the session's own:
// sessions that come at the same time shall not all ask for the same.
func planOf(s *survey, owner string, has []int, preferred map[int]bool, start int) plan {
	share := fairShare(s.Partitions, len(s.members))
	if !slices.Contains(s.members, owner) {
		share = fairShare(s.Partitions, len(s.members)+1)
	}
	if len(has) > share {
		leave := slices.Sorted(slices.Values(has))
		return plan{leave: leave[share:]}
	}
	var free []int
	for _, again := range []bool{true, false} {
		for k := range s.Partitions {
			i := (start + k) % s.Partitions
			if by, held := s.held[i]; preferred[i] == again && (!held || by == owner) && !slices.Contains(has, i) {
				free = append(free, i)
			}
		}
	}
	return plan{take: free[:min(len(free), share-len(has))]}
}
