package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// functionFile is what a function.json says that matters in production.
type functionFile struct {
	Retry    json.RawMessage   `json:"retry"`
	Disabled bool              `json:"disabled"`
	Bindings []functionBinding `json:"bindings"`
}

type functionBinding struct {
	Type         string `json:"type"`
	RunOnStartup bool   `json:"runOnStartup"`
	UseMonitor   *bool  `json:"useMonitor"`
	AuthLevel    string `json:"authLevel"`
	Schedule     string `json:"schedule"`
	Queue        string `json:"queueName"`
	Connection   string `json:"connection"`
}

// foundFunction is a function that the settings ask for, and what its function.json says.
type foundFunction struct {
	name string
	want functionFile // as `rowrelay functions` writes it
	file functionFile
	err  error
}

func readFunctionFile(path string) (functionFile, error) {
	var file functionFile
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	return file, err
}

// readFunctions reads the function.json of every function of a poller.
func (p *pollerFacts) readFunctions(c *console) {
	p.leftovers = leftovers(c, p.w.cfg)
	for _, fn := range functionsOf(p.w.cfg) {
		found := foundFunction{name: fn.name}
		found.file, found.err = readFunctionFile(filepath.Join(appRoot(c), fn.name, "function.json"))
		if err := json.Unmarshal(fn.content, &found.want); err != nil && found.err == nil {
			found.err = err
		}
		p.functions = append(p.functions, found)
	}
}

// missing is why a function of a poller cannot be read; nil also where the settings do not ask for it.
func (p *pollerFacts) missing(name string) error {
	for i := range p.functions {
		if p.functions[i].name == name {
			return p.functions[i].err
		}
	}
	return nil
}

func judgeFunction(f *facts, p *pollerFacts) answer {
	if !f.hosted {
		return none("no host.json")
	}
	if len(p.functions) == 0 {
		return unknown("mend the settings first", "no function.json was read")
	}
	var names []string
	for i := range p.functions {
		fn := &p.functions[i]
		if mend, seen := fn.fault(p.w.cfg.Name); seen != "" {
			return bad(mend, "%s/function.json %s", fn.name, seen)
		}
		names = append(names, fn.name)
	}
	if len(p.leftovers) > 0 {
		return bad("remove the folder", "%s", strings.Join(p.leftovers, " | "))
	}
	return good("in %s the trigger, runOnStartup false, useMonitor true, no retry policy", list(names))
}

// fault is what differs from what `rowrelay functions` writes, and matters; seen is "" where nothing does.
func (fn *foundFunction) fault(poller string) (mend, seen string) {
	const anew = "write it anew with rowrelay functions --force"
	switch {
	case fn.err != nil:
		return "write it with rowrelay functions", fmt.Sprintf("cannot be read: %v", fn.err)
	case len(fn.file.Retry) > 0 && string(fn.file.Retry) != "null":
		return "remove retry from " + fn.name + "/function.json", "has a retry policy of the host"
	}
	want := fn.want.Bindings[0] // each of ours has one, the trigger
	trigger := fn.file.trigger(want.Type)
	switch {
	case trigger == nil:
		return anew, "has no " + want.Type
	case trigger.RunOnStartup:
		return "write runOnStartup: false", "has runOnStartup: true"
	case trigger.UseMonitor != nil && !*trigger.UseMonitor:
		return "write useMonitor: true", "has useMonitor: false"
	case fn.name != poller && trigger.Schedule != want.Schedule: // the poller's own may stand there as it is
		return anew, fmt.Sprintf("fires at %q, and the settings say %q", trigger.Schedule, want.Schedule)
	case trigger.Queue != want.Queue || trigger.Connection != want.Connection:
		return anew, fmt.Sprintf("reads the queue %q of %s, and the settings name %q of %s", trigger.Queue, trigger.Connection, want.Queue, want.Connection)
	}
	return "", ""
}

// trigger is the binding of a type; nil where there is none.
func (file *functionFile) trigger(kind string) *functionBinding {
	for i := range file.Bindings {
		if strings.EqualFold(file.Bindings[i].Type, kind) {
			return &file.Bindings[i]
		}
	}
	return nil
}

// openFunctions are the functions of HTTP that let in whom they should not, and the function.json that cannot be read.
func (f *facts) openFunctions() (open, unread []string) {
	paths, err := filepath.Glob(filepath.Join(appRoot(f.c), "*", "function.json"))
	if err != nil {
		return nil, []string{appRoot(f.c)}
	}
	for _, path := range paths {
		folder := filepath.Base(filepath.Dir(path))
		file, err := readFunctionFile(path)
		if err != nil {
			unread = append(unread, folder+"/function.json")
			continue
		}
		for _, b := range file.Bindings {
			switch {
			case !strings.EqualFold(b.Type, "httpTrigger"):
			case strings.EqualFold(b.AuthLevel, "anonymous"):
				open = append(open, "authLevel is anonymous in "+folder+"/function.json")
			case folder == actionsFunction && !strings.EqualFold(b.AuthLevel, "admin"):
				open = append(open, "authLevel is not admin in "+folder+"/function.json: whoever may look may act")
			}
		}
	}
	return open, unread
}
