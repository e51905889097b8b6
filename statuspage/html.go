package statuspage

import (
	"maps"
	"slices"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/status"
)

// The pages are made of Go, and not of text: html/template calls methods by their names, for which the linker would
// have to keep every exported method of the whole program, a seventh of its size. What is no Raw is escaped, within an
// attribute too. No attribute runs as a script or a style, and every link begins with an address of ours.

// document is a whole page.
func (p *page) document(body ...g.Node) g.Node {
	return h.Doctype(h.HTML(h.Lang("en"),
		h.Head(
			h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Meta(h.Name("color-scheme"), h.Content("light dark")),
			h.Meta(h.Name("robots"), h.Content("noindex")),
			h.TitleEl(g.Text(p.Title)),
			h.StyleEl(g.Raw(styleText)),
		),
		h.Body(h.Main(body...), h.Script(g.Raw(scriptText))),
	))
}

// narrow is a page of one column, with the way back to the status where it leads there.
func (p *page) narrow(back bool, body ...g.Node) g.Node {
	crumb := g.If(back, h.P(h.Class("crumb"), h.A(h.Href(p.to()), g.Text(p.App))))
	return p.document(h.Class("narrow"), crumb, h.H1(g.Text(p.Title)), g.Group(body))
}

// confirmPage asks before an action.
func (p *page) confirmPage(c *confirmation) g.Node {
	return p.narrow(true,
		g.Map(c.Will, func(will string) g.Node { return h.P(g.Text(will)) }),
		g.Map(c.Letters, func(l status.Letter) g.Node { //nolint:gocritic // as g.Map hands it over
			why := "Given up because"
			if c.Blocked {
				why = "Parked because"
			}
			return boxed(p.facts(&l, why)...)
		}),
		h.Form(
			g.If(p.Hosted, g.Group{h.ID("hosted"), g.Attr("hidden"), h.Data("to", "status/actions")}),
			g.If(!p.Hosted, g.Group{h.Method("post"), h.Action("status/actions")}),
			hidden("do", c.Asked.Do), hidden("poller", c.Asked.Poller), hidden("output", c.Asked.Output),
			g.Map(c.Asked.Letters, func(id string) g.Node { return hidden("letter", id) }),
			hidden("yes", "true"), g.If(p.CSRF != "", hidden("csrf", p.CSRF)),
			g.If(p.Hosted, g.Group{
				h.P(h.Label(h.For("key"), g.Text("Admin key of the function app")), g.Text(" "),
					h.Input(h.ID("key"), h.Type("password"), h.AutoComplete("off"), h.Required(),
						h.Aria("describedby", "keyhelp"))),
				h.P(h.Class("small"), h.ID("keyhelp"),
					g.Text("The host's master key. It is sent in a header, once, and kept nowhere.")),
			}),
			h.P(h.Class("buttons"), h.Button(h.Class("primary"), g.Text(c.Button)), g.Text(" "),
				link("button quiet", p.to(), "Cancel")),
		),
		h.P(h.ID("answer"), h.Role("status"), h.Class("answer"), h.TabIndex("-1"), g.Attr("hidden")),
		g.If(p.Hosted, h.NoScript(h.P(g.Text("Without scripts this page cannot send the admin key in a header, "+
			"where it belongs. Use the command.")))),
		sameByCommand(c.Command),
	)
}

// letterPage shows one dead letter with its row.
func (p *page) letterPage(l *letterPage) g.Node {
	about := func(do string) string { return p.to("do", do, "poller", l.Poller, "output", l.Output, "letter", l.ID) }
	facts := p.facts(&l.Letter, "Given up because")
	if l.At != nil {
		facts = append(facts, fact("Given up", h.Time(h.DateTime(machine(*l.At)), g.Text(stamp(*l.At)))))
	}
	row := h.P(g.Text("It is not in the record."))
	if l.Row != "" {
		row = h.Pre(h.Class("box"), h.TabIndex("0"), g.Text(l.Row), g.If(l.Cut, g.Text(" …")))
	}
	return p.narrow(true,
		boxed(facts...),
		h.H2(g.Text("The row as it was given up")), row,
		g.If(l.Cut, h.P(h.Class("small"), g.Text("It is longer than this."))),
		h.P(h.Class("buttons"), link("button", about(doReplay), "Replay"), g.Text(" "),
			link("button", about(doPurge), "Purge"), g.Text(" "),
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
		h.P(h.Class(class), h.Role("status"), g.Text(d.Said)),
		g.If(d.But != "", h.P(h.Class("answer bad"), g.Text(d.But))),
		h.P(link("button", p.to(), "Back to the status")),
	)
}

// loginPage asks for the token. wrong is why the last try was refused.
func (p *page) loginPage(wrong string) g.Node {
	return p.narrow(false,
		g.If(wrong != "", h.P(h.Class("answer bad"), h.Role("alert"), g.Text(wrong))),
		h.Form(h.Method("post"), h.Action(p.Root+"/login"),
			h.P(h.Label(h.For("token"), g.Text("Token")), g.Text(" "),
				h.Input(h.ID("token"), h.Name("token"), h.Type("password"), h.AutoComplete("current-password"),
					h.Required(), h.AutoFocus(), h.Aria("describedby", "help"))),
			h.P(h.Class("small"), h.ID("help"), g.Text("The value of the setting "), literal("status__token"), g.Text(".")),
			h.P(h.Class("buttons"), h.Button(h.Class("primary"), g.Text("Log in"))),
		),
	)
}

// facts are what every page says of an event that was given up or parked.
func (p *page) facts(l *status.Letter, why string) []g.Node {
	return []g.Node{fact("Event", literal(l.ID)), fact("Key", literal(l.Key)), fact(why, g.Text(p.reason(l))),
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
	return h.Input(h.Type("hidden"), h.Name(name), h.Value(value))
}

func link(class, to, text string) g.Node { return h.A(h.Class(class), h.Href(to), g.Text(text)) }

func literal(text string) g.Node { return h.Code(g.Text(text)) }

// unseen is for those who listen to the page.
func unseen(text string) g.Node { return h.Span(h.Class("sr"), g.Text(text)) }

func fact(name string, value ...g.Node) g.Node { return h.Div(h.Dt(g.Text(name)), h.Dd(value...)) }

func boxed(facts ...g.Node) g.Node { return h.Dl(h.Class("more box"), g.Group(facts)) }

func sameByCommand(line string) g.Node {
	return h.P(h.Class("small"), g.Text("The same by command: "), literal(line))
}

// moment is an instant in words that age, with the instant itself behind them.
func moment(at time.Time, words string) g.Node {
	return h.Time(h.DateTime(machine(at)), h.Title(stamp(at)), g.Text(words))
}

func arrow() g.Node {
	return g.Group{g.Text(" "), h.Span(h.Aria("hidden", "true"), g.Text("→")), unseen("to"), g.Text(" ")}
}

func dot() g.Node { return h.Span(h.Class("dot"), h.Aria("hidden", "true")) }

// trouble is a fault with its mend.
func trouble(text, mend string, first ...g.Node) g.Node {
	return h.Div(h.Class("problem"), g.Group(first), h.P(h.Class("text"), g.Text(text)),
		g.If(mend != "", h.P(h.Class("mend"), h.B(g.Text("What to do")), g.Text(" "+mend))))
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
	return h.Form(h.Class("find"), h.Method("get"), h.Action(p.Root), h.Role("search"), p.carried(), g.Group(kept),
		h.Label(h.Class("sr"), h.For(id), g.Text(what)),
		h.Input(h.ID(id), h.Type("search"), h.Name(name), h.Value(value), h.Placeholder(what)), g.Text(" "),
		h.Button(h.Class("quiet"), g.Text(button)))
}
