package status

import (
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// The history of an output.
const (
	HistoryStep = 2 * time.Minute
	HistoryLong = time.Hour
)

// remember adds a tick to the history. The slice is another one: a note is replaced, never changed.
func (n *Note) remember(r *poller.Report) {
	ended := r.Ended.UTC()
	s := Step{At: ended.Truncate(HistoryStep), Rows: r.Delivered, Failed: r.Rejected}
	if r.Failed() {
		s.Failed++
	}
	if n.WaitingSince != nil {
		s.Waiting = max(0, ended.Sub(*n.WaitingSince).Seconds())
	}
	if s.Rows == 0 && s.Failed == 0 && s.Waiting == 0 {
		return
	}
	history := recent(n.History, ended)
	if last := len(history) - 1; last >= 0 && history[last].At.Equal(s.At) {
		history[last].Rows += s.Rows
		history[last].Failed += s.Failed
		history[last].Waiting = max(history[last].Waiting, s.Waiting)
	} else {
		history = append(history, s)
	}
	n.History = history
}

// joinHistory adds what an older note knows. Both may have seen the same ticks, so that the larger figure of a stretch
// stands: of instances that ticked within one stretch it is that of the busier.
func (n *Note) joinHistory(older *Note) {
	history := recent(n.History, n.At)
	for _, s := range recent(older.History, n.At) {
		i, found := slices.BinarySearchFunc(history, s.At, func(h Step, at time.Time) int { return h.At.Compare(at) })
		if !found {
			history = slices.Insert(history, i, s)
			continue
		}
		h := &history[i]
		h.Rows, h.Failed, h.Waiting = max(h.Rows, s.Rows), max(h.Failed, s.Failed), max(h.Waiting, s.Waiting)
	}
	n.History = history
}

// rateSteps are the steps, the running one among them, that a rate is of.
const rateSteps = 3

// rate is how many events a second were delivered lately: since the first of the last steps in which any was. One tick
// alone would say that 300 rows once are thousands a second, for ever. It is as of the note, unless that is older than
// those of a process that ticks: a rate ends with its process.
func (n *Note) rate(now time.Time) *float64 {
	at := n.At
	if now = now.Add(-n.ahead); now.Sub(at) > lifeEvery+noteEvery {
		at = now
	}
	from := at.Truncate(HistoryStep).Add(-(rateSteps - 1) * HistoryStep)
	rate, rows := 0.0, 0
	var since time.Time
	for _, s := range n.History {
		if s.At.Before(from) || s.Rows == 0 {
			continue
		}
		if rows == 0 {
			since = s.At
		}
		rows += s.Rows
	}
	if rows > 0 {
		rate = float64(rows) / max(at.Sub(since), time.Minute).Seconds()
	}
	return &rate
}

// recent is a copy of what a history tells of the hour before a time.
func recent(history []Step, at time.Time) []Step {
	from := at.Truncate(HistoryStep).Add(HistoryStep - HistoryLong)
	return slices.DeleteFunc(slices.Clone(history), func(s Step) bool { return s.At.Before(from) || s.At.After(at) })
}
