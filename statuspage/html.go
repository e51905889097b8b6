package statuspage

import (
	"maps"
	"slices"
	"time"

	g "maragu.dev/gomponents"

	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/status"
)

// The pages are made of Go (element.go), and not of text: html/template calls methods by their names, for which the
// linker would have to keep every exported method of the whole program, a seventh of its size. What is no Raw is
// escaped, within an attribute too. No attribute runs as a script or a style, and every link begins with an address of
// ours.

// document is a whole page.
func (p *page) document(body ...g.Node) g.Node {
	return g.Group{g.Raw("<!doctype html>"), el("html", attr("lang", "en"),
		el("head",
			el("meta", attr("charset", "utf-8")),
			el("meta", attr("name", "viewport"), attr("content", "width=device-width, initial-scale=1")),
			el("meta", attr("name", "color-scheme"), attr("content", "light dark")),
			el("meta", attr("name", "robots"), attr("content", "noindex")),
			el("title", plain(p.Title)),
			el("style", g.Raw(styleText)),
		),
		el("body", el("main", body...), el("script", g.Raw(scriptText))),
	)}
}

// narrow is a page of one column, with the way back to the status where it leads there.
func (p *page) narrow(back bool, body ...g.Node) g.Node {
	crumb := g.If(back, el("p", attr("class", "crumb"), el("a", attr("href", p.to()), plain(p.App))))
	return p.document(attr("class", "narrow"), crumb, el("h1", plain(p.Title)), g.Group(body))
}

// confirmPage asks before an action.
func (p *page) confirmPage(c *confirmation) g.Node {
	return p.narrow(true,
		g.Map(c.Will, func(will string) g.Node { return el("p", plain(will)) }),
		g.Map(c.Letters, func(l status.Letter) g.Node { //nolint:gocritic // as g.Map hands it over
			why := "Given up because"
			if c.Blocked {
				why = "Parked because"
			}
			return boxed(p.facts(&l, why)...)
		}),
		el("form",
			g.If(p.Hosted, g.Group{attr("id", "hosted"), attr("hidden"), attr("data-to", "status/actions")}),
			g.If(!p.Hosted, g.Group{attr("method", "post"), attr("action", "status/actions")}),
			hidden("do", c.Asked.Do), hidden("poller", c.Asked.Poller), hidden("output", c.Asked.Output),
			g.Map(c.Asked.Letters, func(id string) g.Node { return hidden("letter", id) }),
			hidden("yes", "true"), g.If(p.CSRF != "", hidden("csrf", p.CSRF)),
			g.If(p.Hosted, g.Group{
				el("p", el("label", attr("for", "key"), plain("Admin key of the function app")), plain(" "),
					el("input", attr("id", "key"), attr("type", "password"), attr("autocomplete", "off"), attr("required"),
						attr("aria-describedby", "keyhelp"))),
				el("p", attr("class", "small"), attr("id", "keyhelp"),
					plain("The host's master key. It is sent in a header, once, and kept nowhere.")),
			}),
			el("p", attr("class", "buttons"), el("button", attr("class", "primary"), plain(c.Button)), plain(" "),
				link("button quiet", p.to(), "Cancel")),
		),
		el("p", attr("id", "answer"), attr("role", "status"), attr("class", "answer"), attr("tabindex", "-1"),
			attr("hidden")),
		g.If(p.Hosted, el("noscript", el("p", plain("Without scripts this page cannot send the admin key in a header, "+
			"where it belongs. Use the command.")))),
		sameByCommand(c.Command),
	)
}

// letterPage shows one dead letter with its row.
func (p *page) letterPage(l *letterPage) g.Node {
	about := func(do string) string { return p.to("do", do, "poller", l.Poller, "output", l.Output, "letter", l.ID) }
	facts := p.facts(&l.Letter, "Given up because")
	if l.At != nil {
		facts = append(facts, fact("Given up", el("time", attr("datetime", machine(*l.At)), plain(stamp(*l.At)))))
	}
	row := el("p", plain("It is not in the record."))
	if l.Row != "" {
		row = el("pre", attr("class", "box"), attr("tabindex", "0"), plain(l.Row), g.If(l.Cut, plain(" …")))
	}
	return p.narrow(true,
		boxed(facts...),
		el("h2", plain("The row as it was given up")), row,
		g.If(l.Cut, el("p", attr("class", "small"), plain("It is longer than this."))),
		el("p", attr("class", "buttons"), link("button", about(doReplay), "Replay"), plain(" "),
			link("button", about(doPurge), "Purge"), plain(" "),
			link("button quiet", p.to(), "Back to the status")),
		sameByCommand(l.Command),
	)
}

// donePage says what came of an action.
func (p *page) donePage(d *done) g.Node {
	class := "answer good"
	if d.Failed {
		class = "answer bad"
	}
	return p.narrow(false,
		el("p", attr("class", class), attr("role", "status"), plain(d.Said)),
		g.If(d.But != "", el("p", attr("class", "answer bad"), plain(d.But))),
		el("p", link("button", p.to(), "Back to the status")),
	)
}

// loginPage asks for the token. wrong is why the last try was refused.
func (p *page) loginPage(wrong string) g.Node {
	return p.narrow(false,
		g.If(wrong != "", el("p", attr("class", "answer bad"), attr("role", "alert"), plain(wrong))),
		el("form", attr("method", "post"), attr("action", p.Root+"/login"),
			el("p", el("label", attr("for", "token"), plain("Token")), plain(" "),
				el("input", attr("id", "token"), attr("name", "token"), attr("type", "password"),
					attr("autocomplete", "current-password"), attr("required"), attr("autofocus"), attr("aria-describedby", "help"))),
			el("p", attr("class", "small"), attr("id", "help"), plain("The value of the setting "),
				literal("status__token"), plain(".")),
			el("p", attr("class", "buttons"), el("button", attr("class", "primary"), plain("Log in"))),
		),
	)
}

// facts are what every page says of an event that was given up or parked.
func (p *page) facts(l *status.Letter, why string) []g.Node {
	return []g.Node{fact("Event", literal(l.ID)), fact("Key", literal(l.Key)), fact(why, plain(p.reason(l))),
		fact("Attempts", g.Textf("%d", l.Attempts))}
}

// reason is why an event was given up or parked: with what the destination answered for who is logged in only.
func (p *page) reason(l *status.Letter) string {
	if p.LoggedIn && l.Answered != "" {
		return l.Answered
	}
	return l.Reason
}

// carried are the hidden fields of what every link takes along.
func (p *page) carried() g.Node {
	var fields g.Group
	for _, name := range slices.Sorted(maps.Keys(p.Carry)) {
		for _, value := range p.Carry[name] {
			fields = append(fields, hidden(name, value))
		}
	}
	return fields
}

func hidden(name, value string) g.Node {
	return el("input", attr("type", "hidden"), attr("name", name), attr("value", value))
}

func link(class, to, text string) g.Node {
	return el("a", attr("class", class), attr("href", to), plain(text))
}

func literal(text string) g.Node { return el("code", plain(text)) }

// unseen is for those who listen to the page.
func unseen(text string) g.Node { return el("span", attr("class", "sr"), plain(text)) }

func fact(name string, value ...g.Node) g.Node {
	return el("div", el("dt", plain(name)), el("dd", value...))
}

func boxed(facts ...g.Node) g.Node { return el("dl", attr("class", "more box"), g.Group(facts)) }

func sameByCommand(line string) g.Node {
	return el("p", attr("class", "small"), plain("The same by command: "), literal(line))
}

// moment is an instant in words that age, with the instant itself behind them.
func moment(at time.Time, words string) g.Node {
	return el("time", attr("datetime", machine(at)), attr("title", stamp(at)), plain(words))
}

func arrow() g.Node {
	return g.Group{plain(" "), el("span", attr("aria-hidden", "true"), plain("→")), unseen("to"), plain(" ")}
}

func dot() g.Node { return el("span", attr("class", "dot"), attr("aria-hidden", "true")) }

// trouble is a fault with its mend.
func trouble(text, mend string, first ...g.Node) g.Node {
	return el("div", attr("class", "problem"), g.Group(first), el("p", attr("class", "text"), plain(text)),
		g.If(mend != "", el("p", attr("class", "mend"), el("b", plain("What to do")), plain(" "+mend))))
}

// card is an output as the page shows it.
type card struct {
	*page
	*status.Output
	i   int // of the page's rows
	id  string
	now time.Time
}

// marks reports whether its events are marked in their table.
func (c *card) marks() bool { return c.Mode.Can(mode.Marks) }

// refused is what its refused events are called.
func (c *card) refused() string {
	if c.marks() {
		return "Failed"
	}
	return "Parked"
}

func (c *card) until(at time.Time) string { return until(at, c.now) }

// find is a form that shows the page with a text in its address.
func (p *page) find(id, name, value, what, button string, kept ...g.Node) g.Node {
	return el("form", attr("class", "find"), attr("method", "get"), attr("action", p.Root), attr("role", "search"),
		p.carried(), g.Group(kept),
		el("label", attr("class", "sr"), attr("for", id), plain(what)),
		el("input", attr("id", id), attr("type", "search"), attr("name", name), attr("value", value),
			attr("placeholder", what)), plain(" "),
		el("button", attr("class", "quiet"), plain(button)))
}
