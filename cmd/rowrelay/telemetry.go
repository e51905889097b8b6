package main

import (
	"context"
	"log/slog"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/telemetry"
)

// newRegistry is what /metrics shows and OTLP exports: the handler's metrics, when it has registered them, beside those of the
// process and of Go's runtime.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	about := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "rowrelay_build_info", Help: "Which rowrelay this is; always 1.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	about.Set(1)
	registry.MustRegister(about, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// startTelemetry exports traces and metrics where the OTEL_ variables say so; nil where they do not.
func startTelemetry(ctx context.Context, c *console, cfg *config.App, registry prometheus.Gatherer, log *slog.Logger) *telemetry.Telemetry {
	service := "rowrelay"
	if name := cfg.State.AppName; name != "" {
		service = name
	}
	lendEnvironment(c)
	return telemetry.Start(ctx, telemetry.Config{
		Env: c.env, Service: service, Instance: instance(c), Version: version, Registry: registry, Log: log,
	})
}

// lendEnvironment makes the OTEL_ variables of local.settings.json those of the process, as the Functions host does: the
// exporters read them there.
func lendEnvironment(c *console) {
	for _, pair := range c.environ {
		name, value, _ := strings.Cut(pair, "=")
		if _, set := os.LookupEnv(name); set || !strings.HasPrefix(name, "OTEL_") {
			continue
		}
		_ = os.Setenv(name, value) // a name with a NUL byte; it is nobody's
	}
}

// aboutOutput is what spans say of an output: nothing that could be a secret.
func aboutOutput(p *config.Poller, out *config.Output) telemetry.About {
	about := telemetry.About{Poller: p.Name, Output: out.Name, Kind: out.Kind, Destination: out.Destination}
	switch out.Kind {
	case "queue":
		about.Destination = out.Queue
	case "http":
		if u, err := url.Parse(out.URL.Reveal()); err == nil { // the path and query may hold a function's key
			about.Server = u.Hostname()
			about.Port, _ = strconv.Atoi(u.Port())
		}
	}
	return about
}
