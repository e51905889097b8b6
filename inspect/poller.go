package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/host"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/schedule"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/state"
)

// Poller is what is found of one poller. What needs the database is empty where Broken says why.
type Poller struct {
	Config       *config.Poller
	Engine       string // of the database; "" where the connection string has a fault
	Connection   string // without secrets
	Links        []Link // the state store's left out
	Destinations []string
	DeadLetters  string        // where they go, for people
	Margin       time.Duration // what the store takes off a lease, for clocks that differ

	Faults, Warnings []string
	Broken           string // why the rest is not known

	Timer Timer

	Functions  []Function // that the settings ask for, under the host
	Leftovers  []string   // those that they do not ask for, and that are there
	CleanupErr error      // why the function of an outbox's clean-up cannot be read
	// CleanupTimer is the schedule of that function, and FanoutPeriod the time between two hand-outs of partitions. Check
	// finds them, and Init, the command that creates the tables of an outbox that lacks them.
	CleanupTimer string
	FanoutPeriod time.Duration
	Init         string

	Rights    engine.Rights
	RightsErr error
	Cursor    []source.CursorColumn
	Table     Table
	Outbox    *Outbox // nil: it is none, or could not be asked

	Outputs []*Output
	// those that it puts messages on: nil is there, [ErrUnmade] is made when it is needed. The map is nil where they were
	// not asked
	Queues  map[string]error
	Letters Letters

	app   *App
	wired Wired
}

// Wired is a poller as it was made of its settings. Where these have faults, parts of it are missing.
type Wired struct {
	Config           *config.Poller
	Schedule         *schedule.Schedule
	Connection       engine.Connection
	Source           *source.Cursor     // nil of an outbox
	Outputs          []WiredOutput      // those with a state document
	Leases           *source.Leases     // nil of any mode whose changes are not shared
	Outbox           publisher.Operator // nil of any other mode
	Runs             bool               // it can tick
	Faults, Warnings config.Faults
}

// WiredOutput is an output with its state document.
type WiredOutput struct {
	Config *config.Output
	Key    string // of the document
	Keeper *state.Keeper
	Shape  func(*change.Event) (change.Event, error) // what is sent of an event; nil: the event
	// Ready says what stands in the way of the rows of a source; nil where nothing can be asked.
	Ready func(ctx context.Context, rows *source.Check) error
	// Gone says why there should be a document where there is none; nil where nothing is known.
	Gone func(ctx context.Context) error
}

// Timer is what starts a poller's ticks: the setting schedule, or under the Functions host its function.json.
type Timer struct {
	Schedule *schedule.Schedule // nil where it is not known
	Assumed  bool               // function.json does not say it, and it is that of the setting
	Text     string             // for people
	Fires    bool
	Gap      time.Duration // the longest between two ticks
}

// Output is what is found of an output.
type Output struct {
	Config      *config.Output
	To          string // for people
	DeadLetters string // where they go, for people
	Document    string // the name of its state document
	Position    string // for people
	Lease       string // "free", or who holds it
	Paused      string // by whom, and since when; "" while it is not
	Parked      int    // events
	// Events are the first rows after the position as they would be sent, in the output's format; nil where they could not
	// be read. Shaping says what they were before; nil where they are sent as they are.
	Events  []json.RawMessage
	Shaping []Shaped

	address string // how commands name the document
	keeper  *state.Keeper
	shape   func(*change.Event) (change.Event, error)
	ready   func(ctx context.Context, rows *source.Check) error
	gone    func(ctx context.Context) error
}

// Shaped is a row, and what becomes of it: it is sent as After says, or not at all.
type Shaped struct {
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after,omitempty"`
	Why    string          `json:"why,omitempty"` // it is not sent
}

// Table is what is found of the table, or query, of a poller that is no outbox.
type Table struct {
	source.Check
	Late *Late // nil: it could not be asked
}

// Outbox is what is found of an outbox.
type Outbox struct {
	publisher.About
	Unsuited []string      // what does not suit the table, the engine or the instances
	Next     []event.Entry // the first pending events, without their payloads
}

// Letters are the dead letters that wait.
type Letters struct {
	Stored    int // in the state store
	StoredErr error
	Queued    *int64 // about, in their queue; nil: there is no queue, or QueuedErr
	QueuedErr error
}

// OutputsOf are the outputs of a poller. Where it has none, which is a fault, one without a name stands for them.
func OutputsOf(p *config.Poller) []config.Output {
	if len(p.Outputs) == 0 {
		return make([]config.Output, 1)
	}
	return p.Outputs
}

// Can reports whether pollers of its mode have an ability.
func (p *Poller) Can(a mode.Ability) bool { return p.Config.Source.Mode.Can(a) }

// Runs reports whether the poller can tick: its settings have no fault.
func (p *Poller) Runs() bool { return p.wired.Runs }

// Stored reports whether there is a state store, and the poller has documents in it.
func (p *Poller) Stored() bool { return p.Can(mode.Document) && p.app.store != nil }

// SettingFaults are what is wrong with its settings.
func (p *Poller) SettingFaults() config.Faults { return p.wired.Faults }

// Because says why something is not known of a poller. The fault itself stands among its Faults.
func (p *Poller) Because() string {
	switch {
	case p.Broken != "":
		return p.Broken
	case p.RightsErr != nil && len(p.Faults) == 0:
		return p.RightsErr.Error()
	}
	return "the source has a fault: see settings"
}

// DeadQueue names the queue of dead letters; "" where they go elsewhere.
func (p *Poller) DeadQueue() string {
	d := &p.Config.DeadLetter
	if d.Kind != "queue" {
		return ""
	}
	return d.Queue + " of " + d.Connection.Setting
}

// LongestRequest is the longest that a request of its outputs may take.
func (p *Poller) LongestRequest() (longest time.Duration) {
	for i := range p.Config.Outputs {
		longest = max(longest, p.Config.Outputs[i].Timeout)
	}
	return longest
}

// newPoller describes a poller by its settings and the files of a Function App.
func (a *App) newPoller(w Wired) *Poller {
	p := &Poller{
		Config: w.Config, Engine: w.Connection.Engine, Links: LinksOf(w.Config, w.Connection),
		DeadLetters: "the rows themselves",
		Faults:      Lines(w.Faults), Warnings: Lines(w.Warnings), app: a, wired: w,
	}
	p.Table.NullCursors = -1
	if p.Engine != "" { // else the settings are at fault
		p.Connection = w.Connection.String()
	}
	for i := range w.Config.Outputs {
		p.Destinations = append(p.Destinations, destination(&w.Config.Outputs[i]))
	}
	for _, out := range w.Outputs {
		p.Outputs = append(p.Outputs, &Output{
			Config: out.Config, To: destination(out.Config), DeadLetters: a.deadLettersAt(w.Config, out.Config.Name),
			Document: out.Key, Lease: "free",
			address: poller.Address(w.Config.Name, out.Config.Name), keeper: out.Keeper, shape: out.Shape, ready: out.Ready,
			gone: out.Gone,
		})
	}
	if p.Can(mode.Document) {
		p.DeadLetters = a.deadLettersAt(w.Config, "")
		if a.store != nil {
			p.Margin = a.store.Margin(w.Config.LeaseTTL)
		}
	}
	if a.Hosted() {
		p.Faults = append(p.Faults, Lines(w.Config.CheckBudget(a.file.Timeout()))...)
	}
	p.readTimer()
	if a.Hosted() {
		p.readFunctions()
	}
	return p
}

// readTimer finds out when the poller's ticks begin.
func (p *Poller) readTimer() {
	name := p.Config.Name
	p.Timer.Schedule, p.Timer.Text = p.wired.Schedule, p.Config.Schedule+" (setting schedule, for rowrelay run)"
	if p.app.Hosted() {
		p.fault(host.RefusedName(name))
		p.fault(p.app.file.LeavesOut(name))
		timer, err := p.app.functions.Timer(name)
		p.Timer.Assumed = err != nil
		switch {
		case errors.Is(err, fs.ErrNotExist):
			p.Warnings = append(p.Warnings,
				fmt.Sprintf("there is no %s/function.json: the Functions host will not run this poller until `rowrelay functions` has written it", name))
		case err != nil:
			p.Faults = append(p.Faults, err.Error())
		default:
			p.Timer.Schedule, p.Timer.Text = timer.Schedule, timer.Text
			if timer.Problem != "" {
				p.Faults = append(p.Faults, timer.Problem)
			}
		}
	}
	if p.Timer.Schedule == nil {
		return
	}
	p.Timer.Gap, p.Timer.Fires = p.Timer.Schedule.LongestGap()
	if !p.Timer.Fires {
		p.Warnings = append(p.Warnings, "the schedule "+p.Timer.Text+" never fires")
	}
}

// readFunctions reads the function.json of every function of the poller.
func (p *Poller) readFunctions() {
	p.Leftovers = p.app.functions.Leftovers(p.Config)
	for _, fn := range host.FunctionsOf(p.Config) {
		one := p.app.function(&fn)
		p.Functions = append(p.Functions, one)
		if fn.Name == p.Config.Name+mode.CleanupSuffix {
			p.CleanupErr = one.Err
		}
		p.app.logLevels("Function."+fn.Name, "Function."+fn.Name+".User")
	}
}

// fault adds what was found, once: the outputs of a poller share its source.
func (p *Poller) fault(err error) {
	if err != nil && !slices.Contains(p.Faults, err.Error()) {
		p.Faults = append(p.Faults, err.Error())
	}
}

// deadLettersAt says where the dead letters of one output go.
func (a *App) deadLettersAt(p *config.Poller, output string) string {
	if p.DeadLetter.Kind == "queue" {
		return "queue " + p.DeadLetter.Queue + " of " + p.DeadLetter.ConnectionSetting
	}
	name := p.Name
	if output != "" {
		name += "." + output
	}
	return fmt.Sprintf("deadletters/%s/%s/ in the state store (%s)", a.Config.State.AppName, name,
		StoreName(&a.Config.State))
}

// To says where an output sends, for people.
func (p *Poller) To(out *config.Output) string { return destination(out) }

func destination(out *config.Output) string {
	switch out.Kind {
	case "http":
		if out.Auth == "entra" || out.Auth == "oauth2" {
			return "http " + out.URL.String() + " with a token of " + out.Auth
		}
		return "http " + out.URL.String()
	case "queue":
		return "queue " + out.Queue + " of " + out.ConnectionSetting
	case "stdout":
		return out.Kind
	case "sql":
		return "table " + out.Table + " of " + out.ConnectionSetting
	default:
		return out.Kind + " " + out.Destination + " of " + out.ConnectionSetting
	}
}

// render says how this output would send the events that were found.
func (p *Poller) render(o *Output, found *source.Check) {
	out := o.Config
	format, err := change.ParseFormat(out.Format)
	if err != nil {
		return // a fault of the settings, told with them
	}
	if format == change.CloudEventsBinary { // the attributes are headers: the structured mode shows them
		format = change.CloudEvents
	}
	d := &change.Delivery{
		App: p.app.Config.State.AppName, Poller: p.Config.Name, Engine: found.Engine, Table: found.Table,
		Fingerprint: found.Fingerprint,
		BatchID:     "check", Attempt: 1, Type: out.Type, Source: out.Source,
	}
	o.Events = []json.RawMessage{}
	for i := range found.Events {
		e := found.Events[i]
		if o.shape != nil {
			shaped := Shaped{Before: e.Row}
			if e, err = o.shape(&found.Events[i]); err != nil {
				p.fault(fmt.Errorf("%s: %w", p.Config.Name, err))
				return
			}
			switch {
			case e.Broken != nil:
				shaped.Why = e.Broken.Error()
			case e.Aside:
				shaped.Why = "filtered: output__jq gives nothing"
			default:
				shaped.After = e.Row
			}
			if o.Shaping = append(o.Shaping, shaped); e.Unsent() {
				continue
			}
		}
		d.Events = append(d.Events, e)
		o.Events = append(o.Events, format.AppendEvent(nil, d, len(d.Events)-1))
	}
}
