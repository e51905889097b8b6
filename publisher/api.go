package publisher

import (
	"context"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// Config is one outbox and how it is published.
type Config struct {
	App, Poller string
	// Instance names this process for people, in claims.
	Instance string
	// Table is source__table as written; Map is source__map__<role>: role → column, or an option's value. Empty: the
	// table has the columns of `rowrelay outbox init`.
	Table string
	Map   map[string]string
	// ClaimsTable is source__claims_table, created by `rowrelay outbox init`.
	ClaimsTable string
	// Strategy is source__strategy, "" for what suits the table; Partitions and ClaimTTL as the settings.
	Strategy   claims.Strategy
	Partitions int
	ClaimTTL   time.Duration
	Policy     poller.Policy
	// Ordering is OrderKey (by aggregate), or OrderSource, which needs the strategy leader, or OrderNone.
	Ordering poller.Ordering
	// DeadLetters also takes dead letters; nil where the row is the dead letter and that is all.
	DeadLetters poller.DeadLetters
	// Timeout bounds one statement, Connections the pool, MaxRowBytes a payload.
	Timeout     time.Duration
	Connections int
	MaxRowBytes int
	// Retention and CleanupChunk are for Cleanup.
	Retention    time.Duration
	CleanupChunk int
}

// About is what `rowrelay check` says of an outbox.
type About struct {
	poller.Origin
	Warnings []string
	// Layout is "own" (the columns of `rowrelay outbox init`) or "mapped"; Strategy what is in force.
	Layout     string
	Strategy   claims.Strategy
	Partitions int // in force; 0 where the strategy has none
	// Paused says who paused it, when and why; "" while it is not.
	Paused  string
	Owners  []claims.Owner
	Figures poller.OutboxFigures
}

// Cleaned is what a clean-up did.
type Cleaned struct {
	Rows, Chunks int64
	More         bool // it was stopped before its end
	Took         time.Duration
}

// Operator is what commands and timers do with an outbox beside publishing. *Publisher implements it.
type Operator interface {
	// About describes the outbox, from a fresh look.
	About(ctx context.Context) (About, error)
	// Count and List show events; List calls each in order of seq until it returns an error, which List returns.
	Count(ctx context.Context, f event.Filter) (int64, error)
	List(ctx context.Context, f event.Filter, each func(event.Entry) error) error
	// Requeue makes dead letters (and FAILED events) due at once with their attempts forgotten; their aggregates'
	// later events follow them in order. Discard gives dead letters, FAILED and WAITING events up for ever
	// (DISCARDED, with who and why in last_error) and lets what waits only behind them go on. Both work in chunks,
	// call progress after each with the total so far, and return how many events changed.
	Requeue(ctx context.Context, f event.Filter, progress func(int64)) (int64, error)
	Discard(ctx context.Context, f event.Filter, by string, progress func(int64)) (int64, error)
	// Pause and Resume stop and start publishing on every instance, with their next fetch.
	Pause(ctx context.Context, by string) error
	Resume(ctx context.Context) error
	// Cleanup deletes published and discarded rows older than the retention, in chunks, until none is left or ctx
	// ends. Another instance's clean-up under way is not an error: nothing is done.
	Cleanup(ctx context.Context, progress func(int64)) (Cleaned, error)
	// Work returns the partitions that have something to publish now, for fan-out, and the number of partitions in
	// force.
	Work(ctx context.Context) (partitions []int, of int, err error)
}
