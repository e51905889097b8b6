package webhook

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/quick"
)

// Deliveries that are cancelled in the middle of their upload, and receivers that answer without reading, must not hand
// a buffer to the next delivery while the transport still reads it: every body that arrives whole is one delivery's.
func TestBuffersAreNotSharedWithTheTransport(t *testing.T) {
	quick.Skip(t)
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("http2=%v", http2), func(t *testing.T) {
			var mu sync.Mutex
			whole := 0
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if (r.ProtoMajor == 2) != http2 {
					t.Errorf("protocol %s", r.Proto)
				}
				if rand.IntN(4) == 0 {
					w.WriteHeader(http.StatusTeapot) // before the body was read
					return
				}
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				whole++
				mark := r.Header.Get(headerBatchID)
				if want := `[{"x":"` + strings.Repeat(mark, len(body)-len(`[{"x":""}]`)) + `"}]`; string(body) != want {
					t.Errorf("a request of %s carries another's bytes: %.40q", mark, body)
				}
			}))
			server.EnableHTTP2 = http2
			server.StartTLS()
			defer server.Close()
			o, err := New(Config{URL: server.URL, Format: change.Row, Concurrency: 8})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = o.Close() }()
			o.transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
			if !http2 {
				o.transport.ForceAttemptHTTP2 = false
				o.transport.TLSClientConfig.NextProtos = nil
			}
			var wg sync.WaitGroup
			for lane := range 8 {
				mark := string(rune('a' + lane))
				wg.Go(func() {
					for range 20 {
						size := rand.IntN(1 << 18)
						ctx, cancel := context.WithCancel(t.Context())
						d := change.Delivery{BatchID: mark,
							Events: []change.Event{{ID: "1", Row: []byte(`{"x":"` + strings.Repeat(mark, size) + `"}`)}}}
						if rand.IntN(3) == 0 {
							go cancel()
						}
						_ = o.Deliver(ctx, d) // what arrives is what is tested
						cancel()
					}
				})
			}
			wg.Wait()
			mu.Lock()
			defer mu.Unlock()
			if whole == 0 {
				t.Error("no request arrived whole")
			}
		})
	}
}

// Buffers are used again only after the transport is done with them.
func TestPayloadIsPooledOnlyWhenWritten(t *testing.T) {
	o := &Output{format: change.Row}
	for _, c := range []struct{ wrote, again, pooled bool }{{true, false, true}, {false, false, false},
		{true, true, false}} {
		p, err := o.encode(&change.Delivery{Events: []change.Event{{Row: []byte(`{"a":1}`)}}})
		if err != nil {
			t.Fatal(err)
		}
		if p.wrote.Load() || p.again.Load() {
			t.Fatal("a payload from the pool is not fresh")
		}
		body := p.body()
		p.wrote.Store(c.wrote)
		if c.again {
			if body, err = p.bodyAgain(); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := io.ReadAll(body); err != nil || string(got) != `[{"a":1}]` {
			t.Errorf("%q, %v", got, err)
		}
		p.release()
		if pooled := p.wire == nil; pooled != c.pooled { // a pooled payload has let go of what it sent
			t.Errorf("%+v: pooled %v", c, pooled)
		}
	}
}

func BenchmarkDeliver(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	defer server.Close()
	for _, n := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("%d events", n), func(b *testing.B) {
			o, err := New(Config{URL: server.URL, Concurrency: 8})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = o.Close() }()
			d := change.Delivery{App: "shop", Poller: "orders", BatchID: "batch_1", Events: make([]change.Event, n)}
			for i := range d.Events {
				key := fmt.Appendf(nil, `{"id":%d}`, i)
				d.Events[i] = change.Event{ID: fmt.Sprintf("%032d", i), Key: key,
					Row: []byte(`{"id":1,"text":"some text of a row"}`), Cursor: change.Cursor(`{"kind":"integer","value":1}`)}
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := o.Deliver(b.Context(), d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
