package event

import (
	"testing"
	"time"
)

// TestTimesOfNone: the year 1 is what programs write that had no time to write. It neither holds an event nor gives it
// up, and PostgreSQL's -infinity does.
func TestTimesOfNone(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		at      any
		expired bool
	}{
		{nil, false}, {time.Time{}, false}, {time.Time{}.Add(-2 * time.Hour), false},
		{"0001-01-01 00:00:00.000000", false}, {"0000-00-00 00:00:00.000000", false},
		{"infinity", false}, {"-infinity", true}, {now, true}, {now.Add(time.Second), false}, {"1970-01-01 00:00:00", true},
	} {
		var r Row
		if r.SetTimes(nil, c.at, now); r.Broken != nil || r.Expired != c.expired {
			t.Errorf("expires_at %v: expired %t, %v", c.at, r.Expired, r.Broken)
		}
		held := c.at == "infinity" || c.at == now.Add(time.Second)
		if r.SetTimes(c.at, nil, now); r.Broken != nil || r.Early > 0 != held {
			t.Errorf("available_at %v: early %s, %v", c.at, r.Early, r.Broken)
		}
	}
}
