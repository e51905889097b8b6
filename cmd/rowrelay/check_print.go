package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/plaintext"
)

// printCheck writes what check found for people.
func printCheck(w io.Writer, view *checkView) error {
	p := &printer{w: w}
	p.line("state        %s", view.State)
	p.marked("✗", view.Faults)
	p.marked("!", view.Warnings)
	for _, poller := range view.Pollers {
		p.poller(poller)
	}
	p.line("\n%s", view.Summary)
	return p.err
}

// printDDL writes what a database's administrator may run, and everything else as comments of SQL.
func printDDL(w io.Writer, view *checkView) error {
	p := &printer{w: w}
	p.comments("", view.Faults)
	for _, poller := range view.Pollers {
		p.comments(poller.Poller+": ", poller.Faults)
		switch {
		case poller.Outbox != nil:
			p.comments(poller.Poller+": ", []string{"is an outbox: rowrelay outbox init " + poller.Poller + " prints its DDL"})
		case poller.DDL != "":
			p.line("-- poller %s, table %s\n%s", poller.Poller, plaintext.Line(poller.Table),
				strings.TrimRight(poller.DDL, "\n"))
		case poller.Late != nil:
			p.comments(poller.Poller+": ",
				[]string{fmt.Sprintf("there is nothing to run: late commits are found by %s, %s", poller.Late.Mode,
					poller.Late.Why)})
		}
	}
	return p.err
}

// comments writes texts as comments: no line of them may be taken for a statement.
func (p *printer) comments(who string, texts []string) {
	for _, text := range texts {
		p.line("-- %s%s", who, plaintext.Line(text))
	}
}

func (p *printer) poller(v *pollerView) {
	p.line("\n%s", v.Poller)
	p.marked("✗", v.Faults)
	p.marked("!", v.Warnings)
	p.field("source", v.Connection)
	p.field("engine", v.Engine)
	p.field("table", v.Table)
	p.field("key", v.Key)
	p.field("time zone", v.TimeZone)
	p.field("statement", v.Next.Text)
	for i, param := range v.Next.Params {
		p.field("", fmt.Sprintf("parameter %d: %s", i+1, param))
	}
	switch {
	case v.Index != "":
		p.field("index", v.Index+" serves the order")
	case v.CreateIndex != "":
		p.field("index", "none serves the order; create one:\n"+v.CreateIndex)
	}
	p.field("plan", v.Plan)
	p.late(v.Late)
	if v.DDL != "" {
		p.field("", "to make it exact: rowrelay check "+v.Poller+" --ddl prints what to run")
	}
	p.field("refusal", v.Policy.String())
	p.field("schedule", v.Schedule)
	p.field("delay", v.WorstDelay)
	p.field("lease", v.LeaseMargin)
	if v.Outbox != nil {
		v.Outbox.print(p)
	}
	for i := range v.Outputs {
		p.output(&v.Outputs[i])
	}
}

// late writes what is said of late commits.
func (p *printer) late(v *inspect.Late) {
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
	p.field("late rows", mode)
	p.field("", "costs: "+v.Cost)
	p.field("", "can still be missed: "+v.Missed)
	if v.Mend != "" {
		p.field("", "to see them: "+v.Mend)
	}
	if v.Order != "" {
		p.field("order", v.Order)
		p.field("", "to keep it: "+late.OrderMend)
	}
	p.field("", v.Held)
}

func (p *printer) output(out *checkedOutput) {
	name := "output"
	if out.Output != "" {
		name += " " + out.Output
	}
	p.field(name, out.To)
	p.field("  document", out.Document)
	p.field("  position", out.Position)
	p.field("  lease", out.Lease)
	p.field("  paused", out.Paused)
	if out.Parked > 0 {
		p.field("  parked", fmt.Sprintf("%d event(s): `rowrelay state show` lists them", out.Parked))
	}
	p.field("  dead", out.Dead)
	for _, row := range out.Shaping {
		p.field("  row", string(row.Before))
		p.field("    sent as", string(row.After))
		p.field("    not sent", row.Why)
	}
	if out.Events != nil && len(out.Events)+len(out.Shaping) == 0 {
		p.field("  first", "no rows after the position: nothing new to send")
	}
	for _, event := range out.Events {
		p.field("  would send", string(event))
	}
}

// print writes what check says of an outbox for people.
func (v *checkedOutbox) print(p *printer) {
	if v.Layout == "" {
		p.field("to do", v.Mend)
	} else {
		p.field("layout", fmt.Sprintf("%s columns, claims in %s", v.Layout, v.Claims))
		p.field("strategy", v.strategy())
		p.field("paused", v.Paused)
		p.field("events", fmt.Sprintf("%s pending, %s delayed, %s failed, %s waiting, %s dead", v.count(v.Pending),
			v.count(v.Delayed), v.count(v.Failed), v.count(v.Waiting), v.count(v.outboxView.Dead)))
		p.field("oldest", v.oldest())
		for _, o := range v.Owners {
			p.field("owner", fmt.Sprintf("%s: %d unit(s), token %d", o.Name, o.Units, o.Token))
		}
	}
	p.field("claims", v.TakenOver)
	p.field("clean-up", v.Cleanup)
	p.field("fan-out", v.Fanout)
	p.field("output", v.To)
	p.field("dead", v.Dead)
	for i := range v.Next {
		line, err := json.Marshal(v.Next[i])
		if err == nil {
			p.field("next", string(line))
		}
	}
}
