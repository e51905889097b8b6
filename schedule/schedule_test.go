package schedule_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/schedule"
)

const layout = "2006-01-02 15:04:05"

func at(t testing.TB, s string) time.Time {
	t.Helper()
	v, err := time.Parse(layout, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func parse(t testing.TB, expr string) *schedule.Schedule {
	t.Helper()
	s, err := schedule.Parse(expr)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each line is a firing and those that follow it. 2026-03-01 is a Sunday.
func TestNext(t *testing.T) {
	tests := []struct{ name, expr, after, want string }{
		{"every second", "* * * * * *", "2026-03-01 10:00:00", "2026-03-01 10:00:01"},
		{"strictly after its own firing", "0 0 10 * * *", "2026-03-01 10:00:00", "2026-03-02 10:00:00"},
		{"carries through the year", "*/10 * * * * *", "2026-12-31 23:59:55", "2027-01-01 00:00:00"},
		{"five fields have second 0", "*/5 * * * *", "2026-03-01 10:00:00", "2026-03-01 10:05:00"},
		{"several spaces", "  0   */5 * * *  * ", "2026-03-01 10:04:59", "2026-03-01 10:05:00"},
		{"later minute starts at the first second", "30,45 */2 * * * *", "2026-03-01 10:00:45", "2026-03-01 10:02:30"},
		{"later hour starts at the first minute", "0 15,45 */6 * * *", "2026-03-01 06:45:00", "2026-03-01 12:15:00"},
		{"later day starts at the first hour", "0 0 8-10 * * *", "2026-03-01 10:00:00", "2026-03-02 08:00:00"},
		{"hour that has passed", "30 30 10 * * *", "2026-03-01 11:30:15", "2026-03-02 10:30:30"},

		{"day of month AND day of week", "0 0 0 13 * 5", "2026-03-14 00:00:00", "2026-11-13 00:00:00"},
		{"Sunday is 0", "0 0 0 * * 0", "2026-03-02 00:00:00", "2026-03-08 00:00:00"},
		{"any prefix of a name", "0 0 0 * sept thu", "2026-01-01 00:00:00", "2026-09-03 00:00:00"},
		{"full names in any case", "0 0 0 * FEBRUARY mOnDaY", "2026-01-01 00:00:00", "2026-02-02 00:00:00"},
		{"an ambiguous prefix is the first name", "0 0 0 1 J *", "2026-02-01 00:00:00", "2027-01-01 00:00:00"},
		{"T is Tuesday", "0 0 0 * * T", "2026-03-01 00:00:00", "2026-03-03 00:00:00"},
		{"named range", "0 0 0 * * mon-fri", "2026-03-06 00:00:00", "2026-03-09 00:00:00"},
		{"reversed range is swapped", "0 0 22-2 * * *", "2026-03-01 02:00:00", "2026-03-01 03:00:00"},
		{"reversed range ends at its larger end", "0 0 22-2 * * *", "2026-03-01 22:00:00", "2026-03-02 02:00:00"},
		{"Sat-Sun is the whole week", "0 0 0 * * sat-sun", "2026-03-03 00:00:00", "2026-03-04 00:00:00"},
		{"Fri-Mon is Monday to Friday", "0 0 0 * * fri-mon", "2026-03-06 00:00:00", "2026-03-09 00:00:00"},
		{"step 0 is 1", "*/0 * * * * *", "2026-03-01 10:00:00", "2026-03-01 10:00:01"},
		{"negative step is 1", "*/-7 * * * * *", "2026-03-01 10:00:00", "2026-03-01 10:00:01"},
		{"* with a step begins at the lowest", "0 0 0 */10 * *", "2026-03-21 00:00:00", "2026-03-31 00:00:00"},
		{"and begins again", "0 0 0 */10 * *", "2026-03-31 00:00:00", "2026-04-01 00:00:00"},
		{"a value with a step runs to the highest", "0 5/20 * * * *", "2026-03-01 10:25:00", "2026-03-01 10:45:00"},
		{"and no further", "0 5/20 * * * *", "2026-03-01 10:45:00", "2026-03-01 11:05:00"},
		{"a value with step 0", "0 58/0 * * * *", "2026-03-01 10:58:00", "2026-03-01 10:59:00"},
		{"a range with a step", "0 10-30/15 * * * *", "2026-03-01 10:10:00", "2026-03-01 10:25:00"},
		{"a step beyond the range leaves its first", "0 10-30/99 * * * *", "2026-03-01 10:10:00", "2026-03-01 11:10:00"},
		{"a list of everything", "0 0,10-12,50/5 * * * *", "2026-03-01 10:12:00", "2026-03-01 10:50:00"},
		{"day 31 skips short months", "0 0 0 31 * *", "2026-03-31 00:00:00", "2026-05-31 00:00:00"},
		{"leap day", "0 0 0 29 2 *", "2026-03-01 00:00:00", "2028-02-29 00:00:00"},
		{"leap day across 2100", "0 0 0 29 2 *", "2096-02-29 00:00:00", "2104-02-29 00:00:00"},
		{"leap day on a Monday", "0 0 0 29 2 1", "2096-02-29 00:00:00", "2112-02-29 00:00:00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := parse(t, tt.expr).Next(at(t, tt.after))
			if !ok || got.Format(layout) != tt.want {
				t.Errorf("Next(%s) of %q = %s, %t; want %s", tt.after, tt.expr, got.Format(layout), ok, tt.want)
			}
		})
	}
}

func TestNextIsUTCAndWholeSeconds(t *testing.T) {
	zone := time.FixedZone("somewhere", 5*3600+1800)
	after := at(t, "2026-03-01 10:00:00").Add(999 * time.Millisecond).In(zone)
	got, ok := parse(t, "* * * * * *").Next(after)
	if want := at(t, "2026-03-01 10:00:01"); !ok || got != want {
		t.Errorf("Next(%v) = %v, %t; want %v", after, got, ok, want)
	}
}

func TestDatesThatDoNotExistNeverFire(t *testing.T) {
	for _, expr := range []string{"0 0 0 30 2 *", "0 0 0 31 2,4,6,9,11 *"} {
		s := parse(t, expr)
		if got, ok := s.Next(at(t, "2026-01-01 00:00:00")); ok {
			t.Errorf("%q fires at %v, want never", expr, got)
		}
		if gap, ok := s.LongestGap(); ok {
			t.Errorf("%q has a longest gap of %v, want none", expr, gap)
		}
	}
	if got, ok := new(schedule.Schedule).Next(time.Now()); ok {
		t.Errorf("the zero Schedule fires at %v, want never", got)
	}
}

func TestLongestGap(t *testing.T) {
	quick.Skip(t)
	const day = 24 * time.Hour
	tests := []struct {
		expr string
		want time.Duration
	}{
		{"* * * * * *", time.Second},
		{"*/10 * * * * *", 10 * time.Second},
		{"*/25 * * * * *", 25 * time.Second},
		{"0 */7 * * * *", 7 * time.Minute}, // :56 to :00 is the short one
		{"0 0-10 * * * *", 50 * time.Minute},
		{"0 0 9-17 * * mon-fri", 2*day + 16*time.Hour},
		{"0 0 0 * * *", day},
		{"0 0 0 31 * *", 61 * day}, // from 31 August to 31 October, for one
		{"0 0 0 29 2 *", (8*365 + 1) * day},
	}
	for _, tt := range tests {
		if got, ok := parse(t, tt.expr).LongestGap(); !ok || got != tt.want {
			t.Errorf("LongestGap of %q = %v, %t; want %v", tt.expr, got, ok, tt.want)
		}
	}
}

func TestParseErrorsNameTheFieldAndTheMend(t *testing.T) {
	tests := []struct{ expr, want string }{
		{"", "0 fields"},
		{"* * * *", "4 fields"},
		{"* * * * * * *", "7 fields"},
		{"00:05:00", "a time span"},
		{"@daily", "no @ macros"},
		{"TZ=UTC 0 * * * * * *", "no TZ="},
		{"60 * * * * *", `second "60": 60 is out of range: write 0 to 59`},
		{"* 99999999999999999999 * * * *", "minute"},
		{"* * 24 * * *", `hour "24"`},
		{"* * * 0 * *", `day of month "0": 0 is out of range: write 1 to 31`},
		{"* * * * 13 *", `month "13"`},
		{"* * * * * 7", `day of week "7": 7 is out of range: write 0 to 6 (Sunday is 0)`},
		{"* * * * * mond,tues,moon", `"moon" is neither a number from 0 to 6 nor`},
		{"* * * ? * *", "no ? L W or #"},
		{"* * * L * *", "no ? L W or #"},
		{"* * * * * 5#2", `"5#2" is not a number`},
		{"* * * 15W * *", `"15W" is not a number`},
		{"mon * * * * *", `"mon" is not a number from 0 to 59`},
		{"1,,2 * * * * *", "a value is missing"},
		{"1, * * * * *", "a value is missing"},
		{"-5 * * * * *", "a value is missing"},
		{"/5 * * * * *", "a value is missing"},
		{"*/ * * * * *", "the step after / must be a number"},
		{"*/x * * * * *", "the step after / must be a number"},
		{"*/2/3 * * * * *", "the step after / must be a number"},
		{"1-2-3 * * * * *", `"2-3" is not a number`},
		{"*-5 * * * * *", `"*" is not a number`},
		{"0 */5\t* * * * *", "must be a number"}, // only spaces separate, as in NCrontab
	}
	for _, tt := range tests {
		s, err := schedule.Parse(tt.expr)
		if err == nil {
			t.Errorf("Parse(%q) = %v, want an error", tt.expr, s)
			continue
		}
		if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), fmt.Sprintf("%q", tt.expr)) {
			t.Errorf("Parse(%q) says %q, want it to name the expression and %q", tt.expr, err, tt.want)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, expr := range []string{"*/1 * * * * *", "0 0 9 * * mon-fri", "0 0 0 29 2 1"} {
		b.Run(strings.ReplaceAll(expr, " ", "_"), func(b *testing.B) {
			s := parse(b, expr)
			after := at(b, "2026-03-01 10:00:00")
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := s.Next(after); !ok {
					b.Fatal("never fires")
				}
			}
		})
	}
}

func BenchmarkLongestGap(b *testing.B) {
	s := parse(b, "*/1 * * * * *")
	for b.Loop() {
		if _, ok := s.LongestGap(); !ok {
			b.Fatal("never fires")
		}
	}
}
