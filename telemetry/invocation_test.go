package telemetry_test

import (
	"bytes"
	"encoding/hex"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	traces "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/rowrelay/rowrelay/internal/programtest"
)

// The host invokes with a trace context; the tick, what it did, and what the destination got are parts of that trace.
// What the SDK's own timers would export comes at once, because an instance may be frozen after the answer.
func TestAnInvocationIsOneTrace(t *testing.T) {
	// -00 is what it sends with Application Insights
	for name, flag := range map[string]string{"sampled": "01", "not sampled by the host": "00"} {
		t.Run(name, func(t *testing.T) { anInvocationIsOneTrace(t, flag) })
	}
}

// invoke runs a tick of the poller orders; 0 is no answer.
func invoke(t *testing.T, address, traceparent string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/orders",
		strings.NewReader(`{"Data":{},"Metadata":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("traceparent", traceparent)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

func anInvocationIsOneTrace(t *testing.T, flag string) {
	t.Helper()
	to, from := newCollector(t), newShop(t, http.StatusOK)
	address := programtest.FreeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	p := start(t, merged(pollerOf("orders", map[string]string{"output__url": from.URL}), map[string]string{
		"DB_orders": orders(t, "one", "two", "three"), "state__kind": "file", "state__app_name": "shop-app",
		"FUNCTIONS_CUSTOMHANDLER_PORT": port,
		"OTEL_EXPORTER_OTLP_ENDPOINT":  to.URL, "OTEL_BSP_SCHEDULE_DELAY": "3600000",
		"OTEL_RESOURCE_ATTRIBUTES":    "deployment.environment.name=test",
		"OTEL_METRIC_EXPORT_INTERVAL": "3600000",
	}))
	const trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	parent := "00-" + trace + "-" + span + "-" + flag
	p.Until("the program answers", func() bool { return invoke(t, address, parent) == http.StatusOK })
	var tick *traces.Span
	p.Until("the tick's span is exported", func() bool { tick = to.named("tick orders", nil); return tick != nil })
	if got := hex.EncodeToString(tick.GetTraceId()) + " " + hex.EncodeToString(tick.GetParentSpanId()); got != trace+" "+
		span {
		t.Errorf("the tick is a part of %s, not of the invocation", got)
	}
	var request *traces.Span
	for _, name := range []string{"fetch orders", "request orders", "commit orders"} {
		s := to.named(name, tick.GetTraceId())
		if s == nil {
			t.Errorf("there is no span %q", name)
			continue
		}
		if !bytes.Equal(s.GetParentSpanId(), tick.GetSpanId()) {
			t.Errorf("%s is no child of the tick", name)
		}
		if name == "request orders" {
			request = s
		}
	}
	got := from.headers()
	if len(got) == 0 || request == nil || got[0].Get("traceparent") != traceparent(request) {
		t.Errorf("the destination got %v", got)
	}
	for key, want := range map[string]string{"rowrelay.poller": "orders", "rowrelay.event": "tick_complete",
		"rowrelay.events": "3"} {
		if got := attribute(tick, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	p.Until("metrics are exported", func() bool {
		return to.has("rowrelay_events_total") && to.has("rowrelay_lag_seconds") && to.has("go_goroutines")
	})
	for _, name := range shown(t, address) {
		if !to.has(name) {
			t.Errorf("/metrics shows %s, and it is not exported", name)
		}
	}
	to.mu.Lock()
	about := to.resource
	spans := len(to.spans)
	to.mu.Unlock()
	if about["service.name"] != "shop-app" || about["deployment.environment.name"] != "test" ||
		about["service.instance.id"] == "" {
		t.Errorf("the resource is %v", about)
	}
	// Idle ticks leave nothing: a later one with work is the next that is seen.
	for range 3 {
		if invoke(t, address, parent) != http.StatusOK {
			t.Fatal("an idle tick failed")
		}
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	if len(to.spans) != spans {
		t.Errorf("idle ticks left %d spans", len(to.spans)-spans)
	}
}

// shown are the metrics that Prometheus would see.
func shown(t *testing.T, address string) (names []string) {
	t.Helper()
	text, err := programtest.Scrape(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	if len(names) < 20 {
		t.Fatalf("/metrics shows only %q", names)
	}
	return names
}

// What is exported after an invocation, and at a stop, fails with a word that names the cause: under the host nothing
// else exports, and a collector that is down for gRPC is asked again until the time is over.
func TestWhatCannotBeExportedIsTold(t *testing.T) {
	for _, protocol := range []string{"http/protobuf", "grpc"} {
		for name, other := range map[string]string{"traces": "METRICS", "metrics": "TRACES"} {
			from := newShop(t, http.StatusOK)
			settings := merged(pollerOf("orders", map[string]string{"output__url": from.URL}), map[string]string{
				"DB_orders": orders(t, "one"), "state__kind": "file",
				"OTEL_" + other + "_EXPORTER": "none",
				"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + programtest.FreeAddress(t),
				"OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
				"OTEL_BSP_SCHEDULE_DELAY":     "3600000", "OTEL_METRIC_EXPORT_INTERVAL": "3600000",
			})
			told := func(p *programtest.Process) bool {
				_, line, _ := strings.Cut(p.Log(), `"event":"telemetry_failed"`)
				line, _, _ = strings.Cut(line, "\n")
				return strings.Contains(line, "connection refused")
			}
			t.Run("invocation, "+name+", "+protocol, func(t *testing.T) {
				t.Parallel()
				address := programtest.FreeAddress(t)
				_, port, _ := net.SplitHostPort(address)
				p := start(t, merged(settings, map[string]string{"FUNCTIONS_CUSTOMHANDLER_PORT": port}))
				const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
				p.Until("the program answers", func() bool { return invoke(t, address, parent) == http.StatusOK })
				p.Until("it is told", func() bool { return told(p) })
			})
			t.Run("stop, "+name+", "+protocol, func(t *testing.T) {
				t.Parallel()
				p := start(t, settings, "run", "--once")
				if code := p.Wait(); code != 0 || !told(p) {
					t.Errorf("exit code %d:\n%s", code, p.Log())
				}
			})
		}
	}
}
