package publisher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// session is one tick's way through an outbox.
//
// # What keeps an aggregate's events in order
//
//   - A fetch shows, of every aggregate that it shows, all publishable events from the first on: it begins at the top, or at
//     the beginning of a bucket (see session_fetch.go), and leaves out only what is in flight. So an event that becomes
//     visible late, because its transaction was slow or because it was WAITING, is never passed over for a later one.
//   - The tick sends the events of one aggregate one after the other, in the order in which they were fetched.
//   - An event is fetched with waits set while an earlier one of its aggregate is FAILED, WAITING or (where it blocks) dead:
//     the tick absorbs it, whatever has happened since.
//   - Parked says so of events that were fetched before the earlier one had failed: from the settlement that made that one
//     FAILED to the settlement of its retry. Between its rejection and that settlement the tick knows by itself.
//   - What was fetched while a settlement that changed an aggregate's states was under way may be half of the one and half of
//     the other: of such an aggregate only events that wait are handed out.
//   - Batches are settled in the order in which they were fetched. An absorbed event becomes WAITING only if what it waits for
//     is still there; else it stays PENDING, and comes with the next fetch, together with what was flipped back meanwhile.
type session struct {
	shared   *shared
	cfg      *feedConfig
	owner    string
	only     int         // the partition that this session is for; -1 for all
	outbox   *feedOutbox // nil until it was looked at
	strategy claims.Strategy

	// Of Next and Other, which are never called side by side.
	looked  time.Time // when look was last asked
	idle    bool      // the last fetch brought nothing
	blocked bool      // ordering=source: a FAILED event waits for its next attempt
	opened  bool      // mend was considered after claims were asked for
	batches int
	pass    pass
	units   units

	deadline *clock.Deadline // of the session's claims; nil until these were asked for
	cancel   context.CancelFunc
	kept     chan struct{} // closed when the renewal has ended

	// exclusive holds one token while something changes the number of claims, or a settlement names it. These wait
	// for the database, for which a mutex would be the wrong thing to wait at.
	exclusive chan struct{}
	settled   chan struct{} // holds one signal: a settlement is done

	deadLetters poller.DeadLetterWriter // Settle's own

	parkedKeys atomic.Int64 // len(parked)

	mu       sync.Mutex
	ended    bool
	claims   claimCount
	token    uint64
	flights  flights
	refs     map[string][]event.Ref // of the events of each batch, by its ID
	dueAt    time.Time              // when FAILED events are asked for next
	told     bool                   // that ordering=source waits
	parked   map[string]int         // order key → number of the fetch that was the last one begun when it was parked
	warnings []string
	letters  []poller.DeadLetter
	owed     error // what Close has to tell
}

func newSession(p *shared, owner string, only, start int) *session {
	return &session{
		shared: p, cfg: &p.cfg, owner: owner, only: only, units: units{start: start},
		exclusive: make(chan struct{}, 1), settled: make(chan struct{},
			1), parked: map[string]int{}, refs: map[string][]event.Ref{}, flights: newFlights(),
	}
}

// ErrPaused says that an operator has paused the outbox.
var ErrPaused = errors.New("the outbox is paused")

// lookEvery is how often it is looked at whether an operator has paused the outbox.
const lookEvery = time.Second

// Next returns the next batch. While there is nothing to do it costs one round trip and writes nothing: look at
// first, and with claims the fetch itself.
func (s *session) Next(ctx context.Context, limit poller.Limit) (poller.Grant, error) {
	if s.over() {
		return poller.Grant{}, nil // what ended it has told why
	}
	if s.deadline != nil {
		if err := s.deadline.Check(); err != nil {
			return poller.Grant{}, &poller.Fault{Event: poller.LostLease, Err: err}
		}
		if err := s.rebalance(ctx); err != nil {
			return poller.Grant{}, err
		}
	}
	if more, err := s.look(ctx); err != nil || !more {
		return poller.Grant{}, err
	}
	if s.deadline == nil {
		if err := s.acquire(ctx); err != nil {
			return poller.Grant{}, err
		}
	}
	if s.strategy == claims.Partitioned && len(s.units.has) == 0 {
		s.idle = true
		return poller.Grant{}, nil
	}
	if !s.opened && s.strategy == claims.SkipLocked {
		if _, err := s.mend(ctx); err != nil { // a crash may have left events PUBLISHING
			return poller.Grant{}, err
		}
	}
	s.opened = true
	if grant, err := s.retries(ctx, limit); err != nil || len(grant.Batch.Events) > 0 || s.blocked {
		return grant, err
	}
	return s.fetch(ctx, limit)
}

// look asks, where that is due, whether the outbox is paused and whether there is anything to do, and reports false
// where the fetch can be spared.
func (s *session) look(ctx context.Context) (bool, error) {
	if s.deadline != nil && time.Since(s.looked) < lookEvery {
		return true, nil
	}
	g, err := s.glance(ctx)
	switch {
	case err != nil:
		return false, faultOf(poller.FetchFailed, "looking at the outbox", err)
	case g.Paused:
		return false, &poller.Fault{Event: poller.Paused,
			Err: fmt.Errorf("%w %s: `rowrelay outbox resume %s` lets it go on", ErrPaused, g.By, s.cfg.Poller)}
	}
	s.looked = time.Now()
	// Events may be WAITING for nothing, after a crash or an operator's work beside a running session: nothing else
	// would ever look at them again. And work that a fetch does not find may be PUBLISHING under no claim.
	if lost := g.Work && s.idle; g.Waiting || lost {
		mended, err := s.mend(ctx)
		if err != nil {
			return false, err
		}
		g.Work = g.Work || mended
	}
	if g.Work && s.idle {
		s.bringForward(0) // it may be a FAILED event that is due
	}
	return g.Work || s.deadline != nil && !s.idle, nil
}

func (s *session) glance(ctx context.Context) (event.Glance, error) {
	if s.outbox == nil {
		o, err := s.shared.open(ctx)
		if err != nil {
			return event.Glance{}, err
		}
		s.outbox = o
	}
	return s.outbox.events.Look(ctx)
}

// mendEvery is how often a process looks for what crashes and operators leave behind, while anything waits.
const mendEvery = 30 * time.Second

// mend does so where that is due, and reports whether it made events publishable. It needs no claims: see table.
func (s *session) mend(ctx context.Context) (bool, error) {
	if !s.shared.mendNow() {
		return false, nil
	}
	n, err := s.outbox.events.Mend(ctx)
	if err != nil {
		return false, faultOf(poller.FetchFailed, "mending states", err)
	}
	return n > 0, nil
}

// Parked reports whether an event of this order key failed in this session, and its retry is not settled yet.
func (s *session) Parked(orderKey []byte) bool {
	if s.parkedKeys.Load() == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.parked[string(orderKey)]
	return ok
}

// Other returns the first event of another aggregate. Under skip_locked it is not claimed: another instance may be
// sending it too. It is evidence only, and comes again, so that this makes a duplicate and never an inversion in what
// is marked.
func (s *session) Other(ctx context.Context, avoid [][]byte) (poller.Grant, error) {
	if s.over() || s.deadline == nil {
		return poller.Grant{}, nil
	}
	var aggregates []event.Aggregate
	for _, key := range avoid {
		if a, ok := aggregateOf(key); ok {
			aggregates = append(aggregates, a)
		}
	}
	ranges, some := s.ranges()
	if !some {
		return poller.Grant{}, nil
	}
	r, err := s.outbox.events.Other(ctx, ranges, aggregates)
	if err != nil {
		return poller.Grant{}, faultOf(poller.FetchFailed, "looking for an event of another aggregate", err)
	}
	if r == nil || r.Waits || r.Broken != nil {
		return poller.Grant{}, nil
	}
	now := time.Now()
	list := eventsOf([]event.Row{*r}, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, flies := s.flights.of[r.Ref]; flies || slices.ContainsFunc(avoid,
		func(k []byte) bool { return string(k) == string(list[0].OrderKey) }) {
		return poller.Grant{}, nil
	}
	s.flights.probing = true
	grant := s.grant(list, "probe", now)
	return grant, nil
}

// Close gives everything back that the session may hold, also after a failure.
func (s *session) Close(ctx context.Context, report *poller.Report) error {
	s.mu.Lock()
	s.ended = true
	warnings, letters, owed := s.warnings, s.letters, s.owed
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(s.cfg.ClaimTTL/3, 5*time.Second))
	defer cancel()
	if s.deadline != nil {
		s.deadline.End(errReleased)
		s.cancel()
		<-s.kept // a renewal under way ends with its context
		s.shared.remember(s.units.has)
		if err := s.outbox.claims.Release(ctx, s.owner, nil); err != nil {
			warnings = append(warnings, fmt.Sprintf("the claims of %s could not be released, others have to wait for their end (%s): %v",
				s.owner, s.cfg.ClaimTTL, err))
		}
	}
	report.Warnings = append(report.Warnings, warnings...)
	report.DeadLettered = append(report.DeadLettered, letters...)
	if report.Outbox = s.shared.count(ctx); report.Outbox != nil {
		report.Parked = int(report.Outbox.Failed + report.Outbox.Waiting)
	}
	return owed
}

func (s *session) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

func (s *session) warn(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warnings = append(s.warnings, text)
}

// faultOf returns err as a Fault: what it wraps decides as what the tick ends, else event.
func faultOf(event poller.Event, doing string, err error) error {
	var fault *poller.Fault
	switch {
	case errors.As(err, &fault):
		return fault
	case errors.Is(err, ErrPaused):
		event = poller.Paused
	case errors.Is(err, poller.ErrConfig):
		event = poller.ConfigInvalid
	case errors.Is(err, claims.ErrLost):
		event = poller.LostLease
	case errors.Is(err, poller.ErrNormalize):
		event = poller.NormalizeFailed
	}
	return &poller.Fault{Event: event, Err: fmt.Errorf("%s: %w", doing, err)}
}
