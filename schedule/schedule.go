// Package schedule reads NCRONTAB, the timer language of Azure Functions, so that a poller fires
// standalone (`rowrelay run`) exactly when it would fire under the Functions host.
//
// An expression has six fields, separated by spaces; with five, the seconds are 0:
//
//	second minute hour day-of-month month day-of-week
//	0-59   0-59   0-23 1-31         1-12  0-6, Sunday is 0
//
// A field is a list of items separated by commas. An item is
//
//   - every value             */n     every n-th, counted from the field's lowest value
//     5       one value               5/n     every n-th from 5 to the field's highest value
//     2-9     a range, both ends in   2-9/n   every n-th of the range
//
// Months and days of the week may be names: any beginning of the English name, in any case (jan,
// MON, Thursday). Where a beginning fits several names the first is meant: J is January.
//
// The semantics are those of NCrontab.Signed 3.3.3, which the host uses, and differ from Unix cron
// and from most Go libraries:
//   - A day must satisfy day-of-month AND day-of-week. Cron takes either when both are given.
//   - A reversed range is swapped, not wrapped: 22-2 is 2-22, and Sat-Sun is the whole week.
//   - A step of 0 or less is 1. Sunday is never 7. There is no ? L W # @daily, TZ= or time span.
//   - The next time lies strictly after the given one. A date that does not exist (30 February)
//     never fires.
//
// All times are UTC: the Flex plan knows no time-zone setting.
package schedule

import (
	"math/bits"
	"time"
)

// A Schedule is a parsed expression: for each field the set of its values, bit n for the value n.
// It does not change and may be shared. Parse makes one; the zero value never fires.
type Schedule struct {
	expr                                      string
	second, minute, hour, day, month, weekday uint64
}

// String returns the expression as it was parsed.
func (s *Schedule) String() string { return s.expr }

// cycle is the length of the Gregorian calendar's period in years. It is a whole number of weeks
// (146097 days), so what does not fire within one cycle never fires.
const cycle = 400

// Next returns the first firing strictly after the given time, in UTC. It returns false when there
// is none: the schedule names only dates that do not exist.
func (s *Schedule) Next(after time.Time) (time.Time, bool) {
	if s.second == 0 || s.minute == 0 || s.hour == 0 {
		return time.Time{}, false
	}
	t := after.UTC().Truncate(time.Second).Add(time.Second)
	if s.fires(t) {
		if clock, ok := s.clockFrom(t.Clock()); ok {
			return midnight(t).Add(clock), true
		}
	}
	first, _ := s.clockFrom(0, 0, 0)
	date, ok := s.nextDate(midnight(t).AddDate(0, 0, 1))
	return date.Add(first), ok
}

// nextDate returns the midnight of the first matching day at or after the given midnight.
func (s *Schedule) nextDate(from time.Time) (time.Time, bool) {
	for end := from.AddDate(cycle, 0, 0); from.Before(end); {
		switch {
		case !has(s.month, int(from.Month())):
			from = time.Date(from.Year(), from.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		case s.fires(from):
			return from, true
		default:
			from = from.AddDate(0, 0, 1)
		}
	}
	return time.Time{}, false
}

// fires reports whether the schedule fires on the day of t at all.
func (s *Schedule) fires(t time.Time) bool {
	return has(s.month, int(t.Month())) && has(s.day, t.Day()) && has(s.weekday, int(t.Weekday()))
}

// clockFrom returns the first firing of a day at or after a time of that day, as the distance from
// midnight, or false when the day has none left.
func (s *Schedule) clockFrom(hour, minute, second int) (time.Duration, bool) {
	sec, ok := from(s.second, second)
	if !ok {
		sec, _ = from(s.second, 0)
		minute++
	}
	m, ok := from(s.minute, minute)
	if !ok {
		m, _ = from(s.minute, 0)
		hour++
	}
	h, ok := from(s.hour, hour)
	if !ok {
		return 0, false
	}
	// A later hour starts over at its first minute, a later minute at its first second.
	if h != hour {
		m, _ = from(s.minute, 0)
	}
	if h != hour || m != minute {
		sec, _ = from(s.second, 0)
	}
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(sec)*time.Second, true
}

// LongestGap returns the longest time between two firings that follow each other, over all of the
// calendar: with the tick's own length, the longest that a changed row waits to be seen. It returns
// false when the schedule never fires.
func (s *Schedule) LongestGap() (time.Duration, bool) {
	var longest time.Duration
	first, ok := s.clockFrom(0, 0, 0)
	if !ok || s.second == 0 || s.minute == 0 {
		return 0, false
	}
	last := first
	for {
		sec := int(last/time.Second) + 1
		next, ok := s.clockFrom(sec/3600, sec/60%60, sec%60)
		if !ok {
			break
		}
		longest = max(longest, next-last)
		last = next
	}
	if s.everyDay() {
		return max(longest, 24*time.Hour+first-last), true // most do: a cycle takes some 50 ms to go through
	}
	// 2000 begins a cycle; its first firing, seen again 400 years later, closes the circle.
	start, ok := s.nextDate(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
	if !ok {
		return 0, false
	}
	for date, end := start, start.AddDate(cycle, 0, 0); date.Before(end); {
		next, _ := s.nextDate(date.AddDate(0, 0, 1))
		longest = max(longest, next.Sub(date)+first-last)
		date = next
	}
	return longest, true
}

// everyDay reports whether the schedule fires on every date.
func (s *Schedule) everyDay() bool {
	const days, months, weekdays = 1<<32 - 2, 1<<13 - 2, 1<<7 - 1
	return s.day&days == days && s.month&months == months && s.weekday&weekdays == weekdays
}

func midnight(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

func has(set uint64, value int) bool { return set>>value&1 == 1 }

// from returns the lowest member of a set that is at least value.
func from(set uint64, value int) (int, bool) {
	set &^= 1<<value - 1
	return bits.TrailingZeros64(set), set != 0
}
