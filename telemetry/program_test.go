package telemetry_test

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	traces "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// built is the directory of the program; "" while no test has wanted it.
var built string

// program builds the product once for all tests.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "rowrelay-telemetry-")
	if err != nil {
		return "", err
	}
	built = dir
	path := filepath.Join(dir, "rowrelay")
	build := exec.Command("go", "build", "-o", path, "github.com/rowrelay/rowrelay/cmd/rowrelay")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the program: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built) // a temporary directory
	}
	os.Exit(code)
}

// running is the program at work, with what it says.
type running struct {
	cmd *exec.Cmd
	mu  sync.Mutex
	log bytes.Buffer
}

func (r *running) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(p)
}

func (r *running) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

// start runs the program with settings; the end of the test kills it.
func start(t *testing.T, settings map[string]string, args ...string) *running {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	r := &running{cmd: exec.Command(path, args...)}
	r.cmd.Dir, r.cmd.Stdout, r.cmd.Stderr = t.TempDir(), r, r
	r.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.cmd.Dir}
	for name, value := range settings {
		r.cmd.Env = append(r.cmd.Env, name+"="+value)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			_ = r.cmd.Process.Kill() // it may have ended
			_ = r.cmd.Wait()         // killed
		}
		if t.Failed() {
			t.Logf("the program said:\n%s", r.text())
		}
	})
	return r
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func within(t *testing.T, what string, met func() bool) {
	t.Helper()
	for deadline := time.Now().Add(90 * time.Second); !met(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
		pause := time.NewTimer(20 * time.Millisecond)
		<-pause.C
	}
}

// orders makes a table with rows, and returns the connection.
func orders(t *testing.T, notes ...string) string {
	t.Helper()
	connection := testenv.SQLite(t)
	db, err := sql.Open("sqlite", strings.TrimPrefix(connection, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec(`CREATE TABLE orders (id TEXT PRIMARY KEY, seq INTEGER NOT NULL, note TEXT)`); err != nil {
		t.Fatal(err)
	}
	for i, note := range notes {
		if _, err := db.Exec(`INSERT INTO orders VALUES (?, ?, ?)`, fmt.Sprintf("key-%s-%d", note, i), i+1, note); err != nil {
			t.Fatal(err)
		}
	}
	return connection
}

func pollerOf(name string, more map[string]string) map[string]string {
	settings := map[string]string{}
	base := map[string]string{
		"source__connection": "DB_" + name, "source__table": "orders", "source__cursor": "seq", "source__late_commits": "none", "output__kind": "http",
		"output__retries": "1", "output__timeout": "10s",
	}
	for _, m := range []map[string]string{base, more} {
		for key, value := range m {
			settings["pollers__"+name+"__"+key] = value
		}
	}
	return settings
}

func merged(all ...map[string]string) map[string]string {
	settings := map[string]string{}
	for _, m := range all {
		for key, value := range m {
			settings[key] = value
		}
	}
	return settings
}

// The host invokes with a trace context; the tick, what it did, and what the destination got are parts of that trace. What the SDK's
// own timers would export comes at once, because an instance may be frozen after the answer.
func TestAnInvocationIsOneTrace(t *testing.T) {
	for name, flag := range map[string]string{"sampled": "01", "not sampled by the host": "00"} { // -00 is what it sends with Application Insights
		t.Run(name, func(t *testing.T) { anInvocationIsOneTrace(t, flag) })
	}
}

func anInvocationIsOneTrace(t *testing.T, flag string) {
	t.Helper()
	to, from := newCollector(t), newShop(t, http.StatusOK)
	address := freeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	start(t, merged(pollerOf("orders", map[string]string{"output__url": from.URL}), map[string]string{
		"DB_orders": orders(t, "one", "two", "three"), "state__kind": "file", "state__app_name": "shop-app", "FUNCTIONS_CUSTOMHANDLER_PORT": port,
		"OTEL_EXPORTER_OTLP_ENDPOINT": to.URL, "OTEL_BSP_SCHEDULE_DELAY": "3600000", "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
		"OTEL_METRIC_EXPORT_INTERVAL": "3600000",
	}))
	const trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	invoke := func() int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/orders", strings.NewReader(`{"Data":{},"Metadata":{}}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("traceparent", "00-"+trace+"-"+span+"-"+flag)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	within(t, "the program answers", func() bool { return invoke() == http.StatusOK })
	var tick *traces.Span
	within(t, "the tick's span is exported", func() bool { tick = to.named("tick orders", nil); return tick != nil })
	if got := hex.EncodeToString(tick.GetTraceId()) + " " + hex.EncodeToString(tick.GetParentSpanId()); got != trace+" "+span {
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
	for key, want := range map[string]string{"rowrelay.poller": "orders", "rowrelay.event": "tick_complete", "rowrelay.events": "3"} {
		if got := attribute(tick, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	within(t, "metrics are exported", func() bool {
		return to.has("rowrelay_events_total") && to.has("rowrelay_lag_seconds") && to.has("go_goroutines")
	})
	for _, name := range shown(t, "http://"+address+"/metrics") {
		if !to.has(name) {
			t.Errorf("/metrics shows %s, and it is not exported", name)
		}
	}
	to.mu.Lock()
	about := to.resource
	spans := len(to.spans)
	to.mu.Unlock()
	if about["service.name"] != "shop-app" || about["deployment.environment.name"] != "test" || about["service.instance.id"] == "" {
		t.Errorf("the resource is %v", about)
	}
	// Idle ticks leave nothing: a later one with work is the next that is seen.
	for range 3 {
		if invoke() != http.StatusOK {
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
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllSubmatch(text, -1) {
		names = append(names, string(m[1]))
	}
	if len(names) < 20 {
		t.Fatalf("/metrics shows only %q", names)
	}
	return names
}

// The same secrets as everybody's: in every setting that takes one, in rows and their keys, in destinations that quote what they were
// sent and in such that cannot be reached. Nothing of them is exported, and what is exported is not empty.
func TestNoSecretIsExported(t *testing.T) {
	const s, row = "plantedSecret4711", "plantedRow4711" // the log shows positions, which hold keys; spans do not
	key := base64.StdEncoding.EncodeToString([]byte(s + s))
	to, ok, bad := newCollector(t), newShop(t, http.StatusOK), newShop(t, http.StatusInternalServerError)
	closed := freeAddress(t)
	withSecrets := func(server *shop) string {
		u, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		u.User, u.Path, u.RawQuery = url.UserPassword("shop", s), "/hook/"+s, "code="+s
		return u.String()
	}
	header := map[string]string{"output__headers__X_Api_Key": s, "output__headers__Authorization": "Bearer " + s, "output__secret": "whsec_" + key}
	pollers := map[string]map[string]string{
		"delivers":   merged(header, map[string]string{"output__url": withSecrets(ok)}),
		"quoted":     merged(header, map[string]string{"output__url": withSecrets(bad)}),
		"refused":    {"output__url": "http://shop:" + s + "@" + closed + "/" + s + "?code=" + s},
		"nodatabase": {"output__url": ok.URL, "source__connection": "BAD_DB"},
		"rabbit":     {"output__kind": "rabbitmq", "output__connection": "RABBIT", "output__destination": "shop.orders"},
		"kafka":      {"output__kind": "kafka", "output__connection": "KAFKA", "output__destination": "shop.orders"},
		"bus":        {"output__kind": "servicebus", "output__connection": "BUS", "output__destination": "orders", "output__timeout": "2s"},
		"queue":      {"output__kind": "queue", "output__connection": "QUEUE", "output__queue": "orders", "output__timeout": "2s"},
	}
	settings := map[string]string{
		"state__kind": "file", "status__listen": "127.0.0.1:0", "status__token": s, "log__level": "debug",
		"BAD_DB": "postgres://shop:" + s + "@" + closed + "/" + "shop", "RABBIT": "amqp://shop:" + s + "@" + closed + "/",
		"KAFKA": "kafka://shop:" + s + "@" + closed + "?tls=false",
		"BUS":   "Endpoint=sb://" + closed + "/;SharedAccessKeyName=send;SharedAccessKey=" + key + ";UseDevelopmentEmulator=true",
		"QUEUE": "DefaultEndpointsProtocol=http;AccountName=shop;AccountKey=" + key + ";QueueEndpoint=http://" + closed + "/shop",

		"OTEL_EXPORTER_OTLP_ENDPOINT": to.URL, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=" + s + ",authorization=Bearer%20" + s,
		"OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_METRIC_EXPORT_INTERVAL": "500",
	}
	for name, more := range pollers {
		settings = merged(settings, pollerOf(name, more), map[string]string{"DB_" + name: orders(t, row, row+" more")})
	}
	for name := range pollers {
		if pollers[name]["output__kind"] != "" {
			delete(settings, "pollers__"+name+"__output__url")
		}
	}
	r := start(t, settings, "run")
	for name := range pollers {
		within(t, "there is a tick of "+name, func() bool { return to.named("tick "+name, nil) != nil })
	}
	within(t, "metrics are exported", func() bool { return to.has("rowrelay_failures_total") })
	if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = r.cmd.Wait() // its exit code is another test's
	for name := range pollers {
		failed := to.find(func(span *traces.Span) bool {
			return span.GetName() == "tick "+name && span.GetStatus().GetCode() == traces.Status_STATUS_CODE_ERROR && span.GetStatus().GetMessage() != ""
		})
		if (failed != nil) != (name != "delivers") {
			t.Errorf("%s: a tick that failed is %v", name, failed)
		}
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	if got := to.header.Get("x-key"); got != s { // what is not used could not leak
		t.Errorf("the collector was sent the header %q", got)
	}
	secrets := []string{s, key, base64.StdEncoding.EncodeToString([]byte("shop:" + s))}
	assertNone(t, "the log", r.text(), secrets)
	assertNone(t, "what is exported", to.raw.String(), append(secrets, row))
}

func assertNone(t *testing.T, where, text string, secrets []string) {
	t.Helper()
	for _, secret := range secrets {
		if at := strings.Index(text, secret); at >= 0 {
			t.Errorf("%s shows a secret: %q", where, text[max(at-300, 0):min(at+100, len(text))])
		}
	}
}

// A collector that is down costs a warning, and no tick.
func TestNoTickFailsForACollectorThatIsDown(t *testing.T) {
	ok := newShop(t, http.StatusOK)
	r := start(t, merged(pollerOf("orders", map[string]string{"output__url": ok.URL}), map[string]string{
		"DB_orders": orders(t, "one"), "state__kind": "file", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + freeAddress(t),
		"OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_METRIC_EXPORT_INTERVAL": "50", "OTEL_EXPORTER_OTLP_TIMEOUT": "200",
	}), "run", "--once")
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("the tick failed: %v", err)
	}
	if len(ok.headers()) != 1 {
		t.Errorf("%d requests arrived", len(ok.headers()))
	}
	if n := strings.Count(r.text(), `"event":"telemetry_failed"`); n != 1 || strings.Contains(r.text(), `"level":"ERROR"`) {
		t.Errorf("it was told %d times:\n%s", n, r.text())
	}
}

// An outbox event that has a trace keeps it, and the request is linked to it.
func TestAnOutboxEventKeepsItsTrace(t *testing.T) {
	const own = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	to, from := newCollector(t), newShop(t, http.StatusOK)
	connection := testenv.SQLite(t)
	settings := merged(pollerOf("events", map[string]string{
		"source__mode": "outbox", "source__table": "outbox", "output__url": from.URL, "output__batch": "1", "poll_interval": "0",
	}), map[string]string{"DB_events": connection, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": to.URL + "/v1/traces"})
	delete(settings, "pollers__events__source__cursor")
	delete(settings, "pollers__events__source__late_commits")
	if r := start(t, settings, "outbox", "init", "events", "--apply"); r.cmd.Wait() != nil {
		t.Fatal(r.text())
	}
	db, err := sql.Open("sqlite", strings.TrimPrefix(connection, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key, traceparent) VALUES ('order', '1', 'placed', '{}', 'k1', ?)`, own); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if r := start(t, settings, "run", "--once"); r.cmd.Wait() != nil {
		t.Fatal(r.text())
	}
	// The end of the process exported what was left.
	request := to.named("request events", nil)
	if request == nil || len(request.GetLinks()) != 1 || hex.EncodeToString(request.GetLinks()[0].GetSpanId()) != "00f067aa0ba902b7" {
		t.Fatalf("the request's span is %v", request)
	}
	if got := from.headers(); len(got) != 1 || got[0].Get("traceparent") != own {
		t.Errorf("the destination got %v", got)
	}
	if to.has("rowrelay_events_total") {
		t.Error("metrics were exported, and nobody asked for them")
	}
}
