// Package publisher is the polling publisher of a transactional outbox (seeds/004): a [poller.Feed] whose position is the
// state of the outbox's own rows, and whose authority are claims in a table beside it. The tick, its lanes and its failure
// policy are those of package poller.
//
// # Events and their states
//
//	PENDING ──▶ (PUBLISHING) ──▶ PUBLISHED        PUBLISHING is written by the strategy skip_locked only
//	   │ ▲            │
//	   ▼ │            ▼
//	WAITING ◀───── FAILED ──▶ DEAD LETTER ──▶ DISCARDED (by an operator)
//
// An event that fails with evidence against it becomes FAILED, with the time of its next attempt; later events of its
// aggregate become WAITING when they are first met, so that they leave the index of pending ones, and PENDING again, by seq
// and some thousands in a transaction, when the failed one is settled. Events of one aggregate are published by seq.
//
// # Claims
//
// Who may publish what is a row of the claims table: (outbox, unit, owner, token, expires_at), by the database's clock. The
// unit is the whole table (leader), a partition, that is a range of buckets (partitioned), or an aggregate (skip_locked).
// Every session has an owner name of its own, and a fencing token that is larger than every token drawn for this outbox
// before. Marks are refused unless the session's claims hold.
//
// # What a crash means
//
// Between the broker's confirmation and the mark: the event is published again, with the same idempotency key. Anywhere
// else: nothing, but that others wait until the claims have expired.
//
// # The two layers
//
// Session (feed.go, session*.go, units*.go) decides; table (sql*.go) is one method for each statement or short transaction,
// over a dialect for each engine. Admin (admin*.go), Cleanup and the DDL of `rowrelay outbox init` stand on the same dialects.
package publisher

import (
	"context"
	"errors"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// Strategy is how several instances share an outbox (source__strategy; seeds/004, "Scaling").
type Strategy string

// The strategies. The empty one is partitioned where the table has a bucket column, else leader.
const (
	Leader      Strategy = "leader"
	Partitioned Strategy = "partitioned"
	SkipLocked  Strategy = "skip_locked"
)

// Buckets is the number of buckets that aggregate ids are spread over; a partition is a range of them.
const Buckets = 1024

// State is an event's state, as it stands in the column of that name.
type State string

// The states (seeds/004, "Event State Machine").
const (
	Pending    State = "PENDING"
	Publishing State = "PUBLISHING"
	Published  State = "PUBLISHED"
	Failed     State = "FAILED"
	Waiting    State = "WAITING"
	Dead       State = "DEAD LETTER"
	Discarded  State = "DISCARDED"
)

// ErrPaused says that an operator has paused the outbox.
var ErrPaused = errors.New("the outbox is paused")

// errLost: a claim of the session does not hold any more, by the database's word.
var errLost = errors.New("a claim of this instance has expired or was taken over")

// table is an outbox with its claims (and, for a mapped table, with the side table of failed and waiting events) in one
// database. Each method is one statement or one short transaction, bounded by source__timeout, and is repeated by itself
// after a transient fault (a deadlock, a lost connection) where that is safe. Errors wrap poller.ErrConfig where settings or
// schema are at fault, and errLost where a claim is.
type table interface {
	// describe proves the settings against the catalog. It costs no round trip while what it learned before is fresh.
	describe(ctx context.Context) (description, error)
	// look reports, without writing, whether there is anything to publish (pending or due, or left PUBLISHING), whether anything
	// may be WAITING, whether the outbox is paused, and the partition count that is in force (0: none yet). One round trip.
	look(ctx context.Context) (glance, error)

	// draw returns a token larger than every token drawn before for this outbox.
	draw(ctx context.Context) (uint64, error)
	// survey returns the claims of the leader and of partitions, and the live members of an outbox, by the database's clock.
	// strategy and want are the settings', want being the partition count (0: the strategy has none). They are stored where no claim of
	// any kind and no member but the owner is live, and what is in force is returned: strategies do not see each other's claims, so
	// that two of them at once would publish the same events. An owner joins before it surveys, and takes or picks only by a survey
	// made after that: otherwise another could change what is in force in between.
	survey(ctx context.Context, owner string, strategy Strategy, want int) (survey, error)
	// join and renew keep the member's row and all its claims alive for ttl; renew returns how many claims of units (members' rows not
	// counted) the owner still holds. A membership that has lapsed is not renewed: that is errLost.
	join(ctx context.Context, owner string, ttl time.Duration) error
	renew(ctx context.Context, owner string, ttl time.Duration) (int, error)
	// take claims units that are free or expired, and returns those that it got, what it has under this token already among them: a
	// token is drawn for each take, and the answer to a first attempt may have been lost.
	take(ctx context.Context, owner string, token uint64, units []string, ttl time.Duration) ([]string, error)
	// release gives units back; nil means all, and the member's row with them. Events that are left PUBLISHING become PENDING.
	release(ctx context.Context, owner string, units []string) error

	// fetch returns publishable and waiting rows of the ranges (nil: the whole table), after a position, in their order; more
	// says that there are others behind. Rows whose aggregate has an earlier FAILED, DEAD LETTER (where it blocks) or WAITING event
	// have waits set.
	fetch(ctx context.Context, ranges []bucketRange, after position, limit poller.Limit) (rows []row, more bool, err error)
	// pick is fetch for skip_locked: one transaction that claims aggregates with work and returns their rows, marked PUBLISHING. It is
	// undone with errLost where the owner is no live member by then: another strategy may be in force, which passes such rows over.
	pick(ctx context.Context, owner string, token uint64, ttl time.Duration, limit poller.Limit) (rows []row, more bool, err error)
	// due returns FAILED rows whose next attempt is due, at most limit, and how long until the next one is; -1 where there is none.
	// For skip_locked (owner not "") it claims their aggregates like pick.
	due(ctx context.Context, ranges []bucketRange, limit poller.Limit, claim claim) (rows []row, next time.Duration, err error)
	// other returns one publishable row whose aggregate is none of avoid, without claiming it; nil where there is none. It is the
	// first of its aggregate that is not done with: for skip_locked no earlier one is PUBLISHING, under whatever claim.
	other(ctx context.Context, ranges []bucketRange, avoid []aggregate) (*row, error)

	// settle makes marks durable, in one statement where all are published, else in one transaction, refused with errLost
	// unless the owner holds `held` claims. Rows that are not in the expected state any more (an operator acted) are left alone.
	settle(ctx context.Context, owner string, held int, m marks) error
	// mend turns WAITING rows without an earlier failed one in their aggregate into PENDING ones, and PUBLISHING ones without a live
	// claim too, and returns how many: what a crash or an operator beside a running session may leave. Who calls it needs no claim: an
	// event that becomes PENDING too early is fetched with waits set.
	mend(ctx context.Context) (int, error)
	// work returns the partitions (of n) that have something to publish now.
	work(ctx context.Context, n int) ([]int, error)
	// figures counts what gauges show.
	figures(ctx context.Context) (poller.OutboxFigures, error)

	close() error
}

// description is what the catalog says of the outbox.
type description struct {
	poller.Origin
	warnings []string // for the operator
	// own says that the table has the columns of `rowrelay outbox init`: state, seq and bucket among them. Otherwise it is mapped.
	own bool
	// buckets says that there is an indexed bucket column.
	buckets bool
	// skips says that the engine can skip locked rows, or needs not to.
	skips bool
}

type glance struct {
	work, paused bool
	waiting      bool   // there are, or may be, WAITING events
	by           string // who paused it, when and why
	partitions   int
}

// survey is what the claims table says.
type survey struct {
	strategy   Strategy // in force
	partitions int
	leader     string         // the owner of the leader's live claim
	members    []string       // live, the asking one included where it has joined; sorted
	held       map[int]string // partition → owner, of live claims
}

// bucketRange is from ≤ bucket < to.
type bucketRange struct{ from, to int }

// position is where a page begins: after (bucket, seq), or by seq alone. For ordering=source it is always by seq.
type position struct {
	bucket int
	seq    int64
	bySeq  bool
}

type aggregate struct{ typ, id string }

// claim says under whose name rows are claimed; the zero value: not at all.
type claim struct {
	owner string
	token uint64
	ttl   time.Duration
}

// row is one event as it was fetched.
type row struct {
	ref      ref
	at       position
	outbox   change.Outbox
	attempts int // failed ones that count
	waits    bool
	broken   error // see change.Event.Broken
}

// ref names a row of the table in marks: its seq, or for a mapped table the text of its id.
type ref struct {
	seq int64
	id  string
}

// marks are what one settlement makes of rows.
type marks struct {
	published []ref
	// retried are published rows that were FAILED before: their aggregates' waiting events become pending.
	retried []marked
	failed  []failure
	// waiting become WAITING, unless no earlier event of their aggregate is in the way any more.
	waiting []marked
	// returned become PENDING again (skip_locked: they are PUBLISHING).
	returned []ref
	// freed are aggregates whose claim ends with this settlement (skip_locked).
	freed []aggregate
}

type marked struct {
	ref       ref
	aggregate aggregate
}

// failure is a rejected event.
type failure struct {
	marked
	attempts int           // failed ones, this one included
	delay    time.Duration // until the next
	dead     bool          // it was the last
	reason   string        // at most 1000 characters, never the payload
}
