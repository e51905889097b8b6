package status

import (
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/poller"
)

// left is a report of a tick of a minute that ended so long after noon and left rows behind.
func left(event poller.Event, after time.Duration) *poller.Report {
	r := tick(event, after)
	r.Started, r.Drained, r.RowsWait = r.Ended.Add(-time.Minute), false, true
	return r
}

// drained is a report of a tick that saw at its end that none is left.
func drained(event poller.Event, after time.Duration) *poller.Report {
	r := tick(event, after)
	r.DrainedAt = r.Ended
	return r
}

// TestRowsWaitSince: since the first tick that left rows, until one sees that none is left, whatever ticks do in
// between.
func TestRowsWaitSince(t *testing.T) {
	minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
	first := noon.Add(minutes(9))
	both := left(poller.TickComplete, minutes(60))
	both.DrainedAt = noon.Add(minutes(59)).Add(30 * time.Second)
	n := Note{}
	for i, c := range []struct {
		r    *poller.Report
		want *time.Time
	}{
		{drained(poller.FetchEmpty, minutes(1)), nil},
		{left(poller.TickComplete, minutes(10)), &first},
		{left(poller.TickComplete, minutes(12)), &first},
		{tick(poller.FetchFailed, minutes(13)), &first}, // it has seen neither
		{left(poller.HandlerFailed, minutes(14)), &first},
		{tick(poller.Paused, minutes(15)), &first},
		{tick(poller.LeaseAcquireSkipped, minutes(16)), &first},
		{drained(poller.TickComplete, minutes(20)), nil},
		{drained(poller.HandlerFailed, minutes(21)), nil},
		{both, &both.DrainedAt},
		{drained(poller.FetchEmpty, minutes(61)), nil},
	} {
		n, _ = n.after(c.r, "", "one")
		if (n.WaitingSince == nil) != (c.want == nil) || c.want != nil && !n.WaitingSince.Equal(*c.want) {
			t.Errorf("tick %d: rows wait since %v, want %v", i, n.WaitingSince, c.want)
		}
	}
}

// TestRowsWaitSinceOverInstances: what others have noted counts: an earlier beginning, and that none was left
// meanwhile.
func TestRowsWaitSinceOverInstances(t *testing.T) {
	at := func(minute int) *time.Time {
		if minute < 0 {
			return nil
		}
		moment := noon.Add(time.Duration(minute) * time.Minute)
		return &moment
	}
	for name, c := range map[string]struct{ own, drained, others, othersDrained, want int }{
		"nobody":                           {-1, -1, -1, -1, -1},
		"we alone":                         {5, 4, -1, -1, 5},
		"the other alone":                  {-1, -1, 5, 4, 5},
		"a restart":                        {8, -1, 5, 4, 5},
		"the other has ended it":           {5, 4, -1, 7, -1},
		"we have ended it":                 {-1, 9, 5, 4, -1},
		"the other ended it, and it began": {9, -1, -1, 7, 9},
		"both, and drained between":        {9, 8, 5, 4, 9},
		"both, the other drained between":  {5, 4, 9, 8, 9},
		"drained and more at one moment":   {8, 8, -1, 7, 8},
	} {
		own := Note{At: *at(20), WaitingSince: at(c.own), DrainedAt: at(c.drained)}
		stored := Note{At: *at(10), WaitingSince: at(c.others), DrainedAt: at(c.othersDrained)}
		got, want := own.with(&stored).WaitingSince, at(c.want)
		if (got == nil) != (want == nil) || want != nil && !got.Equal(*want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestAnIdleTickEndsTheWait: rows that went without a delivery do not wait for ever on the page; the next idle tick
// leaves no note.
func TestAnIdleTickEndsTheWait(t *testing.T) {
	waits, _ := Note{}.after(left(poller.TickComplete, time.Minute), "", "one")
	idle, _ := Note{}.after(drained(poller.FetchEmpty, time.Hour), "", "two")
	if !idle.replaces(&waits, false) {
		t.Error("the wait goes on in the store")
	}
	written := idle.with(&waits)
	again, _ := idle.after(drained(poller.FetchEmpty, time.Hour+time.Second), "", "two")
	if written.WaitingSince != nil || again.replaces(&written, false) {
		t.Errorf("since %v; written again: %v", written.WaitingSince, again.replaces(&written, false))
	}
}

// TestLagThatIsNotKnown: of a cursor that is no time there is none while rows wait; a lag of 0 does not outlast an
// outage.
func TestLagThatIsNotKnown(t *testing.T) {
	n, _ := Note{}.after(drained(poller.FetchEmpty, time.Minute), "", "one")
	if n.Lag == nil || *n.Lag != 0 {
		t.Errorf("drained: %v", n.Lag)
	}
	undated := left(poller.TickComplete, 2*time.Minute)
	undated.Lag = -1
	if m, _ := n.after(undated, "", "one"); m.Lag != nil {
		t.Errorf("a lag of %v", *m.Lag)
	}
	if m, _ := n.after(left(poller.HandlerFailed, 2*time.Minute), "", "one"); m.Lag != nil {
		t.Errorf("a lag of %v in an outage", *m.Lag)
	}
	dated := left(poller.TickComplete, 2*time.Minute)
	dated.Lag = time.Minute
	m, _ := n.after(dated, "", "one")
	if m, _ = m.after(left(poller.HandlerFailed, 3*time.Minute), "", "one"); m.Lag == nil || *m.Lag != 120 {
		t.Errorf("a row that was a minute old is, a minute later: %v", m.Lag)
	}
	m, _ = m.after(tick(poller.HandlerFailed, 4*time.Minute), "", "one") // it left the destination alone
	if got := m.lagAt(m.At.Add(time.Minute)); got == nil || *got != 240 {
		t.Errorf("and a minute after the last note: %v", got)
	}
	unseen, _ := n.after(tick(poller.FetchFailed, 2*time.Minute), "", "one")
	if unseen.Lag != nil {
		t.Errorf("a source that cannot be read has a lag of %v", *unseen.Lag)
	}
}

// TestBehind: the word, its order among the others, and an outbox, of which nothing is noted.
func TestLagging(t *testing.T) {
	since := noon.Add(-time.Hour)
	now := noon
	f := func() *facts { return &facts{now: now, exists: true, note: &Note{At: now}} }
	for name, c := range map[string]struct {
		o    Output
		want Health
	}{
		"for an hour":             {Output{WaitingSince: &since}, Lagging},
		"for an hour, and parked": {Output{WaitingSince: &since, Parked: 1}, Lagging},
		"paused":                  {Output{WaitingSince: &since, Pause: &Pause{By: "ann"}}, Paused},
		"held back":               {Output{WaitingSince: &since, HeldBack: &HeldBack{Seconds: 60}}, Blocked},
	} {
		if got, says := judge(&c.o, f()); got != c.want {
			t.Errorf("%s: %s (%s)", name, got, says)
		}
	}
	now = since.Add(lagsLong)
	if got, _ := judge(&Output{WaitingSince: &since}, f()); got != Healthy {
		t.Errorf("for a quarter of an hour: %s", got)
	}
	late := noon.Add(time.Hour)
	n := Note{At: noon, WaitingSince: &late, DrainedAt: &late}.fit(noon)
	if n.WaitingSince != nil || n.DrainedAt != nil {
		t.Errorf("a time of the future is believed: %+v", n)
	}
	o := Output{Mode: mode.Outbox}
	o.noted(&Note{At: noon, WaitingSince: &since}, noon)
	if o.WaitingSince != nil {
		t.Error("an outbox is told to lag")
	}
	o = Output{}
	if o.noted(&Note{At: noon, WaitingSince: &since}, noon); o.WaitingSince != &since {
		t.Error("a poller is not")
	}
}
