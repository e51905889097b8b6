package production

import (
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/inspect"
)

func TestOperationItems(t *testing.T) { try(t, operationCases()) }

func operationCases() []verdictCase {
	metrics := func(l inspect.Link) func(*inspect.App, *inspect.Poller) {
		return func(f *inspect.App, _ *inspect.Poller) { f.Telemetry.Metrics = &l }
	}
	const variable = "OTEL_EXPORTER_OTLP_ENDPOINT"
	verified := inspect.Link{Setting: variable, Host: "otel.example.com", Safety: engine.LinkVerified}
	local := inspect.Link{Setting: variable, Host: "localhost", Safety: engine.LinkLocal}
	byDefault := inspect.Link{Host: "localhost", Safety: engine.LinkLocal}
	plain := inspect.Link{Setting: variable, Host: "otel.example.com", Safety: engine.LinkPlain, How: "plain http",
		Mend: "write an https endpoint"}
	faulty := func(text string) func(*inspect.App, *inspect.Poller) {
		return func(f *inspect.App, _ *inspect.Poller) { f.Telemetry.Faults = []string{text} }
	}
	const neither = "OTEL_METRICS_EXPORTER is neither otlp nor none: metrics are not exported"
	trigger := func(name, level string, acts bool) func(*inspect.App, *inspect.Poller) {
		return both(hosted, func(f *inspect.App, _ *inspect.Poller) {
			f.Host.HTTP = []inspect.HTTPTrigger{{Function: name, AuthLevel: level, Acts: acts}}
		})
	}
	unread := both(hosted, func(f *inspect.App, _ *inspect.Poller) { f.Host.Unread = []string{"x/function.json"} })
	return []verdictCase{
		{"metrics", nil, nil, CannotTell, "/metrics is not seen here"},
		{"metrics", nil, hosted, CannotTell, "not to be had from outside"},
		{"metrics", nil, metrics(verified), OK, "OTEL_EXPORTER_OTLP_ENDPOINT is set, to otel.example.com"},
		{"metrics", nil, metrics(local), OK, "localhost"},
		{"metrics", nil, metrics(byDefault), OK, "no endpoint is named"},
		{"metrics", nil, both(hosted, metrics(local)), CannotTell, "this machine itself"},
		{"metrics", nil, metrics(plain), ToMend, "plain http"},
		{"metrics", []string{"OTEL_SDK_DISABLED=true"}, both(hosted, metrics(verified)), ToMend,
			"OTEL_SDK_DISABLED=true switches the export of metrics off"},
		{"metrics", []string{"OTEL_METRICS_EXPORTER=none"}, hosted, ToMend, "OTEL_METRICS_EXPORTER=none switches"},
		{"metrics", []string{"OTEL_METRICS_EXPORTER=prometheus"}, both(hosted, faulty(neither)), ToMend,
			"OTEL_METRICS_EXPORTER=prometheus"},
		// Alone, /metrics is there whatever is exported.
		{"metrics", []string{"OTEL_SDK_DISABLED=true"}, nil, CannotTell, "whether somebody scrapes"},
		{"metrics", []string{"OTEL_METRICS_EXPORTER=none"}, nil, CannotTell, "whether somebody scrapes"},
		{"metrics", []string{"OTEL_METRICS_EXPORTER=Prometheus"}, faulty(neither), CannotTell, "whether somebody scrapes"},
		{"metrics", []string{"OTEL_METRICS_EXPORTER=otpl"}, faulty(neither), ToMend, "not exported"},
		{"metrics", nil, both(faulty("OTEL_TRACES_EXPORTER is neither: traces are not exported"), metrics(verified)), OK, ""},
		{"alerts", nil, nil, CannotTell, ""},
		{"recovery", nil, nil, CannotTell, ""},
		{"runbook", nil, nil, CannotTell, ""},
		{"status-page", nil, nil, OK, "for this machine only"},
		{"status-page", []string{"status__token=a token of more than sixteen"}, nil, OK, "status__token is set"},
		{"status-page", []string{"status__token=short"}, nil, ToMend, "5 characters"},
		{"status-page", nil, hosted, OK, "no function of HTTP is anonymous"},
		{"status-page", nil, trigger("status", "function", false), OK, ""},
		{"status-page", nil, trigger("statusactions", "Admin", true), OK, ""},
		{"status-page", nil, trigger("statusactions", "function", true), ToMend,
			"authLevel is not admin in statusactions/function.json"},
		{"status-page", nil, trigger("open", "anonymous", false), ToMend, "anonymous in open/function.json"},
		{"status-page", nil, unread, CannotTell, "x/function.json"},
	}
}
