package timeform

import (
	"strconv"
	"time"

	"github.com/rowrelay/rowrelay/engine/scalar"
)

// Later is the second moment at which a zone's wall clock shows what it shows at a moment; the moment itself where
// there is none after it.
func Later(at time.Time, zone *time.Location) time.Time {
	if change, back := nextOffset(at, zone); back > 0 && !at.Add(back).Before(change) {
		return at.Add(back)
	}
	return at
}

// Earlier is the first such moment.
func Earlier(at time.Time, zone *time.Location) time.Time {
	began, _ := at.In(zone).ZoneBounds()
	if began.IsZero() {
		return at
	}
	before := began.Add(-time.Second)
	_, was := before.In(zone).Zone()
	_, is := at.In(zone).Zone()
	if first := at.Add(time.Duration(is-was) * time.Second); first.Before(began) && was > is {
		return first
	}
	return at
}

// nextOffset is when the zone's clock changes after a moment, and by how much it is put back then; negative where it is
// put forward, and zero where it never changes.
func nextOffset(at time.Time, zone *time.Location) (change time.Time, back time.Duration) {
	_, change = at.In(zone).ZoneBounds()
	if change.IsZero() {
		return change, 0
	}
	_, before := at.In(zone).Zone()
	_, after := change.In(zone).Zone()
	return change, time.Duration(before-after) * time.Second
}

// ComesBack is by how much a zone's wall clock at a moment is ahead of the lowest value that it will show from then on:
// up to an hour in the hour before it is put back, else nothing.
func ComesBack(at time.Time, zone *time.Location) time.Duration {
	change, back := nextOffset(at, zone)
	return max(back-change.Sub(at), 0)
}

// FromNumber is what a number means that is stored for a time: seconds since 1970, or by its size milliseconds or
// microseconds.
func FromNumber(scalar []byte, stored bool) (time.Time, bool) {
	if !stored || ClassOf(scalar) != '0' {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(string(scalar), 10, 64)
	switch {
	case err != nil:
		return time.Time{}, false
	case n < 100_000_000_000:
		return time.Unix(n, 0).UTC(), true
	case n < 100_000_000_000_000:
		return time.UnixMilli(n).UTC(), true
	default:
		return time.UnixMicro(n).UTC(), true
	}
}

// clocksDiffer is how far this machine's clock, which chooses a zone's offset, may be off the database's.
const clocksDiffer = time.Minute

// WallEdge is the offset from UTC, in seconds, of a wall clock at a moment; less in the hour before it is put back: the
// values of that hour come a second time, and rows have settled only when they cannot.
func WallEdge(at time.Time, zone *time.Location) int {
	lowest := 0
	for i, at := range []time.Time{at, at.Add(clocksDiffer)} {
		_, offset := at.In(zone).Zone()
		offset -= int(ComesBack(at, zone) / time.Second)
		if i == 0 || offset < lowest {
			lowest = offset
		}
	}
	return lowest
}

// ClassOf tells stored text from a number, which is quoted beyond 2^53.
func ClassOf(v []byte) byte {
	if v[0] != '"' {
		return '0'
	}
	if _, integer := scalar.BigInteger(string(v[1 : len(v)-1])); integer {
		return '0'
	}
	return '"'
}
