package handler

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// alive is the context of work that the host asked for. What the invocation's context carries is kept, its end is not:
// the host never cancels, a dropped connection says nothing about the rows, and a tick that stopped half-way for it
// would only deliver them again.
func (h *Handler) alive(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(h.lifetime, func() { cancel(context.Cause(h.lifetime)) }) //nolint:contextcheck // see above
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// account logs and measures reports, and returns them.
func (h *Handler) account(ctx context.Context, name string, inv Invocation, reports []poller.Report) []poller.Report {
	p, known := h.pollers[name]
	for i := range reports {
		if known { // a name that somebody made up gets no series
			h.metrics.Observe(&reports[i])
		}
		level, more := h.skipped.line(&reports[i], inv)
		logReport(ctx, h.log, level, &reports[i], inv, p.Outbox != nil, more...)
		if known {
			h.observe(&reports[i], p.Outbox != nil)
		}
	}
	return reports
}

// observe tells the observer of a tick.
func (h *Handler) observe(r *poller.Report, outbox bool) {
	if h.observer == nil {
		return
	}
	mend := ""
	if r.Failed() {
		mend = next(r, outbox)
	}
	h.observer(r, mend)
}

// run runs the tick and turns a panic into a failed one. A panic in a goroutine that the tick started is beyond its
// reach: it ends the process, which the host starts again.
func (h *Handler) run(ctx context.Context, name string, p Poller) (reports []poller.Report) {
	defer func() {
		if r := recover(); r != nil {
			err := &panicError{value: fmt.Sprint(r), stack: string(debug.Stack())}
			reports = everyOutput(name, p.Outputs, poller.HandlerFailed, err)
			for i := range reports {
				reports[i].Reason = reasonPanic
			}
		}
	}()
	reports = p.Runner.Run(ctx)
	if len(reports) == 0 {
		// Nobody vouches for this tick, so it did not succeed.
		return everyOutput(name, p.Outputs, poller.ConfigInvalid, errors.New("the tick reported no output: set "+
			"pollers__"+name+"__output__kind"))
	}
	return reports
}

// everyOutput is one report for each output of a tick that never reached any of them.
func everyOutput(name string, outputs []string, event poller.Event, err error) []poller.Report {
	if len(outputs) == 0 {
		outputs = []string{""}
	}
	reports := make([]poller.Report, len(outputs))
	for i, output := range outputs {
		reports[i] = newReport(name)
		reports[i].Output, reports[i].Event, reports[i].Err = output, event, err
	}
	return reports
}

// newReport is a report of what ends as it begins.
func newReport(name string) poller.Report {
	now := time.Now()
	return poller.Report{Poller: name, Started: now, Ended: now, Parked: -1, NullCursors: -1}
}

// joinFaults is one error of one line that says all faults.
func joinFaults(faults []error) error {
	if len(faults) == 1 {
		return faults[0]
	}
	text := make([]string, len(faults))
	for i, err := range faults {
		text[i] = err.Error()
	}
	return fmt.Errorf("%d faults: %s", len(faults), strings.Join(text, "; "))
}
