package poller

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// errBudget is why a tick begins nothing more when its time is up; it is not a failure.
var errBudget = errors.New("the tick's budget is used up")

// Tick runs one tick: it drains the feed, or works until its budget ends, ctx is cancelled, or something fails. Whatever
// happens it waits for the requests under way (at most one timeout), settles what was accepted, and gives the lease back.
//
// A crash at any point loses nothing: what was not settled is fetched and delivered again.
func (r *Relay) Tick(ctx context.Context) Report {
	t := &tick{
		Relay:  r,
		ctx:    ctx,
		lanes:  newLanes(r.cfg.Ordering),
		inbox:  make(chan func(), r.cfg.Concurrency+8), // never blocks: see post
		report: r.newReport(),
	}
	t.run()
	t.report.Ended = time.Now()
	return t.report
}

// tick is the state of one tick. Only the goroutine of run touches it: everything that happens elsewhere (a fetch, a
// request, a commit, a deadline) comes back as a function through one inbox, so that the order of events is one order.
type tick struct {
	*Relay
	ctx     context.Context //nolint:containedctx // the tick lives as long as the invocation
	session Session
	lanes   *lanes
	inbox   chan func()
	report  Report

	line     []*passage // fetched and not settled, at most two, oldest first
	requests int        // in flight
	fetching bool
	settling bool
	drained  bool // the last fetch brought less than its limit
	batches  int
	returned bool // the right to deliver was given back with the last commit

	// number counts the requests made under this lease, repetitions included.
	number atomic.Uint64

	// stop ends waits (back-off, poll interval) when nothing more shall begin; its cause is why.
	stop     context.Context //nolint:containedctx // as ctx
	stopWith context.CancelCauseFunc
	failure  error
}

// passage is a batch on its way through the tick.
type passage struct {
	grant    Grant
	outcomes []Outcome
	open     int // events without a final outcome in this tick
	begun    time.Time
	ended    time.Time
}

func (t *tick) run() {
	t.stop, t.stopWith = context.WithCancelCause(context.WithoutCancel(t.ctx))
	defer t.stopWith(nil)
	release := context.AfterFunc(t.ctx, func() { t.stopWith(context.Cause(t.ctx)) })
	defer release()

	session, err := t.cfg.Feed.Open(t.ctx)
	if err != nil {
		t.report.fail(err, CheckpointLoadFailed)
		return
	}
	t.session = session

	budget := time.AfterFunc(time.Until(t.report.Started.Add(t.cfg.Budget)), func() { t.stopWith(errBudget) })
	defer budget.Stop()
	wake := context.AfterFunc(t.stop, func() { t.post(func() {}) })
	defer wake()

	t.fetch()
	for t.busy() {
		(<-t.inbox)()
		t.send()
		t.settle()
		t.fetch()
	}
	t.end()
}

// post hands f to the tick's goroutine. It blocks only until the tick takes it: every sender is counted (requests,
// fetching, settling) and waited for, and the two others that may post have room of their own.
func (t *tick) post(f func()) { t.inbox <- f }

// final reports whether no further batch will be fetched.
func (t *tick) final() bool {
	return t.stopped() || t.drained && t.cfg.PollInterval == 0 || t.cfg.MaxBatches > 0 && t.batches >= t.cfg.MaxBatches
}

// busy reports whether anything is under way or can still be begun.
func (t *tick) busy() bool { return t.requests > 0 || t.fetching || t.settling }

// fail ends the tick as the first failure says; what is under way is waited for.
func (t *tick) fail(err error) {
	if t.failure == nil {
		t.failure = err
	}
	t.stopWith(err)
}

func (t *tick) stopped() bool { return t.stop.Err() != nil }

// fetch begins the next fetch where there is room for a batch and reason to look for one.
func (t *tick) fetch() {
	if t.fetching || t.final() || len(t.line) > 1 {
		return
	}
	wait := time.Duration(0)
	if t.drained {
		if len(t.line) > 0 {
			return // a drained source is asked again by poll_interval, and not before its last batch is settled
		}
		wait = t.cfg.PollInterval
	}
	t.fetching = true
	go func() {
		var grant Grant
		var err error
		if pause(t.stop, wait) == nil { // stopped while it waited: no batch, and no failure
			err = guard(func() (err error) { grant, err = t.session.Next(t.ctx, t.cfg.Fetch); return err })
		}
		t.post(func() { t.fetched(grant, err) })
	}()
}

func (t *tick) fetched(grant Grant, err error) {
	t.fetching = false
	if err != nil {
		if t.ctx.Err() == nil { // Ctrl-C while fetching is a stop, not a failure
			t.fail(faultOf(err, FetchFailed))
		}
		return
	}
	batch := &grant.Batch
	t.drained = !batch.More
	if len(batch.Events) == 0 {
		return
	}
	t.batches++
	t.report.BatchID, t.report.Token = batch.ID, grant.Token
	p := &passage{grant: grant, outcomes: make([]Outcome, len(batch.Events)), open: len(batch.Events)}
	if len(t.line) == 0 && t.batches == 1 {
		t.report.Before, t.report.After = batch.From, batch.From
		// All batches of a session share the lease's context: one watch serves them all.
		context.AfterFunc(grant.Right, func() { t.post(func() { t.rightEnded(context.Cause(grant.Right)) }) })
	}
	t.line = append(t.line, p)
	t.lanes.add(p)
}

// rightEnded stops the tick at once: the requests under way are cancelled with the right itself.
func (t *tick) rightEnded(cause error) {
	if !t.returned {
		t.fail(&Fault{LostLease, cause})
	}
}

// send begins requests while there is a free place and an event that may go.
func (t *tick) send() {
	for !t.stopped() && t.requests < t.cfg.Concurrency && t.lanes.waiting() {
		items := t.lanes.take(t.cfg.RequestEvents, t.cfg.RequestBytes, t.cfg.Size)
		p := items[0].batch
		if p.begun.IsZero() {
			p.begun = time.Now()
		}
		t.requests++
		q := t.newRequest(items)
		go func() {
			err := guard(func() error { return q.run(t.stop) })
			t.post(func() { t.answered(q, err) })
		}()
	}
}

// answered takes the final outcomes of a request.
func (t *tick) answered(q *request, err error) {
	t.requests--
	for i, it := range q.items {
		it.batch.outcomes[it.index] = q.outcomes[i]
		it.batch.open--
		if q.outcomes[i] == Accepted {
			t.lanes.accepted(it)
		}
	}
	if p := q.items[0].batch; p.open == 0 {
		p.ended = time.Now()
	}
	if err != nil {
		t.report.Reason = q.reason.String()
		t.fail(faultOf(err, HandlerFailed))
	}
}

// settle begins the commit of the oldest batch when its outcomes are known, or, once nothing more begins, of what was
// accepted of it.
func (t *tick) settle() {
	if t.settling || len(t.line) == 0 {
		return
	}
	p := t.line[0]
	if p.open > 0 && (!t.stopped() || t.requests > 0) {
		return
	}
	whole := p.open == 0 && prefix(p.outcomes) == len(p.outcomes)
	if !whole {
		// The session ends with this settlement; a fetch or request under way has to be over before that.
		if t.requests > 0 || t.fetching {
			return
		}
	}
	last := !whole || len(t.line) == 1 && !t.fetching && t.final()
	t.returned = last
	if p.ended.IsZero() {
		p.ended = time.Now()
	}
	t.settling = true
	begun := time.Now()
	go func() {
		var n int
		err := guard(func() (err error) {
			// The commit is the acknowledgment of work already done: a cancelled invocation must not stop it. It is bounded
			// by the lease.
			n, err = t.session.Settle(context.WithoutCancel(t.ctx), p.grant.Batch, p.outcomes, last)
			return err
		})
		took := time.Since(begun)
		t.post(func() { t.settled(p, n, took, whole, err) })
	}()
}

func (t *tick) settled(p *passage, n int, took time.Duration, whole bool, err error) {
	t.settling = false
	if n > 0 {
		last := &p.grant.Batch.Events[n-1]
		t.report.Rows += n
		t.report.After = last.Cursor
		t.report.Lag = 0
		if p.grant.Batch.More || !whole {
			t.report.Lag = max(0, time.Since(last.Time))
		}
		t.report.Batches = append(t.report.Batches, BatchStats{
			Rows: n, Fetch: p.grant.Batch.FetchTime, Deliver: p.ended.Sub(p.begun), Commit: took,
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
	t.line = t.line[1:]
}

// end gives the lease back and completes the report.
func (t *tick) end() {
	t.returned = true
	if err := t.session.Close(context.WithoutCancel(t.ctx), &t.report); err != nil && t.failure == nil {
		t.fail(err)
	}
	t.report.Drained = t.drained
	switch {
	case t.failure != nil:
		t.report.fail(t.failure, HandlerFailed)
	case t.report.Rows == 0 && t.batches == 0:
		t.report.Event = FetchEmpty
	default:
		t.report.Event = TickComplete
	}
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

// pause waits for d, or returns the cause of ctx's end.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
