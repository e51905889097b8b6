package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/poller"
)

// A siege is a fault that goes on: one order key's rows are refused, limited or not answered, or dead letters cannot be
// kept. All else works. Meanwhile rows of other keys must arrive, and the bad ones must be set aside.

const (
	// siegeLasts is how long the fault goes on, at least.
	siegeLasts = 5 * time.Minute
	// besides is how soon a row of another order key must arrive, and a bad row be set aside.
	besides = 5 * time.Minute
	// guardEvery is how often a row of another order key is inserted, guards is how many of them.
	guardEvery, guards = 35 * time.Second, 8
)

// guard is a row that must arrive, or be set aside, although another key is in trouble.
type guard struct {
	v     *version
	since time.Time
	bad   bool
}

// besiege makes one order key a bad one and looks what becomes of the others.
func (w *world) besiege() {
	w.about(w.outputs[0])
	if w.set.ordering == poller.OrderSource || w.parkedRows()+w.refusedRows()+3 > w.pro.Policy.MaxParked {
		return // there one key does stop others
	}
	w.siege = true
	besieged := w.output
	what, all := w.standing()
	fine := w.others(all)
	w.say("--", "a siege begins: %s", what)
	began, next := time.Now(), time.Now()
	for sent := 0; w.violation == "" && (len(all)+len(fine) > 0 || sent < guards || time.Since(began) < siegeLasts); {
		if sent < guards && !time.Now().Before(next) {
			sent++
			next = time.Now().Add(guardEvery)
			g := guard{v: w.table.insert(w.pro.Groups).cur, since: time.Now()}
			all = append(all, g)
			fine = append(fine, w.others([]guard{g})...)
		}
		w.step()
		w.about(besieged)
		all = w.relieved(all, what)
		w.each(func() {
			if w.output != besieged {
				fine = w.relieved(fine, what+" at another output")
			}
		})
	}
	w.siege = false
	w.each(func() {
		w.sink.clear()
		w.letters.down = false
	})
	w.say("--", "the siege ends")
}

// others are rows as the other outputs have them, where none of them is bad.
func (w *world) others(all []guard) []guard {
	if len(w.outputs) == 1 {
		return nil
	}
	all = slices.Clone(all)
	for i := range all {
		all[i].bad = false
	}
	return all
}

// relieved returns the guards that are still waited for.
func (w *world) relieved(all []guard, what string) []guard {
	left := all[:0]
	full := w.parkedRows() >= w.pro.Policy.MaxParked // there one key does stop others
	for _, g := range all {
		switch {
		case w.arrived(g.v), w.held(g.v), g.bad && w.waits(g.v), full:
			continue
		case time.Since(g.since) > besides && g.bad:
			w.fail("stuck: %s was not set aside within %s (%s)", w.id(g.v.event.ID), besides, what)
		case time.Since(g.since) > besides:
			w.fail("one key stops another: %s has not arrived within %s while there was %s", w.id(g.v.event.ID), besides, what)
		}
		left = append(left, g)
	}
	return left
}

// standing begins a fault that goes on, and says which rows are bad.
func (w *world) standing() (what string, bad []guard) {
	spoilt := func(n int, b badness) {
		for range n {
			v := w.table.insert(w.pro.Groups).cur
			if b.busy() {
				b.until = untilFaultsStop
			}
			w.sink.bad[v.event.ID] = &b
			bad = append(bad, guard{v, time.Now(), true})
		}
	}
	n := 1 + w.rng.IntN(2)
	switch w.rng.IntN(5) {
	case 0:
		for range 2 + w.rng.IntN(2) {
			r := w.table.insert(w.pro.Groups)
			w.sink.limited[string(r.cur.event.OrderKey)] = &limit{until: time.Now().Add(time.Hour),
				after: w.span(10*time.Second, longestLimit)}
		}
		return "a limit of the rate of some keys", nil
	case 1:
		status := statuses[1+w.rng.IntN(len(statuses)-1)]
		spoilt(n, badness{status: status, cause: causeOf(status)})
		what = fmt.Sprintf("%d rows that are answered with %d", n, status)
	case 2:
		spoilt(n, badness{status: 200, named: true, cause: poller.Refused})
		what = fmt.Sprintf("%d rows that are named", n)
	case 3:
		spoilt(1, badness{silent: true})
		what = "a row that gets no answer"
	default:
		after := w.span(10*time.Second, longestLimit)
		spoilt(n, badness{status: 429, after: after})
		what = fmt.Sprintf("%d rows that are answered with 429 and Retry-After %s", n, after.Round(time.Second))
	}
	if w.chance(0.5) {
		w.letters.down = true
		what += ", and no place for dead letters"
	}
	return what, bad
}

// refusedRows counts the rows that the destination refuses and that are not parked yet.
func (w *world) refusedRows() int {
	n := 0
	for id := range w.sink.bad {
		if v := w.versions[id]; v != nil && !w.arrived(v) && !w.waits(v) {
			n++
		}
	}
	return n
}

// parkedRows counts parked rows, and those behind them.
func (w *world) parkedRows() int {
	n := len(w.parked)
	for i := range w.parked {
		n += len(w.parked[i].Followers)
	}
	return n
}

// isParked reports whether a row's order key is.
func (w *world) isParked(v *version) bool {
	lane := string(w.laneOf(&v.event))
	return slices.ContainsFunc(w.parked, func(e parking.Entry) bool { return string(e.OrderKey) == lane })
}

// full reports whether max_parked is reached by rows that nothing shows to be at fault: then no position moves before
// the destination accepts something.
func (w *world) full() bool {
	return w.parkedRows() >= w.pro.Policy.MaxParked &&
		slices.ContainsFunc(w.parked, func(e parking.Entry) bool { return w.unproven(e.ID) })
}
