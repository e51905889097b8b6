package main

import "strings"

func judgeSettings(f *facts) answer {
	if len(f.faults) > 0 {
		return bad("", "%d fault(s): %s", len(f.faults), strings.Join(f.faults, " | "))
	}
	return good("%d poller(s), no fault", len(f.pollers))
}

func judgeAppName(f *facts) answer {
	name := f.app.cfg.State.AppName
	switch {
	case f.env("state__app_name") != "":
		return good("%s", name)
	case f.app.cfg.State.Kind == "":
		return none("there are no state documents: every poller is an outbox")
	default:
		return bad("set state__app_name="+name+", which keeps the documents that there are", "not set: it is %s by default", name)
	}
}

func judgeSlots(f *facts) answer {
	slot := f.env("WEBSITE_SLOT_NAME")
	switch {
	case !f.hosted:
		return none("no host.json: this is not a Function App")
	case slot == "":
		return unknown("if the app has slots: mark AzureWebJobs.<poller>.Disabled=true in each but the one in production, as a setting of the slot", "WEBSITE_SLOT_NAME is not set here: ask inside of the app, or look at its slots in the portal")
	case strings.EqualFold(slot, production):
		return unknown("look at the app's other slots, if there are any: AzureWebJobs.<function>.Disabled=true has to be a setting of each", "this is the slot in production, from which the others are not seen")
	}
	var running []string
	for _, p := range f.pollers {
		for i := range p.functions {
			if fn := &p.functions[i]; !f.disabled(fn) {
				running = append(running, fn.name)
			}
		}
	}
	if len(running) > 0 {
		return bad("", "this is the slot %s, and it runs %s", slot, list(running))
	}
	return good("this is the slot %s, and what it has of these pollers is disabled", slot)
}

// production is the name of the slot that every app has.
const production = "Production"

// disabled reports whether the host does not run a function.
func (f *facts) disabled(fn *foundFunction) bool {
	if fn.file.Disabled {
		return true
	}
	for _, name := range []string{"AzureWebJobs." + fn.name + ".Disabled", "AzureWebJobs_" + fn.name + "_Disabled"} {
		if v := strings.ToLower(f.env(name)); v == "true" || v == "1" {
			return true
		}
	}
	return false
}

func judgeAlwaysReady(f *facts) answer {
	if !f.hosted {
		return none("no host.json: `rowrelay run` has its own timers")
	}
	var asleep []string
	slot := f.env("WEBSITE_SLOT_NAME")
	for _, p := range f.pollers {
		for i := range p.functions {
			if fn := &p.functions[i]; f.disabled(fn) && (slot == "" || strings.EqualFold(slot, production)) {
				asleep = append(asleep, fn.name)
			}
		}
	}
	if len(asleep) > 0 {
		return bad("remove AzureWebJobs.<function>.Disabled, or disabled in its function.json", "the host does not run %s: disabled", list(asleep))
	}
	return unknown("", "the plan's settings are not shown to the app: look at Always On, or at the always-ready instances, in the portal")
}

func judgeLog(f *facts) answer {
	if level := f.app.cfg.Log.Level; level != "info" {
		return bad("", "log__level=%s", level)
	}
	if !f.hosted {
		return good("log__level=info")
	}
	for _, category := range f.logCategories() {
		switch level, rule := f.host.Logging.level(category); strings.ToLower(level) {
		case "", "trace", "debug", "information":
		default:
			return bad("write Information", "log__level=info, but %s is %s, for %s (host.json, or an app setting %s…)", rule, level, category, overriding)
		}
	}
	return good("log__level=info, and host.json passes Information on")
}

// logCategories are those under which the host logs what the process writes, and each of its functions.
func (f *facts) logCategories() []string {
	categories := []string{"Host.Function.Console"}
	for _, p := range f.pollers {
		for _, fn := range functionsOf(p.w.cfg) {
			categories = append(categories, "Function."+fn.name, "Function."+fn.name+".User")
		}
	}
	return categories
}
