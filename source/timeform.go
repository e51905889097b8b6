package source

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"
)

// timeForm is how a time is spelled where a column holds times as text or numbers of any form (SQLite). Times of one
// form sort as the moments that they mean. Times of two forms do not: "2026-04-07 23:00:00" sorts before
// "2026-04-07T01:00:00Z", and every number before every text.
//
// The zero form is not known yet.
type timeForm struct {
	// sep is what stands between day and hour: 'T' or ' ', dateAlone, or aNumber.
	sep byte
	// zone is what stands behind the time: "", "Z", "+02:00". Of " +0200 CEST", as Go writes it, it is the first six
	// bytes.
	zone string
	// width is the length of the text, where times of two lengths do not sort: 'Z' sorts after '.' and after every
	// digit, so that "01:23:45Z" sorts after "01:23:45.5Z". For a number it is the unit. Else 0.
	width int
}

const (
	dateAlone = '-'
	aNumber   = '0'
)

// units are the lowest numbers that are taken for seconds, milliseconds, microseconds and nanoseconds since 1970: any
// time from 1973 on. Julian days from before the year 0 to beyond 9999 lie below them, from julianFirst on. Every other
// number below them (0 for a time that nobody knows, an early date) is of whatever unit stands beside it.
var units = []float64{1e8, 1e11, 1e14, 1e17}

const (
	julianFirst, julianEnd = 1e6, 6e6

	aJulianDay = 0
	anyUnit    = -1
)

// oneUnit reports whether numbers of two units, by their widths, sort as the moments that they mean.
func oneUnit(a, b int) bool { return a == b || a == anyUnit || b == anyUnit }

// formRules say which forms are one, for a plan.
type formRules struct {
	// lengths says that times of one column may not differ in length before a Z. With overlap they may: what sorts
	// wrongly within a second or a minute lies in the window that is read again.
	lengths bool
	// utc says that a time without a zone is one in UTC: then it sorts among those with the zone +00:00.
	utc bool
}

// utcZones are the zones that sort as none does: each begins with a byte below '.' and the digits.
var utcZones = []string{"+00:00", "-00:00", "+00", blankUTC}

// of is the form of a stored time's JSON. It is zero for what is no time.
func (r formRules) of(scalar []byte) timeForm {
	sep, zone, width := splitTime(scalar)
	return timeForm{sep, r.zone(zone), width}
}

// fits reports whether a stored time's JSON sorts among times of a form.
func (r formRules) fits(f timeForm, scalar []byte) bool {
	sep, zone, width := splitTime(scalar)
	if sep == aNumber {
		return f.sep == sep && oneUnit(f.width, width)
	}
	return f.sep == sep && f.zone == r.zone(zone) && (f.width == width || !r.lengths)
}

func (r formRules) zone(zone []byte) string {
	if len(zone) == 0 || r.utc && slices.Contains(utcZones, string(zone)) {
		return ""
	}
	return string(zone)
}

// splitTime takes the parts of a form from a stored time's JSON, without allocating.
func splitTime(scalar []byte) (sep byte, zone []byte, width int) {
	if classOf(scalar) == aNumber {
		n, err := strconv.ParseFloat(strings.Trim(string(scalar), `"`), 64)
		if err != nil {
			return 0, nil, 0
		}
		if n < units[0] && (n < julianFirst || n >= julianEnd) {
			return aNumber, nil, anyUnit
		}
		for width < len(units) && n >= units[width] {
			width++
		}
		return aNumber, nil, width
	}
	s := scalar[1 : len(scalar)-1]
	if len(s) == 10 {
		return dateAlone, nil, 0
	}
	if len(s) < 16 {
		return 0, nil, 0
	}
	end := 11
	for end < len(s) && strings.IndexByte(clockBytes, s[end]) >= 0 {
		end++
	}
	zone = s[end:min(len(s), end+len(blankZone))]
	if len(zone) == 1 {
		width = len(s)
	}
	return s[10], zone, width
}

// clockBytes are those of a time of day; blankZone is a zone as Go's time.Time prints it.
const (
	clockBytes = "0123456789:."
	blankZone  = " +0200"
	blankUTC   = " +0000"
)

// String shows the form to people.
func (f timeForm) String() string {
	switch f.sep {
	case aNumber:
		if f.width == anyUnit {
			return "a number"
		}
		return [...]string{"a number (a Julian day?)", "a number of seconds", "a number of milliseconds", "a number of microseconds", "a number of nanoseconds"}[f.width]
	case dateAlone:
		return "text as in YYYY-MM-DD"
	}
	clock := "hh:mm:ss"
	if f.width > 0 {
		clock = strings.Repeat("f", max(0, f.width-len("YYYY-MM-DDThh:mm:ss.Z")))
		if clock != "" {
			clock = "." + clock
		}
		clock = "hh:mm:ss"[:min(8, f.width-len("YYYY-MM-DDTZ"))] + clock
	}
	return "text as in YYYY-MM-DD" + string(f.sep) + clock + f.zone
}

// spell writes a moment in the form of like, which is a stored time's JSON of the form f. Without a zone it is the wall
// clock of the given one. Of all spellings that the form has for the moment it is the one that sorts first, so that no
// other is passed over.
func (f timeForm) spell(at time.Time, like []byte, zone *time.Location) []byte {
	at = at.In(zone)
	if offset, zoned, ok := offsetAt([]byte(f.zone)); ok && zoned {
		at = at.In(time.FixedZone("", int(offset/time.Second)))
	}
	text := at.Format("2006-01-02")
	if f.sep == dateAlone {
		return []byte(`"` + text + `"`)
	}
	clock := at.Format("15:04:05.999999999")
	if f.width > 0 { // as many digits as the column's times have; more are cut off, never rounded
		clock = at.Format("15:04:05.000000000")[:f.width-len("2006-01-02TZ")]
	}
	s := like[1 : len(like)-1]
	suffix := strings.TrimLeft(string(s[11:]), clockBytes)
	return []byte(`"` + text + string(f.sep) + clock + suffix + `"`)
}

// apart reports whether two stored times are so far from each other that they sort as the moments do, whatever text
// form each has: forms differ in what stands behind the day, and zones by 26 hours at most.
func apart(a, b []byte) bool {
	first, ok1 := dayOf(a)
	second, ok2 := dayOf(b)
	return ok1 && ok2 && first.Sub(second).Abs() > 48*time.Hour
}

// changesZone reports whether two forms differ by their zones, each of which has one.
func (f timeForm) changesZone(other timeForm) bool {
	return f.sep == other.sep && f.zone != other.zone && f.zone != "" && other.zone != ""
}

// clockPutForward reports whether a stored time of a form may be followed by one with another offset: text and moment both
// ascend, as where a zone's clock is put forward between the two. Where it is put back, the text goes back.
func (r formRules) clockPutForward(form timeForm, before, after []byte) bool {
	if !form.changesZone(r.of(after)) {
		return false
	}
	then, ok1 := parseTime(before, time.UTC)
	at, ok2 := parseTime(after, time.UTC)
	return ok1 && ok2 && then.Before(at) && bytes.Compare(before, after) < 0
}

// dayOf is the day that a stored time's text begins with.
func dayOf(scalar []byte) (time.Time, bool) {
	if len(scalar) < 12 || scalar[0] != '"' {
		return time.Time{}, false
	}
	return parseTime([]byte(string(scalar[:11])+`"`), time.UTC)
}
