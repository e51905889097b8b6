package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/mode"
)

// Load reads the environment, KEY=VALUE as os.Environ returns it. The App is never nil: pollers without faults can run
// even where the error, which is a [Faults] with every fault of the app and of each poller, is not nil.
func Load(list []string) (*App, error) {
	app, _ := load(list)
	for _, p := range app.Pollers {
		if p.Source.Tables != "" {
			p.refuseTables()
		}
	}
	return app, app.AllFaults().Err()
}

// load is Load where a poller may stand for many.
func load(list []string) (*App, error) {
	l := &loader{env: newEnviron(list), app: &App{}, pollers: map[string]*pollerScopes{}}
	l.own = newScope("", appSettings, &l.app.Faults)
	l.defaults = newScope(defaultsGroup+"__", nil, &l.app.Faults)
	for _, name := range l.env.names() {
		l.place(name)
	}
	l.readApp()
	l.rejoin()
	l.spread()
	for _, name := range slices.Sorted(maps.Keys(l.pollers)) {
		p := l.pollers[name]
		l.readPoller(p)
		p.poller.Faults.sort()
		p.poller.Warnings = slices.DeleteFunc(p.poller.Warnings, func(f Fault) bool { // see given.byDefault
			return isDefault(f.Setting) && strings.HasPrefix(f.Problem, "has no effect")
		})
		p.poller.Warnings.sort()
		l.app.Pollers = append(l.app.Pollers, p.poller)
	}
	if len(l.app.Pollers) == 0 {
		l.app.Faults.Add("pollers__<name>__source__connection", "is not set for any name: there is no poller",
			"Describe one, such as pollers__orders__source__connection=ORDERS_DB; docs/settings.md lists all settings")
	}
	l.checkStateKind()
	l.app.Faults.sort()
	l.app.Warnings.sort()
	return l.app, l.app.AllFaults().Err()
}

// place puts one variable where it belongs, if it is ours.
func (l *loader) place(name string) {
	g, known := given{name: name, raw: l.env.vars[name]}, name
	if of, ok := strings.CutSuffix(name, fileSuffix); ok && Ours(of) && g.raw != "" {
		g.raw, g.flaw = l.env.readFile(name)
		g.raw, known = strings.ReplaceAll(g.raw, "%", "%%"), of // a file is taken as it is
	}
	lower := strings.ToLower(known)
	group, rest, nested := strings.Cut(lower, "__")
	switch {
	case hostSetting(lower) != "":
		l.own.put(hostSetting(lower), g)
	case !nested || !isGroup(group):
		l.placeMiss(name)
	case group == defaultsGroup:
		l.placeDefault(rest, g)
	case group != pollersGroup:
		l.own.put(lower, g)
	default:
		l.placePoller(rest, g)
	}
}

// Ours reports whether a name is of a setting that is described here, or was meant to be.
func Ours(name string) bool {
	group, _, nested := strings.Cut(strings.ToLower(name), "__")
	return nested && isGroup(group) || hostSetting(strings.ToLower(name)) != ""
}

// hostSetting is the name of a setting that the Azure SQL trigger has too, and that is nested in no group of ours; ""
// for every other.
func hostSetting(lower string) string {
	for i := range appSettings {
		if name := appSettings[i].name; !strings.Contains(name, "__") && strings.ToLower(name) == lower {
			return name
		}
	}
	return ""
}

// placeMiss says a fault of a name that is almost ours, at the poller that it seems to speak of.
func (l *loader) placeMiss(name string) {
	if m, ok := nearMiss(name); ok {
		l.miss(name, m)
	}
}

func (l *loader) miss(name string, m miss) {
	const problem = "is not a setting, but looks like one"
	mend := "Did you mean " + m.suggestion + "? Names are nested by two underscores"
	switch {
	case strings.HasPrefix(m.suggestion, "log__"):
		// LOG_LEVEL is read by half of all software: another program's setting must not stop this one.
		l.app.Warnings.Add(name, problem+", and has no effect", mend)
	case m.poller != "":
		p := l.poller(m.poller)
		p.poller.Faults.Add(name, problem, mend)
	default:
		l.app.Faults.Add(name, problem, mend)
	}
}

// placeDefault puts a default aside, until it is known which pollers there are.
func (l *loader) placeDefault(key string, g given) {
	if strings.HasPrefix(key, furtherName+"__") {
		l.app.Faults.Add(g.name, "is of a further output, which not every poller has",
			"Write it below "+pollersGroup+"__<name>__; defaults are for a poller's own settings and for "+defaultName+"__…")
		return
	}
	g.byDefault = true
	l.defaults.put(key, g)
}

// spread gives each poller the defaults that it does not set itself; empty is set, too. Those of the default output are
// for pollers that have one, or all where they say its kind.
func (l *loader) spread() {
	for name, p := range l.pollers {
		for _, key := range l.defaults.keys() {
			output := strings.HasPrefix(key, defaultName+"__") && p.outputs[""] == nil && !l.defaults.has(defaultName+"__kind")
			if p.own != nil && !output {
				l.placePoller(name+"__"+key, l.defaults.given[key])
			}
		}
	}
}

func (l *loader) placePoller(path string, g given) {
	name := g.name
	poller, key, ok := strings.Cut(path, "__")
	switch {
	case poller == "":
		l.app.Faults.Add(name, "names no poller",
			"Write the poller's name between the double underscores: pollers__orders__batch_size")
		return
	case !ok || key == "":
		if m, ok := flatPollerMiss(poller); ok {
			l.miss(name, m)
			return
		}
		l.poller(poller).poller.Faults.Add(name, "names a poller, but no setting of it",
			"Write the setting after the name, such as pollers__"+poller+"__batch_size")
		return
	}
	p := l.poller(poller)
	if _, own := p.poller.written[key]; !own || !g.byDefault {
		p.poller.written[key] = name
	}
	prefix := pollersGroup + "__" + poller + "__"
	if p.own == nil {
		p.own = newScope(prefix, pollerSettings, &p.poller.Faults)
		if !goodName(poller) {
			p.poller.Faults.Add(name, fmt.Sprintf("speaks of a poller %q, a name that no poller can have", poller), nameMend)
		}
	}
	if rest, ok := strings.CutPrefix(key, defaultName+"__"); ok && rest != "" {
		p.output("", prefix+defaultName+"__", name).put(rest, g)
		return
	}
	if rest, ok := strings.CutPrefix(key, furtherName+"__"); ok {
		if output, last, ok := strings.Cut(rest, "__"); ok && output != "" && last != "" {
			p.output(output, prefix+furtherName+"__"+output+"__", name).put(last, g)
			return
		}
		p.poller.Faults.Add(name, "names no setting of an output",
			"Write the output's name and the setting, such as "+prefix+furtherName+"__audit__kind")
		return
	}
	p.own.put(key, g)
}

// poller returns the scopes of a poller, new ones the first time.
func (l *loader) poller(name string) *pollerScopes {
	p := l.pollers[name]
	if p == nil {
		p = &pollerScopes{poller: &Poller{Name: name, written: map[string]string{}}, outputs: map[string]*scope{}}
		l.pollers[name] = p
	}
	return p
}

func (l *loader) readApp() {
	var all struct {
		State  *State  `json:"state"`
		Log    *Log    `json:"log"`
		Status *Status `json:"status"`
		// of the Azure SQL trigger
		MaxChangesPerWorker *int `json:"Sql_Trigger_MaxChangesPerWorker"`
		MaxBatchSize        int  `json:"Sql_Trigger_MaxBatchSize"`
		BatchSize           int  `json:"Sql_Trigger_BatchSize"`
		PollingInterval     int  `json:"Sql_Trigger_PollingIntervalMs"`
		AppLockTimeout      int  `json:"Sql_Trigger_AppLockTimeoutMs"`
	}
	all.State, all.Log, all.Status, all.MaxChangesPerWorker = &l.app.State, &l.app.Log, &l.app.Status,
		&l.app.MaxChangesPerWorker
	l.own.read(l.env, &all)
	l.batchSize, l.polling = cmp.Or(all.MaxBatchSize, all.BatchSize), time.Duration(all.PollingInterval)*time.Millisecond
	l.app.AppLockTimeout = time.Duration(all.AppLockTimeout) * time.Millisecond
	l.checkState()
	l.checkStatus()
}

// modeOf returns a poller's source__mode before anything else is read, because defaults depend on it; "" where it is
// faulty.
func (l *loader) modeOf(s *scope) mode.Mode {
	const key = "source__mode"
	row := lookup(pollerSettings, key)
	if !s.has(key) {
		return mode.Mode(row.def)
	}
	v, _, _ := row.parse(l.env, s.given[key].raw) // its fault is said when it is read
	word, _ := v.(string)
	if mode.Mode(word) == mode.ChangeTracking && strings.TrimSpace(s.given["source__leases"].raw) == "azfunc" {
		return mode.Leased
	}
	return mode.Mode(word)
}

func (l *loader) readPoller(p *pollerScopes) {
	if p.own == nil {
		return
	}
	p.own.mode = l.modeOf(p.own)
	p.own.read(l.env, p.poller)
	if p.own.mode == mode.Leased {
		p.poller.Source.Mode = mode.Leased
	}
	p.poller.ScheduleSet = p.own.own("schedule")
	switch p.own.mode {
	case mode.Outbox:
		l.checkOutbox(p)
	case mode.Leased:
		l.checkLeased(p)
	case mode.ChangeTracking:
		l.checkTracking(p)
		l.checkLease(p)
	default:
		l.checkSource(p)
		l.checkLate(p)
		l.checkLease(p)
	}
	l.checkTables(p)
	l.checkPolling(p)
	l.checkPolicy(p)
	if len(p.outputs) == 0 {
		p.poller.Faults.Add(p.own.prefix+"output__kind", "is required: the poller has no output",
			"Set it to http, queue, stdout or a broker")
	}
	for _, name := range slices.Sorted(maps.Keys(p.outputs)) {
		out := Output{Name: name}
		s := p.outputs[name]
		s.mode = p.own.mode
		if name != "" && !s.mode.Can(mode.Document) {
			l.refuseFurther(p, s)
			continue
		}
		s.read(l.env, &out)
		l.checkOutput(p.poller, s, &out)
		p.poller.Outputs = append(p.poller.Outputs, out)
	}
	l.checkDeadLetterQueue(p)
}
