package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/status"
)

func newStatus(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "status [poller ...]",
		Short: "Show how every poller is doing: health, lag, position, lease, parked events, dead letters",
		Long: `Status shows for each poller and output what the status page shows: how it is doing and why, how far
it has come, who holds the lease, what is parked or was given up, and the last error with what to do about it. The
worst comes first. With --json it prints the report that /status.json answers.

It asks the state store and the databases of outboxes, each for five seconds at most, and changes nothing.

Only a tick knows the lag, the rate, the last error, and who holds rows back. Ticks leave a note of it in the state
store: those that did something every 15 seconds at most, those that found nothing every minute. Where that sign of
life is overdue, or run has ended in order, the poller is silent. Without a state store, which outboxes do not need,
only the page of the instance that ticks knows it.

It fails (exit code 1) when something is failing, silent or unknown (a part of its figures could not be read, or no
tick has left a sign of life), or when the settings have faults. Parked events, dead letters and a pause do not make
it fail.`,
		Example: `  rowrelay status
  rowrelay status orders
  rowrelay status --json | jq -r '.outputs[] | select(.health != "healthy") | .poller + ": " + .says'`,
		RunE: func(cmd *cobra.Command, names []string) error { return showStatus(cmd.Context(), c, names) },
	}
}

func showStatus(ctx context.Context, c *console, names []string) error {
	a, chosen, err := c.open(names)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }() // nothing was written
	if len(chosen) == 0 && len(a.Config.Faults) == 0 {
		return errors.New("there are no pollers: set pollers__<name>__source__table and so on (docs/settings.md)")
	}
	report := newStatusBoard(c, a, c.functionApp().File().Err == nil, chosen, nil, nil).Report(ctx)
	slices.SortStableFunc(report.Outputs, func(x, y status.Output) int {
		return cmp.Compare(slices.Index(status.Healths, x.Health), slices.Index(status.Healths, y.Health))
	})
	if c.json {
		err = encodeJSON(c.out, &report)
	} else {
		err = printStatus(c.out, &report)
	}
	if err != nil {
		return err
	}
	if len(report.Faults) > 0 || slices.ContainsFunc(report.Outputs, needsSomebody) {
		return &exitError{errors.New("something is failing")}
	}
	return nil
}

// needsSomebody reports whether an output's health makes the command fail: what cannot be read may be as bad as
// anything.
func needsSomebody(o status.Output) bool {
	return o.Health == status.Failing || o.Health == status.Silent || o.Health == status.Unknown
}

// statusWidth is how wide the report for people is, as far as words can be broken.
const statusWidth = 80

// printStatus writes a report for people.
func printStatus(w io.Writer, r *status.Report) error {
	p := &printer{w: w}
	p.line("%s at %s", r.App, r.At.Format(time.DateTime+" UTC"))
	for i := range r.Faults {
		p.problem("fault", &r.Faults[i])
	}
	for i := range r.Outputs {
		p.reported(&r.Outputs[i], r.At)
	}
	if slices.ContainsFunc(r.Outputs, func(o status.Output) bool { return o.Runbook() != "" }) {
		p.line("")
		p.line("What the words mean: %s", status.GlossaryPage)
	}
	return p.err
}

// reported writes one output: a headline, why, and then what there is to say, a line each.
func (p *printer) reported(o *status.Output, now time.Time) {
	name := o.Poller
	if o.Output != "" {
		name += "." + o.Output
	}
	p.line("")
	p.line("%-8s %s  %s", strings.ToUpper(string(o.Health)), name,
		plaintext.Line(fmt.Sprintf("(%s, %s to %s)", o.Mode, o.Source, o.Kind)))
	p.wrapped("", o.Says)
	switch e := o.LastError; {
	case e == nil:
	case strings.Contains(o.Says, e.Text): // it is said above
		p.wrapped("to do", e.Mend)
	default:
		p.problem("last error", e)
	}
	for i := range o.Problems {
		if problem := &o.Problems[i]; strings.Contains(o.Says, problem.Text) { // it is said above
			p.wrapped("to do", problem.Mend)
		} else {
			p.problem("problem", problem)
		}
	}
	p.wrapped("see", o.Runbook())
	p.wrapped("ticks", ticksText(o, now))
	p.wrapped("position", o.Position)
	if o.Late != nil && o.Late.Frontier != "" {
		p.wrapped("delivered", "as far as "+o.Late.Frontier+" ("+o.Late.Mode+")")
	}
	if o.Pending != nil {
		p.wrapped("pending", atLeastText(*o.Pending, o.CountedTo))
	}
	if s := o.Scale; s != nil {
		p.wrapped("to deliver", fmt.Sprintf("%d change(s), which ask for %d worker(s)", s.Unprocessed, s.TargetWorkers))
	}
	if o.Survives != nil {
		p.wrapped("outage", "of up to "+inspect.Plain(time.Duration(*o.Survives*float64(time.Second)))+" loses no change")
	}
	if !o.Unread {
		p.wrapped("waits", waitsText(o))
	}
	p.wrapped("lease", leaseText(o, now))
	if o.Pause != nil {
		since := ""
		if o.Pause.At != nil {
			since = " since " + o.Pause.At.Format(time.DateTime)
		}
		p.wrapped("paused", "by "+o.Pause.By+since)
	}
	p.wrapped("backfill", o.Backfill)
	if o.Skipped > 0 {
		p.wrapped("SKIPPED", fmt.Sprintf("%d row(s), by operators", o.Skipped))
	}
}

func (p *printer) problem(name string, problem *status.Problem) {
	text := problem.Text
	if problem.At != nil {
		text = problem.At.UTC().Format(time.DateTime) + " " + problem.Event + ": " + text
	}
	p.wrapped(name, text)
	p.wrapped("to do", problem.Mend)
}

// ticksText is what the last ticks told.
func ticksText(o *status.Output, now time.Time) string {
	var parts []string
	if o.LagSeconds != nil {
		parts = append(parts, "lag "+seconds(*o.LagSeconds))
	}
	if o.WaitingSince != nil {
		parts = append(parts, "rows waiting since "+o.WaitingSince.UTC().Format(time.DateTime))
	}
	if o.Rate != nil {
		parts = append(parts, fmt.Sprintf("%.4g events/s", *o.Rate))
	}
	if o.NotedAt != nil && len(parts) > 0 { // they are as of then
		parts = append(parts, "noted "+ago(*o.NotedAt, now))
	}
	if o.SilentSince != nil {
		parts = append(parts, "silent since "+o.SilentSince.UTC().Format(time.DateTime))
	}
	if o.LastSuccess != nil {
		parts = append(parts, "last success "+ago(*o.LastSuccess, now))
	}
	if o.CommittedAt != nil {
		parts = append(parts, "checkpoint written "+ago(*o.CommittedAt, now))
	}
	if o.NextRun != nil {
		form := time.TimeOnly
		if o.NextRun.UTC().Format(time.DateOnly) != now.UTC().Format(time.DateOnly) {
			form = time.DateTime
		}
		parts = append(parts, "next at "+o.NextRun.UTC().Format(form))
	}
	return strings.Join(parts, ", ")
}

func waitsText(o *status.Output) string {
	parked := "parked"
	if o.Pending != nil {
		parked = "failed"
	}
	text := fmt.Sprintf("%s %s, %s waiting behind them, %s dead letter(s)", atLeastText(o.Parked, o.CountedTo), parked,
		atLeastText(o.Waiting, o.CountedTo), atLeastText(o.DeadLetters, o.CountedTo))
	if o.DeadLetterQueue != "" {
		text += " here, others in the queue " + o.DeadLetterQueue
	}
	return text
}

func leaseText(o *status.Output, now time.Time) string {
	var parts []string
	for _, owner := range o.Owners {
		parts = append(parts, fmt.Sprintf("%s: %d unit(s) until %s from now unless renewed", owner.Holder, owner.Units,
			seconds(owner.ExpiresAt.Sub(now).Seconds())))
	}
	switch l := o.Lease; {
	case l == nil && o.Pending != nil && len(parts) == 0:
		return "nobody publishes now"
	case l == nil:
	case l.Held:
		parts = append(parts, fmt.Sprintf("held by %s, heartbeat %s ago", l.Holder, seconds(l.HeartbeatSeconds)))
	case l.Holder != "":
		parts = append(parts, fmt.Sprintf("expired: %s gave no sign of life for %s", l.Holder, seconds(l.HeartbeatSeconds)))
	default:
		parts = append(parts, "free")
	}
	if len(parts) > 0 && o.Token > 0 {
		parts = append(parts, fmt.Sprintf("token %d", o.Token))
	}
	return strings.Join(parts, "; ")
}

func atLeastText(n, bound int64) string {
	v := outboxView{Bound: bound}
	return v.count(n)
}

func ago(t, now time.Time) string {
	d := max(now.Sub(t), 0).Round(time.Second)
	if d >= 48*time.Hour {
		return t.UTC().Format(time.DateTime)
	}
	return d.String() + " ago"
}

// wrapped writes a text under its name, in lines that are as long as statusWidth where it has spaces to break at.
func (p *printer) wrapped(name, text string) {
	if text == "" {
		return
	}
	const indent = 11
	line := fmt.Sprintf("  %-*s", indent-2, name)
	width := indent
	if len(name) > indent-3 {
		line += " "
		width = len(line)
	}
	begun := false
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		if begun && width+1+n > statusWidth {
			p.line("%s", line)
			line, width, begun = strings.Repeat(" ", indent), indent, false
		}
		if begun {
			line += " "
			width++
		}
		line += word
		width += n
		begun = true
	}
	p.line("%s", line)
}
