package publisher

import (
	"slices"
	"strconv"
	"strings"
)

// Buckets is the number of buckets that keys are spread over; a partition is a range of them.
const Buckets = 1024

// What the column unit of the claims table says: a shard (the whole outbox, a partition, an aggregate), or one of the rows beside
// these. The fencing counter's info is what is in force: {"strategy":"partitioned","partitions":64}. The row of the pause exists
// while the outbox is paused.
const (
	leaderShard     = "leader"
	AggregatePrefix = "a:"
	memberPrefix    = "i:"
	pauseShard      = "pause"
	CleanupShard    = "cleanup" // the clean-up, of which one runs at a time
)

// partitionShard names partition i: "p0", "p1", …
func partitionShard(i int) string { return "p" + strconv.Itoa(i) }

// partitionOf is the other way round; false for a shard that is no partition.
func partitionOf(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, "p")
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(digits)
	return i, err == nil && i >= 0 && partitionShard(i) == name
}

// bucketRange is from ≤ bucket < to.
type bucketRange struct{ from, to int }

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
