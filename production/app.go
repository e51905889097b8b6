package production

import (
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/inspect"
)

func appItems() []item {
	return []item{
		{
			id: "settings", group: groupApp, asks: "`rowrelay check` finds no fault", app: judgeSettings,
			why:  "A poller with a fault does not run; the others do, which hides it.",
			mend: "correct each fault: rowrelay check says how",
		},
		{
			id: "app-name", group: groupApp, asks: "the setting state__app_name is written", app: judgeAppName,
			why: "The names of the state documents begin with it. By default it is the site's name: an app that is created anew under another " +
				"name begins from source__start, and two apps on one machine share the name `local`.",
			mend: "set state__app_name to a name that stays",
		},
		{
			id: "slots", group: groupApp, asks: "no other deployment slot runs these pollers", app: judgeSlots,
			why: "A slot has its own copy of the timers. With the same app name it shares the lease, so that each tick runs with whichever version " +
				"was first; with another name everything is delivered twice.",
			mend: "mark AzureWebJobs.<function>.Disabled=true, for each function of a poller, as a setting of every slot but the one in production",
		},
		{
			id: "always-ready", group: groupApp, asks: "the plan keeps the timers running", app: judgeAlwaysReady,
			why: "On a Dedicated plan the app is unloaded without Always On, and its timers with it. On Flex Consumption and Premium an instance that " +
				"is always ready spares the ticks the cold start.",
			mend: "Dedicated: turn Always On on; Flex Consumption, Premium: one always-ready instance for the timers where seconds matter",
		},
		{
			id: "functions", group: groupApp, asks: "every function.json is as `rowrelay functions` writes it",
			each: judgeFunction,
			why: "With runOnStartup each new instance runs a tick at once; without useMonitor the host forgets a missed one; a retry policy of the " +
				"host repeats whole ticks on top of Rowrelay's own retries.",
			mend: "write it anew with rowrelay functions --force",
		},
		{
			id: "log-level", group: groupApp, asks: "the log level is info, and the host passes lines on", app: judgeLog,
			why:  "Debug lines cost money; without Info there is no line of each tick; what host.json drops, or an app setting AzureFunctionsJobHost__logging__… that overrides it, no alert sees.",
			mend: "set log__level=info, and logLevel.default in host.json to Information, without stricter levels for Function.<poller>",
		},
	}
}

func judgeSettings(f *inspect.App) Answer {
	faults := slices.Clone(f.Faults)
	for _, p := range f.Pollers {
		for _, text := range p.Faults {
			faults = append(faults, p.Config.Name+": "+text)
		}
	}
	if len(faults) > 0 {
		return bad("", "%d fault(s): %s", len(faults), strings.Join(faults, " | "))
	}
	return good("%d poller(s), no fault", len(f.Pollers))
}

func judgeAppName(f *inspect.App) Answer {
	name := f.Config.State.AppName
	switch {
	case f.Env("state__app_name") != "":
		return good("%s", name)
	case f.Config.State.Kind == "":
		return none("there are no state documents")
	default:
		return bad("set state__app_name="+name+", which keeps the documents that there are", "not set: it is %s by default",
			name)
	}
}

func judgeSlots(f *inspect.App) Answer {
	slot := f.Env("WEBSITE_SLOT_NAME")
	switch {
	case !f.Hosted():
		return none("no host.json: this is not a Function App")
	case slot == "":
		return unknown("if the app has slots: mark AzureWebJobs.<poller>.Disabled=true in each but the one in production, as a setting of the slot", "WEBSITE_SLOT_NAME is not set here: ask inside of the app, or look at its slots in the portal")
	case strings.EqualFold(slot, mainSlot):
		return unknown("look at the app's other slots, if there are any: AzureWebJobs.<function>.Disabled=true has to be a setting of each", "this is the slot in production, from which the others are not seen")
	}
	var running []string
	for _, p := range f.Pollers {
		for i := range p.Functions {
			if fn := &p.Functions[i]; !disabled(f, fn) {
				running = append(running, fn.Name)
			}
		}
	}
	if len(running) > 0 {
		return bad("", "this is the slot %s, and it runs %s", slot, list(running))
	}
	return good("this is the slot %s, and what it has of these pollers is disabled", slot)
}

// mainSlot is the name of the slot that every app has.
const mainSlot = "Production"

// disabled reports whether the host does not run a function.
func disabled(f *inspect.App, fn *inspect.Function) bool {
	if fn.Have.Disabled {
		return true
	}
	for _, name := range []string{"AzureWebJobs." + fn.Name + ".Disabled", "AzureWebJobs_" + fn.Name + "_Disabled"} {
		if v := strings.ToLower(f.Env(name)); v == "true" || v == "1" {
			return true
		}
	}
	return false
}

func judgeAlwaysReady(f *inspect.App) Answer {
	if !f.Hosted() {
		return none("no host.json: `rowrelay run` has its own timers")
	}
	var asleep []string
	slot := f.Env("WEBSITE_SLOT_NAME")
	for _, p := range f.Pollers {
		for i := range p.Functions {
			if fn := &p.Functions[i]; disabled(f, fn) && (slot == "" || strings.EqualFold(slot, mainSlot)) {
				asleep = append(asleep, fn.Name)
			}
		}
	}
	if len(asleep) > 0 {
		return bad("remove AzureWebJobs.<function>.Disabled, or disabled in its function.json",
			"the host does not run %s: disabled", list(asleep))
	}
	return unknown("", "the plan's settings are not shown to the app: look at Always On, or at the always-ready instances, in the portal")
}

func judgeLog(f *inspect.App) Answer {
	if level := f.Config.Log.Level; level != "info" {
		return bad("", "log__level=%s", level)
	}
	if !f.Hosted() {
		return good("log__level=info")
	}
	for _, l := range f.Host.LogLevels {
		switch strings.ToLower(l.Level) {
		case "", "trace", "debug", "information":
		default:
			return bad("write Information",
				"log__level=info, but %s is %s, for %s (host.json, or an app setting AzureFunctionsJobHost__…)", l.Rule, l.Level,
				l.Category)
		}
	}
	return good("log__level=info, and host.json passes Information on")
}
