package main

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

func judgeMetrics(f *facts) answer {
	if strings.EqualFold(f.env("OTEL_SDK_DISABLED"), "true") || strings.EqualFold(f.env("OTEL_METRICS_EXPORTER"), "none") {
		return bad("remove OTEL_SDK_DISABLED and OTEL_METRICS_EXPORTER=none", "OTEL_ variables switch the metrics off")
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		to := f.env(name)
		if to == "" {
			continue
		}
		l := link{}
		host, secure := endpointOf(to)
		l.rate(host, secure, "", "")
		if l.leaves() {
			return bad("write an https endpoint", "%s is plain http to %s", name, host)
		}
		return good("%s is set, to %s", name, host)
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
	open := f.openFunctions()
	if len(open) > 0 {
		return bad("", "authLevel is anonymous in %s", list(open))
	}
	return good("no function of HTTP is anonymous")
}

// openFunctions are the function.json that let everybody in.
func (f *facts) openFunctions() (open []string) {
	paths, err := filepath.Glob(filepath.Join(appRoot(f.c), "*", "function.json"))
	if err != nil {
		return nil
	}
	for _, path := range paths {
		file, err := readFunctionFile(path)
		if err != nil {
			continue // the settings' item says it of a poller's
		}
		for _, b := range file.Bindings {
			if strings.EqualFold(b.Type, "httpTrigger") && strings.EqualFold(b.AuthLevel, "anonymous") {
				open = append(open, fmt.Sprintf("%s/function.json", filepath.Base(filepath.Dir(path))))
			}
		}
	}
	return open
}

// endpointOf is the host of a URL, and whether it is https.
func endpointOf(text string) (host string, secure bool) {
	u, err := url.Parse(text)
	if err != nil {
		return "", false
	}
	return u.Hostname(), u.Scheme == "https"
}
