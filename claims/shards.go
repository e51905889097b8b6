package claims

import (
	"crypto/md5" //nolint:gosec // see HashedShard
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// Buckets is the number of buckets that keys are spread over; a partition is a range of them.
const Buckets = 1024

// What the column unit of the claims table holds: a shard (the whole outbox, a partition, an aggregate), a member, the
// pause, the clean-up, or "*" for the counter of fencing tokens. The counter's info says what is in force:
// {"strategy":"partitioned","partitions":64}. The pause has a row while the outbox is paused.
const (
	LeaderShard     = "leader"
	AggregatePrefix = "a:"
	memberPrefix    = "i:"
	pauseShard      = "pause"
	CleanupShard    = "cleanup" // the clean-up, of which one runs at a time
)

// PartitionShard names partition i: "p0", "p1", …
func PartitionShard(i int) string { return "p" + strconv.Itoa(i) }

// PartitionOf reads such a name. It returns false for a shard that is no partition.
func PartitionOf(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, "p")
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(digits)
	return i, err == nil && i >= 0 && PartitionShard(i) == name
}

// Range is from ≤ bucket < to.
type Range struct{ From, To int }

// BucketsOf is the range of buckets of partition i of n: all together cover every bucket once.
func BucketsOf(i, n int) Range { return Range{i * Buckets / n, (i + 1) * Buckets / n} }

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

// HashedShard names the shard of an aggregate by MD5 over its parts as the engine stores them: two names of 255
// characters do not fit into a key. The hash tells aggregates apart. It keeps no secret.
func HashedShard(typ, id []byte) string {
	t, i := md5.Sum(typ), md5.Sum(id) //nolint:gosec // not for security: every engine has it
	return AggregatePrefix + hex.EncodeToString(t[:]) + hex.EncodeToString(i[:])
}
