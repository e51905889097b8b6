// Package scalar reads the JSON of one value: a string, a number, a boolean.
//
// It comes from a stored position, where it is what a row's own reader wrote, or from source__start, where a person
// wrote it. Each reader accepts the plain variants of both, and says what it expected otherwise.
package scalar

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Int is a whole number, written as one or as a string of digits.
func Int(scalar []byte) (int64, error) {
	s, err := Text(scalar)
	if err == nil {
		var v int64
		if v, err = strconv.ParseInt(s, 10, 64); err == nil {
			return v, nil
		}
	}
	return 0, errors.New("expected a whole number")
}

// Decimal is a decimal number with at most scale digits after the point.
func Decimal(scalar []byte, scale int) (string, error) {
	s, err := Text(scalar)
	if err != nil || !isPlainDecimal(s) {
		return "", errors.New("expected a decimal number, as in 12.50")
	}
	if _, fraction, _ := strings.Cut(s, "."); len(strings.TrimRight(fraction, "0")) > scale {
		return "", fmt.Errorf("expected at most %d digits after the point", scale)
	}
	return s, nil
}

func isPlainDecimal(s string) bool {
	whole, fraction, point := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	return whole != "" && strings.Trim(whole, "0123456789") == "" && strings.Trim(fraction, "0123456789") == "" &&
		(!point || fraction != "")
}

// moment is a date and time as text, taken apart: what a person may leave out is filled with zeros.
type moment struct {
	Date     string // 2026-04-07
	Clock    string // 01:23:45
	fraction string // digits after the point, as written
	Offset   string // "", "Z" or "+02:00"
}

// ParseMoment reads 2026-04-07, 2026-04-07T01:23 or …T01:23:45.1234567, with a blank or a T between, and Z or +02:00
// after it.
func ParseMoment(scalar []byte) (moment, error) {
	fault := errors.New("expected a date and time, as in 2026-04-07T01:23:45.123")
	s, err := Text(scalar)
	if err != nil || len(s) < len("2026-04-07") {
		return moment{}, fault
	}
	m := moment{Date: s[:10], Clock: "00:00:00"}
	if !Shaped(m.Date, "0000-00-00") {
		return moment{}, fault
	}
	rest := s[10:]
	if rest == "" {
		return m, nil
	}
	if rest[0] != 'T' && rest[0] != ' ' {
		return moment{}, fault
	}
	clock, err := ParseClock(rest[1:])
	if err != nil {
		return moment{}, fault
	}
	m.Clock, m.fraction, m.Offset = clock.Clock, clock.fraction, clock.Offset
	return m, nil
}

// ParseClock reads 01:23, 01:23:45 or 01:23:45.1234567, with Z or +02:00 after it.
func ParseClock(s string) (moment, error) {
	fault := errors.New("expected a time of day, as in 01:23:45.123")
	var m moment
	if i := strings.IndexAny(s, "Zz+-"); i >= 0 {
		s, m.Offset = s[:i], strings.ToUpper(s[i:])
		if m.Offset != "Z" && !Shaped(m.Offset[1:], "00:00") {
			return moment{}, fault
		}
	}
	clock, fraction, point := strings.Cut(s, ".")
	if len(clock) == 5 {
		clock += ":00"
	}
	if !Shaped(clock, "00:00:00") || point && (fraction == "" || strings.Trim(fraction, "0123456789") != "") {
		return moment{}, fault
	}
	m.Clock, m.fraction = clock, fraction
	return m, nil
}

// digits returns the fraction with exactly n digits. More are cut off, never rounded: "after .1239" must not become
// "after .124" where the column holds three digits, which would pass over .124 itself.
func (m moment) digits(n int) string {
	f := m.fraction
	if len(f) > n {
		f = f[:n]
	}
	return f + strings.Repeat("0", n-len(f))
}

// Join joins date and clock with the sign, and adds n digits of the fraction.
func (m moment) Join(sign string, n int) string {
	s := m.Date + sign + m.Clock
	if n > 0 {
		s += "." + m.digits(n)
	}
	return s
}

// Shaped reports whether s has the form of pattern, in which 0 stands for any digit.
func Shaped(s, pattern string) bool {
	if len(s) != len(pattern) {
		return false
	}
	for i := range len(s) {
		if pattern[i] == '0' {
			if s[i] < '0' || s[i] > '9' {
				return false
			}
		} else if s[i] != pattern[i] {
			return false
		}
	}
	return true
}
