package wiring

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// TestHeard: silence is told once, until there is an answer of any kind. A request that its tick gives up is none.
func TestHeard(t *testing.T) {
	silent := poller.FailAll(2, poller.Unavailable, 0, errors.New("no answer"))
	busy := poller.FailAll(2, poller.Unavailable, 0, errors.New("busy"))
	busy.RetryAfter = time.Second
	given, giveUp := context.WithCancel(t.Context())
	giveUp()
	over, end := context.WithDeadline(t.Context(), time.Time{})
	defer end()
	var answer error
	var log bytes.Buffer
	to := heard(pollertest.Func(func(context.Context, change.Delivery) error { return answer }),
		slog.New(slog.NewTextHandler(&log, nil)), "orders", "")
	for i, c := range []struct {
		ctx    context.Context //nolint:containedctx // of one call
		answer error
		told   int
	}{
		{t.Context(), busy, 0}, {t.Context(), poller.FailAll(1, poller.Unavailable, 0, errors.New("one of two")), 0},
		{t.Context(), poller.FailAll(2, poller.Unavailable, 503, errors.New("503")), 0}, {given, silent, 0},
		{t.Context(), poller.ErrCut, 0}, {t.Context(), silent, 1}, {t.Context(), silent, 1}, {t.Context(), nil, 1},
		{t.Context(), silent, 2}, {t.Context(), nil, 2},
		{over, poller.FailAll(2, poller.Unavailable, 200, errors.New("its JSON body could not be read")), 3},
	} {
		answer = c.answer
		if err := to.Deliver(c.ctx, change.Delivery{Events: make([]change.Event, 2)}); !errors.Is(err, c.answer) {
			t.Errorf("%d: %v", i, err)
		}
		if n := strings.Count(log.String(), "event=request_unanswered poller=orders"); n != c.told {
			t.Errorf("%d: told %d times, want %d:\n%s", i, n, c.told, log.String())
		}
	}
}
