package production

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
)

// Poller is what is found of one poller. What needs the database is empty where Broken says why.
type Poller struct {
	Config       *config.Poller
	Engine       string // of the database; "" where the connection string has a fault
	Links        []Link // the state store's left out
	Destinations []string
	DeadLetters  string        // where they go, for people
	Margin       time.Duration // what the store takes off a lease, for clocks that differ

	Faults, Warnings []string // that `rowrelay check` finds of it
	Broken           string   // why the rest is not known

	Schedule string        // for people
	Fires    bool          // the schedule does
	Gap      time.Duration // the longest between two ticks

	Functions  []Function // that the settings ask for, under the host
	Leftovers  []string   // those that they do not ask for, and that are there
	CleanupErr error      // why the function of an outbox's clean-up cannot be read

	Rights    engine.Rights
	RightsErr error
	Cursor    []source.CursorColumn
	Table     Table
	Outbox    *Outbox // nil: it is none, or could not be asked

	Outputs []Output
	Queues  map[string]error // those that it puts messages on: nil is there, [ErrUnmade] is made when it is needed. The map is nil where they were not asked
	Letters Letters
}

// Table is what is found of the table, or query, of a poller that is no outbox.
type Table struct {
	Late        *Late  // nil: it could not be asked
	Index       string // that serves the cursor's order; "" where none does
	CreateIndex string // the statement that creates one
	Key         string // how it is known to be unique
	Incarnation string // tells one life of the database from the next; "" where it is not shown
	NullCursors int64  // rows without a cursor; -1: not counted
}

// Late is how rows are found that commit behind the position.
type Late struct {
	Mode poller.LateCommits
	Why  string
	// Missed says what can still be missed, Held which transaction is open, Mend what would show it.
	Missed, Held, Mend string
	Shown              bool          // the server shows every open write transaction
	Age                time.Duration // of the oldest that it shows
}

// Outbox is what is found of an outbox.
type Outbox struct {
	Strategy, Layout string
	Paused           string   // by whom, and when; "" while it is not
	Unsuited         []string // what does not suit the table, the engine or the instances
	Dead, Failed     int64    // events
}

// Output is what is found of an output's document.
type Output struct {
	Paused string // by whom, and since when
	Parked int    // events
}

// Letters are the dead letters that wait.
type Letters struct {
	Stored    int // in the state store
	StoredErr error
	Queued    *int64 // about, in their queue; nil: there is no queue, or QueuedErr
	QueuedErr error
}

// Function is one that the settings ask for, as `rowrelay functions` writes it, and as it is found.
type Function struct {
	Name       string
	Want, Have FunctionFile
	Err        error // why its function.json cannot be read
}

// FunctionFile is what a function.json says that matters in production.
type FunctionFile struct {
	Retry    json.RawMessage `json:"retry"`
	Disabled bool            `json:"disabled"`
	Bindings []Binding       `json:"bindings"`
}

// Binding is one of a [FunctionFile].
type Binding struct {
	Type         string `json:"type"`
	RunOnStartup bool   `json:"runOnStartup"`
	UseMonitor   *bool  `json:"useMonitor"`
	AuthLevel    string `json:"authLevel"`
	Schedule     string `json:"schedule"`
	Queue        string `json:"queueName"`
	Connection   string `json:"connection"`
}

// trigger is the binding of a type; nil where there is none.
func (file *FunctionFile) trigger(kind string) *Binding {
	for i := range file.Bindings {
		if strings.EqualFold(file.Bindings[i].Type, kind) {
			return &file.Bindings[i]
		}
	}
	return nil
}

func (p *Poller) can(a mode.Ability) bool { return p.Config.Source.Mode.Can(a) }

// because says why something is not known of a poller. The fault itself stands at the item settings.
func (p *Poller) because() string {
	switch {
	case p.Broken != "":
		return p.Broken
	case p.RightsErr != nil && len(p.Faults) == 0:
		return p.RightsErr.Error()
	}
	return "the source has a fault: see settings"
}

// deadQueue names the queue of dead letters; "" where they go elsewhere.
func (p *Poller) deadQueue() string {
	d := &p.Config.DeadLetter
	if d.Kind != "queue" {
		return ""
	}
	return d.Queue + " of " + d.Connection.Setting
}

func (p *Poller) longestRequest() (longest time.Duration) {
	for i := range p.Config.Outputs {
		longest = max(longest, p.Config.Outputs[i].Timeout)
	}
	return longest
}
