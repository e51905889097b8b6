package inspect

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/azure"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/state"
)

// App is what is found of an app. The zero value of a member says that nothing is known of it, or that nothing is
// there.
type App struct {
	Config  *config.App
	Environ []string // "NAME=value"
	// File is the file that adds settings to the environment; InFile are their names.
	File   string
	InFile map[string]bool
	Faults []string // of what all pollers share
	// Warnings are of the same.
	Warnings []string
	Pollers  []*Poller // those that are asked about

	Host        *Host // nil: there is no host.json, and this is no Function App
	HostAccount azure.HostAccount
	Store       Store
	Telemetry   Telemetry

	functions host.App
	file      host.File
	store     state.Store // nil where the settings have faults, or no poller has a document
}

// Host is what is found of the Functions host.
type Host struct {
	Timeout   time.Duration // functionTimeout; 0 is no bound
	LogLevels []LogLevel    // for each category under which the host logs what the pollers say
	HTTP      []HTTPTrigger // of all functions of the app, ours or not
	Unread    []string      // the function.json that cannot be read
}

// LogLevel is the least level that the host passes on for a category, and the rule that says so; "" where none does.
type LogLevel struct{ Category, Level, Rule string }

// HTTPTrigger is a function that HTTP starts.
type HTTPTrigger struct {
	Function, AuthLevel string
	Acts                bool // it is the status page's, and carries out what its buttons ask
}

// Function is one that the settings ask for, as `rowrelay functions` writes it, and as it is found.
type Function struct {
	Name       string
	Want, Have host.FunctionFile
	Err        error // why its function.json cannot be read
}

// Wiring is what an app was made of.
type Wiring struct {
	Config    *config.App
	File      string   // that further settings were read from
	Added     []string // what that file says, as KEY=VALUE
	Functions host.App
	Hosted    bool        // the functions start the ticks, and not the setting schedule
	Store     state.Store // nil where the settings have faults, or no poller has a document
	Pollers   []Wired     // those that are asked about
}

// New describes an app by its settings and its files. No service is asked.
func New(from Wiring) *App {
	a := &App{
		Config: from.Config, Environ: from.Functions.Environ, File: from.File, InFile: map[string]bool{},
		functions: from.Functions, file: from.Functions.File(), store: from.Store,
	}
	for _, pair := range from.Added {
		name, _, _ := strings.Cut(pair, "=")
		a.InFile[name] = true
	}
	a.Faults = append(Lines(from.Config.Faults), a.file.Faults()...)
	a.Warnings = append(Lines(from.Config.Warnings), a.file.Warnings()...)
	a.HostAccount = azure.HostAccountOf(a.Env)
	a.Store = newStore(&from.Config.State, from.Store != nil)
	a.Telemetry = newTelemetry(a.functions.Env)
	if from.Hosted {
		a.Host = &Host{Timeout: a.file.Timeout()}
		a.Host.HTTP, a.Host.Unread = httpTriggers(a.functions)
		a.logLevels("Host.Function.Console")
	}
	for _, w := range from.Pollers {
		a.Pollers = append(a.Pollers, a.newPoller(w))
	}
	return a
}

// Hosted reports whether the app is a Function App.
func (a *App) Hosted() bool { return a.Host != nil }

// Env is a setting of the environment, whatever its case; "" where it is not set.
func (a *App) Env(name string) string {
	for _, pair := range a.Environ {
		if key, value, ok := strings.Cut(pair, "="); ok && strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}

// Links are the connections of all pollers, and of the state, each setting once.
func (a *App) Links() (links []Link) {
	if a.Store.Link != nil {
		links = append(links, *a.Store.Link)
	}
	for _, p := range a.Pollers {
		links = append(links, p.Links...)
	}
	return links
}

// logLevels adds what the host passes on of categories.
func (a *App) logLevels(categories ...string) {
	for _, category := range categories {
		level, rule := a.file.Logging.Level(category)
		a.Host.LogLevels = append(a.Host.LogLevels, LogLevel{Category: category, Level: level, Rule: rule})
	}
}

// function is a function as the settings ask for it, and as its function.json is.
func (a *App) function(fn *host.Function) Function {
	found := Function{Name: fn.Name}
	found.Have, found.Err = a.functions.FunctionFile(fn.Name)
	if err := json.Unmarshal(fn.Content, &found.Want); err != nil && found.Err == nil {
		found.Err = err
	}
	return found
}

// httpTriggers are the functions of an app that HTTP starts, and each function.json that cannot be read.
func httpTriggers(app host.App) (found []HTTPTrigger, unread []string) {
	paths, err := filepath.Glob(filepath.Join(app.Root, "*", "function.json"))
	if err != nil {
		return nil, []string{app.Root}
	}
	for _, path := range paths {
		folder := filepath.Base(filepath.Dir(path))
		file, err := app.FunctionFile(folder)
		if err != nil {
			unread = append(unread, folder+"/function.json")
			continue
		}
		for _, b := range file.Bindings {
			if strings.EqualFold(b.Type, "httpTrigger") {
				found = append(found, HTTPTrigger{Function: folder, AuthLevel: b.AuthLevel, Acts: folder == host.ActionsFunction})
			}
		}
	}
	return found, unread
}

// Lines are faults of settings as text.
func Lines(faults config.Faults) []string {
	text := make([]string, len(faults))
	for i, f := range faults {
		text[i] = f.Error()
	}
	return text
}
