package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/clock"
)

// Why a holding's deadline ended, beside ErrLost.
var (
	errExpired  = errors.New("the claims could not be renewed in time, so that they may have expired")
	errReleased = errors.New("the claims were released")
)

// holding are the claims of one owner, which a goroutine renews. One session at a time uses them. They outlive a
// session that ended well, for the next one of this process: see shared.
type holding struct {
	claims   Claims
	owner    string
	ttl      time.Duration
	deadline *clock.Deadline
	cancel   context.CancelFunc
	ended    chan struct{} // closed when the renewal has ended

	// exclusive holds one token while something changes which partitions are held, or a settlement names their number.
	// It is no mutex, because its holder waits for the database.
	exclusive chan struct{}

	// For the session that uses it.
	count      int       // partitions in force
	leaving    []int     // of held: no longer fetched, and released when nothing of them is in flight
	surveyed   time.Time // for the strategy partitioned
	emptySince time.Time // since when it has none; zero while it has some

	mu     sync.Mutex
	joined bool
	held   []int     // sorted: a partition counts from the answer that granted it to the request that releases it
	taking time.Time // when the take under way began: the database may count what it grants from then; zero: none is
	least  int       // how many claims the renewal under way must find
}

func newHolding(c Claims, owner string, ttl time.Duration) *holding {
	begun := time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	h := &holding{claims: c, owner: owner, ttl: ttl, cancel: cancel, ended: make(chan struct{}),
		deadline:  clock.NewDeadline(context.Background(), begun.Add(ttl-clock.Margin(ttl)), errExpired),
		exclusive: make(chan struct{}, 1)}
	go func() {
		defer close(h.ended)
		h.deadline.Keep(ctx, begun, ttl, claims.ErrLost, h.renew)
	}()
	return h
}

// take claims what choose returns, under a new token. A session gives up where it fails: what it has claimed without
// knowing is given back then, or expires.
//
// The token is larger than those of whoever has taken a partition over from this owner, if the database's clock has
// jumped. So nothing may be sent under it unless everything is held still.
func (h *holding) take(ctx context.Context, join bool, choose func(*claims.Survey) []int) (claims.Taken, error) {
	h.exclusive <- struct{}{}
	defer func() { <-h.exclusive }()
	h.mu.Lock()
	h.taking = time.Now()
	h.mu.Unlock()
	got, err := h.claims.Take(ctx, h.owner, h.ttl, join, choose)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taking = time.Time{}
	if err != nil {
		return got, fmt.Errorf("claiming partitions: %w", err)
	}
	for _, i := range h.held {
		if got.Held[i] != h.owner {
			h.deadline.End(claims.ErrLost)
			return got, fmt.Errorf("claiming partitions: %w", claims.ErrLost)
		}
	}
	h.joined = h.joined || join && got.Survey.Partitions > 0
	h.held = append(h.held, got.Partitions...)
	slices.Sort(h.held)
	return got, nil
}

// release gives partitions back. The caller has the token of exclusive. They count as given back from now on: they may
// be somebody else's as soon as the request is under way, also where it fails. What is not, expires.
func (h *holding) release(ctx context.Context, partitions []int) error {
	gone := func(i int) bool { return slices.Contains(partitions, i) }
	h.leaving = slices.DeleteFunc(h.leaving, gone)
	h.mu.Lock()
	h.held = slices.DeleteFunc(h.held, gone)
	h.least -= len(partitions) // a renewal under way need not find them
	h.mu.Unlock()
	return h.claims.Release(ctx, h.owner, partitions)
}

// partitions are those that it holds.
func (h *holding) partitions() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.held)
}

// active are those of them that do not leave.
func (h *holding) active() []int {
	return slices.DeleteFunc(h.partitions(), func(i int) bool { return slices.Contains(h.leaving, i) })
}

// end gives everything back. After a crash, others take over when the claims have expired.
func (h *holding) end(ctx context.Context) error {
	h.deadline.End(errReleased)
	h.cancel()
	<-h.ended // a renewal under way ends with its context
	return h.claims.Release(ctx, h.owner, nil)
}

// renew makes one attempt. It may take a third of the ttl: a connection that hangs must leave time for another attempt.
//
// since is the earliest moment from which the database may have counted the ttl of any claim. That is when the request
// began, or when a take began whose answer had not come by then: what that grants is not renewed here.
func (h *holding) renew(ctx context.Context) (since time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, min(h.ttl/3, h.deadline.Left()))
	defer cancel()
	h.mu.Lock()
	if since = h.taking; since.IsZero() {
		since = time.Now()
	}
	held := slices.Clone(h.held)
	if h.least = len(held); h.joined {
		h.least++
	}
	h.mu.Unlock()
	n, err := h.claims.Renew(ctx, h.owner, held, h.ttl)
	if err != nil {
		return since, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if n < h.least {
		return since, fmt.Errorf("%w (%d of %d are left)", claims.ErrLost, n, h.least)
	}
	return since, nil
}
