package sim

import (
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// account is what a receiver accepted.
type account struct {
	first map[string]time.Time // by event id
	last  map[string]time.Time
	keys  map[string][]acceptance // by order key, in the order of acceptance
	state map[string]string       // by key: the event that was accepted last
}

// acceptance is the first time that an event was accepted.
type acceptance struct {
	id, key string
	show    show
	at      int // after which of the shows it was
}

func newAccount() account {
	return account{first: map[string]time.Time{}, last: map[string]time.Time{}, keys: map[string][]acceptance{},
		state: map[string]string{}}
}

// queue is what an event is in order with: its order key, or under ordering=source all others.
func (s *show) queue(e *change.Event) string {
	if s.all {
		return "source"
	}
	return string(e.OrderKey)
}

// add notes an acceptance. It returns the id of an event of the same order key that was accepted although it was shown
// later, or "" when the order is kept.
func (a *account) add(w *world, e *change.Event, from show) string {
	a.last[e.ID], a.state[string(e.Key)] = time.Now(), e.ID
	if !a.first[e.ID].IsZero() {
		return ""
	}
	a.first[e.ID] = time.Now()
	order := from.queue(e)
	by := ""
	if !from.loose() && !w.letters.replayed[e.ID] {
		for _, y := range a.keys[order] {
			if y.show.kind == change.Retry && y.key != string(e.Key) {
				continue // a parked row is sent as it is now, at the place in its queue that it had when it was parked
			}
			if y.show.loose() {
				continue
			}
			if w.pro.Tracked && y.show.kind == change.Backfill && y.key != string(e.Key) {
				continue // a row of the whole table is in order with its own changes, and comes before others'
			}
			if y.show.token < from.token && (w.store.shaky || y.show.token < w.human.broken) {
				continue // a holder whose lease was broken reads on until its next write, beside its successor
			}
			if y.show.seq <= w.shows.restored && w.shows.restored < from.seq &&
				(from.kind == change.Retry || y.key == string(e.Key)) {
				continue // the row is read as the restored database has it: what came after that is undone
			}
			// What was given up before y was accepted stands in nobody's way; a backfill or a reset may bring it again.
			if y.show.seq > from.seq && !w.shows.before(y.id, from, 0, false) ||
				w.shows.before(e.ID, y.show, w.letters.before(e.ID, y.at), true) {
				by = y.id
			}
		}
	}
	a.keys[order] = append(a.keys[order], acceptance{e.ID, string(e.Key), from, w.shows.seq})
	return by
}
