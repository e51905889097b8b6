package status

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/printing"
)

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	p := &printing.Printer{W: w}
	p.Line("%s at %s", r.App, r.At.Format(time.DateTime+" UTC"))
	for i := range r.Faults {
		r.Faults[i].print(p, "fault")
	}
	for i := range r.Outputs {
		r.Outputs[i].print(p, r.At)
	}
	if slices.ContainsFunc(r.Outputs, func(o Output) bool { return o.Runbook() != "" }) {
		p.Line("")
		p.Line("What the words mean: %s", GlossaryPage)
	}
	return p.Err
}

// print writes one output: a headline, why, and then what there is to say, a line each.
func (o *Output) print(p *printing.Printer, now time.Time) {
	name := o.Poller
	if o.Output != "" {
		name += "." + o.Output
	}
	p.Line("")
	p.Line("%-8s %s  %s", strings.ToUpper(string(o.Health)), name,
		plaintext.Line(fmt.Sprintf("(%s, %s to %s)", o.Mode, o.Source, o.Kind)))
	p.Wrapped("", o.Says)
	said := func(q *Problem) bool { return strings.Contains(o.Says, q.Text) }
	for i := range o.Problems {
		if problem := &o.Problems[i]; said(problem) { // what to do about what is said above stands beside it
			p.Wrapped("to do", problem.Mend)
		}
	}
	switch e := o.LastError; {
	case e == nil:
	case said(e):
		p.Wrapped("to do", e.Mend)
	default:
		e.print(p, "last error")
	}
	for i := range o.Problems {
		if problem := &o.Problems[i]; !said(problem) {
			problem.print(p, "problem")
		}
	}
	p.Wrapped("see", o.Runbook())
	if o.From != "" {
		p.Wrapped("route", o.From+" to "+o.To)
	}
	p.Wrapped("ticks", o.ticks(now))
	p.Wrapped("position", o.Position)
	if o.Late != nil && o.Late.Frontier != "" {
		p.Wrapped("delivered", "as far as "+o.Late.Frontier+" ("+o.Late.Mode+")")
	}
	for _, a := range o.Apart {
		p.Wrapped("read apart", fmt.Sprintf("order key %s, which has a backlog: delivered as far as %s", a.OrderKey, a.At))
	}
	if o.Pending != nil {
		p.Wrapped("pending", printing.AtLeast(*o.Pending, o.CountedTo))
	}
	if s := o.Scale; s != nil {
		p.Wrapped("to deliver", fmt.Sprintf("%d change(s), which ask for %d worker(s)", s.Unprocessed, s.TargetWorkers))
	}
	if o.Survives != nil {
		p.Wrapped("outage", "of up to "+inspect.Plain(time.Duration(*o.Survives*float64(time.Second)))+" loses no change")
	}
	if !o.Unread {
		p.Wrapped("waits", o.waits())
	}
	p.Wrapped("lease", o.lease(now))
	if o.Pause != nil {
		since := ""
		if o.Pause.At != nil {
			since = " since " + o.Pause.At.Format(time.DateTime)
		}
		p.Wrapped("paused", "by "+o.Pause.By+since)
	}
	p.Wrapped("backfill", o.Backfill)
	if o.Skipped > 0 {
		p.Wrapped("SKIPPED", fmt.Sprintf("%d row(s), by operators", o.Skipped))
	}
}

func (q *Problem) print(p *printing.Printer, name string) {
	text := q.Text
	if q.At != nil {
		text = q.At.UTC().Format(time.DateTime) + " " + q.Event + ": " + text
	}
	p.Wrapped(name, text)
	p.Wrapped("to do", q.Mend)
}

// ticks is what the last ticks told.
func (o *Output) ticks(now time.Time) string {
	var parts []string
	if o.LagSeconds != nil {
		parts = append(parts, "lag "+printing.Seconds(*o.LagSeconds))
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

func (o *Output) waits() string {
	parked := "parked"
	if o.Pending != nil {
		parked = "failed"
	}
	text := fmt.Sprintf("%s %s, %s waiting behind them, %s dead letter(s)", printing.AtLeast(o.Parked, o.CountedTo),
		parked, printing.AtLeast(o.Waiting, o.CountedTo), printing.AtLeast(o.DeadLetters, o.CountedTo))
	if o.DeadLetterQueue != "" {
		text += " here, others in the queue " + o.DeadLetterQueue
	}
	return text
}

func (o *Output) lease(now time.Time) string {
	var parts []string
	for _, owner := range o.Owners {
		parts = append(parts, fmt.Sprintf("%s: %d unit(s) until %s from now unless renewed", owner.Holder, owner.Units,
			printing.Seconds(owner.ExpiresAt.Sub(now).Seconds())))
	}
	switch l := o.Lease; {
	case l == nil && o.Pending != nil && len(parts) == 0:
		return "nobody publishes now"
	case l == nil:
	case l.Held:
		parts = append(parts, fmt.Sprintf("held by %s, heartbeat %s ago", l.Holder, printing.Seconds(l.HeartbeatSeconds)))
	case l.Holder != "":
		parts = append(parts, fmt.Sprintf("expired: %s gave no sign of life for %s", l.Holder,
			printing.Seconds(l.HeartbeatSeconds)))
	default:
		parts = append(parts, "free")
	}
	if len(parts) > 0 && o.Token > 0 {
		parts = append(parts, fmt.Sprintf("token %d", o.Token))
	}
	return strings.Join(parts, "; ")
}

func ago(t, now time.Time) string {
	d := max(now.Sub(t), 0).Round(time.Second)
	if d >= 48*time.Hour {
		return t.UTC().Format(time.DateTime)
	}
	return d.String() + " ago"
}
