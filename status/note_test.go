package status

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

var noon = time.Date(2026, 4, 7, 12, 0, 0, 0, time.UTC)

// tick is a report of a tick that ended so long after noon.
func tick(event poller.Event, after time.Duration) *poller.Report {
	return &poller.Report{Poller: "orders", Event: event, Started: noon.Add(after - time.Second), Ended: noon.Add(after),
		Parked: -1, Drained: true}
}

func TestNoteOfTicks(t *testing.T) {
	work := tick(poller.TickComplete, time.Second)
	work.Rows, work.Lag, work.Drained = 30, 2*time.Second, false
	n, tells := Note{}.after(work, "", "one")
	if !tells || n.outcome() != "" || *n.Lag != 2 || !n.More || !n.LastSuccess.Equal(work.Ended) ||
		n.Seconds != 1 || n.Instance != "one" {
		t.Errorf("after work: %+v", n)
	}
	broken := tick(poller.FetchFailed, 2*time.Second)
	broken.Reason, broken.Err = "denied", errors.New("login denied:\nfor \x1b[31mappuser")
	n, _ = n.after(broken, "grant it", "one")
	if n.outcome() != "failed fetch_failed" || n.LastError.Text != "login denied: for [31mappuser" ||
		n.LastError.Reason != "denied" || n.LastError.Mend != "grant it" ||
		!n.LastSuccess.Equal(work.Ended) {
		t.Errorf("after a failure: %+v", n)
	}
	same, tells := n.after(tick(poller.LeaseAcquireSkipped, 3*time.Second), "", "one")
	if tells || same.At != n.At {
		t.Errorf("a tick that was skipped tells %+v", same)
	}
	held := tick(poller.FetchEmpty, 4*time.Second)
	held.HeldBack, held.HeldBy = 20*time.Second, "session 7"
	n, _ = n.after(held, "", "one")
	if n.outcome() != "held back" || n.HeldBack.By != "session 7" || n.LastError == nil || n.Failed || *n.Lag != 0 {
		t.Errorf("while held back: %+v", n)
	}
	held.HeldBack = time.Second
	if brief, _ := n.after(held, "", "one"); brief.HeldBack != nil {
		t.Errorf("a moment is told: %+v", brief.HeldBack)
	}
	n, _ = n.after(tick(poller.Paused, 5*time.Second), "", "one")
	if n.outcome() != "" || n.HeldBack != nil || n.Lag != nil {
		t.Errorf("while paused: %+v", n)
	}
	data, err := n.encode()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := decodeNote(data); err != nil || !back.At.Equal(n.At) || back.LastError.Text != n.LastError.Text {
		t.Errorf("read back: %+v, %v", back, err)
	}
}

func TestNoteOfAnotherVersion(t *testing.T) {
	for _, text := range []string{"", "null", "[]", `{"version":2}`, `{"version":1,"at":7}`,
		strings.Repeat(" ", maxNote+1)} {
		if n, err := decodeNote([]byte(text)); err == nil {
			t.Errorf("%.20q is taken for %+v", text, n)
		}
	}
}

// TestJoin: the newer note is shown, with what the older one knows; and a failure of another instance that is a moment
// old.
func TestJoin(t *testing.T) {
	note := func(instance string, after time.Duration, failed bool) *Note {
		at := noon.Add(after)
		n := &Note{Instance: instance, At: at, Failed: failed}
		if failed {
			n.LastError = &Problem{At: &at, Text: "denied"}
		} else {
			n.LastSuccess = &at
		}
		return n
	}
	for name, c := range map[string]struct {
		own, stored *Note
		failed      bool
		nothing     bool
	}{
		"nothing":                             {nil, nil, false, true},
		"own only":                            {note("a", 0, true), nil, true, false},
		"stored only":                         {nil, note("a", 0, true), true, false},
		"another failed a moment ago":         {note("a", time.Second, false), note("b", 0, true), true, false},
		"another failed, we succeeded since":  {note("a", time.Hour, false), note("b", 0, true), false, false},
		"we failed, another's clock is later": {note("a", 0, true), note("b", clockSlack, false), true, false},
		"we failed, another succeeded since":  {note("a", 0, true), note("b", clockSlack+time.Second, false), false, false},
		"we failed, and have recovered":       {note("a", time.Second, false), note("a", 0, true), false, false},
	} {
		got := join(c.own, c.stored)
		if (got == nil) != c.nothing || got != nil && got.Failed != c.failed {
			t.Errorf("%s: %+v", name, got)
		}
		if c.own != nil && c.stored != nil && (got.LastError == nil || got.LastSuccess == nil) {
			t.Errorf("%s: what the older one knows is lost: %+v", name, got)
		}
	}
}

func TestSaid(t *testing.T) {
	long := strings.Repeat("é", maxText)
	if got := said(long); len(got) > maxText || !strings.HasSuffix(got, "é…") {
		t.Errorf("%d bytes, ends in %q", len(got), got[len(got)-6:])
	}
	if got := said(" a\r\n\tb\x00 \xff"); got != "a b \uFFFD" {
		t.Errorf("%q", got)
	}
}

// TestANoteOfTheFuture: what a clock has written that runs ahead is not believed, nor what another note has taken over
// from it.
func TestANoteOfTheFuture(t *testing.T) {
	late, early := noon.Add(clockSlack+time.Second), noon.Add(-time.Hour)
	if n := (Note{At: late, LastSuccess: &late}).fit(noon); !n.unfit || !n.At.IsZero() || n.LastSuccess != nil {
		t.Errorf("%+v", n)
	}
	n := Note{At: noon.Add(clockSlack), LastSuccess: &late, LastError: &Problem{At: &late, Text: "denied"},
		Handed: &Handed{At: late},
		Parts:  map[string]PartEnd{"1": {At: late}, "2": {At: noon, Failed: "fetch_failed"}}}.fit(noon)
	if n.unfit || n.LastSuccess != nil || n.LastError.At != nil || n.LastError.Text != "denied" || !n.Handed.At.IsZero() ||
		len(n.Parts) != 1 {
		t.Errorf("%+v", n)
	}
	n = Note{At: noon, LastSuccess: &early}.fit(noon)
	if n.LastSuccess == nil {
		t.Errorf("%+v", n)
	}
}
