// Package checkpointed is the feed of the modes whose position is a cursor: a [Source] shows the rows, and one state
// document holds both lease and checkpoint.
//
// A session reads the document (open.go), fetches (next.go decides, look.go reads, other.go finds probes), and settles
// (settle.go decides what becomes of events, commit.go stores it). Rejected events are parked and read again by their
// keys (parking.go, retry.go), or given up (bury.go). Package late finds the rows that commit late.
package checkpointed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// Feed is the Feed of the modes whose position is a cursor: a [Source] for the rows, and one state document for
// both lease and checkpoint. There is one owner at a time.
//
// It looks before it leases: Open reads the document, the first Next fetches, and only when there is work is the lease
// taken, by compare-and-swap on the very version that was read. If that wins, the rows are still the right ones. An
// idle tick costs one read and one fetch, and writes nothing.
//
// What is rejected is parked (see [ParkedEntry]): the position moves on, and the row is read again by its key when its
// next attempt is due. Under ordering=source nothing is parked: the poller waits at the event.
type Feed struct {
	cfg    Config
	source Source
	keeper *state.Keeper

	// What one process need not read again. Sessions of a feed follow one another.
	late   *late.Tracker
	parked cachedParking
	pace   pace
	// replaced is a table that was found sound although it is not the one recorded: the next commit records it.
	replaced string
	trail    *trail // of the looks for probes, since something was acknowledged; under the session's lock
}

// cachedParking is the parking that was last read or written, by the object's name.
type cachedParking struct {
	object  string
	parking *parking
}

// Config says what a Feed feed reads, where it keeps its position, and what it does with rows that come
// late and events that are rejected.
type Config struct {
	// App, Poller and Output name it, as in Config.
	App, Poller, Output string
	Source              Source
	Keeper              *state.Keeper
	Ordering            poller.Ordering
	Policy              poller.Policy
	DeadLetters         poller.DeadLetters
	// LateWindow is source__late_window, LateLimit source__late_limit, LateMemory source__late_memory.
	LateWindow, LateLimit time.Duration
	LateMemory            int
	// FutureRows is source__future_rows; empty is deliver.
	FutureRows late.FutureRows
	// MaxRowBytes is max_row_bytes: what a row counts as that is to be read again and whose size is not known. 0
	// counts nothing.
	MaxRowBytes int
	// Wait declines early delivery: source__on_long_transaction=wait.
	Wait bool
	// Continue goes on when the incarnation changed: source__on_failover=continue.
	Continue bool
}

func (c *Config) lateConfig() late.Config {
	return late.Config{
		Address: c.address(), Database: c.Source, Window: c.LateWindow, Limit: c.LateLimit, Memory: c.LateMemory,
		Future: c.FutureRows, Wait: c.Wait,
	}
}

// address is how commands name the feed's document.
func (c *Config) address() string {
	return poller.Address(c.Poller, c.Output)
}

// New returns a feed, or an error that names the member at fault. It reads nothing yet.
func New(cfg Config) (*Feed, error) {
	switch {
	case cfg.Poller == "", cfg.Source == nil, cfg.Keeper == nil, cfg.DeadLetters == nil:
		return nil, errors.New("checkpointed feed: Poller, Source, Keeper and DeadLetters are required")
	case cfg.LateWindow <= 0, cfg.LateLimit <= 0, cfg.LateMemory < 1:
		return nil, errors.New("checkpointed feed: LateWindow, LateLimit and LateMemory must be positive")
	}
	switch cfg.Ordering {
	case poller.OrderKey, poller.OrderSource, poller.OrderNone:
	default:
		return nil, fmt.Errorf("checkpointed feed: Ordering is %q, not key, source or none", cfg.Ordering)
	}
	if err := cfg.Policy.Check(); err != nil {
		return nil, fmt.Errorf("checkpointed feed: %w", err)
	}
	return &Feed{cfg: cfg, source: cfg.Source, keeper: cfg.Keeper, late: late.New(cfg.lateConfig())}, nil
}

// session is one tick's session. Next and Other belong to one goroutine at a time, Settle and Close to another: mu
// guards what both use. Whatever Settle makes of the parked events is shown to others only once it is stored.
type session struct {
	feed   *Feed
	source Description

	// Next's own.
	snapshot *state.Snapshot // what the next acquisition is based on
	frontier change.Cursor   // how far live rows were fetched
	begun    change.Cursor   // the frontier of the document
	rest     poller.Rest     // what the last fetch showed of live rows
	handed   map[uint64]bool // turns of parked entries whose retry was handed out
	looked   time.Time       // when the document was last seen
	waits    bool            // it was said what the poller waits for
	backfill backfill
	// life is the incarnation of the database that the position belongs to.
	life string
	// table is the identity of the table that the position belongs to.
	table string

	parked atomic.Pointer[parking] // as it is stored
	landed chan struct{}           // holds one signal: a settlement was stored

	mu       sync.Mutex
	owed     error        // what a parked event met with: the tick fails with it at its end, so that others need not wait
	lease    *state.Lease // nil until there is work, and again after its release
	ended    bool         // a settlement fell short: no batch may follow
	wrote    time.Time    // when a commit last landed
	batches  int          // that were handed out
	notes    map[string]*note
	behind   int  // batches of these with rows behind them, until what comes of them is shown
	pending  note // what the next batch brings with it
	warnings []string
	nulls    int64
	// incarnation and tableSeen are to be recorded: those of the database and table that answered last.
	incarnation, tableSeen string

	// Settle's own, once there is a lease.
	broken      bool // what is stored is not known any more
	short       bool // a settlement fell short
	litter      int  // commits that left an object behind
	letters     []poller.DeadLetter
	deadLetters poller.DeadLetterWriter
	gone        int
}

// note is what a batch that was handed out is about.
type note struct {
	// events are those of the batch. No probe may be of their order keys.
	events []change.Event
	// gone are parked rows that were found gone before the batch was fetched, moved those that have another order key by
	// now.
	gone  []gone
	moved []moved
	// retries says for each event of a Retry batch whose attempt it is.
	retries []turn
	// behind says that rows wait behind one of them, to be read when it is settled.
	behind bool
	// chunk is the ID of the backfill that a batch belongs to; final says that it is its last. ends is the ID of a
	// backfill of which nothing was left.
	chunk string
	final bool
	ends  string
}

// gone is the head of a parked entry whose row is gone, and those of its followers that were found gone with it.
type gone struct {
	turn
	followers [][]byte
}

// moved is the head of a parked entry whose row has its place in another order key now.
type moved struct {
	turn
	event *change.Event
}

// turn names an attempt at the head of a parked entry.
type turn struct {
	orderKey string
	number   uint64
}

// Parked reports whether an order key is parked. Only ordering=key lets events wait behind a parked one: under source
// nothing is parked, and under none nothing waits.
func (s *session) Parked(orderKey []byte) bool {
	p := s.parked.Load()
	return p.count > 0 && s.feed.cfg.Ordering == poller.OrderKey && p.has(orderKey)
}

// Close releases the lease if it is still held: a failed tick releases too. What it cannot release expires. Its error
// is a *Fault that did not have to stop the tick: a dead letter that could not be written, parked rows that could not
// be read.
func (s *session) Close(ctx context.Context, report *poller.Report) error {
	s.mu.Lock()
	lease := s.lease
	s.lease, s.ended = nil, true
	s.mu.Unlock()
	if lease != nil {
		s.release(ctx, lease)
	}
	s.feed.late.Report(report)
	for _, text := range s.warnings {
		report.Warnings = append(report.Warnings, strings.ReplaceAll(text, poller.AnyDocument, s.feed.cfg.address()))
	}
	report.NullCursors = s.nulls
	report.DeadLettered = append(report.DeadLettered, s.letters...)
	report.Gone = s.gone
	report.Parked = s.parked.Load().count
	report.DocumentRead, report.Skips = true, s.snapshot.Doc.Skips
	if report.BatchID == "" { // nothing was fetched: the position is where it was
		report.Before, report.After = s.frontier, s.frontier
	}
	return s.owed
}

// closePatience bounds the last commit of a session that has nothing left to acknowledge.
const closePatience = 5 * time.Second

// release gives the lease back, with what is still to be stored in the same write.
func (s *session) release(ctx context.Context, lease *state.Lease) {
	if !s.broken {
		ctx, cancel := context.WithTimeoutCause(ctx, closePatience, poller.ErrLate)
		released := false
		err := poller.Guard(func() (err error) { released, err = s.commitRest(ctx, lease); return err })
		cancel()
		if released {
			return
		}
		if err != nil {
			s.warn(fmt.Sprintf("what this tick learned could not be stored at its end, the next one learns it again: %v", err))
		}
	}
	if !s.broken {
		// a panic must not keep the lease from being released
		_ = poller.Guard(func() error { s.collect(ctx, lease); return nil })
	}
	err := lease.Release(ctx)
	if err != nil && !errors.Is(err, state.ErrLost) && !errors.Is(err, state.ErrExpired) {
		s.warn(fmt.Sprintf("the lease could not be released, the next tick waits until it expires: %v", err))
	}
}

// owe keeps a fault for the end of the tick.
func (s *session) owe(fault error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owed == nil {
		s.owed = fault
	}
}

func (s *session) warn(text string) {
	s.mu.Lock()
	s.warnings = append(s.warnings, text)
	s.mu.Unlock()
}

// sourceFault is what a tick ends as when its source fails.
func (c *Config) sourceFault(doing string, err error) error {
	event := poller.FetchFailed
	switch {
	case errors.Is(err, poller.ErrConfig):
		event = poller.ConfigInvalid
	case errors.Is(err, poller.ErrNormalize):
		event = poller.NormalizeFailed
	case errors.Is(err, poller.ErrGap):
		event = poller.SourceGap
	}
	return &poller.Fault{Event: event, Err: fmt.Errorf("%s: %w", doing, poller.NameDocument(err, c.address()))}
}
