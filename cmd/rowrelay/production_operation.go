package main

import (
	"strings"

	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/telemetry"
)

func judgeMetrics(f *facts) answer {
	if strings.EqualFold(f.env("OTEL_SDK_DISABLED"), "true") || strings.EqualFold(f.env("OTEL_METRICS_EXPORTER"), "none") {
		return bad("remove OTEL_SDK_DISABLED and OTEL_METRICS_EXPORTER=none", "OTEL_ variables switch the metrics off")
	}
	for _, text := range f.exportTold {
		if strings.Contains(text, "metrics are not exported") {
			return bad("mend the variable (docs/observability.md)", "%s", text)
		}
	}
	for _, e := range f.exports {
		if e.Signal != "metrics" {
			continue
		}
		to := telemetryLinks([]telemetry.Export{e})[0]
		switch {
		case to.leaves():
			return bad(to.mend, "they go to %s in the clear: %s", e.Host, e.Why)
		case f.hosted && to.safety == source.LinkLocal:
			return unknown("name a receiver in OTEL_EXPORTER_OTLP_ENDPOINT", "they go to %s, this machine itself: whether somebody listens is not seen", e.Host)
		case e.Variable == "":
			return good("they go to %s, as no endpoint is named", e.Host)
		}
		return good("%s is set, to %s", e.Variable, e.Host)
	}
	if f.hosted {
		return unknown("set OTEL_EXPORTER_OTLP_ENDPOINT, or alert on the log lines in Application Insights (docs/observability.md)",
			"no OTEL_EXPORTER_OTLP_ENDPOINT, and under the Functions host /metrics is not to be had from outside")
	}
	return unknown("", "no OTEL_EXPORTER_OTLP_ENDPOINT; whether somebody scrapes http://%s/metrics is not seen here", f.app.cfg.Status.Listen)
}

func judgeAlerts(*facts) answer {
	return unknown("", "not seen here")
}

func judgeRecovery(*facts) answer { return unknown("", "not seen here") }

func judgeRunbook(*facts) answer { return unknown("", "not seen here") }

// leastToken is the fewest characters of a token that nobody guesses.
const leastToken = 16

func judgeStatus(f *facts) answer {
	if !f.hosted {
		token, listen := f.app.cfg.Status.Token.Reveal(), f.app.cfg.Status.Listen
		switch {
		case token == "":
			return good("it listens on %s for this machine only, and without status__token nobody acts", listen)
		case len(token) < leastToken:
			return bad("", "status__token has %d characters", len(token))
		}
		return good("status__token is set; it listens on %s", listen)
	}
	open, unread := f.openFunctions()
	switch {
	case len(open) > 0:
		return bad("", "%s", list(open))
	case len(unread) > 0:
		return unknown("mend the file", "cannot be read: %s", list(unread))
	}
	return good("no function of HTTP is anonymous")
}
