package poller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// ErrLate is why a commit is not waited for any longer.
var ErrLate = errors.New("the tick has to end now: tick_budget, the output's timeout and 10s for the commit are over")

// settle begins the commit of the oldest batch when all its events are done with, together with the batches after it of
// which that is true as well. Once nothing more begins, it commits what comes before the first event that is not done
// with.
func (t *tick) settle() {
	if t.settling || len(t.line) == 0 || t.extras > 0 {
		// An event that is sent again as evidence must not meet its successor. Another owner may send that once this is
		// settled.
		return
	}
	p := t.line[0]
	if p.open > 0 && (!t.stopped() || t.requests > 0) {
		t.settleParts()
		return
	}
	whole := p.settles()
	n := 1
	if whole {
		for n < len(t.line) && t.line[n].settles() {
			n++
		}
	} else if t.requests > 0 || t.fetching {
		// The session ends with this settlement. A fetch or request in flight has to end before that.
		return
	}
	last := !whole || len(t.line) == n && !t.fetching && t.final()
	t.returned = last
	if p.ended.IsZero() {
		p.ended = time.Now()
	}
	offered := make([]*inFlight, 0, len(t.line))
	for i, p := range t.line {
		// Where the session ends with this, what was accepted after the gap may be of use to it.
		if i < n || !whole {
			offered = append(offered, p.part(false))
		}
	}
	t.commit(offered, n, whole, last)
}

// partEvery is how often events are settled before others of their batch at most: each settlement costs a round trip.
const partEvery = 100 * time.Millisecond

// settleParts settles what is done of batches that are not: an order key that takes long must not keep others in
// flight. Lanes have the order of each order key kept. A search for an event that is to blame goes on with its batches
// as they are.
func (t *tick) settleParts() {
	if !t.byRow() || t.stopped() || t.unresolved() > 0 || len(t.groups) > 0 || time.Since(t.parted) < partEvery {
		return
	}
	var parts []*inFlight
	for _, p := range t.line {
		if p.left > p.open {
			parts = append(parts, p.part(true))
		}
	}
	if len(parts) > 0 {
		t.parted = time.Now()
		t.commit(parts, len(parts), true, false)
	}
}

// part takes the events out of a batch that no settlement was about: those that are done, or all of them. The batch
// stays in line until they are settled.
func (p *inFlight) part(done bool) *inFlight {
	if p.gone == nil && (!done || p.open == 0) {
		p.left, p.over = 0, true
		return p
	}
	if p.gone == nil {
		p.gone = make([]bool, len(p.outcomes))
	}
	part := &inFlight{grant: p.grant, parks: p.parks, begun: p.begun, ended: time.Now(), drains: p.drains}
	part.grant.Batch.Events = nil
	for i, outcome := range p.outcomes {
		if p.gone[i] || done && !outcome.Settles() {
			continue
		}
		p.gone[i] = true
		p.left--
		if r, rejected := p.rejections[i]; rejected {
			if part.rejections == nil {
				part.rejections = make(map[int]Rejection)
			}
			part.rejections[len(part.outcomes)] = r
		}
		part.grant.Batch.Events = append(part.grant.Batch.Events, p.grant.Batch.Events[i])
		part.outcomes = append(part.outcomes, outcome)
	}
	p.over = p.left == 0
	return part
}

// commit begins the settlement of batches, the first n of which it acknowledges. whole says that all events of those
// are done with.
func (t *tick) commit(offered []*inFlight, n int, whole, last bool) {
	t.settling = true
	settling, begun := offered[:n:n], time.Now()
	accepted := t.hint.accepted
	go func() {
		var acknowledged int
		err := Guard(func() (err error) {
			// The commit is the acknowledgment of work already done: a cancelled invocation must not stop it. It is bounded
			// by the lease, and by what functionTimeout leaves.
			ctx, cancel := context.WithDeadlineCause(context.WithoutCancel(t.ctx), t.report.Started.Add(t.longest()), ErrLate)
			defer cancel()
			acknowledged, err = t.session.Settle(ctx, settlement(offered, accepted, last))
			return err
		})
		took := time.Since(begun)
		t.post(func() { t.settled(settling, acknowledged, took, whole, err) })
	}()
}

// settles reports whether every event of the batch is done with.
func (p *inFlight) settles() bool { return p.open == 0 }

// settlement is what one commit of batches in line carries.
func settlement(line []*inFlight, accepted time.Time, last bool) Settlement {
	batches := make([]Settled, len(line))
	for i, p := range line {
		batches[i] = Settled{Batch: p.grant.Batch, Outcomes: p.outcomes, Rejections: p.rejections}
	}
	return Settlement{Batches: batches, Accepted: accepted, Last: last}
}

// settled takes the answer to a commit that acknowledges the first n events of the batches in line.
func (t *tick) settled(line []*inFlight, n int, took time.Duration, whole bool, err error) {
	t.settling = false
	for _, p := range line {
		rows := min(n, len(p.outcomes))
		n -= rows
		all := rows == len(p.outcomes)
		if rows > 0 || all && err == nil {
			t.acknowledged(p, rows, took, whole)
		}
		if !all {
			err = t.stuck(p, rows, whole, err)
			break
		}
	}
	if err != nil {
		t.fail(FaultOf(err, CommitFailed))
		whole = false
	}
	if !whole {
		// Prefetched batches are dropped: the next tick fetches them again, after what could not be acknowledged.
		t.dropped = t.liveInLine()
		t.line, t.drained = nil, false
		return
	}
	for _, p := range line {
		if !p.drains.IsZero() {
			t.report.DrainedAt = p.drains
		}
	}
	t.line = slices.DeleteFunc(t.line, func(p *inFlight) bool { return p.over })
}

// acknowledged reports the first rows events of a batch as done.
func (t *tick) acknowledged(p *inFlight, rows int, took time.Duration, whole bool) {
	batch := &p.grant.Batch
	for i := range rows {
		if p.outcomes[i] == Accepted {
			t.report.Delivered++
		}
		r, rejected := p.rejections[i]
		if !rejected {
			continue
		}
		if t.report.Rejected++; t.report.Refused == nil {
			t.report.Refused = &Refusal{batch.Events[i].ID, batch.Events[i].Key, r}
		}
	}
	t.unpark(p, rows)
	if batch.Kind == change.Live {
		if rows > 0 {
			last := &batch.Events[rows-1]
			t.report.After, t.report.Lag = last.Position(), 0
			switch {
			case !batch.More && whole:
			case last.Undated:
				t.report.Lag = -1
			default:
				t.report.Lag = max(0, time.Since(last.Time))
			}
		}
		if rows == len(batch.Events) && batch.To != nil {
			t.report.After = batch.To
		}
	}
	if rows == 0 {
		return
	}
	t.report.Rows += rows
	stats := BatchStats{Rows: rows, Fetch: batch.FetchTime, Commit: took}
	if !p.begun.IsZero() { // else nothing of it was sent
		stats.Deliver = p.ended.Sub(p.begun)
	}
	t.report.Batches = append(t.report.Batches, stats)
}

// stuck completes the report where the settlement stops within a batch: at an event that is deferred, or at a rejected
// one that cannot be parked, or that the poller has to wait for (ordering=source).
func (t *tick) stuck(p *inFlight, rows int, whole bool, err error) error {
	r, rejected := p.rejections[rows]
	var fault *Fault
	switch {
	case err == nil && whole:
		return &Fault{CommitFailed, fmt.Errorf("the settlement of batch %s stopped at event %d of %d without saying why",
			p.grant.Batch.ID,
			rows+1, len(p.outcomes))}
	case rejected && t.failure == nil && errors.As(err, &fault) && fault.Event == HandlerFailed:
		t.report.Reason = r.Cause.String()
		if t.cfg.Ordering == OrderSource { // the attempt is stored, although nothing is acknowledged
			t.report.Rejected++
		}
	}
	return err
}
