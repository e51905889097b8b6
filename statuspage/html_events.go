package statuspage

import (
	"fmt"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/rowrelay/rowrelay/status"
)

// entries are the events that were refused and will be tried again.
func (c *card) entries() g.Node {
	if len(c.Entries) == 0 {
		return nil
	}
	columns := c.columns("Key", "Reason", "Attempts", "Next")
	rows := g.Map(c.Entries, func(e status.Letter) g.Node { //nolint:gocritic // as g.Map hands it over
		next := g.Text("–")
		switch {
		case e.Next != nil:
			next = moment(*e.Next, c.until(*e.Next))
		case e.Blocked:
			next = g.Text("waits for an operator")
		}
		return row(c.told(&e, g.Text(e.ID)),
			cell("Next", next, g.If(e.Waiting != 0, small(g.Textf("%d behind it", e.Waiting)))),
			g.If(c.CanAct, act(g.If(e.Blocked && e.ID != "", c.replay(&e)))),
		)
	})
	return h.Details(h.ID(c.id+"-parked"), c.listed(c.refused()+" events", len(c.Entries), c.Parked),
		table(columns, rows), c.all(len(c.Entries), c.Parked, true))
}

// letters are the events that were given up, with a filter, and buttons for those that are chosen.
func (c *card) letters() g.Node {
	if len(c.Letters) == 0 && (c.Like == "" || c.DeadLetters == 0) {
		return nil
	}
	var body g.Node
	if len(c.Letters) > 0 {
		body = h.Form(h.Class("letters"), h.Method("get"), h.Action(c.Root), c.carried(),
			hidden("poller", c.Poller), hidden("output", c.Output.Output), g.If(c.Like != "", hidden("like", c.Like)),
			c.letterTable(), c.chosen())
	} else {
		body = h.P(h.Class("empty"), g.Text("None of those that are read has "), literal(c.Like), g.Text("."))
	}
	return h.Details(h.ID(c.id+"-dead"), g.If(c.Like != "", g.Attr("open")),
		c.listed("Dead letters", len(c.Letters), c.DeadLetters),
		c.find(fmt.Sprintf("like%d", c.i), "like", c.Like, "Key, id or reason", "Filter", hidden("poller", c.Poller)),
		body, c.all(len(c.Letters), c.DeadLetters, false))
}

func (c *card) letterTable() g.Node {
	columns := c.columns("Key", "Reason", "Attempts", "Given up")
	if c.CanAct {
		columns = append(g.Group{column(unseen("Chosen"))}, columns...)
	}
	return table(columns, g.Map(c.Letters, func(l status.Letter) g.Node { //nolint:gocritic // as g.Map hands it over
		id := g.Text(l.ID)
		if c.LoggedIn && !c.marks() {
			id = h.A(h.Href(c.about(doShow, &l)), id)
		}
		at := g.Text("–")
		if l.At != nil {
			at = moment(*l.At, ago(*l.At, c.now))
		}
		return row(
			g.If(c.CanAct, h.Td(h.Role("cell"), h.Class("pick"),
				h.Input(h.Type("checkbox"), h.Name("letter"), h.Value(l.ID), h.Aria("label", l.Key)))),
			c.told(&l, id), cell("Given up", at), g.If(c.CanAct, act(c.replay(&l))),
		)
	}))
}

// chosen are the buttons below the dead letters.
func (c *card) chosen() g.Node {
	if !c.CanAct {
		return nil
	}
	purge := "Purge those chosen"
	if c.marks() {
		purge = "Discard those chosen"
	}
	button := func(do, text string) g.Node {
		return h.Button(h.Class("small"), h.Name("do"), h.Value(do), g.Text(text))
	}
	return h.P(h.Class("buttons"),
		g.If(!c.Short[c.i], h.Label(h.Input(h.Type("checkbox"), h.Name("letter"), h.Value(allLetters)),
			g.Textf(" All %d listed", len(c.Letters)))), g.Text(" "),
		button(doReplay, "Replay those chosen"), g.Text(" "), button(doPurge, purge))
}

// about is the address of a page about one event.
func (c *card) about(do string, l *status.Letter) string {
	return c.to("do", do, "poller", c.Poller, "output", c.Output.Output, "letter", l.ID)
}

func (c *card) replay(l *status.Letter) g.Node {
	return h.A(h.Class("button small"), h.Href(c.about(doReplay, l)), g.Text("Replay"), unseen(" "+l.Key))
}

// listed is the heading of a list: how many of how many.
func (c *card) listed(what string, listed int, all int64) g.Node {
	return h.Summary(g.Text(what+" "), h.Span(h.Class("n"), g.Text(some(listed, all, c.Mode))))
}

// all names the command that lists what the page leaves out.
func (c *card) all(listed int, all int64, parked bool) g.Node {
	return g.If(int64(listed) < all, h.P(h.Class("small"), g.Text("All of them: "), literal(listing(c.Output, parked))))
}

// columns are the headings of a table of events.
func (c *card) columns(names ...string) g.Group {
	columns := g.Map(names, func(name string) g.Node { return column(g.Text(name)) })
	if c.CanAct {
		columns = append(columns, column(unseen("Action")))
	}
	return columns
}

// told are the columns that each list has.
func (c *card) told(l *status.Letter, id g.Node) g.Node {
	return g.Group{
		cell("Key", literal(l.Key), small(id)),
		h.Td(h.Role("cell"), h.Data("label", "Reason"), h.Class("reason"), g.Text(c.reason(l))),
		cell("Attempts", g.Textf("%d", l.Attempts)),
	}
}

// The roles are for readers of the screen where the style makes blocks of the rows.

func table(columns, rows g.Group) g.Node {
	return h.Table(h.Role("table"), h.THead(h.Role("rowgroup"), row(columns)), h.TBody(h.Role("rowgroup"), rows))
}

func column(title g.Node) g.Node { return h.Th(h.Role("columnheader"), h.Scope("col"), title) }

func row(cells ...g.Node) g.Node { return h.Tr(h.Role("row"), g.Group(cells)) }

func cell(label string, value ...g.Node) g.Node {
	return h.Td(h.Role("cell"), h.Data("label", label), g.Group(value))
}

func act(button g.Node) g.Node { return h.Td(h.Role("cell"), h.Class("act"), button) }

func small(text g.Node) g.Node { return h.Small(h.Class("id"), text) }
