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
	// Survey says who holds what, without a lock.
	Survey(ctx context.Context) (claims.Survey, error)
	// Take draws a token larger than every token drawn before for this outbox, and claims those partitions that choose
	// returns, as far as they are free or the owner's own. With join the owner becomes a live member, too.
	Take(ctx context.Context, owner string, ttl time.Duration, join bool,
		choose func(*claims.Survey) []int) (claims.Taken, error)
	// Renew extends the owner's claims of partitions and its membership, and returns how many it has extended. Release
	// gives partitions back; nil means all of them and the membership.
	Renew(ctx context.Context, owner string, partitions []int, ttl time.Duration) (int, error)
	Release(ctx context.Context, owner string, partitions []int) error
}

// Events are the rows of the outbox.
type Events interface {
	reader
	marker
	// Look reports, without writing, whether there is anything to publish (pending or due), whether Mend may find
	// anything, whether the outbox is paused, and the partition count that is in force (0: none yet). One round trip.
	Look(ctx context.Context) (event.Glance, error)
	// Work returns which of these partitions, of n, have something to publish now.
	Work(ctx context.Context, partitions []int, n int) ([]int, error)
	// Figures counts what gauges show.
	Figures(ctx context.Context) (poller.OutboxFigures, error)
}

// reader reads rows.
type reader interface {
	// Fetch returns the first PENDING rows of the ranges, of which there is one at least, by bucket and seq, or by seq
	// alone, as always for ordering=source. more says that others follow. Rows whose aggregate has an earlier FAILED,
	// DEAD LETTER (if it blocks) or WAITING event have Waits set.
	Fetch(ctx context.Context, ranges []claims.Range, bySeq bool, limit poller.Limit) (rows []event.Row, more bool,
		err error)
	// Due returns FAILED rows whose next attempt is due, at most limit, and how long it is until the next attempt; -1 if
	// there is none.
	Due(ctx context.Context, ranges []claims.Range, limit poller.Limit) (rows []event.Row, next time.Duration, err error)
	// Others returns publishable rows of the ranges whose aggregate is none of avoid, from the first on. It passes over
	// all that is avoided, however much that is: the caller bounds its time.
	Others(ctx context.Context, ranges []claims.Range, avoid []event.Aggregate, limit poller.Limit) ([]event.Row, error)
	// Again returns those of some rows that are publishable still, in their order.
	Again(ctx context.Context, refs []event.Ref) ([]event.Row, error)
}

// marker changes rows' states.
type marker interface {
	// Settle makes marks durable: in one statement if all are published, otherwise in one transaction. It is refused with
	// ErrLost unless the owner holds `held` claims. It does not touch rows that are no longer in the expected state,
	// because an operator acted. An *event.UnmarkedError names rows that are as before; everything else is durable.
	Settle(ctx context.Context, owner string, held int, m event.Marks) error
	// Mend repairs what a crash, or an operator beside a running session, may leave. It makes PENDING the WAITING rows
	// without an earlier failed one in their aggregate, and returns how many. The caller needs no claim: a row that
	// becomes PENDING too early is fetched with Waits set. Of a mapped table it removes what is said of rows that are
	// gone.
	Mend(ctx context.Context) (int, error)
}
