package poller

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// tick is the state of one tick. Only turns touch it: what happens between them (a fetch, a request, a commit, a
// deadline) ends with one.
type tick struct {
	*Relay
	ctx     context.Context //nolint:containedctx // the tick lives as long as the invocation
	session Session
	lanes   *lanes
	report  Report

	mu       sync.Mutex    // of turn
	mine     *request      // the first that this turn has begun
	over     bool          // nothing more comes back with more to do
	done     chan struct{} // closed when it is over
	panicked error         // why it is over, if that is a fault of a part

	line     []*inFlight // fetched and not settled, oldest first: see room
	requests int         // in flight
	fetching bool        // or asking for a probe: the session is used by one at a time
	fetches  int         // begun
	limit    Limit       // of the next fetch
	fetchErr error       // why there will be no more; what was fetched before is delivered first
	settling bool
	parted   time.Time // when events were last settled before others of their batch
	extras   int       // requests in flight that send an event again, or ahead, as evidence only
	began    time.Time // the last fetch
	round    time.Time // the first fetch since the source was drained
	found    bool      // it, or one after it, brought events
	drained  bool      // the last fetch brought less than its limit
	ended    bool      // the session has no more
	more     time.Time // when the last fetch began after which more live rows followed
	dropped  bool      // live rows were fetched, and will not be settled
	idle     int       // rounds in a row that brought nothing
	batches  int       // live ones: retries that are always due must not use up max_batches
	worked   bool      // a batch with events was fetched
	heard    bool      // the source has answered a fetch
	seen     bool      // a granted batch was fetched; live: one of live rows
	live     bool
	cautious bool // the destination was down, and has accepted nothing since
	returned bool // the lease or claim was given back with the last commit

	evidence

	// number counts the requests made under this lease, repetitions included.
	number atomic.Uint64

	// fetchCtx ends with the invocation, or when a fetch has outlasted the budget; firstCtx, the first one's, with all
	// that the tick may take.
	fetchCtx, firstCtx context.Context //nolint:containedctx // as ctx
	// stop ends waits (back-off, poll interval) when nothing more shall begin; its cause is why.
	stop     context.Context //nolint:containedctx // as ctx
	stopWith context.CancelCauseFunc
	// asking ends with stop, or when no further batch shall be fetched although what was fetched is still sent.
	asking  context.Context //nolint:containedctx // as ctx
	failure error
}

// inFlight is a batch that is fetched and not settled.
type inFlight struct {
	grant    Grant
	sent     []change.Event // the batch's events as they are sent
	outcomes []Outcome
	// rejections says why, for each rejected event, by index; nil when there is none.
	rejections map[int]Rejection
	parks      bool   // an event was rejected or absorbed, and its order key counted in tick.parked
	open       int    // events without a final outcome in this tick
	gone       []bool // by index: events that a settlement was about before the others; nil while there was none
	left       int    // events of which that is not so
	over       bool   // settlements are about all of it
	bytes      int    // what its events hold
	begun      time.Time
	ended      time.Time
	drains     time.Time // no live row was left at this time, once the batch is settled; zero: that was not seen
}

// item is one event of a batch in flight.
type item struct {
	batch *inFlight
	index int    // in the batch
	key   uint64 // see lanes.hash
	// refused is when a request that held the event was first answered with a status in RejectStatus: see failure.since.
	refused uint64
	failed  bool  // a request that held it failed, and it is not known that another event is to blame
	next    *item // the next event of the same order key
	follows bool  // it is in the request of the event before it of its order key
}

// event is the item's as it is sent.
func (it *item) event() *change.Event { return &it.batch.sent[it.index] }

// errAhead ends a tick in which a row was refused as a probe, ahead of its place. A row of its order key that commits
// late would now come before it, although it was read after it. The next tick reads both anew.
var errAhead = errors.New("a row ahead of its place was refused as a probe")

var errInOrder = errors.New("an event was rejected, and ordering=source sends nothing after it")

// final reports whether no further batch will be fetched. The budget does not keep a tick from its first fetch while
// its rows could be sent: where the source is slow, no tick would ever send any.
func (t *tick) final() bool {
	over := t.asking.Err() != nil && t.fetches > 0 || t.stopped()
	return over || t.fetchErr != nil || t.ended || t.drained && t.cfg.PollInterval == 0 ||
		t.cfg.MaxBatches > 0 && t.batches >= t.cfg.MaxBatches
}

// busy reports whether anything is in flight that may come back with more to do.
func (t *tick) busy() bool { return t.requests > 0 || t.fetching || t.settling }

// fail ends the tick as the first failure says, once what is in flight has ended.
func (t *tick) fail(err error) {
	if t.failure == nil {
		t.failure = err
	}
	t.stopWith(err)
}

// stopped also asks the invocation, which stop follows in a goroutine of its own.
func (t *tick) stopped() bool { return t.stop.Err() != nil || t.ctx.Err() != nil }

// liveInLine reports whether live rows were fetched and are not settled.
func (t *tick) liveInLine() bool {
	return slices.ContainsFunc(t.line, func(p *inFlight) bool {
		return p.grant.Batch.Kind == change.Live && len(p.outcomes) > 0
	})
}
