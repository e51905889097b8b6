// Package timeform knows the forms in which times are stored as text or numbers (SQLite), and which of them sort as the
// moments do. It also reads the times of every engine, and knows when a zone's clock is put back.
package timeform

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/engine/scalar"
)

// Form is how a time is spelled where a column holds times as text or numbers of any form (SQLite). Times of one
// form sort as the moments that they mean. Times of two forms do not: "2026-04-07 23:00:00" sorts before
// "2026-04-07T01:00:00Z", and every number before every text.
//
// The zero form is not known yet.
type Form struct {
	// Sep is what stands between day and hour: 'T' or ' ', DateAlone, or aNumber.
	Sep byte
	// Zone is what follows the time: "", "Z", "+02:00". Of " +0200 CEST", as Go writes it, it is the first six
	// bytes.
	Zone string
	// Width is the length of the text, where times of two lengths do not sort: 'Z' sorts after '.' and after every
	// digit, so that "01:23:45Z" sorts after "01:23:45.5Z". For a number it is the unit. Else 0.
	Width int
}

const (
	DateAlone = '-'
	Number    = '0'
)

// Units are the lowest numbers that are taken for seconds, milliseconds, microseconds and nanoseconds since 1970: any
// time from 1973 on. Julian days from before the year 0 to beyond 9999 lie below them, from JulianFirst on. Every other
// number below them (0 for a time that nobody knows, an early date) is of whatever unit stands beside it.
var Units = []float64{1e8, 1e11, 1e14, 1e17}

const (
	JulianFirst, JulianEnd = 1e6, 6e6

	JulianDay = 0
	AnyUnit   = -1
)

// OneUnit reports whether numbers of two units, by their widths, sort as the moments that they mean.
func OneUnit(a, b int) bool { return a == b || a == AnyUnit || b == AnyUnit }

// Rules say which forms are one, for a plan.
type Rules struct {
	// Lengths says that times of one column may not differ in length before a Z. With overlap they may: what sorts
	// wrongly within a second or a minute lies in the window that is read again.
	Lengths bool
	// Utc says that a time without a zone is one in UTC: then it sorts among those with the zone +00:00.
	Utc bool
}

// UtcZones are the zones that sort as none does: each begins with a byte below '.' and the digits.
var UtcZones = []string{"+00:00", "-00:00", "+00", blankUTC}

// Of is the form of a stored time's JSON. It is zero for what is no time.
func (r Rules) Of(scalar []byte) Form {
	sep, zone, width := Split(scalar)
	return Form{sep, r.zone(zone), width}
}

// Fits reports whether a stored time's JSON sorts among times of a form.
func (r Rules) Fits(f Form, scalar []byte) bool {
	sep, zone, width := Split(scalar)
	if sep == Number {
		return f.Sep == sep && OneUnit(f.Width, width)
	}
	return f.Sep == sep && f.Zone == r.zone(zone) && (f.Width == width || !r.Lengths)
}

func (r Rules) zone(zone []byte) string {
	if len(zone) == 0 || r.Utc && slices.Contains(UtcZones, string(zone)) {
		return ""
	}
	return string(zone)
}

// Split takes the parts of a form from a stored time's JSON, without allocating.
func Split(scalar []byte) (sep byte, zone []byte, width int) {
	if ClassOf(scalar) == Number {
		n, err := strconv.ParseFloat(strings.Trim(string(scalar), `"`), 64)
		if err != nil {
			return 0, nil, 0
		}
		if n < Units[0] && (n < JulianFirst || n >= JulianEnd) {
			return Number, nil, AnyUnit
		}
		for width < len(Units) && n >= Units[width] {
			width++
		}
		return Number, nil, width
	}
	s := scalar[1 : len(scalar)-1]
	if len(s) == 10 {
		return DateAlone, nil, 0
	}
	if len(s) < 16 {
		return 0, nil, 0
	}
	end := 11
	for end < len(s) && strings.IndexByte(ClockBytes, s[end]) >= 0 {
		end++
	}
	zone = s[end:min(len(s), end+len(BlankZone))]
	if len(zone) == 1 {
		width = len(s)
	}
	return s[10], zone, width
}

// ClockBytes are those of a time of day; BlankZone is a zone as Go's time.Time prints it.
const (
	ClockBytes = "0123456789:."
	BlankZone  = " +0200"
	blankUTC   = " +0000"
)

// String shows the form to people.
func (f Form) String() string {
	switch f.Sep {
	case Number:
		if f.Width == AnyUnit {
			return "a number"
		}
		return [...]string{"a number (a Julian day?)", "a number of seconds", "a number of milliseconds",
			"a number of microseconds", "a number of nanoseconds"}[f.Width]
	case DateAlone:
		return "text as in YYYY-MM-DD"
	}
	clock := "hh:mm:ss"
	if f.Width > 0 {
		clock = strings.Repeat("f", max(0, f.Width-len("YYYY-MM-DDThh:mm:ss.Z")))
		if clock != "" {
			clock = "." + clock
		}
		clock = "hh:mm:ss"[:min(8, f.Width-len("YYYY-MM-DDTZ"))] + clock
	}
	return "text as in YYYY-MM-DD" + string(f.Sep) + clock + f.Zone
}

// Spell writes a moment in the form of like, which is a stored time's JSON of the form f. Without a zone it is the wall
// clock of the given one. Of all spellings that the form has for the moment it is the one that sorts first, so that no
// other is passed over.
func (f Form) Spell(at time.Time, like []byte, zone *time.Location) []byte {
	at = at.In(zone)
	if offset, zoned, ok := offsetAt([]byte(f.Zone)); ok && zoned {
		at = at.In(time.FixedZone("", int(offset/time.Second)))
	}
	text := at.Format("2006-01-02")
	if f.Sep == DateAlone {
		return []byte(`"` + text + `"`)
	}
	clock := at.Format("15:04:05.999999999")
	if f.Width > 0 { // as many digits as the column's times have; more are cut off, never rounded
		clock = at.Format("15:04:05.000000000")[:f.Width-len("2006-01-02TZ")]
	}
	s := like[1 : len(like)-1]
	suffix := strings.TrimLeft(string(s[11:]), ClockBytes)
	return []byte(`"` + text + string(f.Sep) + clock + suffix + `"`)
}

// Apart reports whether two stored times are so far from each other that they sort as the moments do, whatever text
// form each has: forms differ in what follows the day, and zones by 26 hours at most.
func Apart(a, b []byte) bool {
	first, ok1 := DayOf(a)
	second, ok2 := DayOf(b)
	return ok1 && ok2 && first.Sub(second).Abs() > 48*time.Hour
}

// ChangesZone reports whether two forms differ by their zones, each of which has one.
func (f Form) ChangesZone(other Form) bool {
	return f.Sep == other.Sep && f.Zone != other.Zone && f.Zone != "" && other.Zone != ""
}

// ClockPutForward reports whether a stored time of a form may be followed by one with another offset: text and moment
// both ascend, as where a zone's clock is put forward between the two. Where it is put back, the text goes back.
func (r Rules) ClockPutForward(form Form, before, after []byte) bool {
	if !form.ChangesZone(r.Of(after)) {
		return false
	}
	then, ok1 := Parse(before, time.UTC)
	at, ok2 := Parse(after, time.UTC)
	return ok1 && ok2 && then.Before(at) && bytes.Compare(before, after) < 0
}

// DayOf is the day that a stored time's text begins with.
func DayOf(scalar []byte) (time.Time, bool) {
	if len(scalar) < 12 || scalar[0] != '"' {
		return time.Time{}, false
	}
	return Parse([]byte(string(scalar[:11])+`"`), time.UTC)
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
