package statuspage

import (
	"fmt"

	g "maragu.dev/gomponents"

	"github.com/rowrelay/rowrelay/status"
)

// entries are the events that were refused and will be tried again.
func (c *card) entries() g.Node {
	if len(c.Entries) == 0 {
		return nil
	}
	columns := c.columns("Key", "Reason", "Attempts", "Next")
	rows := g.Map(c.Entries, func(e status.Letter) g.Node { //nolint:gocritic // as g.Map hands it over
		next := plain("–")
		switch {
		case e.Next != nil:
			next = moment(*e.Next, c.until(*e.Next))
		case e.Blocked:
			next = plain("waits for an operator")
		}
		return row(c.told(&e, plain(e.ID)),
			cell("Next", next, g.If(e.Waiting != 0, small(g.Textf("%d behind it", e.Waiting)))),
			g.If(c.CanAct, act(g.If(e.Blocked && e.ID != "", c.replay(&e)))),
		)
	})
	return el("details", attr("id", c.id+"-parked"), c.listed(c.refused()+" events", len(c.Entries), c.Parked),
		table(columns, rows), c.all(len(c.Entries), c.Parked, true))
}

// letters are the events that were given up, with a filter, and buttons for those that are chosen.
func (c *card) letters() g.Node {
	if len(c.Letters) == 0 && (c.Like == "" || c.DeadLetters == 0) {
		return nil
	}
	var body g.Node
	if len(c.Letters) > 0 {
		body = el("form", attr("class", "letters"), attr("method", "get"), attr("action", c.Root), c.carried(),
			hidden("poller", c.Poller), hidden("output", c.Output.Output), g.If(c.Like != "", hidden("like", c.Like)),
			c.letterTable(), c.chosen())
	} else {
		body = el("p", attr("class", "empty"), plain("None of those that are read has "), literal(c.Like), plain("."))
	}
	return el("details", attr("id", c.id+"-dead"), g.If(c.Like != "", attr("open")),
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
		id := plain(l.ID)
		if c.LoggedIn && !c.marks() {
			id = el("a", attr("href", c.about(doShow, &l)), id)
		}
		at := plain("–")
		if l.At != nil {
			at = moment(*l.At, ago(*l.At, c.now))
		}
		return row(
			g.If(c.CanAct, el("td", attr("role", "cell"), attr("class", "pick"),
				el("input", attr("type", "checkbox"), attr("name", "letter"), attr("value", l.ID), attr("aria-label", l.Key)))),
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
		return el("button", attr("class", "small"), attr("name", "do"), attr("value", do), plain(text))
	}
	return el("p", attr("class", "buttons"),
		g.If(!c.Short[c.i], el("label",
			el("input", attr("type", "checkbox"), attr("name", "letter"), attr("value", allLetters)),
			g.Textf(" All %d listed", len(c.Letters)))), plain(" "),
		button(doReplay, "Replay those chosen"), plain(" "), button(doPurge, purge))
}

// about is the address of a page about one event.
func (c *card) about(do string, l *status.Letter) string {
	return c.to("do", do, "poller", c.Poller, "output", c.Output.Output, "letter", l.ID)
}

func (c *card) replay(l *status.Letter) g.Node {
	return el("a", attr("class", "button small"), attr("href", c.about(doReplay, l)), plain("Replay"), unseen(" "+l.Key))
}

// listed is the heading of a list: how many of how many.
func (c *card) listed(what string, listed int, all int64) g.Node {
	return el("summary", plain(what+" "), el("span", attr("class", "n"), plain(some(listed, all, c.Mode))))
}

// all names the command that lists what the page leaves out.
func (c *card) all(listed int, all int64, parked bool) g.Node {
	return g.If(int64(listed) < all, el("p", attr("class", "small"), plain("All of them: "),
		literal(listing(c.Output, parked))))
}

// columns are the headings of a table of events.
func (c *card) columns(names ...string) g.Group {
	columns := g.Map(names, func(name string) g.Node { return column(plain(name)) })
	if c.CanAct {
		columns = append(columns, column(unseen("Action")))
	}
	return columns
}

// told are the columns that each list has.
func (c *card) told(l *status.Letter, id g.Node) g.Node {
	return g.Group{
		cell("Key", literal(l.Key), small(id)),
		el("td", attr("role", "cell"), attr("data-label", "Reason"), attr("class", "reason"), plain(c.reason(l))),
		cell("Attempts", g.Textf("%d", l.Attempts)),
	}
}

// The roles are for readers of the screen where the style makes blocks of the rows.

func table(columns, rows g.Group) g.Node {
	return el("table", attr("role", "table"), el("thead", attr("role", "rowgroup"), row(columns)),
		el("tbody", attr("role", "rowgroup"), rows))
}

func column(title g.Node) g.Node {
	return el("th", attr("role", "columnheader"), attr("scope", "col"), title)
}

func row(cells ...g.Node) g.Node { return el("tr", attr("role", "row"), g.Group(cells)) }

func cell(label string, value ...g.Node) g.Node {
	return el("td", attr("role", "cell"), attr("data-label", label), g.Group(value))
}

func act(button g.Node) g.Node { return el("td", attr("role", "cell"), attr("class", "act"), button) }

func small(text g.Node) g.Node { return el("small", attr("class", "id"), text) }
