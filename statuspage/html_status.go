package statuspage

import (
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/rowrelay/rowrelay/status"
)

// statusPage is a report as it is chosen.
func (p *page) statusPage() g.Node {
	cards := make(g.Group, len(p.Rows))
	for i := range p.Rows {
		cards[i] = p.card(i)
	}
	return p.document(h.Data("refresh", "10"),
		p.top(), p.tallies(), p.faults(), p.narrowed(), p.search(), p.order(),
		h.Div(h.Class("cards"), cards),
		h.P(h.Class("small foot"), h.A(h.Href(status.GlossaryPage), h.Rel("noreferrer"), g.Text("What the words mean"))),
		g.If(!p.CanAct, h.P(h.Class("small"),
			g.Text("To pause, resume, replay or purge from here, set "), literal("status__token"),
			g.Text(" and log in; the commands "), literal("rowrelay state"), g.Text(", "), literal("rowrelay outbox"),
			g.Text(" and "), literal("rowrelay deadletter"), g.Text(" do the same."))),
	)
}

// top names who answers, and when it did.
func (p *page) top() g.Node {
	r := p.Report
	return h.Header(h.Class("top"),
		h.Div(h.Class("brand"),
			h.H1(g.Text(r.App)),
			h.P(g.Text("Rowrelay "+r.Version+" · as "), h.B(g.Text(r.Instance)), g.Text(" sees it · "),
				h.Time(h.ID("at"), h.DateTime(machine(r.At)), g.Text(stamp(r.At)))),
			h.P(h.ID("stale"), h.Role("status"), g.Attr("hidden"))),
		h.Div(h.Class("tools"),
			link("button quiet", p.to(p.pairs()...), "Reload"), g.Text(" "),
			link("button quiet", strings.Replace(p.to(), p.Root, p.Root+".json", 1), "JSON"), g.Text(" "),
			g.If(p.LoggedIn, h.Form(h.Method("post"), h.Action("status/logout"), hidden("csrf", p.CSRF),
				h.Button(h.Class("quiet"), g.Text("Log out"))))),
	)
}

// tallies say how many outputs are how; each shows these alone, or all again.
func (p *page) tallies() g.Node {
	if len(p.Tally) == 0 {
		return nil
	}
	return h.Ul(h.Class("tally"), h.Aria("label", "How many outputs are how"), g.Map(p.Tally, func(t tally) g.Node {
		chosen, to := p.Health == string(t.Health), string(t.Health)
		if chosen {
			to = ""
		}
		return h.Li(h.Class(healthClass(t.Health)),
			h.A(h.Href(p.with("health", to)), g.If(chosen, h.Aria("current", "true")),
				dot(), h.B(g.Textf("%d", t.N)), g.Text(" "+string(t.Health))))
	}))
}

// faults are those of settings that belong to no poller.
func (p *page) faults() g.Node {
	if len(p.Report.Faults) == 0 {
		return nil
	}
	return h.Section(h.Class("problems"), h.Aria("label", "Faults of the settings"),
		h.H2(g.Text("The settings have faults")),
		g.Map(p.Report.Faults, func(f status.Problem) g.Node { return trouble(f.Text, f.Mend) })) //nolint:gocritic // as g.Map hands it over
}

// narrowed leads back to all pollers, and says so where nothing is shown.
func (p *page) narrowed() g.Node {
	empty := func(text ...g.Node) g.Node { return h.P(h.Class("empty"), g.Group(text)) }
	var said g.Node
	switch {
	case p.All == 0:
		said = empty(g.Text("There are no pollers: set "), literal("pollers__<name>__source__table"), g.Text(" and so on."))
	case p.Only != "" && len(p.Rows) == 0:
		said = empty(g.Text("There is no poller of the name "), literal(p.Only), g.Text("."))
	case len(p.Rows) == 0:
		said = empty(g.Text("No output is like that."))
	}
	return g.Group{
		g.If(p.Part(), h.P(h.Class("crumb"), h.A(h.Href(p.to("sort", p.Sort)), g.Text("All pollers")),
			g.If(p.Only == "", g.Textf(" · %d of %d outputs", len(p.Rows), p.All)))),
		said,
	}
}

// search finds among many outputs.
func (p *page) search() g.Node {
	if p.All <= 5 || p.Only != "" {
		return nil
	}
	return p.find("find", "find", p.Find, "Name, table or kind", "Find",
		g.If(p.Health != "", hidden("health", p.Health)), g.If(p.Sort != "", hidden("sort", p.Sort)))
}

// order are the headings, which sort.
func (p *page) order() g.Node {
	if len(p.Rows) == 0 {
		return nil
	}
	return h.Nav(h.Class("heads"), h.Aria("label", "Order"), g.Map(heads, func(t head) g.Node {
		return h.A(h.Class(t.Class), h.Href(p.with("sort", t.Sort)), g.If(p.Sort == t.Sort, h.Aria("current", "true")),
			g.Text(t.Title))
	}))
}
