package handler_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/poller"
)

// runner is a Runner made of a function.
type runner func(ctx context.Context) []poller.Report

func (r runner) Run(ctx context.Context) []poller.Report { return r(ctx) }

func ends(event poller.Event, err error) runner {
	return func(context.Context) []poller.Report {
		return []poller.Report{{Poller: "orders", Output: "output", Event: event, Err: err, Parked: -1, NullCursors: -1}}
	}
}

// console is what the process wrote, as the host would read it.
type console struct {
	mu             sync.Mutex
	stdout, stderr bytes.Buffer
}

type stream struct {
	c *console
	b *bytes.Buffer
}

func (s stream) Write(p []byte) (int, error) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.b.Write(p)
}

func (c *console) logger() *slog.Logger {
	return handler.NewHostLogger(stream{c, &c.stdout}, stream{c, &c.stderr}, slog.LevelDebug)
}

func (c *console) lines(b *bytes.Buffer) []map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []map[string]any
	for line := range strings.Lines(b.String()) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			record = map[string]any{"not JSON": line}
		}
		list = append(list, record)
	}
	return list
}

func (c *console) out() []map[string]any { return c.lines(&c.stdout) }
func (c *console) err() []map[string]any { return c.lines(&c.stderr) }

func serve(t *testing.T, c *console, cfg handler.Config) *httptest.Server {
	t.Helper()
	cfg.Log = c.logger()
	server := httptest.NewServer(handler.New(t.Context(), cfg))
	t.Cleanup(server.Close)
	return server
}

func one(r handler.Runner) handler.Config {
	return handler.Config{Pollers: []handler.Poller{{Name: "orders", Outputs: []string{"output"}, Runner: r}}}
}

const timer = `{"Data":{"timer":{"Schedule":{"AdjustForDST":true},"ScheduleStatus":null,"IsPastDue":false}},"Metadata":{"sys":{"MethodName":"orders"}}}`

func do(t *testing.T, method, url, body string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Azure-Functions-InvocationId", "8f0a")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // read to its end below
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type is %q; the host fails an invocation that is not answered with application/json", got)
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		t.Fatalf("the answer %q is not a JSON object (%v); the host would wait for one until it kills the process", data, err)
	}
	return res.StatusCode, object
}
