package statuspage

import (
	"fmt"
	"time"

	g "maragu.dev/gomponents"

	"github.com/rowrelay/rowrelay/status"
)

// card shows one of the page's rows: a line, and its details.
func (p *page) card(i int) g.Node {
	o := &p.Rows[i]
	c := &card{p, o, i, "o-" + o.Poller + "-" + o.Output, p.Report.At}
	title := fmt.Sprintf("o%d", i)
	return el("article", attr("class", "card "+healthClass(o.Health)), attr("aria-labelledby", title),
		el("details", attr("class", "row"), attr("id", c.id), g.If(p.Open[i], attr("open")),
			c.line(title),
			el("div", attr("class", "detail"),
				c.said(), c.drawn(), c.figures(), c.counting(), c.entries(), c.letters(),
				g.If(p.Short[i], el("p", attr("class", "small"),
					plain("So many events are listed above that not all of this one's are: "),
					el("a", attr("href", p.to("poller", o.Poller)), plain(o.Poller+" alone")))),
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
			value = el("i", plain("–"))
		}
		return el("span", attr("class", class), attr("data-label", label), value)
	}
	number := func(n int64) g.Node {
		if c.Unread {
			return plain("?")
		}
		return g.If(n != 0, plain(count(n)))
	}
	var speed, success g.Node
	if c.Rate != nil {
		speed = plain(rate(*c.Rate))
	}
	if at := c.LastSuccess; at != nil {
		success = moment(*at, ago(*at, c.now))
	}
	waits := oldest(c.Output, c.now)
	name := g.Group{attr("id", title), plain(c.Poller)}
	if c.Output.Output != "" {
		name = append(name, plain(" "), el("span", attr("class", "output"), plain(c.Output.Output)))
	}
	fault := wrong(c.Output)
	return el("summary",
		el("span", attr("class", "badge"), dot(), plain(string(c.Health))), plain(" "),
		el("span", attr("class", "who"), el("h2", name), plain(" "),
			el("span", attr("class", "route"), el("span", plain(c.Source)), arrow(), el("span", plain(c.Kind)),
				g.If(c.marks(), g.Group{plain(" "), el("span", attr("class", "mode"), plain(string(c.Mode)))}))), plain(" "),
		cell("Waiting", false, number(waiting(c.Output))), plain(" "),
		cell("Oldest", false, g.If(waits != 0, plain(span(waits)))), plain(" "),
		cell("Dead", c.DeadLetters != 0, number(c.DeadLetters)), plain(" "),
		cell("Rate", false, speed), plain(" "),
		cell("Success", false, success),
		g.If(fault != "", el("span", attr("class", "wrong"), plain(fault))),
	)
}

// said is what there is to say of it in sentences, the worst last.
func (c *card) said() g.Node {
	var all g.Group
	add := func(class string, text ...g.Node) { all = append(all, el("p", attr("class", class), g.Group(text))) }
	if text := says(c.Output); text != "" {
		add("says", plain(text))
	}
	if c.From != "" {
		add("small", plain(c.From), arrow(), plain(c.To))
	}
	if to := c.Runbook(); to != "" {
		add("small", el("a", attr("href", to), attr("rel", "noreferrer"), plain("Runbook")))
	}
	if p := c.Pause; p != nil {
		since, until := g.Group{}, g.Group{}
		if p.At != nil {
			since = g.Group{plain(" "), moment(*p.At, ago(*p.At, c.now))}
		}
		if p.Until != nil {
			until = g.Group{plain("; it ends by itself "), moment(*p.Until, c.until(*p.Until))}
		}
		add("note paused", plain("Paused"), since, plain(" by "), el("b", plain(p.By)), until)
	}
	if at := c.WaitingSince; at != nil && c.Health != status.Lagging {
		add("note lagging", plain("Rows waiting since "), el("time", attr("datetime", machine(*at)), plain(stamp(*at))))
	}
	if held := c.HeldBack; held != nil {
		add("note blocked", plain("Rows held back for "+span(held.Seconds)),
			g.If(held.By != "", g.Group{plain(" by "), el("b", plain(held.By))}))
	}
	if c.Backfill != "" {
		done := g.Group{}
		if p := c.Progress; p != nil && p.Estimated != 0 {
			done = g.Group{plain(" "), el("progress", attr("max", "1"), attr("value", fmt.Sprint(p.Share)))}
		}
		add("note new", el("b", plain("Backfill")), plain(" "+c.Backfill), done)
	}
	if e := c.LastError; e != nil {
		when := g.Group{attr("class", "when"), plain("Last error")}
		if kind := e.Kind(); kind != "" {
			when = append(when, plain(" · "), literal(kind))
		}
		if e.At != nil {
			when = append(when, plain(" · "), moment(*e.At, ago(*e.At, c.now)))
		}
		all = append(all, trouble(e.Text, e.Mend, el("p", when)))
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
		return el("path", attr("class", class), g.If(down > 0, attr("transform", fmt.Sprintf("translate(0 %d)", down))),
			attr("d", path))
	}
	return el("figure", attr("class", "hour"),
		el("svg", attr("role", "img"), attr("aria-label", "The last hour in steps of two minutes: delivered, failed, waited"),
			attr("viewBox", "0 0 240 78"), attr("preserveAspectRatio", "none"),
			strip("delivered", hour.Delivered, 0), strip("failed", hour.Failed, 27), strip("waited", hour.Waiting, 54)),
		el("figcaption", el("span", plain("1 h ago")),
			el("span", el("b", attr("class", "delivered"), plain(hour.Rows)), plain(" · "),
				el("b", attr("class", "failed"), plain(hour.Failures)),
				g.If(hour.Longest != "", g.Group{plain(" · "), el("b", attr("class", "waited"), plain(hour.Longest))})),
			el("span", plain("now"))),
	)
}

// figures are its numbers.
func (c *card) figures() g.Node {
	var all g.Group
	add := func(name, class, title, text string) {
		all = append(all, el("div", g.If(class != "", attr("class", class)), el("dt", plain(name)),
			el("dd", g.If(title != "", attr("title", title)), plain(text))))
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
	return el("dl", attr("class", "figures"), all)
}

// counting says what the figures leave out.
func (c *card) counting() g.Node {
	return g.Group{
		g.If(c.DeadLetterQueue != "", el("p", attr("class", "small"), plain("Dead letters go to the queue "),
			literal(c.DeadLetterQueue), plain(": others are there, and are not counted."))),
		g.If(c.CountedTo != 0, el("p", attr("class", "small"),
			g.Textf("Counted to %s only: there are at least so many.", count(c.CountedTo)))),
	}
}

// more is what an operator seldom needs.
func (c *card) more() g.Node {
	var all g.Group
	wide := func(name string, value ...g.Node) {
		all = append(all, el("div", attr("class", "wide"), el("dt", plain(name)), el("dd", value...)))
	}
	if c.Position != "" {
		wide("Position", literal(c.Position))
	}
	if l := c.Late; l != nil {
		wide("Late commits", plain(l.Mode),
			g.If(l.Frontier != "", g.Group{plain("; delivered as far as "), literal(l.Frontier)}),
			g.If(l.Remembered != 0, g.Textf("; %d rows remembered", l.Remembered)))
	}
	for _, a := range c.Apart {
		wide("Read apart", plain("order key "), literal(string(a.OrderKey)),
			plain(", which has a backlog; delivered as far as "), literal(a.At))
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
	return el("details", attr("id", c.id+"-more"), el("summary", plain("Position and lease")),
		el("dl", attr("class", "more"), all))
}

// held says who has a lease, or had it last.
func held(l *status.Lease) g.Node {
	holder := el("b", plain(l.Holder))
	switch {
	case l.Held:
		return g.Group{plain("held by "), holder, g.Textf(", last heard of %s ago", span(l.HeartbeatSeconds)),
			g.If(l.Units != 0, g.Textf(", %d units", l.Units))}
	case l.Holder != "":
		return g.Group{plain("free, last held by "), holder}
	}
	return plain("free")
}

func (c *card) buttons() g.Node {
	if !c.CanAct {
		return nil
	}
	do, word := doPause, "Pause"
	if c.Pause != nil {
		do, word = doResume, "Resume"
	}
	return el("footer", el("a", attr("class", "button small"),
		attr("href", c.to("do", do, "poller", c.Poller, "output", c.Output.Output)),
		plain(word), unseen(" "+fullName(c.Output))))
}
