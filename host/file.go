package host

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// File is what Rowrelay reads of host.json.
type File struct {
	Path string
	Err  error // why it could not be read; fs.ErrNotExist where there is none

	Version         string          `json:"version"`
	FunctionTimeout string          `json:"functionTimeout"`
	Functions       []string        `json:"functions"` // the host loads no others; empty is all
	Retry           json.RawMessage `json:"retry"`
	CustomHandler   struct {
		Description struct {
			Executable string   `json:"defaultExecutablePath"`
			Arguments  []string `json:"arguments"`
		} `json:"description"`
		Forwarding bool `json:"enableForwardingHttpRequest"`
		Proxying   bool `json:"enableProxyingHttpRequest"`
		HTTP       struct {
			Routes json.RawMessage `json:"routes"`
		} `json:"http"`
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
	Logging Logging `json:"logging"`

	timeoutFrom string // the app setting that overrides functionTimeout; "" is the file
}

// HasBundle reports whether the host knows bindings other than timers and HTTP.
func (h *File) HasBundle() bool {
	return h.ExtensionBundle.ID != "" && h.ExtensionBundle.Version != ""
}

// defaultTimeout is the host's functionTimeout where host.json says none: the shortest of all plans' (Consumption).
const defaultTimeout = 5 * time.Minute

// File reads host.json with the app settings that override it, as the host does.
func (a App) File() File {
	h := File{Path: filepath.Join(a.Root, "host.json")}
	text, err := os.ReadFile(h.Path)
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	h.Err = err
	h.Logging.fold()
	if err == nil {
		h.override(a.Environ)
	}
	return h
}

// overriding is what the names of app settings begin with that override host.json:
// AzureFunctionsJobHost__path__to__value.
const overriding = "AzureFunctionsJobHost__"

// override puts the app settings over the file, those that Rowrelay reads. Names have no case.
func (h *File) override(environ []string) {
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
		case "customhandler__enableforwardinghttprequest":
			h.CustomHandler.Forwarding = strings.EqualFold(value, "true")
		case "customhandler__enableproxyinghttprequest":
			h.CustomHandler.Proxying = strings.EqualFold(value, "true")
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
			} else if strings.HasPrefix(path, "functions__") {
				h.Functions = append(h.Functions, value)
			}
		}
	}
}

// Timeout is functionTimeout; 0 is no bound. Where host.json cannot be read, or says nonsense, it is the default:
// Faults say so.
func (h *File) Timeout() time.Duration {
	d, err := parseTimeSpan(h.FunctionTimeout)
	if h.FunctionTimeout == "" || err != nil {
		return defaultTimeout
	}
	return d
}

// timeoutName is where functionTimeout stands.
func (h *File) timeoutName() string {
	if h.timeoutFrom != "" {
		return h.timeoutFrom
	}
	return h.Path + ": functionTimeout"
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
