package leased

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/source"
)

// Why a holding's deadline ended, beside source.ErrLeaseLost.
var (
	errReleased = errors.New("the leases were given back")
)

// holding are the leases of one token, which a goroutine renews.
type holding struct {
	changes  Changes
	token    int64
	ttl      time.Duration
	deadline *clock.Deadline
	cancel   context.CancelFunc
	ended    chan struct{} // closed when the renewal has ended

	// mu is held by whoever takes, renews or settles: so the least number of leases is known. There are more where an
	// answer was lost; they are given back at the end.
	mu   sync.Mutex
	open int
}

func newHolding(c Changes, token int64, n int, ttl time.Duration, begun time.Time) *holding {
	ctx, cancel := context.WithCancel(context.Background())
	h := &holding{changes: c, token: token, ttl: ttl, cancel: cancel, ended: make(chan struct{}), open: n,
		deadline: clock.NewDeadline(context.Background(), begun.Add(ttl-clock.Margin(ttl)), errExpired)}
	go func() {
		defer close(h.ended)
		h.deadline.Keep(ctx, begun, ttl, source.ErrLeaseLost, h.renew)
	}()
	return h
}

// take takes a further batch under the same token. The database counts its time from later than that of those held.
func (h *holding) take(ctx context.Context, t source.Taking) (source.Batch, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.deadline.Check(); err != nil {
		return source.Batch{}, err
	}
	t.Token = h.token
	b, err := h.changes.Take(ctx, t)
	h.open += b.Told.Held
	return b, err
}

// settle makes marks durable. After an error it is not known whether they are, unless that is source.ErrLeaseLost.
func (h *holding) settle(ctx context.Context, marks []engine.LeaseMark) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.changes.Settle(ctx, h.token, marks)
	if errors.Is(err, source.ErrLeaseLost) {
		h.deadline.End(err)
	}
	if err == nil {
		h.open -= len(marks)
	}
	return err
}

// end gives everything back. After a crash, others take over when the leases have lapsed.
func (h *holding) end(ctx context.Context) error {
	h.deadline.End(errReleased)
	h.cancel()
	<-h.ended // a renewal under way ends with its context
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(h.ttl/3, 5*time.Second))
	defer cancel()
	_, err := h.changes.Renew(ctx, h.token, 0)
	return err
}

// renew makes one attempt. It may take a third of the ttl: a connection that hangs must leave time for another attempt.
func (h *holding) renew(ctx context.Context) (begun time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, min(h.ttl/3, h.deadline.Left()))
	defer cancel()
	begun = time.Now()
	n, err := h.changes.Renew(ctx, h.token, h.ttl)
	if err == nil && n < h.open {
		err = source.ErrLeaseLost
	}
	return begun, err
}
