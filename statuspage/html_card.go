package statuspage

import (
	"fmt"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/rowrelay/rowrelay/status"
)

// card shows one of the page's rows: a line, and its details.
func (p *page) card(i int) g.Node {
	o := &p.Rows[i]
	c := &card{p, o, i, "o-" + o.Poller + "-" + o.Output, p.Report.At}
	title := fmt.Sprintf("o%d", i)
	return h.Article(h.Class("card "+healthClass(o.Health)), h.Aria("labelledby", title),
		h.Details(h.Class("row"), h.ID(c.id), g.If(p.Open[i], g.Attr("open")),
			c.line(title),
			h.Div(h.Class("detail"),
				c.said(), c.drawn(), c.figures(), c.counting(), c.entries(), c.letters(),
				g.If(p.Short[i], h.P(h.Class("small"),
					g.Text("So many events are listed above that not all of this one's are: "),
					h.A(h.Href(p.to("poller", o.Poller)), g.Text(o.Poller+" alone")))),
				c.more(), c.buttons(),
			),
		),
	)
}

// line is what is seen of it before it is opened.
func (c *card) line(title string) g.Node {
	cell := func(label string, bad bool, value g.Node) g.Node {
		class := "cell"
		if bad {
			class = "cell bad"
		}
		if value == nil {
			value = h.I(g.Text("–"))
		}
		return h.Span(h.Class(class), h.Data("label", label), value)
	}
	number := func(n int64) g.Node {
		if c.Unread {
			return g.Text("?")
		}
		return g.If(n != 0, g.Text(count(n)))
	}
	var speed, success g.Node
	if c.Rate != nil {
		speed = g.Text(rate(*c.Rate))
	}
	if at := c.LastSuccess; at != nil {
		success = moment(*at, ago(*at, c.now))
	}
	waits := oldest(c.Output, c.now)
	name := g.Group{h.ID(title), g.Text(c.Poller)}
	if c.Output.Output != "" {
		name = append(name, g.Text(" "), h.Span(h.Class("output"), g.Text(c.Output.Output)))
	}
	fault := wrong(c.Output)
	return h.Summary(
		h.Span(h.Class("badge"), dot(), g.Text(string(c.Health))), g.Text(" "),
		h.Span(h.Class("who"), h.H2(name), g.Text(" "),
			h.Span(h.Class("route"), h.Span(g.Text(c.Source)), arrow(), h.Span(g.Text(c.Kind)),
				g.If(c.marks(), g.Group{g.Text(" "), h.Span(h.Class("mode"), g.Text(string(c.Mode)))}))), g.Text(" "),
		cell("Waiting", false, number(waiting(c.Output))), g.Text(" "),
		cell("Oldest", false, g.If(waits != 0, g.Text(span(waits)))), g.Text(" "),
		cell("Dead", c.DeadLetters != 0, number(c.DeadLetters)), g.Text(" "),
		cell("Rate", false, speed), g.Text(" "),
		cell("Success", false, success),
		g.If(fault != "", h.Span(h.Class("wrong"), g.Text(fault))),
	)
}

// said is what there is to say of it in sentences, the worst last.
func (c *card) said() g.Node {
	var all g.Group
	add := func(class string, text ...g.Node) { all = append(all, h.P(h.Class(class), g.Group(text))) }
	if text := says(c.Output); text != "" {
		add("says", g.Text(text))
	}
	if c.From != "" {
		add("small", g.Text(c.From), arrow(), g.Text(c.To))
	}
	if to := c.Runbook(); to != "" {
		add("small", h.A(h.Href(to), h.Rel("noreferrer"), g.Text("Runbook")))
	}
	if p := c.Pause; p != nil {
		since, until := g.Group{}, g.Group{}
		if p.At != nil {
			since = g.Group{g.Text(" "), moment(*p.At, ago(*p.At, c.now))}
		}
		if p.Until != nil {
			until = g.Group{g.Text("; it ends by itself "), moment(*p.Until, c.until(*p.Until))}
		}
		add("note paused", g.Text("Paused"), since, g.Text(" by "), h.B(g.Text(p.By)), until)
	}
	if at := c.WaitingSince; at != nil && c.Health != status.Lagging {
		add("note lagging", g.Text("Rows waiting since "), h.Time(h.DateTime(machine(*at)), g.Text(stamp(*at))))
	}
	if held := c.HeldBack; held != nil {
		add("note blocked", g.Text("Rows held back for "+span(held.Seconds)),
			g.If(held.By != "", g.Group{g.Text(" by "), h.B(g.Text(held.By))}))
	}
	if c.Backfill != "" {
		done := g.Group{}
		if p := c.Progress; p != nil && p.Estimated != 0 {
			done = g.Group{g.Text(" "), h.Progress(h.Max("1"), h.Value(fmt.Sprint(p.Share)))}
		}
		add("note new", h.B(g.Text("Backfill")), g.Text(" "+c.Backfill), done)
	}
	if e := c.LastError; e != nil {
		when := g.Group{h.Class("when"), g.Text("Last error")}
		if kind := e.Kind(); kind != "" {
			when = append(when, g.Text(" · "), literal(kind))
		}
		if e.At != nil {
			when = append(when, g.Text(" · "), moment(*e.At, ago(*e.At, c.now)))
		}
		all = append(all, trouble(e.Text, e.Mend, h.P(when)))
	}
	for i := range c.Problems {
		all = append(all, trouble(c.Problems[i].Text, c.Problems[i].Mend))
	}
	return all
}

// drawn is the last hour as a picture.
func (c *card) drawn() g.Node {
	hour := lastHour(c.Output, c.now)
	if hour == nil {
		return nil
	}
	strip := func(class, path string, down int) g.Node {
		return g.El("path", h.Class(class), g.If(down > 0, g.Attr("transform", fmt.Sprintf("translate(0 %d)", down))),
			g.Attr("d", path))
	}
	return h.Figure(h.Class("hour"),
		h.SVG(h.Role("img"), h.Aria("label", "The last hour in steps of two minutes: delivered, failed, waited"),
			g.Attr("viewBox", "0 0 240 78"), g.Attr("preserveAspectRatio", "none"),
			strip("delivered", hour.Delivered, 0), strip("failed", hour.Failed, 27), strip("waited", hour.Waiting, 54)),
		h.FigCaption(h.Span(g.Text("1 h ago")),
			h.Span(h.B(h.Class("delivered"), g.Text(hour.Rows)), g.Text(" · "), h.B(h.Class("failed"), g.Text(hour.Failures)),
				g.If(hour.Longest != "", g.Group{g.Text(" · "), h.B(h.Class("waited"), g.Text(hour.Longest))})),
			h.Span(g.Text("now"))),
	)
}

// figures are its numbers.
func (c *card) figures() g.Node {
	var all g.Group
	add := func(name, class, title, text string) {
		all = append(all, h.Div(g.If(class != "", h.Class(class)), h.Dt(g.Text(name)),
			h.Dd(g.If(title != "", h.Title(title)), g.Text(text))))
	}
	at := func(name string, at *time.Time, words func(at time.Time) string) {
		if at != nil {
			all = append(all, fact(name, moment(*at, words(*at))))
		}
	}
	if c.LagSeconds != nil {
		add("Lag", "", "", span(*c.LagSeconds))
	}
	at("Noted", c.NotedAt, func(at time.Time) string { return ago(at, c.now) })
	at("Next run", c.NextRun, c.until)
	if l := c.Lease; l != nil && l.Held {
		heard := span(l.HeartbeatSeconds)
		add("Lease", "", "held by "+l.Holder+", last heard of "+heard+" ago", "held, "+heard)
	}
	if c.Pending != nil {
		add("Pending", "", "", count(*c.Pending))
	}
	if s := c.Scale; s != nil {
		add("To deliver", "", fmt.Sprintf("they ask for %d worker(s)", s.TargetWorkers), count(s.Unprocessed))
	}
	if c.Survives != nil {
		long := span(*c.Survives)
		add("Outage", "", "an outage of up to "+long+" loses no change", "up to "+long)
	}
	if !c.Unread {
		class := func(n int64, there string) string {
			if n == 0 {
				return "none"
			}
			return there
		}
		dead := "Dead letters"
		if c.DeadLetterQueue != "" {
			dead += " here"
		}
		add(c.refused(), class(c.Parked, "some"), "", count(c.Parked))
		add("Waiting", class(c.Waiting, "some"), "", count(c.Waiting))
		add(dead, class(c.DeadLetters, "bad"), "", count(c.DeadLetters))
	}
	if c.Skipped != 0 {
		add("Skipped rows", "some", "", count(c.Skipped))
	}
	return h.Dl(h.Class("figures"), all)
}

// counting says what the figures leave out.
func (c *card) counting() g.Node {
	return g.Group{
		g.If(c.DeadLetterQueue != "", h.P(h.Class("small"), g.Text("Dead letters go to the queue "),
			literal(c.DeadLetterQueue), g.Text(": others are there, and are not counted."))),
		g.If(c.CountedTo != 0, h.P(h.Class("small"),
			g.Textf("Counted to %s only: there are at least so many.", count(c.CountedTo)))),
	}
}

// more is what an operator seldom needs.
func (c *card) more() g.Node {
	var all g.Group
	wide := func(name string, value ...g.Node) {
		all = append(all, h.Div(h.Class("wide"), h.Dt(g.Text(name)), h.Dd(value...)))
	}
	if c.Position != "" {
		wide("Position", literal(c.Position))
	}
	if l := c.Late; l != nil {
		wide("Late commits", g.Text(l.Mode),
			g.If(l.Frontier != "", g.Group{g.Text("; delivered as far as "), literal(l.Frontier)}),
			g.If(l.Remembered != 0, g.Textf("; %d rows remembered", l.Remembered)))
	}
	for _, a := range c.Apart {
		wide("Read apart", g.Text("order key "), literal(string(a.OrderKey)),
			g.Text(", which has a backlog; delivered as far as "), literal(a.At))
	}
	if at := c.CommittedAt; at != nil {
		all = append(all, fact("Committed", moment(*at, ago(*at, c.now))))
	}
	if c.Lease != nil {
		all = append(all, fact("Lease", held(c.Lease)))
	}
	for i := range c.Owners {
		all = append(all, fact("Owner", held(&c.Owners[i])))
	}
	all = append(all, fact("Fencing token", g.Textf("%d", c.Token)))
	return h.Details(h.ID(c.id+"-more"), h.Summary(g.Text("Position and lease")), h.Dl(h.Class("more"), all))
}

// held says who has a lease, or had it last.
func held(l *status.Lease) g.Node {
	holder := h.B(g.Text(l.Holder))
	switch {
	case l.Held:
		return g.Group{g.Text("held by "), holder, g.Textf(", last heard of %s ago", span(l.HeartbeatSeconds)),
			g.If(l.Units != 0, g.Textf(", %d units", l.Units))}
	case l.Holder != "":
		return g.Group{g.Text("free, last held by "), holder}
	}
	return g.Text("free")
}

func (c *card) buttons() g.Node {
	if !c.CanAct {
		return nil
	}
	do, word := doPause, "Pause"
	if c.Pause != nil {
		do, word = doResume, "Resume"
	}
	return h.Footer(h.A(h.Class("button small"), h.Href(c.to("do", do, "poller", c.Poller, "output", c.Output.Output)),
		g.Text(word), unseen(" "+fullName(c.Output))))
}
