package main

import (
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/status"
)

// The next run has its day where that is not today, in UTC.
func TestTheNextRunHasItsDay(t *testing.T) {
	now := time.Date(2026, 3, 1, 23, 59, 0, 0, time.UTC)
	for next, want := range map[time.Time]string{
		now.Add(30 * time.Second): "next at 23:59:30",
		now.Add(time.Minute):      "next at 2026-03-02 00:00:00",
		now.AddDate(1, 0, 0):      "next at 2027-03-01 23:59:00",
	} {
		if said := ticksText(&status.Output{NextRun: &next}, now.In(time.FixedZone("", 3600))); said != want {
			t.Errorf("%q, want %q", said, want)
		}
	}
}
