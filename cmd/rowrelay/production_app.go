package main

import (
	"encoding/json"
	"os"
	"strings"
)

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
	case strings.EqualFold(slot, "Production"):
		return good("this is the slot in production")
	}
	var running []string
	for _, p := range f.pollers {
		if !f.disabled(p) {
			running = append(running, p.w.cfg.Name)
		}
	}
	if len(running) > 0 {
		return bad("", "this is the slot %s, and its timers run: %s", slot, list(running))
	}
	return good("this is the slot %s, and its timers are disabled", slot)
}

// disabled reports whether the host does not run a poller's timer.
func (f *facts) disabled(p *pollerFacts) bool {
	if p.function.Disabled {
		return true
	}
	for _, name := range []string{"AzureWebJobs." + p.w.cfg.Name + ".Disabled", "AzureWebJobs_" + p.w.cfg.Name + "_Disabled"} {
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
	for _, p := range f.pollers {
		if f.disabled(p) && f.env("WEBSITE_SLOT_NAME") == "" {
			asleep = append(asleep, p.w.cfg.Name)
		}
	}
	if len(asleep) > 0 {
		return bad("remove AzureWebJobs.<poller>.Disabled", "the host does not run the timers of %s: they are disabled", list(asleep))
	}
	return unknown("", "the plan's settings are not shown to the app: look at Always On, or at the always-ready instances, in the portal")
}

func judgeFunction(f *facts, p *pollerFacts) answer {
	if !f.hosted {
		return none("no host.json")
	}
	name := p.w.cfg.Name + "/function.json"
	if p.functionErr != nil {
		return bad("write it with rowrelay functions", "%s: %v", name, p.functionErr)
	}
	if len(p.function.Retry) > 0 && string(p.function.Retry) != "null" {
		return bad("remove retry from "+name, "%s has a retry policy of the host", name)
	}
	for _, b := range p.function.Bindings {
		if !strings.EqualFold(b.Type, "timerTrigger") {
			continue
		}
		switch {
		case b.RunOnStartup:
			return bad("write runOnStartup: false", "%s has runOnStartup: true", name)
		case b.UseMonitor != nil && !*b.UseMonitor:
			return bad("write useMonitor: true", "%s has useMonitor: false", name)
		}
	}
	return good("runOnStartup false, useMonitor true, no retry policy")
}

func judgeLog(f *facts) answer {
	if level := f.app.cfg.Log.Level; level != "info" {
		return bad("", "log__level=%s", level)
	}
	if !f.hosted {
		return good("log__level=info")
	}
	for _, name := range []string{"default", "Function"} {
		switch level := f.hostLevel(name); strings.ToLower(level) {
		case "", "trace", "debug", "information":
		default:
			return bad("write Information", "log__level=info, but logLevel.%s in host.json is %s", name, level)
		}
	}
	return good("log__level=info, and host.json passes Information on")
}

// hostLevel is a level of host.json's logging; "" where it says none.
func (f *facts) hostLevel(name string) string {
	var file struct {
		Logging struct {
			LogLevel map[string]string `json:"logLevel"`
		} `json:"logging"`
	}
	text, err := os.ReadFile(f.host.path)
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		return ""
	}
	return file.Logging.LogLevel[name]
}
