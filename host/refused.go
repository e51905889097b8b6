package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Faults are what of host.json the host refuses, or starts with but without the pollers. None is missing to a process
// that runs without the host.
func (h *File) Faults() []string {
	switch {
	case errors.Is(h.Err, fs.ErrNotExist):
		return nil // standalone
	case h.Err != nil:
		return []string{fmt.Sprintf("%s cannot be read: %v", h.Path, h.Err)}
	}
	var faults []string
	add := func(format string, args ...any) { faults = append(faults, h.Path+": "+fmt.Sprintf(format, args...)) }
	switch h.Version {
	case "2.0":
	case "":
		add(`version is missing: write "version": "2.0"`)
	default:
		add(`version is %q: write "2.0"`, h.Version)
	}
	if _, err := parseTimeSpan(h.FunctionTimeout); h.FunctionTimeout != "" && err != nil {
		faults = append(faults, fmt.Sprintf("%s %q is not a time span: write \"00:05:00\"", h.timeoutName(),
			h.FunctionTimeout))
	}
	handler := &h.CustomHandler
	switch exe := handler.Description.Executable; {
	case strings.HasPrefix(exe, "./"): // Core Tools sets the execute bit only on the zip entry that equals this
		add("defaultExecutablePath %q must not begin with ./, or the published file is not executable", exe)
	case exe == "":
		add(`customHandler.description.defaultExecutablePath is missing: write "rowrelay"`)
	case isOurs(exe) && len(handler.Description.Arguments) > 0 && handler.Description.Arguments[0] != "serve":
		add(`customHandler.description.arguments begin with %q, which does not answer the host: write ["serve"]`,
			handler.Description.Arguments[0])
	}
	if handler.Forwarding {
		add("customHandler.enableForwardingHttpRequest is true: the status page's functions would get the browser's request " +
			"instead of the host's, and refuse it; write false")
	}
	if handler.Proxying {
		add("customHandler.enableProxyingHttpRequest is true: the status page's functions would get the browser's request " +
			"instead of the host's, and refuse it; write false")
	}
	if said(handler.HTTP.Routes) {
		add("customHandler.http.routes makes the host load no function.json, and so no poller: remove it")
	}
	return faults
}

// Warnings are what of host.json the host takes, and nobody wants.
func (h *File) Warnings() []string {
	if h.Err != nil || !said(h.Retry) {
		return nil
	}
	return []string{h.Path + ": retry has the host repeat a failed tick at once, and again, beside the next tick that does it " +
		"anyway; remove it"}
}

// LeavesOut says that host.json's functions keep the host from loading a function; nil where they do not.
func (h *File) LeavesOut(function string) error {
	if len(h.Functions) == 0 ||
		slices.ContainsFunc(h.Functions, func(name string) bool { return strings.EqualFold(name, function) }) {
		return nil
	}
	return fmt.Errorf("%s: functions leaves out %s, so that the host does not load it: add it, or remove functions",
		h.Path, function)
}

// isOurs reports whether an executable's name is this program's.
func isOurs(executable string) bool {
	name := path.Base(strings.ReplaceAll(executable, `\`, "/"))
	return strings.EqualFold(strings.TrimSuffix(strings.ToLower(name), ".exe"), "rowrelay")
}

func said(member []byte) bool {
	return len(member) > 0 && string(member) != "null" && string(member) != "[]"
}
