package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

const (
	noteVersion = 1
	// maxNote bounds a note that is read: whatever is larger was not written by us.
	maxNote = 256 << 10 // with 1024 partitions that have failed it takes 80 KiB
	// worthANote is how long rows have to be held back to be told of: a transaction that is open for a moment is nothing.
	worthANote = 10 * time.Second
)

// NoteKey is where the note of an output lies in the state store.
func NoteKey(app, name, output string) string {
	if output != "" {
		name += "." + output
	}
	return "status/" + app + "/" + name + ".json"
}

// after is the note after one more tick. It is false for a tick that has seen nothing, because another is at work. mend
// is what the log line of a failed tick said to do.
func (n Note) after(r *poller.Report, mend, instance string) (Note, bool) {
	if r.Event == poller.LeaseAcquireSkipped {
		return n, false
	}
	ended, before := r.Ended.UTC(), n.At
	took := r.Ended.Sub(r.Started).Seconds()
	n.Stopped = nil
	n.Version, n.Instance, n.At, n.Event, n.Failed, n.Seconds = noteVersion, instance, ended, string(r.Event), r.Failed(),
		took
	// it has handed partitions out: whether they succeed, their own ticks tell
	hands := r.Share != nil && r.Share.Partition < 0
	n.More = r.Event == poller.TickComplete && !r.Drained && !hands
	n.follow(r)
	switch {
	case r.Event == poller.Paused:
		n.Lag, n.HeldBack = nil, nil
	case r.Failed():
		n.LastError = &Problem{At: &ended, Event: string(r.Event), Reason: r.Reason,
			Text: said(partName(r.Share) + errorText(r)), Mend: said(mend)}
		n.lag(r, before)
		if r.HeldBack >= worthANote {
			n.HeldBack = heldBack(r)
		}
	case hands:
	default:
		n.lag(r, before)
		n.LastSuccess, n.HeldBack = &ended, nil
		n.Document = !r.After.IsStart() || n.Document && r.Outbox == nil
		if r.HeldBack >= worthANote {
			n.HeldBack = heldBack(r)
		}
	}
	n.share(r)
	n.remember(r)
	return n, true
}

// hadDocument reports whether a tick was noted that succeeded with a position in a document.
func (n *Note) hadDocument() bool { return n != nil && n.LastSuccess != nil && n.Document }

func heldBack(r *poller.Report) *HeldBack {
	return &HeldBack{Seconds: r.HeldBack.Seconds(), By: said(r.HeldBy)}
}

// errorText is why a tick failed, without what a destination answered: that may echo a row.
func errorText(r *poller.Report) string {
	if r.Err == nil {
		return string(r.Event)
	}
	return poller.WithoutAnswers(r.Err.Error())
}

// silent reports whether the sign of life after this one is overdue, or cannot come.
func (n *Note) silent(now time.Time) bool {
	return n.Stopped != nil || n.SilentAfter > 0 && now.Add(-n.ahead).Sub(n.At).Seconds() > n.SilentAfter
}

// overdue is silent, with what the output's own document tells: a tick that takes its time holds the lease, and
// commits. An idle one may take what the last took, and as long again.
func (n *Note) overdue(now time.Time, o *Output) bool {
	if n.silent(now) {
		return true
	}
	last := n.At
	if o.CommittedAt != nil && o.CommittedAt.After(last) {
		last = *o.CommittedAt
	}
	return n.IdleAfter > 0 && !o.Unread && !o.atWork() && now.Add(-n.ahead).Sub(last).Seconds() > n.IdleAfter+2*n.Seconds
}

// outcome is what is worth telling at once when it changes: "" while nothing is wrong.
func (n *Note) outcome() string {
	switch {
	case n.Failed:
		return "failed " + n.Event
	case n.HeldBack != nil:
		return "held back"
	}
	return ""
}

// replaces reports whether the note is to be written over the stored one: it tells of work, or of another outcome, or
// is a sign of life that is due. What
// another instance has noted of a later tick stands, unless that may be later by its clock only and ours has failed. So
// does its failure while it may still be failing: ours went well, its did not. Of partitions, each is weighed for
// itself.
func (n *Note) replaces(stored *Note, worked bool) bool {
	switch both := n.with(stored); {
	case stored.unfit, stored.Instance == n.Instance && stored.At.After(n.At): // our own clock was put back
		return true
	case stored.At.After(n.At) && !n.shares() && !n.alarms(stored):
		return false
	case worked:
		return true
	// what was left to do may have gone without a delivery
	case both.outcome() == stored.outcome() && (n.Stopped == nil) == (stored.Stopped == nil) &&
		(!stored.More || n.More) && !both.catchesUp(stored) && n.At.Sub(stored.At) < lifeEvery:
		return false
	case both.shares():
		return true
	}
	return !n.belittles(stored)
}

// belittles reports whether another instance has failed a moment ago where this one has not.
func (n *Note) belittles(other *Note) bool {
	return n.outcome() == "" && other.outcome() != "" && other.Instance != n.Instance && n.At.Sub(other.At) < anothersAlarm
}

// alarms reports whether this note tells of a failure, and another instance's of none, that is not later for certain:
// clocks differ.
func (n *Note) alarms(other *Note) bool {
	return n.outcome() != "" && other.outcome() == "" && other.Instance != n.Instance && other.At.Sub(n.At) <= clockSlack
}

// fit is a stored note as it may be believed at a time: none that is of the future, and no time of the future in it. A
// clock that runs ahead would else be the one whose notes stand, whatever others tell.
func (n Note) fit(now time.Time) Note {
	limit := now.Add(clockSlack)
	if n.At.After(limit) {
		return Note{unfit: true}
	}
	n.fitLag(limit)
	if n.Stopped != nil && n.Stopped.After(limit) {
		n.Stopped = nil
	}
	n.History = recent(n.History, limit)
	if n.LastSuccess != nil && n.LastSuccess.After(limit) {
		n.LastSuccess = nil
	}
	if n.LastError != nil && n.LastError.At != nil && n.LastError.At.After(limit) {
		e := *n.LastError
		e.At, n.LastError = nil, &e
	}
	if n.Handed != nil && n.Handed.At.After(limit) {
		n.Handed = &Handed{}
	}
	for name, p := range n.Parts { // it was just decoded, and is nobody else's yet
		if p.At.After(limit) {
			delete(n.Parts, name)
		}
	}
	return n
}

// with is the note with what an older one knows and it does not.
func (n Note) with(older *Note) Note {
	n.joinParts(older)
	n.joinLag(older)
	n.joinHistory(older)
	if n.SilentAfter == 0 && !older.silent(n.At) { // a run --once beside a process that goes on
		n.SilentAfter, n.IdleAfter = older.SilentAfter, older.IdleAfter
	}
	if n.LastError == nil || older.LastError != nil && before(n.LastError.At, older.LastError.At) {
		n.LastError = older.LastError
	}
	if before(n.LastSuccess, older.LastSuccess) {
		n.LastSuccess = older.LastSuccess
	}
	return n
}

const (
	// clockSlack is how far two instances' clocks may be apart for their notes to be believed.
	clockSlack = time.Minute
	// anothersAlarm is how much older than our own ticks a failure of another instance may be, to be shown all the same:
	// one that goes on failing writes its note several times in it. It is longer than clockSlack, so that a success that
	// is noted after it is later than the failure, whatever the clocks say.
	anothersAlarm = 75 * time.Second
)

// join is what is known by the notes of this process and of the store; either may be nil.
func join(own, stored *Note) *Note {
	switch {
	case own == nil:
		return stored
	case stored == nil:
		return own
	}
	newer, older := own, stored
	if stored.At.After(own.At) && !own.alarms(stored) || own.belittles(stored) {
		newer, older = stored, own
	}
	both := newer.with(older)
	return &both
}

func (n *Note) encode() ([]byte, error) { return json.Marshal(n) }

func decodeNote(data []byte) (Note, error) {
	var n Note
	if len(data) > maxNote {
		return n, fmt.Errorf("it takes %d bytes", len(data))
	}
	if json.Unmarshal(data, &n) != nil {
		return Note{}, errors.New("it is damaged; the ticks write another")
	}
	if n.LastError != nil { // one of an older binary's
		n.LastError.Text = poller.WithoutAnswers(n.LastError.Text)
	}
	if n.Version != noteVersion {
		return Note{}, fmt.Errorf("it is of version %d, and this rowrelay knows %d", n.Version, noteVersion)
	}
	return n, nil
}
