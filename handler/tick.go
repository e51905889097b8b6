package handler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/poller"
)

// Tick runs one tick of the named poller to its end, whatever becomes of the invocation's own context: only the
// lifetime given to New ends it early. It logs and measures each Report. The error is an unknown poller.
func (h *Handler) Tick(ctx context.Context, name string, inv Invocation) ([]poller.Report, error) {
	name = strings.ToLower(name)
	p, known := h.pollers[name]
	if !known && len(h.faults) == 0 {
		return nil, fmt.Errorf("no poller is called %q; the pollers are: %s. The function's folder must have the poller's name: "+
			"rename the folder, or add the settings pollers__%s__…", name, h.known(), name)
	}
	ctx, cancel := h.alive(ctx)
	defer cancel()
	if faults := append(slices.Clone(h.faults), p.Faults...); len(faults) > 0 {
		return h.account(ctx, name, inv, everyOutput(name, p.Outputs, poller.ConfigInvalid, joinFaults(faults))), nil
	}
	if p.Fanout != nil {
		if report, done := h.fanOut(ctx, name, &p, inv); done {
			return []poller.Report{report}, nil
		}
	}
	_ = clock.Sleep(ctx, h.after(name)) // a tick that is to end at once says so itself
	return h.account(ctx, name, inv, h.run(ctx, name, p)), nil
}

// after is how long after its schedule the tick of a poller begins.
func (h *Handler) after(name string) time.Duration {
	n := len(h.names)
	if n <= atOnce {
		return 0
	}
	i, _ := slices.BinarySearch(h.names, name)
	return time.Duration(i) * min(apart, within/time.Duration(n))
}

func (h *Handler) known() string {
	if len(h.names) == 0 {
		return "none"
	}
	return strings.Join(h.names, ", ")
}

// Schedules fire for all pollers in one millisecond. So many begin at once; of more, each begins a little after the one
// before it in the order of their names, and all of them within less than a second.
const (
	atOnce = 16
	apart  = 4 * time.Millisecond
	within = 800 * time.Millisecond
)
