// Package report is what rowrelay check says of what inspect has found: a value for machines, and text for people.
package report

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/printing"
	"github.com/rowrelay/rowrelay/source"
)

// Report is what check found. Durations are Go's ("1m0s"). It never holds a secret.
type Report struct {
	Faults   []string  `json:"faults"`
	Warnings []string  `json:"warnings"`
	State    string    `json:"state"`
	Pollers  []*Poller `json:"pollers"`
	Summary  Summary   `json:"summary"`
}

// Summary counts what check found.
type Summary struct {
	Pollers  int `json:"pollers"`
	OK       int `json:"ok"` // pollers without a failure
	Warnings int `json:"warnings"`
	Failures int `json:"failures"`
}

// Of asks each poller of an app for so many rows, and says what was found.
func Of(ctx context.Context, found *inspect.App, rows int) *Report {
	r := &Report{Warnings: found.Warnings, State: found.Store.Name, Faults: found.Faults}
	found.Check(ctx, rows)
	for _, p := range found.Pollers {
		r.Pollers = append(r.Pollers, pollerOf(p))
	}
	if len(r.Pollers) == 0 {
		r.Faults = append(r.Faults,
			"there are no pollers: is local.settings.json in this directory? Otherwise set pollers__<name>__source__table and so on (docs/settings.md)")
	}
	r.Summary = r.summary()
	return r
}

// Unopened says why the settings could not be read, or do not name what is asked about.
func Unopened(err error) *Report {
	r := &Report{Faults: []string{err.Error()}, Warnings: []string{}, Pollers: []*Poller{}}
	r.Summary = r.summary()
	return r
}

func (r *Report) summary() Summary {
	s := Summary{Pollers: len(r.Pollers), Warnings: len(r.Warnings), Failures: len(r.Faults)}
	for _, p := range r.Pollers {
		if len(p.Faults) == 0 {
			s.OK++
		}
		s.Warnings += len(p.Warnings)
		s.Failures += len(p.Faults)
	}
	return s
}

// String is the summary in one line.
func (s Summary) String() string {
	return fmt.Sprintf("%d of %s ok, %s, %s", s.OK, printing.Count(s.Pollers, "poller"),
		printing.Count(s.Warnings, "warning"), printing.Count(s.Failures, "failure"))
}

// Poller is what check found of a poller.
type Poller struct {
	Poller      string         `json:"poller"`
	Faults      []string       `json:"faults"`
	Warnings    []string       `json:"warnings"`
	Connection  string         `json:"connection,omitempty"`
	Engine      string         `json:"engine,omitempty"` // with its version
	Table       string         `json:"table,omitempty"`
	Key         string         `json:"key,omitempty"` // how it is known to be unique
	TimeZone    string         `json:"time_zone,omitempty"`
	Fingerprint string         `json:"fingerprint,omitempty"`
	Incarnation string         `json:"incarnation,omitempty"`
	First       Statement      `json:"first_statement"`
	Next        Statement      `json:"next_statement"`
	Index       string         `json:"index,omitempty"` // "" when none serves the order
	CreateIndex string         `json:"create_index,omitempty"`
	Plan        string         `json:"plan,omitempty"` // the engine's own account
	NullCursors int64          `json:"null_cursors"`   // -1: not counted
	Late        *inspect.Late  `json:"late_commits,omitempty"`
	DDL         string         `json:"ddl,omitempty"` // makes late commits exact; "" where they are, or cannot be
	Policy      inspect.Policy `json:"failure_policy"`
	Schedule    string         `json:"schedule,omitempty"`
	WorstDelay  string         `json:"worst_delay,omitempty"`
	LeaseMargin string         `json:"lease_margin,omitempty"`
	Outputs     []Output       `json:"outputs"`
	// of the mode outbox, which has no statements and outputs to show
	Outbox *Published `json:"outbox,omitempty"`
}

// Statement is one that a source sends.
type Statement struct {
	Text   string   `json:"text,omitempty"`
	Params []string `json:"params,omitempty"` // "name type"
}

// Output is what check found of one output.
type Output struct {
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

func pollerOf(p *inspect.Poller) *Poller {
	t := &p.Table
	v := &Poller{
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
		v.Outbox = publishedOf(p)
		if p.Outbox != nil {
			v.Engine, v.Table = p.Outbox.Engine, p.Outbox.Table
		}
	} else if p.Runs() {
		for _, out := range p.Outputs {
			v.Outputs = append(v.Outputs, Output{
				Output: out.Config.Name, To: out.To, Document: out.Document, Position: out.Position, Lease: out.Lease,
				Paused: out.Paused, Parked: out.Parked, Dead: out.DeadLetters, Events: out.Events, Shaping: out.Shaping,
			})
		}
	}
	return v
}

func statementOf(s source.Statement) Statement {
	v := Statement{Text: s.Text}
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
