package statuspage

import (
	"strings"

	g "maragu.dev/gomponents"

	"github.com/rowrelay/rowrelay/status"
)

// statusPage is a report as it is chosen.
func (p *page) statusPage() g.Node {
	cards := make(g.Group, len(p.Rows))
	for i := range p.Rows {
		cards[i] = p.card(i)
	}
	return p.document(attr("data-refresh", "10"),
		p.top(), p.tallies(), p.faults(), p.narrowed(), p.search(), p.order(),
		el("div", attr("class", "cards"), cards),
		el("p", attr("class", "small foot"), el("a", attr("href", status.GlossaryPage), attr("rel", "noreferrer"),
			plain("What the words mean"))),
		g.If(!p.CanAct, el("p", attr("class", "small"),
			plain("To pause, resume, replay or purge from here, set "), literal("status__token"),
			plain(" and log in; the commands "), literal("rowrelay state"), plain(", "), literal("rowrelay outbox"),
			plain(" and "), literal("rowrelay deadletter"), plain(" do the same."))),
	)
}

// top names who answers, and when it did.
func (p *page) top() g.Node {
	r := p.Report
	return el("header", attr("class", "top"),
		el("div", attr("class", "brand"),
			el("h1", plain(r.App)),
			el("p", plain("Rowrelay "+r.Version+" · as "), el("b", plain(r.Instance)), plain(" sees it · "),
				el("time", attr("id", "at"), attr("datetime", machine(r.At)), plain(stamp(r.At)))),
			el("p", attr("id", "stale"), attr("role", "status"), attr("hidden"))),
		el("div", attr("class", "tools"),
			link("button quiet", p.to(p.pairs()...), "Reload"), plain(" "),
			link("button quiet", strings.Replace(p.to(), p.Root, p.Root+".json", 1), "JSON"), plain(" "),
			g.If(p.LoggedIn, el("form", attr("method", "post"), attr("action", "status/logout"), hidden("csrf", p.CSRF),
				el("button", attr("class", "quiet"), plain("Log out"))))),
	)
}

// tallies say how many outputs are how; each shows these alone, or all again.
func (p *page) tallies() g.Node {
	if len(p.Tally) == 0 {
		return nil
	}
	return el("ul", attr("class", "tally"), attr("aria-label", "How many outputs are how"),
		g.Map(p.Tally, func(t tally) g.Node {
			chosen, to := p.Health == string(t.Health), string(t.Health)
			if chosen {
				to = ""
			}
			return el("li", attr("class", healthClass(t.Health)),
				el("a", attr("href", p.with("health", to)), g.If(chosen, attr("aria-current", "true")),
					dot(), el("b", g.Textf("%d", t.N)), plain(" "+string(t.Health))))
		}))
}

// faults are those of settings that belong to no poller.
func (p *page) faults() g.Node {
	if len(p.Report.Faults) == 0 {
		return nil
	}
	return el("section", attr("class", "problems"), attr("aria-label", "Faults of the settings"),
		el("h2", plain("The settings have faults")),
		g.Map(p.Report.Faults, func(f status.Problem) g.Node { return trouble(f.Text, f.Mend) })) //nolint:gocritic // as g.Map hands it over
}

// narrowed leads back to all pollers, and says so where nothing is shown.
func (p *page) narrowed() g.Node {
	empty := func(text ...g.Node) g.Node { return el("p", attr("class", "empty"), g.Group(text)) }
	var said g.Node
	switch {
	case p.All == 0:
		said = empty(plain("There are no pollers: set "), literal("pollers__<name>__source__table"), plain(" and so on."))
	case p.Only != "" && len(p.Rows) == 0:
		said = empty(plain("There is no poller of the name "), literal(p.Only), plain("."))
	case len(p.Rows) == 0:
		said = empty(plain("No output is like that."))
	}
	return g.Group{
		g.If(p.Part(), el("p", attr("class", "crumb"), el("a", attr("href", p.to("sort", p.Sort)), plain("All pollers")),
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
	return el("nav", attr("class", "heads"), attr("aria-label", "Order"), g.Map(heads, func(t head) g.Node {
		return el("a", attr("class", t.Class), attr("href", p.with("sort", t.Sort)),
			g.If(p.Sort == t.Sort, attr("aria-current", "true")), plain(t.Title))
	}))
}
