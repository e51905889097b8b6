package timeform

import (
	"bytes"
	"time"
)

// Parse reads the JSON of a time value as the one rule writes it ("2026-04-07", "2026-04-07T01:23:45.1234567",
// with Z or +02:00), and as it stands in SQLite's files (without seconds, "+0000 UTC" after it). What has no zone is in
// zone. It is called once per row, so it does not go through time.Parse.
// ok is false for what is no such time (PostgreSQL's "infinity", a year beyond 9999).
func Parse(scalar []byte, zone *time.Location) (at time.Time, ok bool) {
	if len(scalar) < 12 || scalar[0] != '"' || scalar[len(scalar)-1] != '"' {
		return time.Time{}, false
	}
	s := scalar[1 : len(scalar)-1]
	year, ok1 := digits(s, 0, 4)
	month, ok2 := digits(s, 5, 2)
	day, ok3 := digits(s, 8, 2)
	if !ok1 || !ok2 || !ok3 || s[4] != '-' || s[7] != '-' || month < 1 || month > 12 || day < 1 || day > 31 {
		return time.Time{}, false
	}
	if len(s) == 10 {
		return time.Date(year, time.Month(month), day, 0, 0, 0, 0, zone), true
	}
	hour, ok1 := digits(s, 11, 2)
	minute, ok2 := digits(s, 14, 2)
	if !ok1 || !ok2 || (s[10] != 'T' && s[10] != ' ') || s[13] != ':' || hour > 24 || minute > 59 {
		return time.Time{}, false
	}
	second, nanos, i := 0, 0, 16
	if len(s) > 16 && s[16] == ':' {
		if second, ok = digits(s, 17, 2); !ok || second > 59 {
			return time.Time{}, false
		}
		nanos, i = fraction(s, 19)
	}
	offset, zoned, ok := offsetAt(s[i:])
	if !ok {
		return time.Time{}, false
	}
	if zoned {
		return time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC).Add(-offset), true
	}
	return time.Date(year, time.Month(month), day, hour, minute, second, nanos, zone), true
}

// MonthOf reads of a time what Parse does not, its year and month, as the first moment of these: of years beyond 9999
// in PostgreSQL, and of a day or month 0 in MySQL, which sorts before all others of its month or year. That is enough
// to know that no clock has reached it. ok is false for all others.
func MonthOf(scalar []byte) (at time.Time, ok bool) {
	n := 1
	for n < len(scalar) && scalar[n] >= '0' && scalar[n] <= '9' {
		n++
	}
	if n < 5 || n == len(scalar) || scalar[n] != '-' || bytes.HasSuffix(scalar, []byte(` BC"`)) {
		return time.Time{}, false
	}
	year, ok1 := digits(scalar, 1, n-1)
	month, ok2 := digits(scalar, n+1, 2)
	return time.Date(year, time.Month(max(month, 1)), 1, 0, 0, 0, 0, time.UTC), ok1 && ok2
}

// digits reads n decimal digits at i.
func digits(s []byte, i, n int) (int, bool) {
	if i+n > len(s) {
		return 0, false
	}
	v := 0
	for _, c := range s[i : i+n] {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int(c-'0')
	}
	return v, true
}

// fraction reads .123… at i as nanoseconds and returns where it ends.
func fraction(s []byte, i int) (nanos, end int) {
	if i >= len(s) || s[i] != '.' {
		return 0, i
	}
	scale := int(time.Second)
	for i++; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		scale /= 10
		nanos += int(s[i]-'0') * scale
	}
	return nanos, i
}

// offsetAt reads "", "Z", "+02", "+02:00", or " +0200" with a blank and the zone's name after it, as Go writes it.
func offsetAt(s []byte) (offset time.Duration, zoned, ok bool) {
	if len(s) >= 6 && s[0] == ' ' && (len(s) == 6 || s[6] == ' ') {
		s = []byte{s[1], s[2], s[3], ':', s[4], s[5]}
	}
	switch {
	case len(s) == 0:
		return 0, false, true
	case len(s) == 1 && (s[0] == 'Z' || s[0] == 'z'):
		return 0, true, true
	case s[0] != '+' && s[0] != '-':
		return 0, false, false
	}
	hours, ok1 := digits(s, 1, 2)
	minutes, ok2 := 0, len(s) == 3
	if len(s) == 6 && s[3] == ':' {
		minutes, ok2 = digits(s, 4, 2)
	}
	if !ok1 || !ok2 {
		return 0, false, false
	}
	offset = time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if s[0] == '-' {
		offset = -offset
	}
	return offset, true, true
}
