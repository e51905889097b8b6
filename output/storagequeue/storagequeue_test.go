package storagequeue_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/google/uuid"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/output/storagequeue"
	"github.com/rowrelay/rowrelay/poller"
)

// gate lets requests through to Azurite, or holds them until their context ends.
type gate struct {
	mu      sync.Mutex
	arrived chan struct{} // not nil: hold
	sent    int
}

func (g *gate) Do(req *http.Request) (*http.Response, error) {
	g.mu.Lock()
	g.sent++
	arrived := g.arrived
	if arrived != nil {
		select {
		case <-arrived:
		default:
			close(arrived)
		}
	}
	g.mu.Unlock()
	if arrived != nil {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	return http.DefaultClient.Do(req)
}

func client(t *testing.T, connection, name string, g *gate) *azqueue.QueueClient {
	t.Helper()
	options := &azqueue.ClientOptions{}
	if g != nil {
		options.Transport = g
	}
	c, err := azqueue.NewQueueClientFromConnectionString(connection, name, options)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// queue returns a client of a queue of the test's own, which exists when create.
func queue(t *testing.T, create bool, g *gate) *azqueue.QueueClient {
	t.Helper()
	connection, name := testenv.Azurite(t), "test-"+uuid.NewString()
	c := client(t, connection, name, g)
	if create {
		if _, err := c.Create(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	free := client(t, connection, name, nil)                                          // past the gate
	t.Cleanup(func() { _, _ = free.Delete(context.WithoutCancel(t.Context()), nil) }) // it may never have existed
	return c
}

func open(t *testing.T, cfg storagequeue.Config) *storagequeue.Output {
	t.Helper()
	o, err := storagequeue.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// messages takes all messages off the queue, decoded.
func messages(t *testing.T, c *azqueue.QueueClient) [][]byte {
	t.Helper()
	var all [][]byte
	for {
		some, err := c.DequeueMessages(t.Context(),
			&azqueue.DequeueMessagesOptions{NumberOfMessages: to.Ptr[int32](32), VisibilityTimeout: to.Ptr[int32](3600)})
		if err != nil {
			t.Fatal(err)
		}
		if len(some.Messages) == 0 {
			return all
		}
		for _, m := range some.Messages {
			body, err := base64.StdEncoding.DecodeString(*m.MessageText)
			if err != nil {
				t.Fatalf("a message is not base64: %v", err)
			}
			if m.ExpirationTime.Year() != 9999 {
				t.Errorf("a message expires at %s", m.ExpirationTime)
			}
			all = append(all, body)
		}
	}
}

const unreachable = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=cGxhbnRlZA==;QueueEndpoint=http://127.0.0.1:1/a;"

func TestConformance(t *testing.T) {
	outputtest.Run(t, func(t *testing.T) outputtest.Fixture {
		g := &gate{}
		c := queue(t, true, g)
		return outputtest.Fixture{
			Output:      open(t, storagequeue.Config{Client: c}),
			Unreachable: open(t, storagequeue.Config{Client: client(t, unreachable, "orders", nil)}),
			Received:    func(t *testing.T) [][]byte { return messages(t, c) },
			TooLarge:    49152,
			Spoil: func(d *change.Delivery, i int) poller.Cause {
				d.Events[i].Row = fmt.Appendf(nil, `{"x":"%s"}`, strings.Repeat("x", 49152))
				return poller.Impossible
			},
			Hang: func(*testing.T) <-chan struct{} {
				g.mu.Lock()
				defer g.mu.Unlock()
				g.arrived = make(chan struct{})
				return g.arrived
			},
		}
	})
}

// The limit to the byte: what just fits is taken by the service, one byte more is not sent.
func TestLimit(t *testing.T) {
	c := queue(t, true, nil)
	o := open(t, storagequeue.Config{Client: c, Format: change.Row})
	d := outputtest.Delivery(0, 1)
	row := func(n int) []byte { return []byte(`{"x":"` + strings.Repeat("x", n-len(`{"x":""}`)) + `"}`) }
	d.Events[0].Row = row(49152)
	if err := o.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if got := messages(t, c); len(got) != 1 || len(got[0]) != 49152 {
		t.Errorf("%d messages", len(got))
	}
	d.Events[0].Row = row(49153)
	err := o.Deliver(t.Context(), d)
	if err == nil {
		t.Fatal("one byte too much was sent")
	}
	for _, says := range []string{"65540 bytes", "49153 bytes of row", "65536", "source__columns"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%q does not say %s", err, says)
		}
	}
}

func TestMissingQueue(t *testing.T) {
	c := queue(t, false, nil)
	err := open(t, storagequeue.Config{Client: c}).Deliver(t.Context(), outputtest.Delivery(0, 3))
	var failure *poller.DeliveryError
	if !errors.As(err, &failure) || len(failure.Failed) != 3 || failure.Failed[0].Cause != poller.Unavailable ||
		failure.Failed[0].Status != 404 {
		t.Fatalf("%v", err)
	}
	if !strings.Contains(err.Error(), "az storage queue create --name test-") ||
		!strings.Contains(err.Error(), "state__create=true") {
		t.Errorf("no mend in %q", err)
	}
	if err := open(t, storagequeue.Config{Client: c, Create: true}).Deliver(t.Context(),
		outputtest.Delivery(0, 20)); err != nil {
		t.Fatal(err)
	}
	if got := messages(t, c); len(got) != 20 {
		t.Errorf("%d messages", len(got))
	}
}

func TestWrongKeyIsToldFromAWrongEvent(t *testing.T) {
	connection := testenv.Azurite(t)
	_, rest, _ := strings.Cut(connection, "AccountKey=")
	key, _, _ := strings.Cut(rest, ";")
	connection = strings.Replace(connection, key, base64.StdEncoding.EncodeToString([]byte("planted")), 1)
	err := open(t, storagequeue.Config{Client: client(t, connection, "orders", nil)}).Deliver(t.Context(),
		outputtest.Delivery(0, 1))
	var failure *poller.DeliveryError
	if !errors.As(err, &failure) || failure.Failed[0].Cause != poller.Unavailable || failure.Failed[0].Status != 403 ||
		!strings.Contains(err.Error(), "output__connection") {
		t.Errorf("%v", err)
	}
}

// Answers that Azurite does not give, from a server of our own: a SAS in the URL is in no error.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		cause  poller.Cause
		says   string
	}{
		{503, "ServerBusy", poller.Unavailable, "503 ServerBusy"},
		{500, "OperationTimedOut", poller.Unavailable, "500 OperationTimedOut"},
		{429, "", poller.Unavailable, "429 Too Many Requests"},
		{403, "AuthorizationPermissionMismatch", poller.Unavailable, "role Storage Queue Data Message Sender"},
		{403, "AuthorizationFailure", poller.Unavailable, "network rules"},
		{403, "AuthenticationFailed", poller.Unavailable, "output__connection"},
		{401, "InvalidAuthenticationInfo", poller.Unavailable, "output__connection"},
		{404, "QueueNotFound", poller.Unavailable, "az storage queue create --name orders"},
		{409, "QueueBeingDeleted", poller.Unavailable, "QueueBeingDeleted"},
		{413, "RequestBodyTooLarge", poller.Impossible, "RequestBodyTooLarge"},
		{400, "InvalidInput", poller.Refused, "InvalidInput"},
	} {
		t.Run(c.code, func(t *testing.T) {
			var mu sync.Mutex
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				requests++
				mu.Unlock()
				w.Header().Set("Retry-After", "9")
				w.Header().Set("x-ms-error-code", c.code)
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, "<Error>\n"+r.URL.String()+"</Error>")
			}))
			defer server.Close()
			client, err := azqueue.NewQueueClientWithNoCredential(server.URL+"/orders?sv=2021&sig=planted", nil)
			if err != nil {
				t.Fatal(err)
			}
			err = open(t, storagequeue.Config{Client: client, Concurrency: 1}).Deliver(t.Context(), outputtest.Delivery(0, 3))
			var failure *poller.DeliveryError
			if !errors.As(err, &failure) || len(failure.Failed) != 3 || failure.Failed[0].Cause != c.cause ||
				failure.Failed[0].Status != c.status || failure.Failed[0].Named != (c.cause != poller.Unavailable) ||
				failure.RetryAfter != 9*time.Second {
				t.Fatalf("%#v", err)
			}
			for _, f := range failure.Failed {
				// With an error of its own, which keeps what the log may not hold as the whole one does.
				if (f.Err != nil) != f.Named ||
					f.Err != nil && (!strings.Contains(f.Err.Error(), c.says) || strings.Contains(f.Err.Error(), "planted")) {
					t.Errorf("event %d: %v", f.Index, f.Err)
				}
			}
			if text := err.Error(); !strings.Contains(text, c.says) || !strings.Contains(text, `"orders"`) ||
				strings.Contains(text, "planted") || strings.Contains(text, "\n") {
				t.Errorf("%q", text)
			}
			var inner *azcore.ResponseError
			if !errors.As(err, &inner) {
				t.Error("the service's answer is not reachable")
			}
			// An unavailable queue is asked once, an answer about one event says nothing about the next.
			want := 3
			if c.cause == poller.Unavailable {
				want = 1
			}
			if requests != want {
				t.Errorf("%d requests, want %d", requests, want)
			}
		})
	}
}

func TestNewRefusesANameThatNoQueueHas(t *testing.T) {
	for _, name := range []string{"or", "order_lines", "Orders", "-orders", "orders-", "or--ders",
		strings.Repeat("x", 64)} {
		_, err := storagequeue.New(storagequeue.Config{Client: client(t, unreachable, name, nil)})
		if err == nil || !strings.Contains(err.Error(), "output__queue") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnreachableHoldsNoSecrets(t *testing.T) {
	c, err := azqueue.NewQueueClientWithNoCredential("http://127.0.0.1:1/orders?sig=planted", nil)
	if err != nil {
		t.Fatal(err)
	}
	err = open(t, storagequeue.Config{Client: c}).Deliver(t.Context(), outputtest.Delivery(0, 1))
	if err == nil || strings.Contains(err.Error(), "planted") || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("%v", err)
	}
}

// How long an attempt may take is the caller's business; its error tells what the caller gives as the cause.
func TestDeadlineTellsItsCause(t *testing.T) {
	g := &gate{arrived: make(chan struct{})}
	o := open(t, storagequeue.Config{Client: client(t, unreachable, "orders", g)})
	over := errors.New("no answer within 20ms (output__timeout)")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, over)
	defer cancel()
	err := o.Deliver(ctx, outputtest.Delivery(0, 20))
	if !errors.Is(err, over) || !strings.Contains(err.Error(), over.Error()) {
		t.Errorf("%v", err)
	}
}

// transport answers requests without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) Do(r *http.Request) (*http.Response, error) { return f(r) }

func offline(t *testing.T, concurrency int, answer transport) *storagequeue.Output {
	t.Helper()
	c, err := azqueue.NewQueueClientWithNoCredential("http://queue/orders",
		&azqueue.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: answer}})
	if err != nil {
		t.Fatal(err)
	}
	return open(t, storagequeue.Config{Client: c, Concurrency: concurrency})
}

func created(r *http.Request) *http.Response {
	return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader("<QueueMessagesList/>")), Request: r}
}

func TestConcurrencyIsTheOutputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outputtest.Places(t, func(send func()) poller.Output {
			return offline(t, 4, func(r *http.Request) (*http.Response, error) { send(); return created(r), nil })
		})
	})
}

// TestPanicFailsItsEvent: it does not end the process.
func TestPanicFailsItsEvent(t *testing.T) {
	for _, concurrency := range []int{1, 8} {
		outputtest.Panics(t, offline(t, concurrency, func(*http.Request) (*http.Response, error) { panic("planned") }),
			"storagequeue")
	}
}

func BenchmarkDeliver(b *testing.B) {
	c, err := azqueue.NewQueueClientFromConnectionString(testenv.Azurite(b), "bench-"+uuid.NewString(), nil)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := c.Create(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	defer func() { _, _ = c.Delete(context.WithoutCancel(b.Context()), nil) }()
	o, err := storagequeue.New(storagequeue.Config{Client: c})
	if err != nil {
		b.Fatal(err)
	}
	d := outputtest.Delivery(0, 100)
	for b.Loop() {
		if err := o.Deliver(b.Context(), d); err != nil {
			b.Fatal(err)
		}
	}
}
