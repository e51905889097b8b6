// Package otlp reads what the standard's OTEL_ variables ask for. It exports nothing: who only asks where telemetry
// goes does not link what sends it.
package otlp

import (
	"fmt"
	"net/url"
	"strings"
)

// Signal is one kind of telemetry, and whether and how it is exported.
type Signal struct {
	name     string // in variables: TRACES, METRICS
	On, GRPC bool
}

// Plan is what the OTEL_ variables ask for.
type Plan struct {
	Traces, Metrics Signal
	Warnings        []string // for the operator; never a value but those of closed lists
	Secrets         []string // what no error text may hold
}

// Read reads which signals are exported. The exporters themselves read the rest: endpoint, headers, certificate,
// timeout, compression. Off is what nobody asked for: an endpoint, or an exporter by name.
func Read(env func(string) string) Plan {
	p := Plan{Traces: Signal{name: "TRACES"}, Metrics: Signal{name: "METRICS"}}
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return p
	}
	p.read(&p.Traces, env)
	p.read(&p.Metrics, env)
	return p
}

func (p *Plan) read(s *Signal, env func(string) string) {
	variable := "OTEL_" + s.name + "_EXPORTER"
	switch exporter := strings.TrimSpace(env(variable)); exporter {
	case "":
		s.On = env("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || env("OTEL_EXPORTER_OTLP_"+s.name+"_ENDPOINT") != ""
	case "otlp":
		s.On = true
	case "none":
	default:
		p.warn("%s is neither otlp nor none: %s are not exported (metrics are always on /metrics, for Prometheus)", variable,
			strings.ToLower(s.name))
	}
	if !s.On {
		return
	}
	p.protocol(s, env)
	p.endpoint(s, env)
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_" + s.name + "_HEADERS"} {
		for header := range strings.SplitSeq(env(name), ",") {
			_, value, _ := strings.Cut(header, "=")
			plain, _ := url.PathUnescape(value)
			_, credentials, _ := strings.Cut(plain, " ") // Bearer …, Basic …
			p.hide(value, plain, credentials)
		}
	}
}

func (p *Plan) protocol(s *Signal, env func(string) string) {
	variable := specific(s, "PROTOCOL", env)
	switch env(variable) {
	case "", "http/protobuf":
	case "grpc":
		s.GRPC = true
	default:
		s.On = false
		p.warn("%s is neither http/protobuf nor grpc: %s are not exported", variable, strings.ToLower(s.name))
	}
}

// endpoint refuses what is no URL: the exporter would fall back to localhost without a word.
func (p *Plan) endpoint(s *Signal, env func(string) string) {
	variable := specific(s, "ENDPOINT", env)
	value := env(variable)
	if value == "" || !s.On {
		return // localhost, by the standard
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		s.On = false
		p.warn("%s is no http or https URL: %s are not exported; write https://host:4318", variable, strings.ToLower(s.name))
		return
	}
	if u.User != nil {
		password, _ := u.User.Password()
		p.hide(u.User.String(), u.User.Username(), password)
	}
	p.hide(u.RawQuery)
	for _, values := range u.Query() {
		p.hide(values...)
	}
	// some receivers take a token in the path
	if path := strings.Trim(u.Path, "/"); path != "v1/traces" && path != "v1/metrics" {
		p.hide(path)
	}
}

// specific is the variable that holds for a signal: its own where it is set, else the one for all.
func specific(s *Signal, what string, env func(string) string) string {
	if own := "OTEL_EXPORTER_OTLP_" + s.name + "_" + what; env(own) != "" {
		return own
	}
	return "OTEL_EXPORTER_OTLP_" + what
}

func (p *Plan) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

// shortest is the length below which a value is no secret: replacing it would only garble the text.
const shortest = 6

func (p *Plan) hide(values ...string) {
	for _, v := range values {
		if len(v) >= shortest {
			p.Secrets = append(p.Secrets, v)
		}
	}
}

// Export is where one kind of telemetry goes: what the program would do with it.
type Export struct {
	Signal   string // traces or metrics
	Variable string // names the receiver; "" where none does, and it is this machine
	Host     string
	Plain    bool   // without TLS
	Why      string // it is: what asks for it
}

// Exports are where the OTEL_ variables send telemetry, and what is wrong with them, as the start says it.
func Exports(env func(string) string) (exports []Export, warnings []string) {
	p := Read(env)
	for _, s := range []*Signal{&p.Traces, &p.Metrics} {
		if s.On {
			exports = append(exports, exportOf(s, env))
		}
	}
	return exports, p.Warnings
}

// exportOf reads the receiver as the exporters do: …_INSECURE wins over the URL's scheme, in both directions.
func exportOf(s *Signal, env func(string) string) Export {
	e := Export{Signal: strings.ToLower(s.name), Host: "localhost"}
	variable := specific(s, "ENDPOINT", env)
	if u, err := url.Parse(env(variable)); err == nil && u.Host != "" {
		e.Variable, e.Host = variable, u.Hostname()
		if u.Scheme == "http" {
			e.Plain, e.Why = true, "plain http"
		}
	}
	variable = specific(s, "INSECURE", env)
	switch value := strings.TrimSpace(env(variable)); {
	case value == "":
	case strings.EqualFold(value, "true"):
		e.Plain, e.Why = true, variable+"=true"
	default:
		e.Plain, e.Why = false, ""
	}
	return e
}
