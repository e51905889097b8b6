package status

import (
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/printing"
)

// facts are what a health is judged by, beside the figures of the output itself.
type facts struct {
	now    time.Time
	faults int       // of its settings; the first is the first of Problems
	shared []Problem // faults of the settings that all pollers share: none of them runs
	// what says most of all, the document or the outbox, could not be read; the first of Problems says why
	unread bool
	gaps   []string // the parts that could not be read, with why
	exists bool     // there is a document, or an outbox
	gone   bool     // there is no document, and there was one: LastError says so
	alone  bool     // there is no state store: what ticks told is known to their own process only
	note   *Note
	// own is when a tick of this process last succeeded. good is when one last ended well, also because another was at
	// work; the zero time where this process is not one that ticks by the schedule.
	own  *time.Time
	good time.Time
	// limit is how long no tick may succeed before that is a sign; 0: the schedule is not known.
	limit time.Duration
}

// judge says how an output is doing, and why in one sentence. The first of the rules that fits decides.
func judge(o *Output, f *facts) (Health, string) {
	switch {
	case len(f.shared) > 0:
		return Failing, fmt.Sprintf("The settings of all pollers have %s: %s", count(len(f.shared), "fault"), first(f.shared))
	case f.faults > 0:
		return Failing, fmt.Sprintf("Its settings have %s: %s", count(f.faults, "fault"), first(o.Problems))
	case f.unread:
		return Failing, "How it is doing cannot be read: " + first(o.Problems)
	case f.gone:
		return Failing, o.LastError.Text
	case fails(o, f.note):
		return Failing, failure(o, f)
	}
	paused := o.Pause != nil
	if text := silence(o, f); text != "" && !paused {
		return Silent, text
	}
	switch held := o.Parked + o.Waiting; {
	case o.HeldBack != nil && !paused:
		text := fmt.Sprintf("Rows have been held back for %s", span(time.Duration(o.HeldBack.Seconds*float64(time.Second))))
		if o.HeldBack.By != "" {
			text += ", by " + o.HeldBack.By
		}
		return Blocked, text
	case o.MaxParked > 0 && held >= o.MaxParked:
		return Blocked, fmt.Sprintf("%d rows are parked, as many as max_parked allows: it goes no further until some are delivered or given up", held)
	case paused:
		text := "Paused by " + o.Pause.By
		if o.Pause.At != nil {
			text += " since " + stamp(*o.Pause.At)
		}
		if silent := unheard(o, f); silent != "" {
			text += ". " + silent
		}
		return Paused, text
	case lagging(o, f.now) != "":
		return Lagging, lagging(o, f.now)
	case o.Parked+o.Waiting > 0:
		return Parked, waiting(o)
	case o.DeadLetters > 0:
		return DeadLettered, waiting(o)
	case len(f.gaps) > 0:
		return Unknown, "Nothing wrong is known, but " + f.gaps[0]
	case !f.exists && o.LastSuccess == nil && o.Mode.Can(mode.Leases):
		return New, "It has never run: the first tick makes the function's state in its database"
	case !f.exists && o.LastSuccess == nil:
		return New, "It has never run: the first tick writes its state document"
	case o.Untouched && o.LastSuccess == nil:
		return New, "Nothing was delivered yet, and no tick that ended well is noted"
	}
	if f.note == nil && (!o.atWork() || f.alone && o.pendingLong()) {
		return Unknown, unnoted(o, f)
	}
	return Healthy, well(o, f)
}

// gone says that there is no state document although a tick that succeeded has written one.
func gone(success time.Time) string {
	return fmt.Sprintf("The state document is gone: it was there when a tick succeeded at %s. A process that starts now "+
		"begins at source__start. Start none, and restore its copy (docs/operations.md, The state document is gone)",
		stamp(success))
}

// pendingLong reports events that wait for so long that publishing may fail, although somebody is at work.
func (o *Output) pendingLong() bool {
	return o.Pending != nil && *o.Pending > 0 && o.LagSeconds != nil && *o.LagSeconds > time.Minute.Seconds()
}

// unnoted says why it is not known whether anybody ticks, or with what success.
func unnoted(o *Output, f *facts) string {
	switch {
	case f.alone && o.pendingLong():
		return fmt.Sprintf("The oldest pending event has waited for %s; whether publishing fails, only the process that ticks "+
			"knows without a state store: read its page or its log", span(time.Duration(*o.LagSeconds*float64(time.Second))))
	case f.alone:
		return "Nothing is given up or failed; without a state store, only the process that ticks knows what its ticks told"
	}
	return "No failure is noted, and no sign of life either: whether anybody ticks is not known"
}

// fails reports whether the last tick that was noted failed. A pause since then has ended that: no tick tries.
func fails(o *Output, n *Note) bool {
	if n == nil || !n.Failed || n.problem() == nil {
		return false
	}
	return o.Pause == nil || o.Pause.At != nil && n.At.After(*o.Pause.At)
}

func failure(o *Output, f *facts) string {
	e := f.note.problem()
	at, what := f.note.At, "The last tick"
	if f.note.shares() { // the last tick of all may have been another partition's
		what = f.note.partsText() + "A tick"
		if e.At != nil {
			at = *e.At
		}
	}
	text := fmt.Sprintf("%s failed (%s) at %s: %s", what, e.Kind(), stamp(at), e.Text)
	if o.SilentSince != nil && !o.atWork() {
		text += ". No tick has given a sign of life since"
	}
	return text
}

// silence says that ticks do not come, or do not end; "" where nothing shows it. It is known by this process's own
// ticks, by what was left undone, and by the sign of life that every tick leaves in the store, throttled.
func silence(o *Output, f *facts) string {
	if f.limit <= 0 {
		return unheard(o, f)
	}
	limit := f.limit.Seconds()
	held := o.Lease != nil && o.Lease.Held
	switch {
	case o.Lease != nil && !held && o.Lease.Holder != "" && o.Lease.HeartbeatSeconds > limit:
		return fmt.Sprintf("%s held the lease and died: its last sign of life is %s old, and nobody has taken over",
			o.Lease.Holder,
			span(time.Duration(o.Lease.HeartbeatSeconds*float64(time.Second))))
	case o.Pending != nil && *o.Pending > 0 && o.LagSeconds != nil && *o.LagSeconds > limit && !anyHeld(o.Owners):
		return fmt.Sprintf("The oldest pending event has waited for %s, and nobody publishes",
			span(time.Duration(*o.LagSeconds*float64(time.Second))))
	case !f.good.IsZero() && f.now.Sub(f.good) > f.limit && !o.atWork():
		return fmt.Sprintf("No tick of this process has ended well since %s", stamp(f.good))
	}
	return unheard(o, f)
}

// unheard says since when no tick has left a sign of life although one is due; "" where it is not due, or somebody
// holds the right to work now.
func unheard(o *Output, f *facts) string {
	if o.SilentSince == nil || o.atWork() {
		return ""
	}
	if f.stopped() {
		return fmt.Sprintf("Stopped since %s: its process ended in order, and no tick came since. Where another process "+
			"ticks, it says so within a minute", stamp(*f.note.Stopped))
	}
	return fmt.Sprintf("Silent since %s: ticks leave a sign of life each minute, and it is missing for %s. Is its process "+
		"running, and can it write the state store?", stamp(*o.SilentSince), span(f.now.Sub(*o.SilentSince)))
}

// waiting says what waits for a repetition, or for an operator.
func waiting(o *Output) string {
	text := ""
	add := func(n int64, what string) {
		if n == 0 {
			return
		}
		if text != "" {
			text += ", "
		}
		text += printing.AtLeast(n, o.CountedTo) + " " + what
	}
	if o.Mode.Can(mode.Marks) {
		add(o.Parked, "failed")
	} else {
		add(o.Parked, "parked")
	}
	add(o.Waiting, "waiting behind them")
	if o.DeadLetters == 1 {
		add(o.DeadLetters, "dead letter")
	} else {
		add(o.DeadLetters, "dead letters")
	}
	return "It works; of its events: " + text
}

// well says on what grounds nothing is wrong.
func well(o *Output, f *facts) string {
	switch {
	case f.own != nil && !before(f.own, o.LastSuccess):
		return "The last tick succeeded at " + stamp(*f.own)
	case o.Pending != nil && *o.Pending > 0:
		return fmt.Sprintf("%s pending, and no failure is noted", printing.AtLeast(*o.Pending, o.CountedTo))
	case o.LastSuccess != nil:
		text := "No failure is noted since the success at " + stamp(*o.LastSuccess)
		if f.onceOnly(o) {
			text += "; when the next tick is due is not known"
		}
		return text
	}
	return "No failure is noted"
}

// onceOnly reports whether the last that ticked was a run --once: nobody here knows who starts the next, or when.
func (f *facts) onceOnly(o *Output) bool {
	return f.note != nil && f.note.SilentAfter == 0 && !o.atWork()
}

// stopped reports whether the process that ticked last has ended in order, and no tick came since.
func (f *facts) stopped() bool { return f.note != nil && f.note.Stopped != nil }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func first(problems []Problem) string {
	if len(problems) == 0 {
		return "no reason was given"
	}
	return problems[0].Text
}

// span is a duration for people.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}
