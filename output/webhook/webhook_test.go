package webhook_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/output/webhook"
	"github.com/rowrelay/rowrelay/poller"
)

// receiver is a server that notes what arrives and answers as told.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	requests []request
	answer   http.HandlerFunc
}

type request struct {
	header http.Header
	body   []byte // as it came over the wire
	method string
	uri    string
	peer   string // the connection's other end
}

func newReceiver(t *testing.T, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return // cancelled half way
		}
		r.mu.Lock()
		r.requests = append(r.requests, request{q.Header, body, q.Method, q.URL.RequestURI(), q.RemoteAddr})
		answer := r.answer
		r.mu.Unlock()
		if answer != nil {
			q.Body = io.NopCloser(bytes.NewReader(body))
			answer(w, q)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) respond(answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *receiver) seen() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}

func (r *receiver) bodies(*testing.T) [][]byte {
	var bodies [][]byte
	for _, q := range r.seen() {
		bodies = append(bodies, q.body)
	}
	return bodies
}

func (r *receiver) header(name string) func() []string {
	return func() []string {
		var values []string
		for _, q := range r.seen() {
			values = append(values, q.header.Get(name))
		}
		return values
	}
}

func open(t *testing.T, cfg webhook.Config) *webhook.Output {
	t.Helper()
	o, err := webhook.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

func TestConformance(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  webhook.Config
	}{
		{"batch", webhook.Config{Concurrency: 16}},
		{"single", webhook.Config{Single: true, Concurrency: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			outputtest.Run(t, func(t *testing.T) outputtest.Fixture { return fixture(t, c.cfg) })
		})
	}
}

func fixture(t *testing.T, cfg webhook.Config) outputtest.Fixture {
	r := newReceiver(t, nil)
	gone := httptest.NewServer(nil)
	gone.Close() // its port refuses connections
	away := cfg
	cfg.URL, away.URL = r.URL, gone.URL
	var refused []string
	return outputtest.Fixture{
		Output: open(t, cfg), Unreachable: open(t, away), Received: r.bodies, InOrder: true, One: cfg.Single,
		IdempotencyKeys: r.header("Idempotency-Key"),
		Spoil: func(d *change.Delivery, i int) poller.Cause {
			refused = append(refused, `{"itemIdentifier":"`+d.Events[i].ID+`"}`)
			r.respond(answer(200, "application/json", `{"batchItemFailures":[`+strings.Join(refused, ",")+`]}`))
			return poller.Refused
		},
		Hang: func(t *testing.T) <-chan struct{} {
			arrived, release := make(chan struct{}), make(chan struct{})
			t.Cleanup(func() { close(release) })
			r.respond(func(http.ResponseWriter, *http.Request) {
				close(arrived)
				<-release
			})
			return arrived
		},
	}
}

func answer(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestRequestHeaders(t *testing.T) {
	r := newReceiver(t, nil)
	o := open(t, webhook.Config{URL: r.URL + "/in?code=s3cret-code", Single: true, Version: "1.2.3",
		Headers: map[string]string{"x-Api-key": "k"}})
	d := outputtest.Delivery(7, 1)
	d.Events[0].Op = change.Delete
	d.Events[0].Cursor = change.Cursor(`{"kind":"integer+pk","value":1,"tiebreaker":{"code":"ä"}}`)
	d.Events[0].Written = change.NewWritten([]string{"größe"}, "0x2A")
	if err := o.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	q := r.seen()[0]
	e := &d.Events[0]
	for name, want := range map[string]string{
		"Content-Type": "application/cloudevents+json", "User-Agent": "rowrelay/1.2.3", "X-Api-Key": "k",
		"Idempotency-Key": e.ID, "Rowrelay-Event-Id": e.ID, "Rowrelay-Op": "delete", "Rowrelay-Key-Hash": e.KeyHash(),
		"Rowrelay-Cursor":  `{"kind":"integer+pk","value":1,"tiebreaker":{"code":"\u00e4"}}`,
		"Rowrelay-Changed": `["gr\u00f6\u00dfe"]`, "Rowrelay-Context": "0x2A",
		"Rowrelay-Poller": "orders", "Rowrelay-Batch-Id": "batch_7", "Rowrelay-Fencing-Token": "9007199254740993",
		"Rowrelay-Delivery": "8", "Rowrelay-Attempt": "1", "Content-Encoding": "", "Webhook-Signature": "",
	} {
		if got := q.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if q.method != "POST" || q.uri != "/in?code=s3cret-code" {
		t.Errorf("%s %s", q.method, q.uri)
	}
}

// A receiver that took a request on a kept connection and then lost it is not sent the request again behind the tick's
// back: the right to deliver may be gone by then, and each repetition has a number of its own.
func TestOneDeliverIsOnePost(t *testing.T) {
	for name, headers := range map[string]map[string]string{"plain": nil,
		"a header of the user's": {"X-Idempotency-Key": "mine"}} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t, nil)
			o := open(t, webhook.Config{URL: r.URL, Headers: headers})
			if err := o.Deliver(t.Context(), outputtest.Delivery(0, 1)); err != nil {
				t.Fatal(err)
			}
			r.respond(func(w http.ResponseWriter, _ *http.Request) {
				c, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				_ = c.(*net.TCPConn).SetLinger(0) // closing resets
				_ = c.Close()
			})
			err := o.Deliver(t.Context(), outputtest.Delivery(1, 1))
			var failure *poller.DeliveryError
			if !errors.As(err, &failure) || failure.Failed[0].Cause != poller.Unavailable {
				t.Errorf("%v", err)
			}
			seen := r.seen()
			if len(seen) != 2 || seen[0].peer != seen[1].peer {
				t.Errorf("%d requests for two deliveries", len(seen))
			}
			for _, q := range seen {
				if headers != nil && q.header.Get("X-Idempotency-Key") != "mine" {
					t.Errorf("headers %v", q.header)
				}
			}
		})
	}
}

func TestSeveralEventsHaveNoHeadersOfOne(t *testing.T) {
	r := newReceiver(t, nil)
	o := open(t, webhook.Config{URL: r.URL})
	if err := o.Deliver(t.Context(), outputtest.Delivery(0, 2)); err != nil {
		t.Fatal(err)
	}
	h := r.seen()[0].header
	for _, name := range []string{"Rowrelay-Event-Id", "Rowrelay-Op", "Rowrelay-Key-Hash", "Rowrelay-Cursor",
		"Rowrelay-Changed", "Rowrelay-Context"} {
		if h.Get(name) != "" {
			t.Errorf("%s: %s", name, h.Get(name))
		}
	}
	if h.Get("Content-Type") != "application/cloudevents-batch+json" || len(h.Get("Idempotency-Key")) != 64 {
		t.Errorf("headers: %v", h)
	}
}

// A receiver of row or sqltrigger builds azure-functions-db's {poller_name}:{pk_hash}:{cursor} from the headers of a
// request that holds one event; it is the very text that the bodies of the other formats give
// (change.TestSeedKeyFromBody).
func TestSeedKeyFromHeaders(t *testing.T) {
	for _, format := range []change.Format{change.Row, change.SQLTrigger} {
		for _, single := range []bool{true, false} {
			r := newReceiver(t, nil)
			o := open(t, webhook.Config{URL: r.URL, Format: format, Single: single})
			d := outputtest.Delivery(7, 1)
			if err := o.Deliver(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			h := r.seen()[0].header
			got := h.Get("Rowrelay-Poller") + ":" + h.Get("Rowrelay-Key-Hash") + ":" + h.Get("Rowrelay-Cursor")
			want := "orders:" + d.Events[0].KeyHash() + ":" + string(d.Events[0].Cursor.AppendText(nil))
			if got != want {
				t.Errorf("%s single=%v: %s, want %s", format, single, got, want)
			}
		}
	}
}

func TestSignatureVerifiesWithStandardWebhooks(t *testing.T) {
	for _, secret := range []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "a plain secret, not base64"} {
		for _, packed := range []bool{false, true} {
			r := newReceiver(t, nil)
			o := open(t, webhook.Config{URL: r.URL, Secret: secret, Gzip: packed})
			d := outputtest.Delivery(0, 3)
			if err := o.Deliver(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			q := r.seen()[0]
			body := q.body
			if packed {
				body = unpack(t, q)
			}
			verifier, err := standardwebhooks.NewWebhook(secret)
			if !strings.HasPrefix(secret, "whsec_") {
				verifier, err = standardwebhooks.NewWebhookRaw([]byte(secret))
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := verifier.Verify(body, q.header); err != nil {
				t.Errorf("gzip=%v: %v", packed, err)
			}
			if err := verifier.Verify(append(body, ' '), q.header); err == nil {
				t.Error("a changed body verifies")
			}
			if q.header.Get("Webhook-Id") != q.header.Get("Idempotency-Key") {
				t.Errorf("webhook-id %q is not the idempotency key", q.header.Get("Webhook-Id"))
			}
		}
	}
}

func unpack(t *testing.T, q request) []byte {
	t.Helper()
	if q.header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("Content-Encoding: %q", q.header.Get("Content-Encoding"))
	}
	z, err := gzip.NewReader(strings.NewReader(string(q.body)))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestGzip(t *testing.T) {
	r := newReceiver(t, nil)
	o := open(t, webhook.Config{URL: r.URL, Gzip: true, Format: change.RowChange})
	for n := 1; n < 200; n += 66 { // more than one, so that pooled buffers are used again
		if err := o.Deliver(t.Context(), outputtest.Delivery(0, n)); err != nil {
			t.Fatal(err)
		}
	}
	for i, q := range r.seen() {
		var events []json.RawMessage
		if err := json.Unmarshal(unpack(t, q), &events); err != nil || len(events) != 1+66*i {
			t.Errorf("request %d: %d events, %v", i, len(events), err)
		}
	}
}
