// Package checkpointed is the feed of the modes whose position is a cursor: a [Source] shows the rows, and one state
// document holds both lease and checkpoint.
//
// A session reads the document (open.go), fetches (next.go, fetch.go; probe.go finds probes), and settles (settle.go
// decides what becomes of events, commit.go stores it). Package parking keeps the events that were rejected. Package
// late finds the rows that commit late.
package checkpointed

import (
	"errors"
	"fmt"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/checkpointed/parking"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// Feed reads a [Source], and keeps lease and checkpoint in one state document. There is one owner at a time.
//
// Open reads the document, and the first Next fetches. Only when there is work is the lease taken, by compare-and-swap
// on the very version that was read. If that wins, the rows are still the right ones. An idle tick costs one read and
// one fetch, and writes nothing.
type Feed struct {
	cfg    Config
	source Source
	keeper *state.Keeper

	// What one process need not read again. Sessions of a feed follow one another.
	late     *late.Tracker
	parking  *parking.Lot
	throttle throttle
	// gap says that changes were found missing under a lease: the next fetch is of these.
	gap bool
	// stands says that the last gap stayed one: a read of the whole table does not help.
	stands bool
	// replaced is a table that was found sound although it is not the one recorded: the next commit records it.
	replaced string
	search   *probeSearch // for probes, since something was acknowledged; under the session's lock
}

// Config says what a Feed reads, where it keeps its position, and what it does with late rows and rejected events.
type Config struct {
	// App, Poller and Output name it, as in poller.Config.
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
	// MaxRowBytes is max_row_bytes: what a row of unknown size counts as when it is read again. 0 counts nothing.
	MaxRowBytes int
	// Wait declines early delivery: source__on_long_transaction=wait.
	Wait bool
	// Snapshot begins with a read of the whole table: source__start=snapshot. Resync does so again after a gap, unless
	// the database is another one: source__on_gap=resync. The Source is a Snapshotter then.
	Snapshot, Resync bool
	// SnapshotChunk is how many rows are read of the whole table at a time: source__snapshot_chunk; 0 is as many as of
	// changes.
	SnapshotChunk int
	// Continue goes on when the incarnation changed: source__on_failover=continue.
	Continue bool
	// Seen is shared by the feeds that follow one another in a process; nil: nothing follows.
	Seen *Seen
}

func (c *Config) lateConfig() late.Config {
	return late.Config{
		Address: c.address(), Database: c.Source, Window: c.LateWindow, Limit: c.LateLimit, Memory: c.LateMemory,
		Future: c.FutureRows, Wait: c.Wait,
	}
}

func (c *Config) parkingConfig() parking.Config {
	return parking.Config{
		App: c.App, Poller: c.Poller, Output: c.Output, Address: c.address(), Source: c.Source, Ordering: c.Ordering,
		Policy: c.Policy, DeadLetters: c.DeadLetters, MaxRowBytes: c.MaxRowBytes,
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
	if cfg.Seen == nil {
		cfg.Seen = &Seen{}
	}
	return &Feed{
		cfg: cfg, source: cfg.Source, keeper: cfg.Keeper,
		late: late.New(cfg.lateConfig()), parking: parking.New(cfg.parkingConfig()),
	}, nil
}

// sourceFault is what a tick ends as when its source fails.
func (c *Config) sourceFault(err error) error {
	return &poller.Fault{Event: poller.EventOf(err, poller.FetchFailed), Err: poller.NameDocument(err, c.address())}
}

// probeSearch is how far the search for probes went. It outlives its session, as long as the document's frontier stays.
type probeSearch struct {
	start change.Cursor // the document's frontier when it began
	at    change.Cursor // the last event that was read
	// keys are the order keys of all events between the two: those that were avoided, in flight, or read.
	keys map[string]bool
}
