package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// hostFile is what Rowrelay reads of host.json.
type hostFile struct {
	path string
	err  error // why it could not be read; fs.ErrNotExist where there is none

	FunctionTimeout string `json:"functionTimeout"`
	CustomHandler   struct {
		Description struct {
			Executable string   `json:"defaultExecutablePath"`
			Arguments  []string `json:"arguments"`
		} `json:"description"`
	} `json:"customHandler"`
	ExtensionBundle struct {
		ID, Version string
	} `json:"extensionBundle"`
	Extensions struct {
		Queues struct {
			MaxDequeueCount    int    `json:"maxDequeueCount"`
			MaxPollingInterval string `json:"maxPollingInterval"` // "": the host's default, a minute
		} `json:"queues"`
	} `json:"extensions"`
	Logging hostLogging `json:"logging"`

	timeoutFrom string // the app setting that overrides functionTimeout; "" is the file
}

// bundle reports whether the host knows bindings other than timers and HTTP.
func (h *hostFile) bundle() bool {
	return h.ExtensionBundle.ID != "" && h.ExtensionBundle.Version != ""
}

// defaultTimeout is the host's functionTimeout where host.json says none: the shortest of all plans' (Consumption).
const defaultTimeout = 5 * time.Minute

// readHost reads host.json with the app settings that override it, as the host does.
func readHost(root string, environ []string) hostFile {
	h := hostFile{path: filepath.Join(root, "host.json")}
	text, err := os.ReadFile(h.path)
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	h.err = err
	h.Logging.fold()
	if err == nil {
		h.override(environ)
	}
	return h
}

// overriding is what the names of app settings begin with that override host.json: AzureFunctionsJobHost__path__to__value.
const overriding = "AzureFunctionsJobHost__"

// override puts the app settings over the file, those that Rowrelay reads. Names have no case.
func (h *hostFile) override(environ []string) {
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		path, ok := strings.CutPrefix(strings.ToLower(strings.ReplaceAll(name, ":", "__")), strings.ToLower(overriding))
		if !ok {
			continue
		}
		switch path {
		case "functiontimeout":
			h.FunctionTimeout, h.timeoutFrom = value, name
		case "customhandler__description__defaultexecutablepath":
			h.CustomHandler.Description.Executable = value
		case "extensionbundle__id":
			h.ExtensionBundle.ID = value
		case "extensionbundle__version":
			h.ExtensionBundle.Version = value
		case "extensions__queues__maxdequeuecount":
			if n, err := strconv.Atoi(value); err == nil {
				h.Extensions.Queues.MaxDequeueCount = n
			}
		case "extensions__queues__maxpollinginterval":
			h.Extensions.Queues.MaxPollingInterval = value
		default:
			if rest, ok := strings.CutPrefix(path, "logging__"); ok {
				h.Logging.override(rest, value)
			}
		}
	}
}

// timeout is functionTimeout; a host.json that cannot be read, or says nonsense, gives the default, which is what `check`
// points out. 0 means unbounded.
func (h *hostFile) timeout() time.Duration {
	d, err := parseTimeSpan(h.FunctionTimeout)
	if h.FunctionTimeout == "" || err != nil {
		return defaultTimeout
	}
	return d
}

// timeoutName is where functionTimeout stands.
func (h *hostFile) timeoutName() string {
	if h.timeoutFrom != "" {
		return h.timeoutFrom
	}
	return h.path + ": functionTimeout"
}

// faults are what is wrong with host.json, for `check`.
func (h *hostFile) faults() []string {
	switch {
	case errors.Is(h.err, fs.ErrNotExist):
		return nil // standalone
	case h.err != nil:
		return []string{fmt.Sprintf("%s cannot be read: %v", h.path, h.err)}
	}
	var faults []string
	if _, err := parseTimeSpan(h.FunctionTimeout); h.FunctionTimeout != "" && err != nil {
		faults = append(faults, fmt.Sprintf("%s %q is not a time span: write \"00:05:00\"", h.timeoutName(), h.FunctionTimeout))
	}
	if exe := h.CustomHandler.Description.Executable; strings.HasPrefix(exe, "./") {
		// Core Tools sets the execute bit only on the zip entry that equals this byte for byte.
		faults = append(faults, fmt.Sprintf("%s: defaultExecutablePath %q must not begin with ./, or the published file is not executable", h.path, exe))
	} else if exe == "" {
		faults = append(faults, h.path+": customHandler.description.defaultExecutablePath is missing: write \"rowrelay\"")
	}
	return faults
}

// parseTimeSpan reads .NET's [d.]hh:mm:ss, and -1 for no bound (0).
func parseTimeSpan(text string) (time.Duration, error) {
	if text == "-1" {
		return 0, nil
	}
	bad := fmt.Errorf("%q is not [d.]hh:mm:ss", text)
	var days int
	clock := text
	if before, after, ok := strings.Cut(text, "."); ok && strings.Contains(after, ":") {
		d, err := strconv.ParseUint(before, 10, 16)
		if err != nil {
			return 0, bad
		}
		days, clock = int(d), after
	}
	parts := strings.Split(clock, ":")
	if len(parts) != 3 {
		return 0, bad
	}
	var n [3]int
	for i, limit := range [3]uint64{23, 59, 59} {
		v, err := strconv.ParseUint(parts[i], 10, 8)
		if err != nil || v > limit {
			return 0, bad
		}
		n[i] = int(v)
	}
	return time.Duration(days*24+n[0])*time.Hour + time.Duration(n[1])*time.Minute + time.Duration(n[2])*time.Second, nil
}

// refusedName says why the Functions host runs no function of a poller's name; nil where it does. Standalone any name
// will do.
func refusedName(name string) error {
	if name != "host" { // the only one that a poller can have and a function cannot
		return nil
	}
	return errors.New("the Functions host refuses a function named host, so a poller of that name never runs under it: add its settings once " +
		"more under a new name, take its position along with `rowrelay state clone host <its new name>`, then remove pollers__host__…")
}

// timerBinding is what Rowrelay reads of a poller's function.json.
type timerBinding struct {
	Type     string `json:"type"`
	Name     string `json:"name"`
	Schedule string `json:"schedule"`
}

// readFunction returns the timer of <root>/<poller>/function.json. fs.ErrNotExist means that there is no such file.
func readFunction(root, name string) (timerBinding, error) {
	path := filepath.Join(root, name, "function.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return timerBinding{}, err
	}
	var function struct {
		Bindings []timerBinding `json:"bindings"`
	}
	if err := json.Unmarshal(text, &function); err != nil {
		return timerBinding{}, fmt.Errorf("%s: %w", path, err)
	}
	for _, b := range function.Bindings {
		if strings.EqualFold(b.Type, "timerTrigger") {
			return b, nil
		}
	}
	return timerBinding{}, fmt.Errorf("%s has no timerTrigger binding: write it anew with rowrelay functions --force", path)
}
