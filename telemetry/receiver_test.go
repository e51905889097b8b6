package telemetry_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"testing"

	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector is an OTLP receiver over HTTP: it keeps what it is sent.
type collector struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	raw      bytes.Buffer      // every request, as it came, uncompressed
	spans    []*traces.Span    // in the order of their ends, more or less
	metrics  map[string]bool   // names
	resource map[string]string // attributes of the last one
	header   http.Header       // of the last request
}

func newCollector(t *testing.T) *collector {
	c := &collector{t: t, metrics: map[string]bool{}, resource: map[string]string{}}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(body)
		if err != nil {
			c.t.Error(err)
			return
		}
		body = z
	}
	sent, err := io.ReadAll(body)
	if err != nil {
		c.t.Error(err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(sent)
	c.header = r.Header.Clone()
	switch {
	case strings.HasSuffix(r.URL.Path, "/v1/traces"):
		var request collecttraces.ExportTraceServiceRequest
		if err := proto.Unmarshal(sent, &request); err != nil {
			c.t.Error(err)
		}
		for _, from := range request.GetResourceSpans() {
			c.about(from.GetResource().GetAttributes())
			for _, scope := range from.GetScopeSpans() {
				c.spans = append(c.spans, scope.GetSpans()...)
			}
		}
	case strings.HasSuffix(r.URL.Path, "/v1/metrics"):
		var request collectmetrics.ExportMetricsServiceRequest
		if err := proto.Unmarshal(sent, &request); err != nil {
			c.t.Error(err)
		}
		for _, from := range request.GetResourceMetrics() {
			c.about(from.GetResource().GetAttributes())
			for _, scope := range from.GetScopeMetrics() {
				for _, m := range scope.GetMetrics() {
					c.metrics[m.GetName()] = true
				}
			}
		}
	default:
		c.t.Errorf("the collector was asked for %s", r.URL.Path)
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (c *collector) about(list []*common.KeyValue) {
	for _, a := range list {
		c.resource[a.GetKey()] = a.GetValue().GetStringValue()
	}
}

// find returns the first span for which met holds, nil where there is none yet.
func (c *collector) find(met func(*traces.Span) bool) *traces.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if met(s) {
			return s
		}
	}
	return nil
}

// named finds a span of a name and a trace; every trace where it is nil.
func (c *collector) named(name string, trace []byte) *traces.Span {
	return c.find(func(s *traces.Span) bool {
		return s.GetName() == name && (trace == nil || bytes.Equal(s.GetTraceId(), trace))
	})
}

func (c *collector) has(metric string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.metrics[metric]
}

// attribute returns an attribute as text, "" where there is none.
func attribute(s *traces.Span, key string) string {
	for _, a := range s.GetAttributes() {
		if a.GetKey() == key {
			return strings.Trim(strings.SplitN(a.GetValue().String(), ":", 2)[1], `"`)
		}
	}
	return ""
}

// traceparent is the W3C trace context of a span.
func traceparent(s *traces.Span) string {
	return "00-" + hex.EncodeToString(s.GetTraceId()) + "-" + hex.EncodeToString(s.GetSpanId()) + "-01"
}

// shop is a destination that keeps the headers of what it is sent. It answers with the whole request, as error pages
// do, and with what its status says.
type shop struct {
	*httptest.Server
	mu     sync.Mutex
	got    []http.Header
	status int
}

func newShop(t *testing.T, status int) *shop {
	s := &shop{status: status}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		dump, err := httputil.DumpRequest(r, false) // a body is quoted nowhere: that is the webhook's own test
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		s.got = append(s.got, r.Header.Clone())
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(s.status)
		_, _ = w.Write(dump) // a sender that is gone sees nothing
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *shop) headers() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]http.Header(nil), s.got...)
}
