package publisher

import (
	"slices"
	"strconv"
	"strings"
)

// Units are what claims are for: the whole outbox, a partition, or (for skip_locked, named by the table itself) an aggregate.
const leaderUnit = "leader"

// partitionUnit names partition i: "p0", "p1", …
func partitionUnit(i int) string { return "p" + strconv.Itoa(i) }

// partitionOf is the other way round; false for a unit that is no partition.
func partitionOf(unit string) (int, bool) {
	digits, ok := strings.CutPrefix(unit, "p")
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(digits)
	return i, err == nil && i >= 0 && partitionUnit(i) == unit
}

// bucketsOf is the range of buckets of partition i of n: all together cover every bucket once.
func bucketsOf(i, n int) bucketRange { return bucketRange{i * Buckets / n, (i + 1) * Buckets / n} }

// partitionAt is the partition, of n, that a bucket belongs to.
func partitionAt(bucket, n int) int {
	i := bucket * n / Buckets
	for bucketsOf(i, n).to <= bucket { // the division above rounds down, the borders do too
		i++
	}
	return i
}

// rangesOf merges partitions into few ranges, ascending: one seek each.
func rangesOf(partitions []int, n int) []bucketRange {
	var ranges []bucketRange
	for _, i := range slices.Sorted(slices.Values(partitions)) {
		r := bucketsOf(i, n)
		if last := len(ranges) - 1; last >= 0 && ranges[last].to == r.from {
			ranges[last].to = r.to
		} else {
			ranges = append(ranges, r)
		}
	}
	return ranges
}

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
	share := fairShare(s.partitions, len(s.members))
	if !slices.Contains(s.members, owner) {
		share = fairShare(s.partitions, len(s.members)+1)
	}
	if len(has) > share {
		leave := slices.Sorted(slices.Values(has))
		return plan{leave: leave[share:]}
	}
	var free []int
	for _, again := range []bool{true, false} {
		for k := range s.partitions {
			i := (start + k) % s.partitions
			if by, held := s.held[i]; preferred[i] == again && (!held || by == owner) && !slices.Contains(has, i) {
				free = append(free, i)
			}
		}
	}
	return plan{take: free[:min(len(free), share-len(has))]}
}
