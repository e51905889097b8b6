package otlp

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

func TestWhatTheVariablesAskFor(t *testing.T) {
	for _, test := range []struct {
		name            string
		env             []string
		traces, metrics bool
		grpc            bool
		warnings        int
	}{
		{name: "nothing"},
		{name: "a name alone", env: []string{"OTEL_SERVICE_NAME", "x", "OTEL_EXPORTER_OTLP_HEADERS", "a=b"}},
		{name: "an endpoint", env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318"}, traces: true,
			metrics: true},
		{name: "for traces", env: []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:4318/v1/traces"},
			traces: true},
		{name: "for metrics", env: []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://127.0.0.1:4318/v1/metrics"},
			metrics: true},
		{name: "an exporter", env: []string{"OTEL_TRACES_EXPORTER", "otlp"}, traces: true},
		{name: "metrics off", env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:1", "OTEL_METRICS_EXPORTER", "none"},
			traces: true},
		{name: "off", env: []string{"OTEL_SDK_DISABLED", "True", "OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:1"}},
		{name: "grpc", env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:1", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"},
			traces: true, metrics: true, grpc: true},
		{name: "another protocol", env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:1",
			"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"}, metrics: true, warnings: 1},
		{name: "another exporter", env: []string{"OTEL_TRACES_EXPORTER", "console", "OTEL_METRICS_EXPORTER", "prometheus"},
			warnings: 2},
		{name: "no URL", env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"}, warnings: 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			env := map[string]string{}
			for pair := range slices.Chunk(test.env, 2) {
				env[pair[0]] = pair[1]
			}
			p := Read(func(name string) string { return env[name] })
			if p.Traces.On != test.traces || p.Metrics.On != test.metrics || len(p.Warnings) != test.warnings {
				t.Errorf("traces %v, metrics %v, warnings %q", p.Traces.On, p.Metrics.On, p.Warnings)
			}
			if p.Traces.On && p.Traces.GRPC != test.grpc {
				t.Errorf("grpc is %v", p.Traces.GRPC)
			}
		})
	}
}
