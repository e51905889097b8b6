package checkpointed

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// session is one tick's session. Next and Other belong to one goroutine at a time, Settle and Close to another: mu
// guards what both use.
type session struct {
	feed   *Feed
	source Description

	// Next's own.
	snapshot *state.Snapshot // what the next acquisition is based on
	frontier change.Cursor   // how far live rows were fetched
	start    change.Cursor   // the frontier of the document
	rest     poller.Rest     // what the last fetch showed of live rows
	checked  time.Time       // when the document was last known not to be paused
	retried  bool            // the last batch was of retries: others come next
	backfill backfill
	apart    aparts
	// incarnation and table are those of the database and table that the position belongs to.
	incarnation, table string
	// gap is that of the document; ahead is one that this session found, which Close records.
	gap, ahead string

	stored chan struct{} // holds one signal: a settlement was stored

	mu       sync.Mutex
	endFault error        // the tick fails with it at its end, because others need not wait for it
	lease    *state.Lease // nil until there is work, and again after its release
	ended    bool         // a settlement was incomplete: no batch may follow
	wrote    time.Time    // when a commit was last stored
	batches  int          // that were handed out
	inFlight map[string]*details
	awaited  int     // batches in flight after which rows can be retried at once
	pending  details // what the next batch brings with it
	warnings []string
	nulls    int64
	// newIncarnation and newTable are those that answered last. The next commit records them.
	newIncarnation, newTable string

	// Settle's own, once there is a lease.
	broken     bool // it is not known what is stored
	incomplete bool // a settlement was
	unstored   bool // rows were settled after the last write: it is not worth one for each batch
	unused     int  // commits after which an object is not needed any more
}

// details are what Settle has to know of a batch, beside its outcomes.
type details struct {
	// events are those of the batch. No probe may have one of their order keys.
	events []change.Event
	// retries is what was found out about parked rows before the batch was fetched; frees says that others may come as
	// soon as these are settled.
	retries parking.Retries
	frees   bool
	// chunk is the ID of the backfill that a batch belongs to. final says that it is its last.
	chunk string
	final bool
	// ends is the ID of a backfill of which nothing was left.
	ends string
	// begun are the order keys that the batch leaves out, chunks those that it brings rows of, or of which none was left.
	begun  []begun
	chunks []chunk
}

// mustStore reports whether details have to be stored although there is no event.
func (d *details) mustStore() bool { return d.retries.Leaves() || d.ends != "" || len(d.chunks) > 0 }

// after returns d with earlier ones, which were not settled.
func (d details) after(earlier details) details {
	d.retries = d.retries.After(earlier.retries)
	d.chunks = append(earlier.chunks, d.chunks...)
	if d.ends == "" {
		d.ends = earlier.ends
	}
	return d
}

// closePatience bounds the last commit of a session, which may have rows left to acknowledge.
const closePatience = 5 * time.Second

// failAtEnd has the tick fail with a fault when it ends. The first one counts; nil is none.
func (s *session) failAtEnd(fault error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.endFault == nil {
		s.endFault = fault
	}
}

func (s *session) warn(text string) {
	s.mu.Lock()
	s.warnings = append(s.warnings, text)
	s.mu.Unlock()
}

// aparts are the order keys that a session reads apart.
type aparts struct {
	keys  []*apartKey
	live  bool // it is the turn of live rows
	alone bool // live rows wait until nothing is read apart
	begun []begun
}

type apartKey struct {
	orderKey []byte
	at       change.Cursor // read up to here
	stored   change.Cursor // what the document will have once all that was handed out is settled
}

// begun is a key that a page of live rows left out first: once the first events of its batch are settled, the document
// has to name it.
type begun struct {
	state.Apart
	events int
}

// chunk is what was read apart of a key: once its events are settled, the key goes on from to, and not from from. final
// says that no row of it is left.
type chunk struct {
	orderKey []byte
	from, to change.Cursor
	final    bool
}

// backfill is what a session knows of the replay that the document asks for. Its chunks come out of Next between live
// batches, so that the order of each order key holds; each settlement stores how far it has come, so that a crash
// repeats what was not settled of it.
type backfill struct {
	state.Backfill      // At runs ahead of what is stored
	drained        bool // all of the range was handed out
	isNext         bool // live rows came last
}

// pendingCommit collects what one commit makes durable.
type pendingCommit struct {
	s        *session
	lease    *state.Lease
	parked   *parking.Update
	rows     int    // events
	id       string // of the last batch with a settled event
	backfill *state.Backfill
	apart    []state.Apart // nil: as they are
	ends     string        // the backfill that is over
	awaited  int           // see session.awaited
	accepted time.Time     // see Settlement
}

func (s *session) newCommit(ctx context.Context, lease *state.Lease) *pendingCommit {
	return &pendingCommit{s: s, lease: lease, parked: s.feed.parking.Update(ctx)}
}

// errEnded says that a settlement has ended the session while a fetch was under way, or that the next one goes on.
var errEnded = errors.New("the session has ended")
