package poller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/clock"
)

// Run runs one tick of every output, side by side, and returns a report for each, in the order of the settings. One
// tick per poller and process: a second, overlapping call does nothing and says so. It never panics on a fault of a
// part.
func (p *Poller) Run(ctx context.Context) []Report {
	reports := make([]Report, len(p.relays))
	if !p.busy.TryLock() {
		for i, r := range p.relays {
			reports[i] = r.newReport()
			reports[i].Event, reports[i].Err, reports[i].Ended = LeaseAcquireSkipped, ErrOverlap, reports[i].Started
			if running := time.Since(time.Unix(0, p.since.Load())); running > r.longest() {
				reports[i].Warnings = append(reports[i].Warnings, fmt.Sprintf("the previous tick has run for %s, and should have "+
					"ended after %s: something that it waits for hangs; restart the process if it stays so",
					running.Round(time.Second), r.longest()))
			}
		}
		return reports
	}
	defer p.busy.Unlock()
	p.since.Store(time.Now().UnixNano())
	var wg sync.WaitGroup
	for i, r := range p.relays {
		wg.Go(func() {
			reports[i] = r.newReport()
			if err := Guard(func() error { reports[i] = r.Tick(ctx); return nil }); err != nil {
				reports[i].fail(err, HandlerFailed)
				reports[i].Ended = time.Now()
			}
		})
	}
	wg.Wait()
	return reports
}

// fetchGrace is how long a fetch may outlast the budget before it is cancelled. Its rows are not sent any more. But a
// connection that is cut in the middle of a statement has to be opened anew.
const fetchGrace = 5 * time.Second

// Why a tick begins nothing more although it has not failed.
var (
	errBudget = errors.New("the tick's budget is used up")
)

// Tick runs one tick: it drains the feed, or works until its budget ends, ctx is cancelled, or something fails.
// Whatever happens it waits for the requests in flight (at most one timeout), settles what was accepted, and gives the
// lease back.
//
// A crash at any point loses nothing: what was not settled is fetched and delivered again.
func (r *Relay) Tick(ctx context.Context) Report {
	t := &tick{
		Relay:  r,
		ctx:    ctx,
		limit:  r.cfg.Fetch,
		lanes:  newLanes(r.cfg.Ordering),
		done:   make(chan struct{}),
		report: r.newReport(),

		evidence: newEvidence(&r.hint),
	}
	t.run()
	t.report.Ended = time.Now()
	return t.report
}

func (t *tick) run() {
	t.stop, t.stopWith = context.WithCancelCause(context.WithoutCancel(t.ctx))
	defer t.stopWith(nil)
	release := context.AfterFunc(t.ctx, func() { t.stopWith(context.Cause(t.ctx)) })
	defer release()

	asking, ask := context.WithCancelCause(t.stop)
	defer ask(nil)
	t.asking = asking
	if t.cfg.Linger > 0 { // else two timers would end at one moment, in any order
		lingers := time.AfterFunc(t.cfg.Budget, func() { ask(errBudget) })
		defer lingers.Stop()
	}
	budget := time.AfterFunc(t.cfg.Budget+t.cfg.Linger, func() { t.stopWith(errBudget) })
	defer budget.Stop()
	until := func(after time.Duration) (context.Context, context.CancelFunc) {
		return context.WithDeadlineCause(t.ctx, t.report.Started.Add(after), errBudget)
	}
	first, cancelFirst := until(t.cfg.Budget + max(t.cfg.Linger, fetchGrace))
	defer cancelFirst()
	fetching, cancel := until(t.cfg.Budget + fetchGrace)
	defer cancel()
	t.firstCtx, t.fetchCtx = first, fetching

	if c := t.open(); c != nil {
		t.report.RetryAt = c.until
		t.report.fail(c.open(t.report.Started), c.why.Event)
		return
	}
	t.cautious = t.destination.failing()
	session, err := t.cfg.Feed.Open(first)
	if err != nil {
		t.report.Event = FetchEmpty
		if t.ctx.Err() == nil { // a stop while opening is no failure
			t.report.fail(err, CheckpointLoadFailed)
			t.sourceFailed(err)
		}
		return
	}
	t.session = session
	defer t.abandon()
	if fault := t.rests(); fault != nil {
		t.report.blameDestination(fault)
		t.fail(fault)
		t.end()
		return
	}
	wake := context.AfterFunc(t.asking, func() { t.post(func() {}) }) // what goes on then posts when it ends
	defer wake()

	t.post(func() {})
	<-t.done
	if t.panicked != nil {
		panic(t.panicked)
	}
	t.end()
}

// fetch begins the next fetch, where there is room for a batch and the source may have one.
func (t *tick) fetch() {
	if t.fetching || t.final() || !t.room() {
		return
	}
	wait := time.Duration(0)
	if t.drained {
		if len(t.line) > 0 && !t.hungry() {
			return // a drained source is asked again by poll_interval, and not before its last batch is settled
		}
		wait = t.interval()
	}
	round := t.drained || t.fetches == 0 // it begins one
	t.fetching = true
	t.fetches++
	limit, asking, ctx := t.limit, t.asking, t.fetchCtx
	if t.fetches == 1 {
		asking, ctx = t.stop, t.firstCtx
	}
	go func() {
		var grant Grant
		var sent []change.Event
		var err error
		stopped := clock.Sleep(asking, wait) != nil // then no batch, and no failure
		began := time.Now()
		if !stopped {
			grant, sent, err = t.batch(func() (Grant, error) { return t.session.Next(ctx, limit) })
		}
		t.post(func() {
			if t.began = began; round {
				t.round, t.found = began, false
			}
			t.fetched(ctx, grant, sent, err)
		})
	}()
}

// fetched takes what a fetch under ctx has brought.
func (t *tick) fetched(ctx context.Context, grant Grant, sent []change.Event, err error) {
	t.fetching = false
	if err != nil {
		if ctx.Err() == nil { // a stop while fetching is no failure
			t.fetchErr = FaultOf(err, FetchFailed)
		}
		return
	}
	t.heard = true
	if grant.Accepted.After(t.hint.accepted) && !grant.Accepted.After(time.Now()) { // another's clock may be ahead
		t.recordAccepted(grant.Accepted, grant.Accepted)
	}
	batch := &grant.Batch
	t.drained, t.ended = !batch.More, grant.Ended
	if t.found = t.found || len(batch.Events) > 0; t.found {
		t.idle = 0
	} else if t.drained {
		t.idle++
	}
	if grant.Rest == RestMore {
		t.more = t.began
	}
	if len(batch.Events) == 0 && batch.To == nil {
		t.sawEnd(grant.Rest)
		return
	}
	t.worked = t.worked || len(batch.Events) > 0
	if len(batch.Events) > 0 && batch.Kind == change.Live {
		t.batches++
	}
	t.report.BatchID, t.report.Token = batch.ID, grant.Token
	p := &inFlight{grant: grant, sent: sent, outcomes: make([]Outcome, len(batch.Events)), open: len(batch.Events),
		left: len(batch.Events)}
	for i := range batch.Events {
		p.bytes += batch.Events[i].Size()
		if t.cfg.Shape != nil {
			p.bytes += sent[i].Size() // beside the other
		}
	}
	if !t.seen {
		t.seen = true
		t.report.Before, t.report.After = batch.From, batch.From
		// All batches of a session share the lease's context: one watch serves them all.
		context.AfterFunc(grant.Context, func() { t.post(func() { t.expired(context.Cause(grant.Context)) }) })
	}
	if batch.Kind == change.Live && !t.live {
		t.live = true
		t.report.Before, t.report.After = batch.From, batch.From
	}
	t.line = append(t.line, p)
	t.lanes.add(p)
	t.sawEnd(grant.Rest)
	if len(t.groups) > 0 {
		t.resume(p)
	}
}

// sawEnd records a fetch that no live row followed: the source is drained when all batches before it are settled.
func (t *tick) sawEnd(rest Rest) {
	switch n := len(t.line); {
	case rest != RestNone:
	case n > 0:
		t.line[n-1].drains = t.began
	default:
		t.report.DrainedAt = t.began
	}
}

// expired stops the tick at once: the batches may no longer be delivered. The requests in flight end with the grant's
// context.
func (t *tick) expired(cause error) {
	if !t.returned {
		t.fail(&Fault{LostLease, cause})
	}
}

// end gives the lease back and completes the report.
func (t *tick) end() {
	t.returned = true
	session := t.session
	t.session = nil
	if err := session.Close(context.WithoutCancel(t.ctx), &t.report); err != nil && t.failure == nil {
		t.fail(err)
	}
	t.endSearch()
	if t.failure == nil {
		t.failure = t.fetchErr
	}
	if t.report.Parked == 0 {
		t.hint.unexplained = 0 // they are gone, or an operator has purged them
	}
	if t.failure == nil && t.hint.unexplained > 0 {
		t.report.blameDestination(t.hint.why)
		t.failure = &Fault{HandlerFailed,
			fmt.Errorf("%w; the destination refused %d event(s), and has accepted none since that could tell whether they or "+
				"the destination are at fault: they are set aside, and tried again without coming to their last attempt",
				t.hint.why, t.hint.unexplained)}
	}
	if t.failure == nil && len(t.line) > 0 {
		// This should not happen. A failed tick is better than one that says it is done.
		t.failure = &Fault{HandlerFailed,
			fmt.Errorf("the tick ended with %d batches that are neither delivered nor deferred; "+
				"please report this", len(t.line))}
	}
	if t.failure == nil && t.starved() {
		t.failure = &Fault{FetchFailed,
			fmt.Errorf("loading the state and the first fetch took longer than tick_budget lets a tick last (%s), so "+
				"that nothing could be sent: let an index serve the order (`rowrelay check` names it), end what locks the table, "+
				"or raise tick_budget",
				t.cfg.Budget+t.cfg.Linger)}
	}
	t.circuits()
	if t.report.Drained = t.drained; !t.outage {
		t.report.Searching = t.hint.left()
	}
	t.report.RowsWait = t.dropped || t.liveInLine() || t.more.After(t.report.DrainedAt)
	switch {
	case t.failure != nil:
		t.report.fail(t.failure, HandlerFailed)
	case t.report.Rows == 0 && !t.worked:
		t.report.Event = FetchEmpty
	default:
		t.report.Event = TickComplete
	}
}

// endSearch keeps what the search for events that are to blame has found, if it found no end.
func (t *tick) endSearch() {
	open := t.unresolved()
	if open > 0 && t.failure == nil && t.probed >= maxProbes {
		t.refusesAll()
	}
	if open == 0 && t.drained && t.failure == nil {
		t.forgetGone()
	}
	switch {
	case t.outage && (t.probed > 0 || slices.ContainsFunc(t.suspects, func(s suspect) bool { return !s.silent() })),
		open == 0 && len(t.groups) == 0:
		t.hint.forget()
		return
	}
	t.keep()
	// Without an error, this tick did not come to the search of an earlier one. A request that was cut because the process
	// stops says nothing about the destination: a stop is no failure.
	if open > 0 && t.failure == nil && t.lastErr != nil && !errors.Is(t.lastErr, ErrCut) {
		t.report.blameDestination(t.lastErr)
		t.failure = &Fault{HandlerFailed,
			fmt.Errorf("%w; the tick ended before it was known which of %d event(s) is to blame, so that no attempt is counted",
				t.lastErr, open)}
	}
}

// starved reports whether the tick was over before the first fetch brought anything that could be sent: such ticks
// would go on for ever without a word.
func (t *tick) starved() bool {
	return t.fetches <= 1 && t.number.Load() == 0 && (t.worked || !t.heard) && errors.Is(context.Cause(t.stop), errBudget)
}

// abandon gives the lease back when a panic has kept end from it: else its heartbeat would keep everybody out for ever.
func (t *tick) abandon() {
	if t.session != nil {
		_ = t.session.Close(context.WithoutCancel(t.ctx), &t.report) // the panic is what is reported
	}
}
