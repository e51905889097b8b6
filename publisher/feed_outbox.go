package publisher

import (
	"context"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// feedOutbox is an outbox as sessions work on it.
//
// Each call of its claims and events is one statement or one short transaction, bounded by source__timeout, and is
// repeated by itself after a transient fault (a deadlock, a lost connection) where that is safe. Errors wrap
// poller.ErrConfig where settings or schema are at fault, and ErrLost where a claim is.
type feedOutbox struct {
	poller.Origin
	warnings []string // for the operator
	// own says that the table has the columns of `rowrelay outbox init`: state, seq and an indexed bucket among them.
	// Otherwise it is mapped.
	own    bool
	claims feedClaims
	events feedEvents
}

// feedClaims say who may publish what.
type feedClaims interface {
	// Draw returns a token larger than every token drawn before for this outbox.
	Draw(ctx context.Context) (uint64, error)
	// Join makes owner a live member for ttl, survey tells who has what, and what is in force: see claims.
	Join(ctx context.Context, owner string, ttl time.Duration) error
	Survey(ctx context.Context, owner string, want claims.Force) (claims.Survey, error)
	// Take claims shards that are free or expired, and returns those that it got. renew keeps all of them alive, with
	// the member, and returns how many there are. release gives shards back; nil means all, and the membership.
	Take(ctx context.Context, owner string, token uint64, shards []string, ttl time.Duration) ([]string, error)
	Renew(ctx context.Context, owner string, ttl time.Duration) (int, error)
	Release(ctx context.Context, owner string, shards []string) error
}

// feedEvents are the rows of the outbox.
type feedEvents interface {
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
	// Fetch returns publishable and waiting rows of the ranges (nil: the whole table), after a position, in their
	// order; more says that there are others after them. Rows whose aggregate has an earlier FAILED, DEAD LETTER
	// (where it blocks) or WAITING event have waits set.
	Fetch(ctx context.Context, ranges []claims.Range, after event.Position, limit poller.Limit) (rows []event.Row,
		more bool, err error)
	// Pick is fetch for skip_locked: one transaction that claims aggregates with work and returns their rows, marked
	// PUBLISHING. It is undone with ErrLost where the owner is no live member by then: another strategy may be in
	// force, which passes such rows over.
	Pick(ctx context.Context, by claims.Claim, limit poller.Limit) (rows []event.Row, more bool, err error)
	// Due returns FAILED rows whose next attempt is due, at most limit, and how long until the next one is; -1 where
	// there is none. For skip_locked (by is not zero) it claims their aggregates like pick.
	Due(ctx context.Context, ranges []claims.Range, limit poller.Limit, by claims.Claim) (rows []event.Row,
		next time.Duration, err error)
	// Other returns one publishable row whose aggregate is none of avoid, without claiming it; nil where there is
	// none. It is the first of its aggregate that is not done with: for skip_locked no earlier one is PUBLISHING,
	// under whatever claim.
	Other(ctx context.Context, ranges []claims.Range, avoid []event.Aggregate) (*event.Row, error)
}

// marker changes rows' states.
type marker interface {
	// Settle makes marks durable, in one statement where all are published, else in one transaction, refused with
	// ErrLost unless the owner holds `held` claims. Rows that are not in the expected state any more (an operator
	// acted) are left alone.
	Settle(ctx context.Context, owner string, held int, m event.Marks) error
	// Mend turns WAITING rows without an earlier failed one in their aggregate into PENDING ones, and PUBLISHING ones
	// without a live claim too, and returns how many: what a crash or an operator beside a running session may leave.
	// Who calls it needs no claim: an event that becomes PENDING too early is fetched with waits set.
	Mend(ctx context.Context) (int, error)
}
