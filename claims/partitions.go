package claims

import (
	"slices"
	"strconv"
	"strings"
)

// Buckets is the number of buckets that keys are spread over; a partition is a range of them.
const Buckets = 1024

// What the column unit of the claims table holds: a partition, a member, the pause, the clean-up, or "*" for the
// counter of fencing tokens. The counter's info says how many partitions there are. The pause has a row while the
// outbox is paused.
const (
	memberPrefix = "i:"
	counterUnit  = "*"
	pauseUnit    = "pause"
	cleanupUnit  = "cleanup" // the clean-up, of which one runs at a time
)

// unitOf names partition i: "p0", "p1", …
func unitOf(i int) string { return "p" + strconv.Itoa(i) }

// partitionOf reads such a name. It returns false for a unit that is no partition.
func partitionOf(unit string) (int, bool) {
	digits, ok := strings.CutPrefix(unit, "p")
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(digits)
	return i, err == nil && i >= 0 && unitOf(i) == unit
}

func unitsOf(partitions []int) []string {
	units := make([]string, len(partitions))
	for k, i := range partitions {
		units[k] = unitOf(i)
	}
	return units
}

// All are the partitions of n.
func All(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// Range is from ≤ bucket < to.
type Range struct{ From, To int }

// BucketsOf is the range of buckets of partition i of n: all together cover every bucket once.
func BucketsOf(i, n int) Range { return Range{i * Buckets / n, (i + 1) * Buckets / n} }

// Width is how many buckets are in ranges.
func Width(ranges []Range) (n int) {
	for _, r := range ranges {
		n += r.To - r.From
	}
	return n
}

// PartitionAt is the partition, of n, that a bucket belongs to.
func PartitionAt(bucket, n int) int {
	i := bucket * n / Buckets
	for BucketsOf(i, n).To <= bucket { // the division above rounds down, the borders do too
		i++
	}
	return i
}

// RangesOf merges partitions into few ranges, in ascending order. A range is one seek.
func RangesOf(partitions []int, n int) []Range {
	var ranges []Range
	for _, i := range slices.Sorted(slices.Values(partitions)) {
		r := BucketsOf(i, n)
		if last := len(ranges) - 1; last >= 0 && ranges[last].To == r.From {
			ranges[last].To = r.To
		} else {
			ranges = append(ranges, r)
		}
	}
	return ranges
}
