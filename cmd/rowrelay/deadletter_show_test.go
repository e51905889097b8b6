package main

import (
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/deadletter"
)

// TestShowWithoutAFirstAttempt: leases on rows do not know it, and then nothing is said of it.
func TestShowWithoutAFirstAttempt(t *testing.T) {
	record := deadletter.Record{Attempts: 5, LastAttempt: time.Date(2026, 11, 28, 14, 0, 0, 0, time.UTC)}
	for first, want := range map[time.Time]string{
		{}: "after 5 attempts, the last 2026-11-28T14:00:00Z",
		record.LastAttempt.Add(-time.Hour): "after 5 attempts, the first 2026-11-28T13:00:00Z, " +
			"the last 2026-11-28T14:00:00Z",
	} {
		record.FirstAttempt = first
		var out strings.Builder
		if err := printLetter(&out, &record); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v: want %q, got\n%s", err, want, out.String())
		}
	}
}
