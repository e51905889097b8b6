package telemetry

import (
	"slices"
	"testing"
)

// TestExports: where each kind of telemetry goes, and whether in the clear, by the variables that the exporters read.
func TestExports(t *testing.T) {
	const to, insecure = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_INSECURE"
	type variables map[string]string
	both := func(e Export) []Export {
		traces, metrics := e, e
		traces.Signal, metrics.Signal = "traces", "metrics"
		return []Export{traces, metrics}
	}
	for name, c := range map[string]struct {
		env   variables
		want  []Export
		warns int
	}{
		"nothing": {variables{}, nil, 0},
		"https":   {variables{to: "https://a.example.com"}, both(Export{Variable: to, Host: "a.example.com"}), 0},
		"http": {variables{to: "http://a.example.com:4318"},
			both(Export{Variable: to, Host: "a.example.com", Plain: true, Why: "plain http"}), 0},
		"https, insecure": {variables{to: "https://a.example.com", insecure: "True"},
			both(Export{Variable: to, Host: "a.example.com", Plain: true, Why: insecure + "=true"}), 0},
		"http, not so": {variables{to: "http://a.example.com", insecure: "false"},
			both(Export{Variable: to, Host: "a.example.com"}), 0},
		"by name": {variables{"OTEL_METRICS_EXPORTER": "otlp"}, []Export{{Signal: "metrics", Host: "localhost"}},
			0},
		"switched off": {variables{to: "https://a.example.com", "OTEL_SDK_DISABLED": "true"}, nil, 0},
		"protocol":     {variables{to: "https://a.example.com", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, nil, 2},
		"another exporter": {variables{to: "https://a.example.com", "OTEL_METRICS_EXPORTER": "prometheus"},
			[]Export{{Signal: "traces", Variable: to, Host: "a.example.com"}}, 1},
		"no scheme": {variables{to: "a.example.com:4318"}, nil, 2},
		"one of its own": {variables{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://b.example.com"},
			[]Export{{Signal: "traces", Variable: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", Host: "b.example.com", Plain: true,
				Why: "plain http"}}, 0},
		"insecure, its own": {variables{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "https://b.example.com", insecure: "false",
			"OTEL_EXPORTER_OTLP_METRICS_INSECURE": "true"}, []Export{{Signal: "metrics",
			Variable: "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", Host: "b.example.com", Plain: true,
			Why: "OTEL_EXPORTER_OTLP_METRICS_INSECURE=true"}}, 0},
	} {
		got, warnings := Exports(func(name string) string { return c.env[name] })
		if !slices.Equal(got, c.want) || len(warnings) != c.warns {
			t.Errorf("%s: %+v, %q; want %+v", name, got, warnings, c.want)
		}
	}
}
