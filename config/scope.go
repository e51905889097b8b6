package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"

	"github.com/rowrelay/rowrelay/config/kind"
	"github.com/rowrelay/rowrelay/mode"
)

// given is a setting as it stands in the environment, or in a file that has a flaw.
type given struct {
	name, raw string
	flaw      *kind.Flaw
	// byDefault says that it stands below defaults__: what the poller says itself wins, and where it has no effect it is
	// not meant.
	byDefault bool
}

// scope is what was given below one prefix, to be read by one table: the app's, a poller's, an output's.
type scope struct {
	prefix string // "", "pollers__orders__", "pollers__orders__output__"
	table  []setting
	mode   mode.Mode        // the poller's source__mode; "" where it does not matter, or is not known
	given  map[string]given // by key
	faults *Faults
	bad    map[string]bool // keys with a fault: nothing further is said about them
}

func newScope(prefix string, table []setting, faults *Faults) *scope {
	return &scope{prefix: prefix, table: table, given: map[string]given{}, faults: faults, bad: map[string]bool{}}
}

// put takes one variable; the same key in another spelling is a fault.
func (s *scope) put(key string, g given) {
	name := g.name
	if twin, ok := s.given[key]; ok && g.byDefault && !twin.byDefault {
		return
	} else if ok {
		s.faults.Add(name, "is "+twin.name+" in another spelling: both are set", "Remove one of the two")
		s.bad[key] = true
		return
	}
	s.given[key] = g
}

// has reports whether a value was given; an empty one counts as none.
func (s *scope) has(key string) bool { return s.given[key].raw != "" }

// own reports whether a value was given that is no default of all pollers.
func (s *scope) own(key string) bool { return s.has(key) && !s.given[key].byDefault }

// ok reports whether the key has no fault yet.
func (s *scope) ok(keys ...string) bool {
	for _, k := range keys {
		if s.bad[k] {
			return false
		}
	}
	return true
}

// named returns the name as it was written, or the full name of a setting that was not.
func (s *scope) named(key string) string {
	if g, ok := s.given[key]; ok {
		return g.name
	}
	return s.prefix + key
}

// fault adds a fault of one key.
//
//go:noinline
func (s *scope) fault(key, problem, mend string) {
	s.bad[key] = true
	s.faults.Add(s.named(key), problem, mend)
}

// read parses what was given by the table, fills dst, and says every fault.
func (s *scope) read(env environ, dst any) {
	s.unknown()
	s.misplaced()
	values := map[string]any{}
	for _, row := range s.table {
		if family, _, ok := strings.Cut(row.name, "<"); ok {
			s.family(env, family, row, values)
			continue
		}
		if v, ok := s.value(env, row.name, row); ok {
			values[row.name] = v
		}
	}
	k := koanf.New("__")
	err := k.Load(confmap.Provider(values, "__"), nil)
	if err == nil {
		err = k.UnmarshalWithConf("", dst, koanf.UnmarshalConf{Tag: "json"})
	}
	if err != nil { // a row of the table whose type is not its field's: a test reads every row
		s.faults.Add(s.prefix, "cannot be read: "+err.Error(), "Report this: it is a fault of Rowrelay")
	}
}

// value is the parsed value of one setting: the given one, or the default, or none.
func (s *scope) value(env environ, key string, row setting) (any, bool) {
	g, ok := s.given[key]
	if g.flaw != nil {
		s.fault(key, g.flaw.Problem, g.flaw.Mend)
	} else if ok && g.raw != "" {
		v, subject, f := row.parse(env, g.raw)
		if f == nil {
			return v, true
		}
		s.fault(key, subject+" "+f.Problem, f.Mend)
	} else if row.need {
		s.fault(key, "is required", "Set it"+row.hint(s.named(key)))
	}
	def, ok := row.defIn[s.mode]
	if !ok {
		def = row.def
	}
	if def == "" || !row.isFor(s.mode) {
		return nil, false
	}
	v, f := row.kind.Parse(def)
	if f != nil {
		panic("config: the default of " + row.name + " " + f.Problem)
	}
	return v, true
}

// parse expands and parses a value. With a flaw comes how its fault speaks of the value.
func (row setting) parse(env environ, raw string) (v any, subject string, f *kind.Flaw) {
	subject = row.subject(raw)
	if isKeyVaultReference(raw) {
		return nil, "the value", kind.Wrong("is a Key Vault reference that was not resolved", keyVaultMend)
	}
	expanded, f := env.expand(raw, row.kind.Hidden)
	if f != nil {
		return nil, subject, f
	}
	if expanded != raw && !row.kind.Hidden {
		subject += " (expanded)"
	}
	if isKeyVaultReference(expanded) {
		return nil, subject, kind.Wrong("is a Key Vault reference that was not resolved", keyVaultMend)
	}
	v, f = row.kind.Parse(strings.TrimSpace(expanded))
	return v, subject, f
}

// subject is the value as it was written, before %NAME% brought in what may be a secret.
func (row setting) subject(raw string) string {
	const long = 60
	switch {
	case row.kind.Hidden:
		return "the value"
	case len(raw) > long:
		return "the value that begins with " + strconv.Quote(strings.ToValidUTF8(raw[:long], ""))
	}
	return strconv.Quote(raw)
}

func (row setting) hint(name string) string {
	if row.kind.Example == "" {
		return ""
	}
	return fmt.Sprintf(", such as %s=%s", name, row.kind.Example)
}

// family reads headers__X, headers__Y into one map; an empty one is left out.
func (s *scope) family(env environ, prefix string, row setting, values map[string]any) {
	for _, key := range s.keys() {
		name, ok := strings.CutPrefix(key, prefix)
		if !ok || !s.ok(key) {
			continue
		}
		var f *kind.Flaw
		if row.member != nil {
			name, f = row.member(name)
		}
		if f != nil {
			s.fault(key, f.Problem, f.Mend)
		}
		if v, ok := s.value(env, key, row); ok && f == nil {
			values[prefix+name] = v
		}
	}
}

// keys returns the given keys in order.
func (s *scope) keys() []string {
	keys := make([]string, 0, len(s.given))
	for k := range s.given {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// unknown says which of the given names are not settings.
func (s *scope) unknown() {
	for _, key := range s.keys() {
		if lookup(s.table, key) != nil {
			continue
		}
		s.fault(key, "is not a setting", s.suggest(key))
	}
}

// misplaced says which settings are another mode's, where they would have no effect, and takes them away.
func (s *scope) misplaced() {
	for _, key := range s.keys() {
		row := lookup(s.table, key)
		if row == nil || row.isFor(s.mode) || !s.has(key) || !s.ok(key) {
			continue
		}
		if s.given[key].byDefault {
			delete(s.given, key)
			continue
		}
		mend := row.mend
		switch {
		case s.mode == mode.ChangeTracking && slices.Equal(row.modes, inCursor):
			mend = "Remove it: the triggers of " + pollerPrefix(s.prefix) + "source__table say what changed"
		case s.mode == mode.Leased && row.isFor(mode.ChangeTracking):
			mend = "Remove it: it is not shared (docs/azure-sql-trigger.md#not-shared says what to do instead)"
		case slices.Equal(row.modes, inLeased):
			mend = "Write " + pollerPrefix(s.prefix) + "source__leases=azfunc, or remove it"
		case slices.Equal(row.modes, inTracking), slices.Equal(row.modes, inChanges):
			mend = "Write " + pollerPrefix(s.prefix) + "source__mode=changetracking, or remove it"
		case slices.Equal(row.modes, inOutbox), slices.Equal(row.modes, inFanout) && s.mode == mode.Cursor:
			mend = "Write " + pollerPrefix(s.prefix) + "source__mode=outbox where the table is an outbox, or remove it"
		case mend == "":
			mend = "Remove it"
		}
		s.fault(key, "has no effect with source__mode="+string(s.mode), mend)
		delete(s.given, key)
	}
}

func (s *scope) suggest(key string) string {
	var known []string
	prefix := s.prefix
	if s.given[key].byDefault {
		prefix = defaultsGroup + "__" + strings.TrimPrefix(prefix, pollerPrefix(prefix))
	}
	for _, row := range s.table {
		if strings.HasPrefix(row.name, key+"__<") {
			return "Write a further name after it: " + prefix + row.name
		}
		known = append(known, row.name)
	}
	if k := nearest(key, known, max(2, len(key)/3)); k != "" {
		return "Did you mean " + prefix + k + "? docs/settings.md lists all settings"
	}
	return "Remove it; docs/settings.md lists all settings"
}

// pollerPrefix is what a poller's own settings begin with, given that of its settings or of an output's.
func pollerPrefix(prefix string) string {
	parts := strings.SplitN(prefix, "__", 3)
	return parts[0] + "__" + parts[1] + "__"
}

// lookup finds the row of a key; a family's row takes any one further segment.
func lookup(table []setting, key string) *setting {
	for i, row := range table {
		family, _, ok := strings.Cut(row.name, "<")
		if ok {
			rest, in := strings.CutPrefix(key, family)
			ok = in && rest != "" && !strings.Contains(rest, "__")
		}
		if ok || row.name == key {
			return &table[i]
		}
	}
	return nil
}

// loader holds what was given, sorted by whom it concerns.
type loader struct {
	env environ
	app *App
	own *scope
	// defaults are settings of every poller, by the key that they have in one.
	defaults *scope
	pollers  map[string]*pollerScopes
	// batchSize and polling are defaults under the Azure SQL trigger's names; 0: none was given.
	batchSize int
	polling   time.Duration
}

// pollerScopes are one poller's settings: its own, and those of each output by name.
type pollerScopes struct {
	poller  *Poller
	own     *scope // nil where only misspelt names speak of the poller: then nothing else is asked of it
	outputs map[string]*scope
}

// output returns the scope of an output, a new one the first time; written is the setting that speaks of it.
func (p *pollerScopes) output(name, prefix, written string) *scope {
	s := p.outputs[name]
	if s == nil {
		s = newScope(prefix, outputSettings, &p.poller.Faults)
		p.outputs[name] = s
		if name != "" && !goodName(name) {
			p.poller.Faults.Add(written, fmt.Sprintf("speaks of an output %q, a name that no output can have", name), nameMend)
		}
	}
	return s
}
