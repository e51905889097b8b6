package main

import (
	"strings"
	"time"
)

// longestGap is the lag from which on deploy/alerts.yaml rings (RowrelayLag): ticks that are further apart ring it without a fault.
const longestGap = 5 * time.Minute

func judgeBudget(f *facts, p *pollerFacts) answer {
	if !f.hosted {
		return none("no host.json: nobody kills a tick of `rowrelay run`")
	}
	if faults := p.w.cfg.CheckBudget(f.host.timeout()); len(faults) > 0 {
		return bad(strings.ToLower(faults[0].Mend[:1])+faults[0].Mend[1:], "%s", faults[0].Problem)
	}
	timeout := plain(f.host.timeout())
	if f.host.timeout() == 0 {
		timeout = "unbounded"
	}
	return good("tick_budget %s, longest request %s, functionTimeout %s", plain(p.w.cfg.TickBudget), plain(longestRequest(p)), timeout)
}

func longestRequest(p *pollerFacts) (longest time.Duration) {
	for i := range p.w.cfg.Outputs {
		longest = max(longest, p.w.cfg.Outputs[i].Timeout)
	}
	return longest
}

func judgeTimeouts(_ *facts, p *pollerFacts) answer {
	cfg, request := p.w.cfg, longestRequest(p)
	seen := "source__timeout " + plain(cfg.Source.Timeout) + ", output__timeout " + plain(request) + ", tick_budget " + plain(cfg.TickBudget)
	if cfg.TickBudget > 0 && (cfg.Source.Timeout >= cfg.TickBudget || request >= cfg.TickBudget) {
		return bad("", "%s", seen)
	}
	return good("%s", seen)
}

// What a lease should bear, and how long a crash may hold a poller up.
const (
	leastOutage     = 10 * time.Second
	longestTakeover = 5 * time.Minute
)

func judgeLease(f *facts, p *pollerFacts) answer {
	cfg := p.w.cfg
	name, ttl, margin := "lease_ttl", cfg.LeaseTTL, time.Duration(0)
	if isOutbox(cfg) {
		name, ttl = "source__claim_ttl", cfg.Source.ClaimTTL
	} else if f.app.store != nil {
		margin = f.app.store.Margin(ttl)
	}
	outage := (ttl - ttl/3 - margin).Round(100 * time.Millisecond)
	switch {
	case outage < leastOutage:
		return bad("", "%s=%s is lost when the store does not answer for %s", name, plain(ttl), outage)
	case ttl > longestTakeover:
		return bad("", "%s=%s: after a crash nothing moves for that long", name, plain(ttl))
	case !isOutbox(cfg) && ttl <= longestRequest(p):
		return bad("raise lease_ttl above output__timeout", "%s=%s does not outlast one request of %s", name, plain(ttl), plain(longestRequest(p)))
	}
	return good("%s=%s bears %s without the store", name, plain(ttl), outage)
}

func judgeSchedule(f *facts, p *pollerFacts) answer {
	cfg, v := p.w.cfg, p.view
	switch {
	case p.broken != "" && v.gap == 0:
		return unknown("mend the settings first", "%s", p.broken)
	case !v.fires:
		return bad("write an NCRONTAB expression such as */10 * * * * *", "%s never fires", v.Schedule)
	case f.hosted && cfg.PollInterval > 0 && v.gap > cfg.TickBudget && cfg.Source.FanoutQueue == "":
		return bad("", "each %s a tick polls for %s, and nobody looks for the rest (%s)", v.gap, plain(cfg.TickBudget), v.Schedule)
	}
	return good("%s", v.Schedule)
}

func judgeLag(_ *facts, p *pollerFacts) answer {
	switch {
	case p.broken != "" && p.view.gap == 0:
		return unknown("mend the settings first", "%s", p.broken)
	case !p.view.fires:
		return bad("write an NCRONTAB expression such as */10 * * * * *", "no tick ever begins")
	case p.view.gap >= longestGap:
		return bad("", "up to %s between two ticks", p.view.gap)
	}
	return good("up to %s between two ticks", p.view.gap)
}
