package schedule

import (
	"testing"
	"time"
)

// FuzzNext holds Next to a search second by second, as far as one is affordable.
func FuzzNext(f *testing.F) {
	for _, expr := range []string{
		"*/10 * * * * *", "0 5/20 22-2 * * mon-fri", "0 0 0 29 2 *", "1,2,3 4-9/2 * 1,31 J T", "*/5 * * * *",
		"59 59 23 31 12 *", "* * * * * 7",
	} {
		f.Add(expr, int64(1772362799))
		f.Add(expr, int64(-1))
	}
	f.Fuzz(func(t *testing.T, expr string, unix int64) {
		s, err := Parse(expr)
		if err != nil {
			return
		}
		after := time.Unix(unix%4e9, 0).UTC() // within about a century of 1970
		next, ok := s.Next(after)
		const reach = 100_000 // seconds: a little over a day
		for i := 1; i <= reach; i++ {
			at := after.Add(time.Duration(i) * time.Second)
			if s.fires(at) && has(s.hour, at.Hour()) && has(s.minute, at.Minute()) && has(s.second, at.Second()) {
				if !ok || !next.Equal(at) {
					t.Fatalf("Next(%v) of %q = %v, %t; want %v", after, expr, next, ok, at)
				}
				break
			}
			if ok && next.Equal(at) {
				t.Fatalf("Next(%v) of %q = %v, which does not match", after, expr, next)
			}
		}
		if !ok {
			return
		}
		longest, bounded := s.LongestGap()
		if second, _ := s.Next(next); !bounded || second.Sub(next) > longest {
			t.Fatalf("%q: from %v to %v is longer than LongestGap, %v", expr, next, second, longest)
		}
	})
}
