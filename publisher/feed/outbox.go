package feed

import (
	"context"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// Outbox is an outbox as sessions work on it.
//
// Each call of its claims and events is one statement or one short transaction, bounded by source__timeout. It is
// repeated after a transient fault (a deadlock, a lost connection) if that is safe. Errors wrap poller.ErrConfig if
// settings or schema are at fault, and claims.ErrLost if a claim does not hold any more.
type Outbox struct {
	poller.Origin
	Warnings []string // for the operator
	// Own says that the table has the columns of `rowrelay outbox init`: state, seq and an indexed bucket among them.
	// Otherwise it is mapped.
	Own    bool
	Claims Claims
	Events Events
}

// Claims say who may publish what.
type Claims interface {
	// Draw returns a token larger than every token drawn before for this outbox.
	Draw(ctx context.Context) (uint64, error)
	// Join makes owner a live member for ttl. Survey says who holds what, and what is in force. See package claims.
	Join(ctx context.Context, owner string, ttl time.Duration) error
	Survey(ctx context.Context, owner string, want claims.Force) (claims.Survey, error)
	// Take claims shards that are free or expired, and returns those that it got. Renew extends all of them and the
	// membership, and returns how many there are. Release gives shards back; nil means all of them and the membership.
	Take(ctx context.Context, owner string, token uint64, shards []string, ttl time.Duration) ([]string, error)
	Renew(ctx context.Context, owner string, ttl time.Duration) (int, error)
	Release(ctx context.Context, owner string, shards []string) error
}

// Events are the rows of the outbox.
type Events interface {
	reader
	marker
	// Look reports, without writing, whether there is anything to publish (pending or due, or left PUBLISHING),
	// whether anything may be WAITING, whether the outbox is paused, and the partition count that is in force (0:
	// none yet). One round trip.
	Look(ctx context.Context) (event.Glance, error)
	// Figures counts what gauges show.
	Figures(ctx context.Context) (poller.OutboxFigures, error)
}

// reader reads rows.
type reader interface {
	// Fetch returns PENDING rows of the ranges (nil: the whole table), after a position, in their order. more says that
	// others follow. Rows whose aggregate has an earlier FAILED, DEAD LETTER (if it blocks) or WAITING event have Waits
	// set.
	Fetch(ctx context.Context, ranges []claims.Range, after event.Position, limit poller.Limit) (rows []event.Row,
		more bool, err error)
	// Pick is Fetch for skip_locked: one transaction that claims aggregates with work and returns their rows, marked
	// PUBLISHING. It is undone with ErrLost if the owner is no live member by then: another strategy may be in force,
	// which does not read such rows.
	Pick(ctx context.Context, by claims.Claim, limit poller.Limit) (rows []event.Row, more bool, err error)
	// Due returns FAILED rows whose next attempt is due, at most limit, and how long it is until the next attempt; -1 if
	// there is none. For skip_locked (by is not zero) it claims their aggregates as Pick does.
	Due(ctx context.Context, ranges []claims.Range, limit poller.Limit, by claims.Claim) (rows []event.Row,
		next time.Duration, err error)
	// Other returns one publishable row whose aggregate is none of avoid, without claiming it; nil if there is none. No
	// earlier event of its aggregate is unpublished. For skip_locked, none is PUBLISHING either, under any claim.
	Other(ctx context.Context, ranges []claims.Range, avoid []event.Aggregate) (*event.Row, error)
}

// marker changes rows' states.
type marker interface {
	// Settle makes marks durable: in one statement if all are published, otherwise in one transaction. It is refused with
	// ErrLost unless the owner holds `held` claims. It does not touch rows that are no longer in the expected state,
	// because an operator acted.
	Settle(ctx context.Context, owner string, held int, m event.Marks) error
	// Mend repairs what a crash, or an operator beside a running session, may leave. It makes PENDING the WAITING rows
	// without an earlier failed one in their aggregate, and the PUBLISHING rows without a live claim, and returns how
	// many. The caller needs no claim: a row that becomes PENDING too early is fetched with Waits set.
	Mend(ctx context.Context) (int, error)
}
