package telemetry

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rowrelay/rowrelay/telemetry/otlp"
)

func variables(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestNothingIsStartedWhereNothingIsAskedFor(t *testing.T) {
	if tel := Start(context.Background(),
		Config{Env: variables(), Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry()}); tel != nil {
		t.Error("telemetry was started")
	}
}

// A receiver that fails is told of once a minute, without what must not be seen.
func TestFailuresAreToldOnceAMinute(t *testing.T) {
	p := otlp.Read(variables("OTEL_EXPORTER_OTLP_ENDPOINT",
		"https://user:planted-password@h:1/planted-path?key=planted-key",
		"OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20planted-token,x-key=planted-header"))
	for _, secret := range []string{"planted-password", "planted-path", "planted-key", "planted-token", "planted-header"} {
		if !slices.Contains(p.Secrets, secret) {
			t.Errorf("%s is not known for a secret: %q", secret, p.Secrets)
		}
	}
	var text bytes.Buffer
	now := time.Now()
	f := newFaults(slog.New(slog.NewJSONHandler(&text, nil)), p.Secrets)
	f.now = func() time.Time { return now }
	for range 5 {
		f.Handle(errors.New("401 from https://h:1/planted-path?key=planted-key with Bearer planted-token"))
		now = now.Add(time.Second)
	}
	now = now.Add(time.Minute)
	f.Handle(errors.New("again"))
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"level":"WARN"`) ||
		!strings.Contains(lines[1], `"failures_since_last_line":4`) {
		t.Errorf("the log has %d lines:\n%s", len(lines), text.String())
	}
	if strings.Contains(text.String(), "planted") {
		t.Errorf("the log shows a secret:\n%s", text.String())
	}
}

// The answer does not wait for the export, which hangs until the answer was read.
func TestAFlushFollowsAnInvocationOffItsPath(t *testing.T) {
	read, exported := make(chan struct{}), make(chan struct{}, 8)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		<-read
		exported <- struct{}{}
	}))
	defer receiver.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", receiver.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000") // the SDK's own timer, as in an instance that is frozen
	tel := Start(t.Context(), Config{
		Env: variables("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", receiver.URL), Service: "test",
		Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	})
	app := httptest.NewServer(tel.AfterInvocations(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		_, span := tel.tracer.Start(context.Background(), "tick")
		span.End()
	})))
	defer app.Close()
	answer, err := http.Post(app.URL, "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	close(read)
	select {
	case <-exported:
	case <-time.After(30 * time.Second):
		t.Fatal("nothing was exported")
	}
	tel.Shutdown(t.Context())
}
