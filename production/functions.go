package production

import (
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/inspect"
)

func judgeFunction(f *inspect.App, p *inspect.Poller) Answer {
	if !f.Hosted() {
		return none("no host.json")
	}
	if len(p.Functions) == 0 {
		return unknown("correct the settings first", "no function.json was read")
	}
	var names []string
	for i := range p.Functions {
		fn := &p.Functions[i]
		if mend, seen := functionFault(fn, p.Config.Name); seen != "" {
			return bad(mend, "%s/function.json %s", fn.Name, seen)
		}
		names = append(names, fn.Name)
	}
	if len(p.Leftovers) > 0 {
		return bad("remove the folder", "%s", strings.Join(p.Leftovers, " | "))
	}
	return good("in %s the trigger, runOnStartup false, useMonitor true, no retry policy", list(names))
}

// fault is what differs from what `rowrelay functions` writes, and matters; seen is "" where nothing does.
func functionFault(fn *inspect.Function, poller string) (mend, seen string) {
	const anew = "write it anew with rowrelay functions --force"
	switch {
	case fn.Err != nil:
		return "write it with rowrelay functions", fmt.Sprintf("cannot be read: %v", fn.Err)
	case len(fn.Have.Retry) > 0 && string(fn.Have.Retry) != "null":
		return "remove retry from " + fn.Name + "/function.json", "has a retry policy of the host"
	}
	want := fn.Want.Bindings[0] // each of ours has one, the trigger
	trigger := fn.Have.Trigger(want.Type)
	switch {
	case trigger == nil:
		return anew, "has no " + want.Type
	case trigger.RunOnStartup:
		return "write runOnStartup: false", "has runOnStartup: true"
	case trigger.UseMonitor != nil && !*trigger.UseMonitor:
		return "write useMonitor: true", "has useMonitor: false"
	case fn.Name != poller && trigger.Schedule != want.Schedule: // the poller's own may stand there as it is
		return anew, fmt.Sprintf("fires at %q, and the settings say %q", trigger.Schedule, want.Schedule)
	case trigger.Queue != want.Queue || trigger.Connection != want.Connection:
		return anew, fmt.Sprintf("reads the queue %q of %s, and the settings name %q of %s", trigger.Queue,
			trigger.Connection, want.Queue, want.Connection)
	}
	return "", ""
}
