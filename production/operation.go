package production

import (
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/inspect"
)

func operationItems() []item {
	return []item{
		{
			id: "metrics", group: groupOperation, asks: "somebody collects the metrics", app: judgeMetrics,
			why:  "Lag, failures and dead letters are seen there first.",
			mend: "set OTEL_EXPORTER_OTLP_ENDPOINT, or scrape /metrics (docs/observability.md)",
		},
		{
			id: "alerts", group: groupOperation, asks: "the alerts are deployed and reach a person", app: judgeUnseen,
			untold: true,
			why:    "Failures, lag and the last success have to reach a person, without anybody looking.",
			mend:   "load deploy/alerts.yaml, and let one of its alerts fire on purpose",
		},
		{
			id: "status-page", group: groupOperation, asks: "the status page asks who is there", app: judgeStatus,
			why:  "It shows positions and errors, and its buttons pause and replay.",
			mend: "set status__token to at least 16 random characters; under the Functions host leave authLevel at function or admin",
		},
		{
			id: "recovery", group: groupOperation, asks: "a restore of the database and a lost state have been rehearsed",
			app: judgeUnseen, untold: true,
			why:  "After a restore the poller stops at a gap, and a person has to say where to go on.",
			mend: "restore a copy, and go through docs/operations.md: rowrelay state accept-gap, rowrelay state reset, rowrelay backfill",
		},
		{
			id: "runbook", group: groupOperation, asks: "whoever is on call can handle a poison row", app: judgeUnseen,
			untold: true,
			why:    "A row that is refused again and again is parked and becomes a dead letter by itself; somebody has to look at it.",
			mend:   "go through docs/operations.md and docs/failures.md: rowrelay deadletter list, show, replay, purge",
		},
	}
}

func judgeMetrics(f *inspect.App) Answer {
	if off := exportOff(f); off != "" {
		if f.Hosted() { // nobody outside can scrape
			return bad("remove it, and set OTEL_EXPORTER_OTLP_ENDPOINT", "%s switches the export of metrics off", off)
		}
		return unknown("", "%s switches their export off; whether somebody scrapes http://%s/metrics, which is always there, is not seen here", off, f.Config.Status.Listen)
	}
	for _, text := range f.Telemetry.Faults {
		if strings.Contains(text, "metrics are not exported") {
			return bad("correct the variable (docs/observability.md)", "%s", text)
		}
	}
	if to := f.Telemetry.Metrics; to != nil {
		switch {
		case to.Leaves():
			return bad(to.Mend, "they go to %s in the clear: %s", to.Host, to.How)
		case f.Hosted() && to.Safety == engine.LinkLocal:
			return unknown("name a receiver in OTEL_EXPORTER_OTLP_ENDPOINT",
				"they go to %s, this machine itself: whether somebody listens is not seen", to.Host)
		case to.Setting == "":
			return good("they go to %s, as no endpoint is named", to.Host)
		}
		return good("%s is set, to %s", to.Setting, to.Host)
	}
	if f.Hosted() {
		return unknown("set OTEL_EXPORTER_OTLP_ENDPOINT, or alert on the log lines in Application Insights (docs/observability.md)",
			"no OTEL_EXPORTER_OTLP_ENDPOINT, and under the Functions host /metrics is not to be had from outside")
	}
	return unknown("", "no OTEL_EXPORTER_OTLP_ENDPOINT; whether somebody scrapes http://%s/metrics is not seen here",
		f.Config.Status.Listen)
}

// exportOff is the variable by which the metrics are meant not to be exported; "" where none says so. Without a host it
// may well be meant: /metrics does not depend on it.
func exportOff(f *inspect.App) string {
	exporter := strings.ToLower(strings.TrimSpace(f.Env("OTEL_METRICS_EXPORTER")))
	switch {
	case strings.EqualFold(f.Env("OTEL_SDK_DISABLED"), "true"):
		return "OTEL_SDK_DISABLED=true"
	case exporter == "none" || exporter == "prometheus":
		return "OTEL_METRICS_EXPORTER=" + exporter
	}
	return ""
}

// judgeUnseen is the judge of what people do, and only they know.
func judgeUnseen(*inspect.App) Answer { return unknown("", "not seen here") }

// leastToken is the fewest characters of a token that nobody guesses.
const leastToken = 16

func judgeStatus(f *inspect.App) Answer {
	if !f.Hosted() {
		token, listen := f.Config.Status.Token.Reveal(), f.Config.Status.Listen
		switch {
		case token == "":
			return good("it listens on %s for this machine only, and without status__token nobody acts", listen)
		case len(token) < leastToken:
			return bad("", "status__token has %d characters", len(token))
		}
		return good("status__token is set; it listens on %s", listen)
	}
	var open []string
	for _, h := range f.Host.HTTP {
		switch {
		case strings.EqualFold(h.AuthLevel, "anonymous"):
			open = append(open, "authLevel is anonymous in "+h.Function+"/function.json")
		case h.Acts && !strings.EqualFold(h.AuthLevel, "admin"):
			open = append(open, "authLevel is not admin in "+h.Function+"/function.json: whoever may look may act")
		}
	}
	switch {
	case len(open) > 0:
		return bad("", "%s", list(open))
	case len(f.Host.Unread) > 0:
		return unknown("correct the file", "cannot be read: %s", list(f.Host.Unread))
	}
	return good("no function of HTTP is anonymous")
}
