package production

import (
	"errors"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/engine"
)

// Facts are what the checklist is judged by. The zero value of a member says that nothing is known of it, or that nothing is there.
type Facts struct {
	Config  *config.App
	Environ []string        // "NAME=value"
	Local   map[string]bool // the settings that local.settings.json holds
	Faults  []string        // all that `rowrelay check` finds
	Pollers []*Poller       // those that are asked about

	Host        *Host // nil: there is no host.json, and this is no Function App
	HostAccount HostAccount
	Store       Store
	Telemetry   Telemetry
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

// HostAccount is what the app settings of the host's own storage account say.
type HostAccount struct {
	Name string // "" where the settings do not tell
	Set  bool   // there are such settings
	Key  bool   // they hold a key, or a signature
}

// Store is what is found of the state store.
type Store struct {
	Name    string // for people
	Link    *Link  // nil: it is no service
	Opened  bool   // false where the settings have faults, or no poller has a document
	Missing bool   // the directory, or the container, is not there
	ListErr error  // why the documents cannot be listed; nil where a missing container is made when it is needed
	Copies  Copies

	Account      string // of a storage account; "" where the settings do not tell
	OneContainer bool   // it is reached by a signature that is for one container
}

// Copies are what the storage account keeps of documents that were overwritten.
type Copies struct {
	Days int32 // for which soft delete keeps them; 0: it is off
	Err  error // why that is not known

	Documents  int   // that were looked at for versions: one of these is enough
	Versions   bool  // one has a version
	VersionErr error // why they could not be looked at
}

// Telemetry is where the OTEL_ variables send traces and metrics.
type Telemetry struct {
	Links   []Link   // one for each receiver
	Metrics *Link    // nil: metrics are not exported
	Faults  []string // what is wrong with the variables
}

// Link is a connection that the app makes, as its settings say it.
type Link struct {
	What    string // the source, the output …, for people
	Setting string // that holds it; "" where none does
	Kind    string // an engine, the kind of an output …, for people
	Host    string
	Safety  engine.Link
	How     string // why it is not verified
	Mend    string
	Secret  bool // the setting holds a password or a key, not only an identity
	Entra   bool // an identity could take the secret's place
	Unsure  bool // whether one could is not known
}

// TheSource is a [Link]'s What for the connection to the database.
const TheSource = "the source"

var (
	// ErrDenied is in the error of a question that the login may not ask: what was asked for may well be there.
	ErrDenied = errors.New("denied")
	// ErrUnmade is the answer for what is not there, and is made when it is needed.
	ErrUnmade = errors.New("not there yet")
)

// Leaves reports whether what is sent can be read or changed on its way to another machine.
func (l *Link) Leaves() bool {
	return l.Safety == engine.LinkPlain || l.Safety == engine.LinkUnverified
}

// Env is a setting of the environment, whatever its case; "" where it is not set.
func (f *Facts) Env(name string) string {
	for _, pair := range f.Environ {
		if key, value, ok := strings.Cut(pair, "="); ok && strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}

func (f *Facts) hosted() bool { return f.Host != nil }

// allLinks are those of all pollers, and of the state, each setting once.
func (f *Facts) allLinks() (links []Link) {
	if f.Store.Link != nil {
		links = append(links, *f.Store.Link)
	}
	for _, p := range f.Pollers {
		links = append(links, p.Links...)
	}
	return links
}
