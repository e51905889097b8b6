package production

import (
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/mode"
)

func timeItems() []item {
	return []item{
		{
			id: "budget", group: groupTime, asks: "a tick ends well before the host would kill it", each: judgeBudget,
			why:  "At functionTimeout the host kills the process, and everything that is under way in it.",
			mend: "lower tick_budget, or raise functionTimeout in host.json (an app setting AzureFunctionsJobHost__functionTimeout overrides it)",
		},
		{
			id: "timeouts", group: groupTime, asks: "one statement and one request take less than a tick", each: judgeTimeouts,
			why:  "A single slow statement or request would use the whole budget, and every tick would end with nothing done.",
			mend: "keep source__timeout and output__timeout below tick_budget",
		},
		{
			id: "lease", group: groupTime, asks: "the lease outlasts a request and a short outage of the store",
			each: judgeLease,
			why: "Rowrelay renews its lease every third of lease_ttl while a tick runs, so it need not outlast the tick; " +
				"but it is lost when the store cannot be reached for about half of it, and then a batch is delivered twice. A long one delays " +
				"the takeover after a crash.",
			mend: "set lease_ttl between 30s and 5m, and above output__timeout (default 60s)",
		},
		{
			id: "schedule", group: groupTime, asks: "the timer fires, and ticks that poll leave no gap", each: judgeSchedule,
			why: "With poll_interval a tick polls until its budget ends; a timer that fires less often leaves times in which nobody polls. " +
				"A timer may fire every second: an idle tick takes no lease.",
			mend: "make the timer's period at most tick_budget, or leave poll_interval out",
		},
		{
			id: "lag", group: groupTime, asks: "a change is seen soon enough for the alerts", each: judgeLag,
			why:  "The longest time between two ticks is the least lag that you have. Alerts on lag and on missing successes assume minutes.",
			mend: "shorten the schedule, or raise the alerts' thresholds and accept this item (--accept lag)",
		},
	}
}

// longestGap is the lag from which on deploy/alerts.yaml rings (RowrelayLag): ticks that are further apart ring it
// without a fault.
const longestGap = 5 * time.Minute

func judgeBudget(f *inspect.App, p *inspect.Poller) Answer {
	if !f.Hosted() {
		return none("no host.json: nobody kills a tick of `rowrelay run`")
	}
	if faults := p.Config.CheckBudget(f.Host.Timeout); len(faults) > 0 {
		return bad(strings.ToLower(faults[0].Mend[:1])+faults[0].Mend[1:], "%s", faults[0].Problem)
	}
	timeout := inspect.Plain(f.Host.Timeout)
	if f.Host.Timeout == 0 {
		timeout = "unbounded"
	}
	return good("tick_budget %s, longest request %s, functionTimeout %s", inspect.Plain(p.Config.TickBudget),
		inspect.Plain(p.LongestRequest()), timeout)
}

func judgeTimeouts(_ *inspect.App, p *inspect.Poller) Answer {
	cfg, request := p.Config, p.LongestRequest()
	seen := "source__timeout " + inspect.Plain(cfg.Source.Timeout) + ", output__timeout " + inspect.Plain(request) +
		", tick_budget " + inspect.Plain(cfg.TickBudget)
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

func judgeLease(_ *inspect.App, p *inspect.Poller) Answer {
	cfg := p.Config
	name, ttl, margin := "lease_ttl", cfg.LeaseTTL, p.Margin
	if p.Can(mode.Claims) {
		name, ttl, margin = "source__claim_ttl", cfg.Source.ClaimTTL, 0
	}
	outage := (ttl - ttl/3 - margin).Round(100 * time.Millisecond)
	switch {
	case outage < leastOutage:
		return bad("", "%s=%s is lost when the store does not answer for %s", name, inspect.Plain(ttl), outage)
	case ttl > longestTakeover:
		return bad("", "%s=%s: after a crash nothing moves for that long", name, inspect.Plain(ttl))
	case !p.Can(mode.Claims) && ttl <= p.LongestRequest():
		return bad("raise lease_ttl above output__timeout", "%s=%s does not outlast one request of %s", name,
			inspect.Plain(ttl), inspect.Plain(p.LongestRequest()))
	}
	return good("%s=%s bears %s without the store", name, inspect.Plain(ttl), outage)
}

func judgeSchedule(f *inspect.App, p *inspect.Poller) Answer {
	cfg := p.Config
	switch {
	case p.Broken != "" && p.Timer.Gap == 0:
		return notKnown(p.Broken)
	case !p.Timer.Fires:
		return bad("write an NCRONTAB expression such as */10 * * * * *", "%s never fires", p.Timer.Text)
	case f.Hosted() && cfg.PollInterval > 0 && p.Timer.Gap > cfg.TickBudget && cfg.Source.FanoutQueue == "":
		return bad("", "each %s a tick polls for %s, and nobody polls for the rest (%s)", p.Timer.Gap,
			inspect.Plain(cfg.TickBudget), p.Timer.Text)
	}
	return good("%s", p.Timer.Text)
}

func judgeLag(_ *inspect.App, p *inspect.Poller) Answer {
	switch {
	case p.Broken != "" && p.Timer.Gap == 0:
		return notKnown(p.Broken)
	case !p.Timer.Fires:
		return bad("write an NCRONTAB expression such as */10 * * * * *", "no tick ever begins")
	case p.Timer.Gap >= longestGap:
		return bad("", "up to %s between two ticks", p.Timer.Gap)
	}
	return good("up to %s between two ticks", p.Timer.Gap)
}
