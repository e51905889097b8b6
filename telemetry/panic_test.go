package telemetry

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
)

// bolting is a Runner that fetches, delivers, and panics before it can report.
type bolting struct {
	from poller.Feed
	to   poller.Output
}

func (b bolting) Run(ctx context.Context) []poller.Report {
	s, err := b.from.Open(ctx)
	if err != nil {
		panic(err)
	}
	grant, err := s.Next(ctx, poller.Limit{})
	if err == nil && len(grant.Batch.Events) > 0 {
		err = b.to.Deliver(grant.Context, change.Delivery{Events: grant.Batch.Events})
	}
	if err != nil {
		panic(err)
	}
	panic("planted-row-value")
}

// A panic ends the tick's span, so that its children have their parent, and goes on to whoever recovers it.
func TestAPanicEndsTheTick(t *testing.T) {
	for _, test := range []struct {
		name     string
		batches  [][]change.Event
		children int
	}{
		{"after a request", [][]change.Event{{event(1)}}, 1},
		{"before there was anything to tell", nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			tel, spans := recorder()
			about := About{Poller: "orders"}
			from, to := &pollertest.Pages{Batches: test.batches}, pollertest.NewSink(t, nil)
			run := tel.Runner(bolting{tel.Feed(from, about), tel.Output(to, about)})
			func() {
				defer func() {
					if what := recover(); what != "planted-row-value" || !strings.Contains(string(debug.Stack()), "bolting.Run") {
						t.Errorf("%v was recovered, without where it was", what)
					}
				}()
				run.Run(context.Background())
			}()
			all := spans.GetSpans()
			tick := named(t, all, "tick", 1)[0]
			if tick.Status.Code != codes.Error || tick.Status.Description != "panic" || value(tick, "error.type") != "panic" {
				t.Errorf("the tick ended as %v, %v", tick.Status, tick.Attributes)
			}
			for _, name := range []string{"fetch", "request"} {
				for _, child := range named(t, all, name, test.children) {
					if child.Parent.SpanID() != tick.SpanContext.SpanID() {
						t.Errorf("%s is no child of the tick", name)
					}
				}
			}
			if strings.Contains(fmt.Sprintf("%+v", all), "planted-row-value") {
				t.Error("a span holds what panicked")
			}
		})
	}
}
