package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/schedule"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/state"
)

func newCheck(c *console) *cobra.Command {
	var rows int
	var ddl, ready bool
	var accepted []string
	cmd := &cobra.Command{
		Use:   "check [poller ...]",
		Short: "Prove the settings, and show what would be sent",
		Long: `Check validates all settings, reads host.json and function.json, connects to each database and to the state store, and
shows for each poller: the statement that it will run (of an outbox: its layout, strategy, figures and owners), the index
that serves it, the first rows that it would send, the longest delay until a change is seen, how late commits are found and
what can still be missed, what becomes of an event that the destination refuses, the lease's margin, and what is unsafe.
It sends and changes nothing.

It fails when anything is at fault; warnings do not make it fail.

With --production it goes through the checklist of docs/production.md instead: for each item the verdict (ok, to mend,
cannot tell, does not apply), what was seen, and the mend. It fails when an item is to mend that --accept does not name.`,
		Example: `  rowrelay check
  rowrelay check orders --rows 10
  rowrelay check orders --ddl > orders.sql
  rowrelay check --json | jq '.pollers[].warnings'
  rowrelay check --production
  rowrelay check --production --accept lag,ordering`,
		RunE: func(cmd *cobra.Command, names []string) error {
			if ready {
				return checkProduction(cmd.Context(), c, names, accepted)
			}
			if len(accepted) > 0 {
				return errors.New("--accept is for items of --production")
			}
			return check(cmd.Context(), c, names, rows, ddl)
		},
	}
	cmd.Flags().IntVar(&rows, "rows", 3, "how many rows to show")
	cmd.Flags().BoolVar(&ddl, "ddl", false, "print only the statements that let late commits be found exactly; it runs none of them")
	cmd.Flags().BoolVar(&ready, "production", false, "go through the production checklist (docs/production.md)")
	cmd.Flags().StringSliceVar(&accepted, "accept", nil, "ids of items that are meant to be as they are: they are shown, and do not make --production fail")
	cmd.MarkFlagsMutuallyExclusive("production", "ddl")
	cmd.MarkFlagsMutuallyExclusive("production", "rows")
	return cmd
}

// checkView is what check found. Durations are Go's ("1m0s"). It never holds a secret.
type checkView struct {
	Faults   []string      `json:"faults"`
	Warnings []string      `json:"warnings"`
	State    string        `json:"state"`
	Pollers  []*pollerView `json:"pollers"`
}

type pollerView struct {
	Poller      string          `json:"poller"`
	Faults      []string        `json:"faults"`
	Warnings    []string        `json:"warnings"`
	Connection  string          `json:"connection,omitempty"`
	Engine      string          `json:"engine,omitempty"` // with its version
	Table       string          `json:"table,omitempty"`
	Key         string          `json:"key,omitempty"` // how it is known to be unique
	TimeZone    string          `json:"time_zone,omitempty"`
	Fingerprint string          `json:"fingerprint,omitempty"`
	Incarnation string          `json:"incarnation,omitempty"`
	First       statementView   `json:"first_statement"`
	Next        statementView   `json:"next_statement"`
	Index       string          `json:"index,omitempty"` // "" when none serves the order
	CreateIndex string          `json:"create_index,omitempty"`
	Plan        string          `json:"plan,omitempty"` // the engine's own account
	NullCursors int64           `json:"null_cursors"`   // -1: not counted
	Late        *lateCheck      `json:"late_commits,omitempty"`
	DDL         string          `json:"ddl,omitempty"` // makes late commits exact; "" where they are, or cannot be
	Policy      policyView      `json:"failure_policy"`
	Schedule    string          `json:"schedule,omitempty"`
	WorstDelay  string          `json:"worst_delay,omitempty"`
	LeaseMargin string          `json:"lease_margin,omitempty"`
	Outputs     []checkedOutput `json:"outputs"`
	Outbox      *checkedOutbox  `json:"outbox,omitempty"` // of the mode outbox, which has no statements and outputs to show

	fires bool          // the schedule does
	gap   time.Duration // the longest between two ticks
}

type statementView struct {
	Text   string   `json:"text,omitempty"`
	Params []string `json:"params,omitempty"` // "name type"
}

type checkedOutput struct {
	Output   string            `json:"output"` // "" is the default output
	To       string            `json:"to"`
	Document string            `json:"document"`
	Position string            `json:"position"`
	Lease    string            `json:"lease"`
	Paused   string            `json:"paused,omitempty"` // by whom, and since when
	Parked   int               `json:"parked"`           // parked events
	Dead     string            `json:"dead_letters"`     // where they go
	Events   []json.RawMessage `json:"events"`           // as they would be sent, in the output's format; null where they could not be read
}

func check(ctx context.Context, c *console, names []string, rows int, ddl bool) error {
	a, chosen, err := c.look(names)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }() // nothing was written
	cfg, host := a.cfg, readHost(appRoot(c), c.environ)
	view := checkView{Warnings: lines(cfg.Warnings), State: storeName(&cfg.State), Faults: append(lines(cfg.Faults), host.faults()...)}
	failed := len(view.Faults) > 0
	for _, w := range chosen {
		p := checkPoller(ctx, c, a, w, &host, rows)
		failed = failed || len(p.Faults) > 0
		view.Pollers = append(view.Pollers, p)
	}
	if len(view.Pollers) == 0 {
		view.Faults = append(view.Faults, "there are no pollers: is local.settings.json in this directory? Otherwise set pollers__<name>__source__table and so on (docs/settings.md)")
		failed = true
	}
	switch {
	case c.json:
		err = encodeJSON(c.out, &view)
	case ddl:
		err = printDDL(c.out, &view)
	default:
		err = printCheck(c.out, &view)
	}
	if err == nil && failed {
		err = &exitError{errors.New("check found faults")}
	}
	return err
}

func checkPoller(ctx context.Context, c *console, a *app, w *wired, host *hostFile, rows int) *pollerView {
	p := &pollerView{Poller: w.cfg.Name, Faults: lines(w.faults), Warnings: lines(w.warnings), NullCursors: -1}
	if w.conn.Engine != "" { // else the settings are at fault
		p.Connection = w.conn.String()
	}
	if host.err == nil {
		p.Faults = append(p.Faults, lines(w.cfg.CheckBudget(host.timeout()))...)
	}
	p.times(a, w, host, c)
	p.Policy = policyViewOf(w.cfg)
	if w.runner == nil {
		return p // what is at fault is said above
	}
	if w.outbox != nil {
		p.checkOutbox(ctx, c, a, w, host, rows)
		return p
	}
	var checked bool
	for _, out := range w.outputs {
		view := checkedOutput{Output: out.cfg.Name, To: destination(out.cfg), Document: out.key, Lease: "free", Dead: deadLettersAt(a, w.cfg, out.cfg.Name)}
		position, err := p.position(ctx, &view, out, w)
		name := poller.Address(w.cfg.Name, out.cfg.Name)
		p.fault(poller.NameDocument(err, name))
		var unread *startError
		told := errors.As(err, &unread) // the source's own fault, which it would repeat
		found, err := w.source.Check(ctx, position, rows, w.cfg.BatchSize)
		if !told {
			p.fault(poller.NameDocument(errors.Join(err, found.ReadError), name)) // at most one of them
		}
		if err == nil {
			if !checked {
				p.describe(&found, w.cfg)
				late, err := lateOf(ctx, w.source, &found, &w.cfg.Source)
				p.Late = &late
				p.fault(err)
			}
			checked = true
			view.Events = rendered(a, w, out.cfg, &found)
		}
		p.Outputs = append(p.Outputs, view)
	}
	return p
}

// fault adds what was found, once: the outputs of a poller share its source.
func (p *pollerView) fault(err error) {
	if err != nil && !slices.Contains(p.Faults, err.Error()) {
		p.Faults = append(p.Faults, err.Error())
	}
}

// startError is why the source could not say where a poller without a document begins.
type startError struct{ error }

func (e *startError) Unwrap() error { return e.error }

// position reads the output's document: where its next tick begins.
func (p *pollerView) position(ctx context.Context, view *checkedOutput, out *wiredOutput, w *wired) (change.Cursor, error) {
	snapshot, err := out.keeper.Load(ctx)
	if errors.Is(err, state.ErrNotFound) {
		start, _, err := w.source.Start(ctx)
		if err != nil {
			return nil, &startError{err}
		}
		view.Position = fmt.Sprintf("%s (no document yet: source__start)", start)
		return start, nil
	}
	if err != nil {
		return nil, err
	}
	if held := snapshot.Held(); held != nil {
		view.Lease = held.Error()
	}
	doc := snapshot.Doc
	doc.Paused = snapshot.Paused() // not one that has ended by itself
	position := view.document(&doc)
	source, err := w.source.Describe(ctx)
	if err != nil {
		return position, nil //nolint:nilerr // the source's own check says it
	}
	name := poller.Address(w.cfg.Name, out.cfg.Name)
	switch was := snapshot.Doc.Late.Mode; {
	case source.Fingerprint != snapshot.Doc.SourceFingerprint:
		return position, fmt.Errorf("the state document %s was written for another source definition: undo the change, or run "+
			"`rowrelay state accept-fingerprint %s`, or start over with `rowrelay state reset %[2]s --to beginning`", out.key, name)
	case was != "" && was != string(source.Late):
		return position, fmt.Errorf("late_commits was %s when the state document %s was written, and is now %s: write "+
			"source__late_commits=%[1]s, or run `rowrelay state accept-fingerprint %[4]s`, or start over with `rowrelay state reset %[4]s --to beginning`",
			was, out.key, source.Late, name)
	case retyped(&snapshot.Doc, source) != "":
		return position, fmt.Errorf("the columns of the cursor or key had other types when the state document %s was written (%s, now %s): change "+
			"the types back, or run `rowrelay state accept-fingerprint %s`, or start over with `rowrelay state reset %[4]s --to beginning`",
			out.key, snapshot.Doc.Checkpoint.Columns, source.Columns, name)
	}
	return position, nil
}

// document shows what a document says of the position, and returns the one that live rows are fetched from next.
func (v *checkedOutput) document(doc *state.Document) change.Cursor {
	low, frontier := doc.Checkpoint.Cursor, doc.Late.Frontier
	v.Position, v.Parked = low.String(), doc.Parked.Count
	if doc.Paused != nil {
		v.Paused = fmt.Sprintf("by %s since %s", doc.Paused.By, doc.Paused.At.UTC().Format(time.RFC3339))
	}
	if doc.Late.Mode != string(poller.LateOverlap) || frontier.IsStart() {
		return low
	}
	v.Position = fmt.Sprintf("%s (the low edge of late_window: rows are delivered up to %s)", low, frontier)
	return frontier
}

func (p *pollerView) describe(found *source.Check, cfg *config.Poller) {
	p.Warnings = append(p.Warnings, found.Warnings...)
	p.Engine, p.Table, p.Key = found.Version, found.Table, found.KeyProof
	p.TimeZone, p.Fingerprint, p.Incarnation = cfg.Source.Location.String(), found.Fingerprint, found.Incarnation
	p.First, p.Next = statementOf(found.First), statementOf(found.Next)
	p.Index, p.CreateIndex, p.Plan, p.NullCursors = found.Index, found.CreateIndex, found.Plan, found.NullCursors
	p.DDL = found.DDL
	if found.NullCursors > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%d rows have a NULL cursor and are not delivered until they have one", found.NullCursors))
	}
}

func statementOf(s source.Statement) statementView {
	v := statementView{Text: s.Text}
	for _, param := range s.Params {
		v.Params = append(v.Params, param.Name+" "+param.Type)
	}
	return v
}

// times says how long a change may go unseen, and what the lease can bear.
func (p *pollerView) times(a *app, w *wired, host *hostFile, c *console) {
	s := w.schedule
	p.Schedule = w.cfg.Schedule + " (setting schedule, for rowrelay run)"
	if host.err == nil {
		p.fault(refusedName(w.cfg.Name))
		timer, err := readFunction(appRoot(c), w.cfg.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			p.Warnings = append(p.Warnings, fmt.Sprintf("there is no %s/function.json: the Functions host will not run this poller until `rowrelay functions` has written it", w.cfg.Name))
		case err != nil:
			p.Faults = append(p.Faults, err.Error())
		default:
			var problem string
			s, p.Schedule, problem = timerSchedule(c, timer.Schedule, w.cfg.Name)
			if problem != "" {
				p.Faults = append(p.Faults, problem)
			}
		}
	}
	if s != nil {
		gap, ok := s.LongestGap()
		p.gap, p.fires = gap, ok
		switch {
		case !ok:
			p.Warnings = append(p.Warnings, "the schedule "+p.Schedule+" never fires")
		default:
			p.WorstDelay = fmt.Sprintf("%s between two ticks, plus the time to deliver what comes before", gap)
		}
		if w.cfg.PollInterval > 0 && ok {
			p.WorstDelay += fmt.Sprintf("; inside a tick (%s) every %s", w.cfg.TickBudget, w.cfg.PollInterval)
			if w.cfg.PollIntervalMax > w.cfg.PollInterval {
				p.WorstDelay += fmt.Sprintf(" (up to %s while there is nothing to do)", w.cfg.PollIntervalMax)
			}
			p.WorstDelay += "; rowrelay run begins the next tick at once"
		}
	}
	if a.store == nil || !w.cfg.Source.Mode.Can(mode.Document) {
		return
	}
	margin := a.store.Margin(w.cfg.LeaseTTL)
	p.LeaseMargin = fmt.Sprintf("the state store may be out of reach for %s before a tick loses its lease (lease_ttl %s, heartbeat every %s, clock margin %s)",
		w.cfg.LeaseTTL-w.cfg.LeaseTTL/3-margin, w.cfg.LeaseTTL, w.cfg.LeaseTTL/3, margin)
}

// timerSchedule resolves %NAME% in function.json as the host does, and parses the result.
func timerSchedule(c *console, text, name string) (s *schedule.Schedule, shown, problem string) {
	shown = text
	if inner, ok := strings.CutPrefix(text, "%"); ok && strings.HasSuffix(inner, "%") {
		setting := strings.TrimSuffix(inner, "%")
		value := c.env(setting)
		if value == "" {
			return nil, text, fmt.Sprintf("%s/function.json: its schedule is the app setting %s, which is not set: set it, for example to */10 * * * * *", name, setting)
		}
		text, shown = value, value+" (app setting "+setting+")"
	}
	s, err := schedule.Parse(text)
	if err != nil {
		return nil, shown, fmt.Sprintf("%s/function.json: schedule: %v", name, err)
	}
	return s, shown, ""
}

// rendered are the first events as this output would send them.
func rendered(a *app, w *wired, out *config.Output, found *source.Check) []json.RawMessage {
	format, err := change.ParseFormat(out.Format)
	if err != nil {
		return nil // a fault of the settings, said above
	}
	d := &change.Delivery{
		App: a.cfg.State.AppName, Poller: w.cfg.Name, Engine: found.Engine, Table: found.Table, Fingerprint: found.Fingerprint,
		BatchID: "check", Attempt: 1, Events: found.Events,
	}
	events := make([]json.RawMessage, len(found.Events))
	for i := range found.Events {
		events[i] = format.AppendEvent(nil, d, i)
	}
	return events
}

func destination(out *config.Output) string {
	switch out.Kind {
	case "http":
		return "http " + out.URL.String()
	case "queue":
		return "queue " + out.Queue + " of " + out.ConnectionSetting
	case "stdout":
		return out.Kind
	default:
		return out.Kind + " " + out.Destination + " of " + out.ConnectionSetting
	}
}

func storeName(s *config.State) string {
	switch s.Kind {
	case "blob":
		return "blob container " + s.Container + " of " + s.ConnectionSetting
	case "file":
		return "files below " + s.Path
	case "":
		return "none"
	default:
		return s.Kind
	}
}

func lines(faults config.Faults) []string {
	text := make([]string, len(faults))
	for i, f := range faults {
		text[i] = f.Error()
	}
	return text
}
