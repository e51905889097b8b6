package poller

import (
	"context"
	"errors"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// errLate is why a commit is not waited for any longer.
var errLate = errors.New("the tick has to end now: tick_budget, the output's timeout and 10s for the commit are over")

// settle begins the commit of the oldest batch when its outcomes are known, together with those behind it that are
// accepted too; or, once nothing more begins, of what was accepted of it.
func (t *tick) settle() {
	if t.settling || len(t.line) == 0 {
		return
	}
	p := t.line[0]
	if p.open > 0 && (!t.stopped() || t.requests > 0) {
		return
	}
	whole := p.accepted()
	n := 1
	if whole {
		for n < len(t.line) && t.line[n].accepted() {
			n++
		}
	} else if t.requests > 0 || t.fetching {
		// The session ends with this settlement; a fetch or request under way has to be over before that.
		return
	}
	last := !whole || len(t.line) == n && !t.fetching && t.final()
	t.returned = last
	if p.ended.IsZero() {
		p.ended = time.Now()
	}
	t.settling = true
	settling, begun := t.line[:n:n], time.Now()
	go func() {
		var acknowledged int
		batch, outcomes := join(settling)
		err := guard(func() (err error) {
			// The commit is the acknowledgment of work already done: a cancelled invocation must not stop it. It is bounded
			// by the lease, and by what functionTimeout leaves.
			ctx, cancel := context.WithDeadlineCause(context.WithoutCancel(t.ctx), t.report.Started.Add(t.longest()), errLate)
			defer cancel()
			acknowledged, err = t.session.Settle(ctx, batch, outcomes, last)
			return err
		})
		took := time.Since(begun)
		t.post(func() { t.settled(settling, acknowledged, took, whole, err) })
	}()
}

// accepted reports whether every event of the batch is accepted.
func (p *passage) accepted() bool { return p.open == 0 && prefix(p.outcomes) == len(p.outcomes) }

// join makes one batch of several that follow one another. It goes by the last one's name.
func join(line []*passage) (change.Batch, []Outcome) {
	first, last := line[0], line[len(line)-1]
	if first == last {
		return first.grant.Batch, first.outcomes
	}
	batch := last.grant.Batch
	rows := 0
	for _, p := range line {
		rows += len(p.outcomes)
	}
	batch.From, batch.Events = first.grant.Batch.From, make([]change.Event, 0, rows)
	outcomes := make([]Outcome, 0, rows)
	for _, p := range line {
		batch.Events = append(batch.Events, p.grant.Batch.Events...)
		outcomes = append(outcomes, p.outcomes...)
	}
	return batch, outcomes
}

// settled takes the answer to a commit that acknowledges the first n events of the batches in line.
func (t *tick) settled(line []*passage, n int, took time.Duration, whole bool, err error) {
	t.settling = false
	for _, p := range line {
		rows := min(n, len(p.grant.Batch.Events))
		if n -= rows; rows == 0 {
			break
		}
		last := &p.grant.Batch.Events[rows-1]
		t.report.Rows += rows
		t.report.After = last.Cursor
		t.report.Lag = 0
		if p.grant.Batch.More || !whole {
			t.report.Lag = max(0, time.Since(last.Time))
		}
		t.report.Batches = append(t.report.Batches, BatchStats{
			Rows: rows, Fetch: p.grant.Batch.FetchTime, Deliver: p.ended.Sub(p.begun), Commit: took,
		})
	}
	if err != nil {
		t.fail(faultOf(err, CommitFailed))
		whole = false
	}
	if !whole {
		// Prefetched batches are dropped: the next tick fetches them again behind what could not be acknowledged.
		t.line = nil
		return
	}
	t.line = t.line[len(line):]
}

// prefix is the number of leading outcomes that are accepted: what a checkpoint can acknowledge.
func prefix(outcomes []Outcome) int {
	for i, o := range outcomes {
		if o != Accepted {
			return i
		}
	}
	return len(outcomes)
}
