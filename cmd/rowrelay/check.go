package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/production"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/source"
)

func newCheck(c *console) *cobra.Command {
	var rows int
	var ddl, ready bool
	var accepted []string
	cmd := &cobra.Command{
		Use:   "check [poller ...]",
		Short: "Prove the settings, and show what would be sent",
		Long: `Check validates all settings, reads host.json and function.json, connects to each database and to the state store, and
shows for each poller: the statement that it will run (of an outbox: its layout, strategy, figures and owners), the ` +
			`index
that serves it, the first rows that it would send, the longest delay until a change is seen, how late commits are ` +
			`found and
what can still be missed, what becomes of an event that the destination refuses, the lease's margin, and what is unsafe.
It sends and changes nothing.

It fails when anything is at fault; warnings do not make it fail.

With --production it goes through the checklist of docs/production.md instead: for each item the verdict (ok, to mend,
cannot tell, does not apply), what was seen, and what to do. It fails when an item is to mend that --accept does ` +
			`not name.`,
		Example: `  rowrelay check
  rowrelay check orders --rows 10
  rowrelay check orders --ddl > orders.sql
  rowrelay check --json | jq '.pollers[].warnings'
  rowrelay check --production
  rowrelay check --production --accept lag,ordering`,
		RunE: func(cmd *cobra.Command, names []string) error {
			err := cmp.Or(oneOf(cmd.Flags(), "production", "ddl"), oneOf(cmd.Flags(), "production", "rows"))
			switch {
			case err != nil:
				return err
			case ready:
				return checkProduction(cmd.Context(), c, names, accepted)
			case len(accepted) > 0:
				return mistaken("--accept is for items of --production")
			case rows < 0:
				return mistaken("--rows must not be negative")
			case ddl && c.json:
				return mistaken("--ddl prints SQL, and no JSON: with --json alone it is the member ddl of each poller")
			}
			return check(cmd.Context(), c, names, rows, ddl)
		},
	}
	cmd.Flags().IntVar(&rows, "rows", 3, "how many rows to show")
	cmd.Flags().BoolVar(&ddl, "ddl", false,
		"print only the statements that let late commits be found exactly; it runs none of them")
	cmd.Flags().BoolVar(&ready, "production", false, "go through the production checklist (docs/production.md)")
	cmd.Flags().StringSliceVar(&accepted, "accept", nil,
		"ids of items that are meant to be as they are: they are shown, and do not make --production fail")
	return cmd
}

// checkView is what check found. Durations are Go's ("1m0s"). It never holds a secret.
type checkView struct {
	Faults   []string      `json:"faults"`
	Warnings []string      `json:"warnings"`
	State    string        `json:"state"`
	Pollers  []*pollerView `json:"pollers"`
	Summary  checkSummary  `json:"summary"`
}

// checkSummary counts what check found.
type checkSummary struct {
	Pollers  int `json:"pollers"`
	OK       int `json:"ok"` // pollers without a failure
	Warnings int `json:"warnings"`
	Failures int `json:"failures"`
}

func (v *checkView) summary() checkSummary {
	s := checkSummary{Pollers: len(v.Pollers), Warnings: len(v.Warnings), Failures: len(v.Faults)}
	for _, p := range v.Pollers {
		if len(p.Faults) == 0 {
			s.OK++
		}
		s.Warnings += len(p.Warnings)
		s.Failures += len(p.Faults)
	}
	return s
}

// String is the summary in one line.
func (s checkSummary) String() string {
	return fmt.Sprintf("%d of %s ok, %s, %s", s.OK, count(s.Pollers, "poller"), count(s.Warnings, "warning"),
		count(s.Failures, "failure"))
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
	Late        *inspect.Late   `json:"late_commits,omitempty"`
	DDL         string          `json:"ddl,omitempty"` // makes late commits exact; "" where they are, or cannot be
	Policy      inspect.Policy  `json:"failure_policy"`
	Schedule    string          `json:"schedule,omitempty"`
	WorstDelay  string          `json:"worst_delay,omitempty"`
	LeaseMargin string          `json:"lease_margin,omitempty"`
	Outputs     []checkedOutput `json:"outputs"`
	// of the mode outbox, which has no statements and outputs to show
	Outbox *checkedOutbox `json:"outbox,omitempty"`
}

type statementView struct {
	Text   string   `json:"text,omitempty"`
	Params []string `json:"params,omitempty"` // "name type"
}

type checkedOutput struct {
	Output   string `json:"output"` // "" is the default output
	To       string `json:"to"`
	Document string `json:"document"`
	Position string `json:"position"`
	Lease    string `json:"lease"`
	Paused   string `json:"paused,omitempty"` // by whom, and since when
	Parked   int    `json:"parked"`           // parked events
	Dead     string `json:"dead_letters"`     // where they go
	// as they would be sent, in the output's format; null where they could not be read
	Events  []json.RawMessage `json:"events"`
	Shaping []inspect.Shaped  `json:"shaping,omitempty"` // those rows before and after columns, masks, constants and jq
}

func check(ctx context.Context, c *console, names []string, rows int, ddl bool) error {
	a, chosen, err := c.open(names)
	if err != nil {
		return c.unopened(err)
	}
	defer func() { _ = a.Close() }() // nothing was written
	found := a.Inspect(chosen, c.functionApp().File().Err == nil)
	view := checkView{Warnings: found.Warnings, State: found.Store.Name, Faults: found.Faults}
	for _, p := range found.Pollers {
		p.Check(ctx, rows)
		view.Pollers = append(view.Pollers, pollerViewOf(p))
	}
	if len(view.Pollers) == 0 {
		view.Faults = append(view.Faults,
			"there are no pollers: is local.settings.json in this directory? Otherwise set pollers__<name>__source__table and so on (docs/settings.md)")
	}
	view.Summary = view.summary()
	switch {
	case c.json:
		err = encodeJSON(c.out, &view)
	case ddl:
		err = printDDL(c.out, &view)
	default:
		err = printCheck(c.out, &view)
	}
	if err == nil && view.Summary.Failures > 0 {
		err = &exitError{errors.New("check found faults")}
	}
	return err
}

// unopened says why the settings could not be read, or do not name what is asked about: with --json as JSON, too.
func (c *console) unopened(err error) error {
	if !c.json {
		return err
	}
	view := checkView{Faults: []string{err.Error()}, Warnings: []string{}, Pollers: []*pollerView{}}
	view.Summary = view.summary()
	return errors.Join(encodeJSON(c.out, &view), &exitError{err})
}

// checkProduction goes through the production checklist. It sends nothing and changes nothing.
func checkProduction(ctx context.Context, c *console, names, accepted []string) error {
	for _, id := range accepted {
		if !production.Known(id) {
			return mistaken("--accept %s: there is no such item; docs/production.md lists them", id)
		}
	}
	a, chosen, err := c.open(names)
	if err != nil {
		return c.unopened(err)
	}
	defer func() { _ = a.Close() }() // nothing was written
	found := a.Inspect(chosen, c.functionApp().File().Err == nil)
	if len(chosen) == 0 {
		found.Faults = append(found.Faults,
			"there are no pollers: set pollers__<name>__source__table and so on (docs/settings.md)")
	}
	found.Audit(ctx)
	report := production.Judge(found, accepted)
	if c.json {
		err = report.WriteJSON(c.out)
	} else {
		err = report.WriteText(c.out)
	}
	if err == nil && report.ToMend() > 0 {
		err = &exitError{errors.New("the production checklist has items to mend")}
	}
	return err
}

func pollerViewOf(p *inspect.Poller) *pollerView {
	t := &p.Table
	v := &pollerView{
		Poller: p.Config.Name, Faults: p.Faults, Warnings: p.Warnings, Connection: p.Connection,
		Policy:   inspect.PolicyOf(p.Config),
		Schedule: p.Timer.Text, WorstDelay: worstDelay(p), LeaseMargin: leaseMargin(p),
		NullCursors: t.NullCursors, Late: t.Late,
	}
	if t.Late != nil {
		v.Engine, v.Table, v.Key, v.TimeZone = t.Version, t.Table, t.KeyProof, p.Config.Source.Location.String()
		v.Fingerprint, v.Incarnation = t.Fingerprint, t.Incarnation
		v.First, v.Next = statementOf(t.First), statementOf(t.Next)
		v.Index, v.CreateIndex, v.Plan, v.DDL = t.Index, t.CreateIndex, t.Plan, t.DDL
	}
	if p.Runs() && p.Publishes() {
		v.Outbox = checkedOutboxOf(p)
		if p.Outbox != nil {
			v.Engine, v.Table = p.Outbox.Engine, p.Outbox.Table
		}
	} else if p.Runs() {
		for _, out := range p.Outputs {
			v.Outputs = append(v.Outputs, checkedOutput{
				Output: out.Config.Name, To: out.To, Document: out.Document, Position: out.Position, Lease: out.Lease,
				Paused: out.Paused, Parked: out.Parked, Dead: out.DeadLetters, Events: out.Events, Shaping: out.Shaping,
			})
		}
	}
	return v
}

func statementOf(s source.Statement) statementView {
	v := statementView{Text: s.Text}
	for _, param := range s.Params {
		v.Params = append(v.Params, param.Name+" "+param.Type)
	}
	return v
}

// worstDelay says how long a change may go unseen.
func worstDelay(p *inspect.Poller) string {
	if !p.Timer.Fires {
		return ""
	}
	text, cfg := fmt.Sprintf("%s between two ticks, plus the time to deliver what comes before", p.Timer.Gap), p.Config
	if cfg.PollInterval > 0 {
		text += fmt.Sprintf("; inside a tick (%s) every %s", cfg.TickBudget, cfg.PollInterval)
		if cfg.PollIntervalMax > cfg.PollInterval {
			text += fmt.Sprintf(" (up to %s while there is nothing to do)", cfg.PollIntervalMax)
		}
		text += "; rowrelay run begins the next tick at once"
	}
	return text
}

// leaseMargin says what a lease can bear.
func leaseMargin(p *inspect.Poller) string {
	if !p.Stored() {
		return ""
	}
	ttl := p.Config.LeaseTTL
	return fmt.Sprintf("the state store may be out of reach for %s before a tick loses its lease (lease_ttl %s, heartbeat every %s, clock margin %s)",
		ttl-ttl/3-p.Margin, ttl, ttl/3, p.Margin)
}

// checkedOutbox is what check says of an outbox beside its status.
type checkedOutbox struct {
	outboxView
	To        string        `json:"to"`
	Dead      string        `json:"dead_letters"`
	Cleanup   string        `json:"cleanup"`
	Fanout    string        `json:"fanout,omitempty"`
	Next      []event.Entry `json:"next"`           // the first pending events, without their payloads
	TakenOver string        `json:"taken_over"`     // how long after the death of an instance
	Mend      string        `json:"mend,omitempty"` // the command that creates what is missing
}

func checkedOutboxOf(p *inspect.Poller) *checkedOutbox {
	s := &p.Config.Source
	v := &checkedOutbox{
		To: p.Destinations[0], Dead: "the rows themselves, in the state DEAD LETTER",
		Cleanup: fmt.Sprintf("events published more than %s ago are deleted, %d at a time, at %s (rowrelay run)",
			inspect.Plain(s.Retention), s.CleanupChunk, s.CleanupSchedule),
		TakenOver: fmt.Sprintf("what a dead instance had claimed is free after %s (source__claim_ttl)",
			inspect.Plain(s.ClaimTTL)),
		Next: []event.Entry{}, Mend: p.Init,
	}
	if s.CleanupSchedule == "" {
		v.Cleanup = fmt.Sprintf("never (source__cleanup_schedule=none); rowrelay outbox cleanup deletes what was published more than %s ago", inspect.Plain(s.Retention))
	}
	if p.CleanupTimer != "" {
		v.Cleanup += "; under the Functions host at " + p.CleanupTimer + " (" + p.Config.Name + mode.CleanupSuffix + ")"
	}
	if p.Config.DeadLetter.Kind == "queue" {
		v.Dead += ", and a copy on the queue " + p.Config.DeadLetter.Queue + " of " + p.Config.DeadLetter.ConnectionSetting
	}
	if p.FanoutPeriod > 0 {
		v.Fanout = fmt.Sprintf("the timer puts a message for each partition with work on the queue %s of %s; each lives %s",
			s.FanoutQueue, s.FanoutSetting, inspect.Plain(p.FanoutPeriod))
	}
	if p.Outbox != nil {
		v.outboxView, v.Next = outboxViewOf(p.Config, &p.Outbox.About), p.Outbox.Next
	}
	return v
}
