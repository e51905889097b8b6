package mapping

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/engine/column"
)

// role is what a column of a mapped table is for: source__map__<role>=<column>.
type role string

// Those that are named beside their list.
const (
	roleID          role = "id"
	roleSeq         role = "seq"
	roleAggregateID role = "aggregate_id"
	rolePayload     role = "payload"
	roleCreatedAt   role = "created_at"
	rolePublished   role = "published"
	rolePublishedAt role = "published_at"
	roleState       role = "state"
	roleAttempts    role = "attempts"
)

// roles are all of them, in the order of statements and messages.
var roles = []struct {
	role
	// byDefault is the column of a role that the settings do not name: those of the table that frameworks have in common.
	// It is "" where nothing but the settings can say what a column of that name means.
	byDefault string
	at        func(*Layout) **column.Column // nil: it may be named, and is not needed
	kinds     []column.Kind                 // nil: any
	want      string                        // the kinds, in words
	required  string                        // what it is; "" where an event can do without
}{
	{roleID, "id", func(l *Layout) **column.Column { return &l.ID }, named, "an integer, text, a uuid or bytes",
		"the column that identifies an event"},
	{roleSeq, "seq", func(l *Layout) **column.Column { return &l.Seq }, whole, "an integer", ""},
	{"aggregate_type", "aggregate_type", func(l *Layout) **column.Column { return &l.AggregateType }, words, "text", ""},
	{roleAggregateID, "aggregate_id", func(l *Layout) **column.Column { return &l.AggregateID }, named,
		"an integer, text, a uuid or bytes",
		"the column whose events keep their order; or write " + noColumn + ", for no order among events"},
	{"event_type", "event_type", func(l *Layout) **column.Column { return &l.EventType }, words, "text", ""},
	{"idempotency_key", "idempotency_key", func(l *Layout) **column.Column { return &l.Key }, named,
		"text, a uuid, an integer or bytes", ""},
	{roleCreatedAt, "created_at", func(l *Layout) **column.Column { return &l.CreatedAt }, times, aTime, ""},
	{rolePublished, "published", func(l *Layout) **column.Column { return &l.Published },
		[]column.Kind{column.Bool, column.Integer}, "a boolean or a number", ""},
	{rolePublishedAt, "published_at", func(l *Layout) **column.Column { return &l.PublishedAt }, times, aTime, ""},
	{roleState, "state", func(l *Layout) **column.Column { return &l.State }, words, "text or a number", ""},
	{roleAttempts, "retry_count", func(l *Layout) **column.Column { return &l.Attempts }, whole, "an integer", ""},
	{"traceparent", "traceparent", func(l *Layout) **column.Column { return &l.TraceParent }, nil, "", ""},
	{"tracestate", "tracestate", func(l *Layout) **column.Column { return &l.TraceState }, nil, "", ""},
	{"available_at", "", func(l *Layout) **column.Column { return &l.AvailableAt }, times, aTime, ""},
	{"expires_at", "", func(l *Layout) **column.Column { return &l.ExpiresAt }, times, aTime, ""},
	{rolePayload, "payload", func(l *Layout) **column.Column { return &l.Payload },
		[]column.Kind{column.Text, column.JSON, column.Bytes}, "text, JSON or bytes",
		"the column that holds what is published"},
	{"next_attempt_at", "next_attempt_at", nil, nil, "", ""}, // this and what follows lives in the side table
	{"last_error", "last_error", nil, nil, "", ""},
	{"bucket", "bucket", nil, nil, "", ""}, // the strategy leader needs none
}

// What columns of several roles may be.
var (
	named = []column.Kind{column.Integer, column.Text, column.UUID, column.Bytes}
	words = []column.Kind{column.Integer, column.Text}
	whole = []column.Kind{column.Integer}
	times = []column.Kind{column.Time}
)

const aTime = "a date and time"

// The options beside the roles.
const (
	optionPending     = "pending"      // the value of the state column that means "to be published"
	optionDone        = "done"         // the one that means "published"
	optionOnPublished = "on_published" // mark or delete
	noColumn          = "none"         // instead of a column: there is none
)

// setting is the name of the setting that says the role's column, or of an option.
func setting(name string) string { return "source__map__" + name }

func (r role) setting() string { return setting(string(r)) }

// mapping is a layout in the making.
type mapping struct {
	Layout
	table     string // for people
	catalog   []column.Column
	textTimes bool            // a time may stand in a column of text
	columns   map[role]string // as the settings write them; noColumn where there shall be none
}

// parse reads source__map__<role>, and finds what is wrong with it without looking at the table.
func (m *mapping) parse(settings map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		value := strings.TrimSpace(settings[name])
		if value == "" {
			return fmt.Errorf("%s is empty: name a column, or leave the setting out", setting(name))
		}
		switch name {
		case optionPending:
			m.Pending = value
		case optionDone:
			m.Done = value
		case optionOnPublished:
			if value != "mark" && value != "delete" {
				return fmt.Errorf("%s=%s is not known: write mark or delete", setting(name), value)
			}
			m.Deletes = value == "delete"
		default:
			if !slices.Contains(Roles(), name) {
				return fmt.Errorf("%s is not known: the roles are %s, and the options %s, %s and %s", setting(name),
					strings.Join(Roles(), ", "), optionPending, optionDone, optionOnPublished)
			}
			m.columns[role(name)] = value
		}
	}
	return nil
}

// check finds settings that contradict each other.
func (m *mapping) check() error {
	for _, r := range []role{roleID, rolePayload} {
		if m.columns[r] == noColumn {
			return fmt.Errorf("%s=%s: every event needs one: name the column", r.setting(), noColumn)
		}
	}
	for _, option := range []struct{ name, value string }{{optionPending, m.Pending}, {optionDone, m.Done}} {
		if option.value == "" {
			continue
		}
		if m.columns[roleState] == noColumn {
			return fmt.Errorf("%s is a value of the state column, and %s=%s says that there is none: leave one of them out",
				setting(option.name), roleState.setting(), noColumn)
		}
		// The values stand in statements as literals, because only so can a filtered index serve them.
		if i := strings.IndexFunc(option.value,
			func(c rune) bool { return c < ' ' || c == '\'' || c == '\\' || c == 0x7f }); i >= 0 {
			return fmt.Errorf("%s holds a quote, a backslash or a control character, which a state's value cannot have here",
				setting(option.name))
		}
	}
	if m.Pending != "" && m.Pending == m.Done {
		return fmt.Errorf("%s and %s are the same value %q: an event that was published could not be told from one that was not",
			setting(optionPending), setting(optionDone), m.Pending)
	}
	if m.Deletes && m.Done != "" {
		return fmt.Errorf("%s=delete deletes published rows, and %s says how to mark them: leave one of them out",
			setting(optionOnPublished), setting(optionDone))
	}
	seen := make(map[string]role)
	for i := range roles {
		r := roles[i].role
		column := strings.ToLower(m.columns[r])
		if column == "" || column == noColumn {
			continue
		}
		if other, twice := seen[column]; twice && !shareable(r, other) {
			return fmt.Errorf("%s and %s name the same column %q: give each its own", other.setting(), r.setting(), m.columns[r])
		}
		seen[column] = r
	}
	return nil
}

// shareable reports whether one column can serve two roles: an id may be seq, aggregate and idempotency key at once;
// what is written when an event is published can be nothing else.
func shareable(a, b role) bool {
	written := []role{rolePublished, rolePublishedAt, roleState, roleAttempts}
	return !slices.Contains(written, a) && !slices.Contains(written, b)
}

// Roles are what a column can be for: source__map__<role>.
func Roles() []string {
	names := make([]string, len(roles))
	for i := range roles {
		names[i] = string(roles[i].role)
	}
	return names
}
