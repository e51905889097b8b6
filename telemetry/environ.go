package telemetry

import (
	"fmt"
	"net/url"
	"strings"
)

// signal is one kind of telemetry: its name in variables, and whether and how it is exported.
type signal struct {
	name     string // TRACES, METRICS
	on, grpc bool
}

// plan is what the OTEL_ variables ask for.
type plan struct {
	traces, metrics signal
	warnings        []string // for the operator; never a value but those of closed lists
	secrets         []string // what no error text may hold
}

// readPlan reads which signals are exported. The exporters themselves read the rest: endpoint, headers, certificate,
// timeout, compression. Off is what nobody asked for: an endpoint, or an exporter by name.
func readPlan(env func(string) string) plan {
	p := plan{traces: signal{name: "TRACES"}, metrics: signal{name: "METRICS"}}
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return p
	}
	p.read(&p.traces, env)
	p.read(&p.metrics, env)
	return p
}

func (p *plan) read(s *signal, env func(string) string) {
	variable := "OTEL_" + s.name + "_EXPORTER"
	switch exporter := strings.TrimSpace(env(variable)); exporter {
	case "":
		s.on = env("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || env("OTEL_EXPORTER_OTLP_"+s.name+"_ENDPOINT") != ""
	case "otlp":
		s.on = true
	case "none":
	default:
		p.warn("%s is neither otlp nor none: %s are not exported (metrics are always on /metrics, for Prometheus)", variable,
			strings.ToLower(s.name))
	}
	if !s.on {
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

func (p *plan) protocol(s *signal, env func(string) string) {
	variable := specific(s, "PROTOCOL", env)
	switch env(variable) {
	case "", "http/protobuf":
	case "grpc":
		s.grpc = true
	default:
		s.on = false
		p.warn("%s is neither http/protobuf nor grpc: %s are not exported", variable, strings.ToLower(s.name))
	}
}

// endpoint refuses what is no URL: the exporter would fall back to localhost without a word.
func (p *plan) endpoint(s *signal, env func(string) string) {
	variable := specific(s, "ENDPOINT", env)
	value := env(variable)
	if value == "" || !s.on {
		return // localhost, by the standard
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		s.on = false
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
func specific(s *signal, what string, env func(string) string) string {
	if own := "OTEL_EXPORTER_OTLP_" + s.name + "_" + what; env(own) != "" {
		return own
	}
	return "OTEL_EXPORTER_OTLP_" + what
}

func (p *plan) warn(format string, args ...any) {
	p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
}

// shortest is the length below which a value is no secret: replacing it would only garble the text.
const shortest = 6

func (p *plan) hide(values ...string) {
	for _, v := range values {
		if len(v) >= shortest {
			p.secrets = append(p.secrets, v)
		}
	}
}

// Export is where one kind of telemetry goes: what [Start] would do with it.
type Export struct {
	Signal   string // traces or metrics
	Variable string // names the receiver; "" where none does, and it is this machine
	Host     string
	Plain    bool   // without TLS
	Why      string // it is: what asks for it
}

// Exports are where the OTEL_ variables send telemetry, and what is wrong with them, as [Start] says it.
func Exports(env func(string) string) (exports []Export, warnings []string) {
	p := readPlan(env)
	for _, s := range []*signal{&p.traces, &p.metrics} {
		if s.on {
			exports = append(exports, exportOf(s, env))
		}
	}
	return exports, p.warnings
}

// exportOf reads the receiver as the exporters do: …_INSECURE wins over the URL's scheme, in both directions.
func exportOf(s *signal, env func(string) string) Export {
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
