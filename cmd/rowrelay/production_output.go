package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

func judgeIdempotent(_ *facts, p *pollerFacts) answer {
	var to []string
	for i := range p.w.cfg.Outputs {
		to = append(to, destination(&p.w.cfg.Outputs[i]))
	}
	return unknown("", "only the receiver knows: %s", list(to))
}

func judgeSignature(_ *facts, p *pollerFacts) answer {
	var seen []string
	for i := range p.w.cfg.Outputs {
		out := &p.w.cfg.Outputs[i]
		if out.Kind != "http" {
			continue
		}
		if name := keyInURL(out); name != "" {
			return bad("send it in a header: output__headers__x_functions_key for a function", "the URL carries a secret, in %s", name)
		}
		switch names := slices.Sorted(maps.Keys(out.Headers)); {
		case out.Secret != "":
			seen = append(seen, "requests are signed (output__secret)")
		case len(names) > 0:
			seen = append(seen, "the header "+list(names)+" says who sends; a signature would prove the body too")
		default:
			return bad("", "no output__secret, and no header with a key")
		}
	}
	if len(seen) == 0 {
		return none("no output of kind http")
	}
	return good("%s", strings.Join(seen, "; "))
}

func judgeQueues(f *facts, p *pollerFacts) answer {
	if p.queues == nil {
		return unknown("mend the settings first", "%s", p.because())
	}
	if len(p.queues) == 0 {
		return none("no queue of a storage account; dead letters go to %s", deadLettersOf(f, p))
	}
	var unseen []string
	for _, name := range slices.Sorted(maps.Keys(p.queues)) {
		switch err := p.queues[name]; {
		case denied(err):
			unseen = append(unseen, fmt.Sprintf("%s (%v)", name, err))
		case err != nil:
			return bad("", "%s: %v", name, err)
		}
	}
	if len(unseen) > 0 {
		return unknown("see in the portal that the queue is there, and that the identity has Storage Queue Data Message Sender",
			"not shown to this login, which may only send, as it should, or not even that: %s", list(unseen))
	}
	return good("%s", list(slices.Sorted(maps.Keys(p.queues))))
}

func deadLettersOf(f *facts, p *pollerFacts) string {
	if isOutbox(p.w.cfg) {
		return "the rows themselves"
	}
	return deadLettersAt(f.app, p.w.cfg, "")
}

// shortestTrial is how long the attempts of a refused event should last.
const shortestTrial = 30 * time.Second

func judgeAttempts(f *facts, p *pollerFacts) answer {
	cfg := p.w.cfg
	var lasts time.Duration
	for n := 1; n < cfg.MaxAttempts && len(cfg.RetryDelays) > 0; n++ {
		lasts += cfg.RetryDelays[min(n, len(cfg.RetryDelays))-1]
	}
	seen := fmt.Sprintf("%d attempt(s) over %s, then %s", cfg.MaxAttempts, plain(lasts), deadLettersOf(f, p))
	if lasts < shortestTrial {
		return bad("", "%s", seen)
	}
	return good("%s", seen)
}

func judgeHeld(_ *facts, p *pollerFacts) answer {
	var held []string
	unread := ""
	add := func(n int64, what string) {
		if n > 0 {
			held = append(held, fmt.Sprintf("%d %s", n, what))
		}
	}
	switch {
	case p.broken != "":
		return unknown("mend the settings first", "%s", p.broken)
	case p.lettErr != nil:
		return unknown("mend what state-reached says", "the dead letters cannot be listed: %v", p.lettErr)
	case p.waitErr != nil || p.waiting == nil && p.deadQueue() != "":
		unread = "how many dead letters wait in the queue " + p.deadQueue() + " is not shown to this login"
	}
	for _, out := range p.view.Outputs {
		if out.Paused != "" {
			held = append(held, "paused "+out.Paused)
		}
		add(int64(out.Parked), "parked event(s)")
	}
	if p.about != nil {
		if p.about.Paused != "" {
			held = append(held, "paused "+p.about.Paused)
		}
		add(p.about.Figures.Dead, "dead letter(s)")
		add(p.about.Figures.Failed, "failed event(s)")
	}
	add(int64(p.letters), "dead letter(s)")
	if p.waiting != nil {
		add(*p.waiting, "dead letter(s) in the queue "+p.deadQueue())
	}
	if len(held) > 0 {
		return bad("", "%s", list(held))
	}
	if unread != "" {
		return unknown("look into the queue: nothing else is held", "%s", unread)
	}
	return good("nothing")
}

// deadQueue names the queue of dead letters; "" where they go elsewhere.
func (p *pollerFacts) deadQueue() string {
	d := &p.w.cfg.DeadLetter
	if d.Kind != "queue" {
		return ""
	}
	return d.Queue + " of " + d.Connection.Setting
}

func judgeOrdering(_ *facts, p *pollerFacts) answer {
	cfg := p.w.cfg
	switch cfg.Ordering {
	case "none":
		return bad("", "ordering=none")
	case "source":
		return good("ordering=source: one lane for everything; concurrency=%d has no effect", cfg.Concurrency)
	}
	key := "the key"
	switch {
	case isOutbox(cfg):
		key = "the aggregate"
	case len(cfg.Source.OrderKey) > 0:
		key = list(cfg.Source.OrderKey)
	}
	return good("by %s, %d lane(s)", key, cfg.Concurrency)
}
