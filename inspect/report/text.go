package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/printing"
)

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	p := &printing.Printer{W: w}
	p.Line("state        %s", r.State)
	p.Marked("✗", r.Faults)
	p.Marked("!", r.Warnings)
	for _, poller := range r.Pollers {
		poller.print(p)
	}
	p.Line("\n%s", r.Summary)
	return p.Err
}

// WriteDDL writes what a database's administrator may run, and everything else as comments of SQL.
func (r *Report) WriteDDL(w io.Writer) error {
	p := &printing.Printer{W: w}
	p.Comments("", r.Faults...)
	for _, poller := range r.Pollers {
		p.Comments(poller.Poller+": ", poller.Faults...)
		switch {
		case poller.Outbox != nil:
			p.Comments(poller.Poller+": ", "is an outbox: rowrelay outbox init "+poller.Poller+" prints its DDL")
		case poller.DDL != "":
			p.Line("-- poller %s, table %s\n%s", poller.Poller, plaintext.Line(poller.Table),
				strings.TrimRight(poller.DDL, "\n"))
		case poller.Late != nil:
			p.Comments(poller.Poller+": ",
				fmt.Sprintf("there is nothing to run: late commits are found by %s, %s", poller.Late.Mode, poller.Late.Why))
		}
	}
	return p.Err
}

func (v *Poller) print(p *printing.Printer) {
	p.Line("\n%s", v.Poller)
	p.Marked("✗", v.Faults)
	p.Marked("!", v.Warnings)
	p.Field("source", v.Connection)
	p.Field("engine", v.Engine)
	p.Field("table", v.Table)
	p.Field("key", v.Key)
	p.Field("time zone", v.TimeZone)
	p.Field("statement", v.Next.Text)
	for i, param := range v.Next.Params {
		p.Field("", fmt.Sprintf("parameter %d: %s", i+1, param))
	}
	switch {
	case v.Index != "":
		p.Field("index", v.Index+" serves the order")
	case v.CreateIndex != "":
		p.Field("index", "none serves the order; create one:\n"+v.CreateIndex)
	}
	p.Field("plan", head(v.Plan))
	printLate(p, v.Late)
	if v.DDL != "" {
		p.Field("", "to make it exact: rowrelay check "+v.Poller+" --ddl prints what to run")
	}
	p.Field("refusal", v.Policy.String())
	p.Field("schedule", v.Schedule)
	p.Field("delay", v.WorstDelay)
	p.Field("lease", v.LeaseMargin)
	if v.Outbox != nil {
		v.Outbox.print(p)
	}
	for i := range v.Outputs {
		v.Outputs[i].print(p)
	}
}

// planLines is the number of lines that are printed of a plan: an engine writes two for each partition.
const planLines = 20

func head(plan string) string {
	lines := strings.Split(plan, "\n")
	if len(lines) <= planLines {
		return plan
	}
	return strings.Join(append(lines[:planLines:planLines],
		"… and "+printing.Count(len(lines)-planLines, "more line")+": --json has them all"), "\n")
}

// printLate writes what is said of late commits.
func printLate(p *printing.Printer, v *inspect.Late) {
	if v == nil {
		return
	}
	mode := string(v.Mode)
	if v.Auto {
		mode += " (chosen by auto)"
	}
	if v.Why != "" {
		mode += ": " + v.Why
	}
	p.Field("late rows", mode)
	p.Field("", "costs: "+v.Cost)
	p.Field("", "can still be missed: "+v.Missed)
	if v.Mend != "" {
		p.Field("", "to see them: "+v.Mend)
	}
	if v.Order != "" {
		p.Field("order", v.Order)
		p.Field("", "to keep it: "+late.OrderMend)
	}
	p.Field("", v.Held)
}

func (out *Output) print(p *printing.Printer) {
	name := "output"
	if out.Output != "" {
		name += " " + out.Output
	}
	p.Field(name, out.To)
	p.Field("  document", out.Document)
	p.Field("  position", out.Position)
	p.Field("  lease", out.Lease)
	p.Field("  paused", out.Paused)
	if out.Parked > 0 {
		p.Field("  parked", fmt.Sprintf("%d event(s): `rowrelay state show` lists them", out.Parked))
	}
	p.Field("  dead", out.Dead)
	for _, row := range out.Shaping {
		p.Field("  row", string(row.Before))
		p.Field("    sent as", string(row.After))
		p.Field("    not sent", row.Why)
	}
	if out.Events != nil && len(out.Events)+len(out.Shaping) == 0 {
		p.Field("  first", "no rows after the position: nothing new to send")
	}
	for _, event := range out.Events {
		p.Field("  would send", string(event))
	}
}
