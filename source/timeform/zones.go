package timeform

import (
	"math"
	"strconv"
	"strings"
	"time"
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

// FromNumber is the moment that a number means that is stored for a time, in the unit that Split takes it for.
func FromNumber(scalar []byte, stored bool) (time.Time, bool) {
	if !stored || ClassOf(scalar) != Number {
		return time.Time{}, false
	}
	text := strings.Trim(string(scalar), `"`)
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return time.Time{}, false
	}
	whole, err := strconv.ParseInt(text, 10, 64)
	if err != nil { // a REAL; beyond an integer it is ahead of every clock anyway
		n = min(n, math.MaxInt64/2)
		whole = int64(math.Floor(n))
	}
	switch _, _, unit := Split(scalar); unit {
	case JulianDay: // SQLite counts milliseconds
		const julianOf1970 = 2440587.5
		return time.UnixMilli(int64(math.Round((n - julianOf1970) * 24 * 3600 * 1000))).UTC(), true
	case 2:
		return time.UnixMilli(whole).UTC(), true
	case 3:
		return time.UnixMicro(whole).UTC(), true
	case 4:
		return time.Unix(0, whole).UTC(), true
	default: // seconds, also where the unit is not known
		return time.Unix(whole, int64((n-float64(whole))*1e9)).UTC(), true
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
