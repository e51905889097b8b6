package handler

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

type runs func(context.Context) []poller.Report

func (r runs) Run(ctx context.Context) []poller.Report { return r(ctx) }

func bodyHandler(t *testing.T, run runs) http.Handler {
	t.Helper()
	return New(t.Context(), Config{Pollers: []Poller{{Name: "orders", Outputs: []string{""}, Runner: run}},
		Log: slog.New(slog.DiscardHandler)})
}

func idle(context.Context) []poller.Report {
	r := newReport("orders")
	r.Event = poller.FetchEmpty
	return []poller.Report{r}
}

// answered reads one answer.
func answered(t *testing.T, from *bufio.Reader) int {
	t.Helper()
	res, err := http.ReadResponse(from, nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// TestABodyOverTheLimitIsAnswered: also a client that sends all of it before it reads has the answer, and its
// connection goes on.
func TestABodyOverTheLimitIsAnswered(t *testing.T) {
	server := httptest.NewServer(bodyHandler(t, idle))
	defer server.Close()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // read to its end
	reader := bufio.NewReader(conn)
	for body, want := range map[string]int{strings.Repeat("x", 32*maxBody): http.StatusRequestEntityTooLarge,
		`{}`: http.StatusOK} {
		if _, err := fmt.Fprintf(conn, "POST /orders HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body),
			body); err != nil {
			t.Fatalf("%d bytes could not be sent: %v", len(body), err)
		}
		if got := answered(t, reader); got != want {
			t.Errorf("%d bytes: %d, want %d", len(body), got, want)
		}
	}
}

// pipes is a listener whose connections are pipes, so that time is the test's.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if conn, ok := <-p; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// TestAHalfSentBodyEnds, and a tick that takes long does not: its invocation has been read.
func TestAHalfSentBodyEnds(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want int
	}{"half": {`{"Data":`, http.StatusRequestTimeout}, "whole": {`{"Data":{}, "Metadata":{}}`, http.StatusOK}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener := make(pipes)
				server := &http.Server{ReadHeaderTimeout: 10 * time.Second,
					Handler: bodyHandler(t, func(ctx context.Context) []poller.Report {
						time.Sleep(3 * time.Hour)
						return idle(ctx)
					})}
				go func() { _ = server.Serve(listener) }() // ends with the listener
				ours, its := net.Pipe()
				listener <- its
				if _, err := fmt.Fprintf(ours, "POST /orders HTTP/1.1\r\nHost: x\r\nContent-Length: 26\r\n\r\n%s",
					c.body); err != nil {
					t.Fatal(err)
				}
				if got := answered(t, bufio.NewReader(ours)); got != c.want {
					t.Errorf("%d, want %d", got, c.want)
				}
				_ = ours.Close()
				close(listener)
				_ = server.Close()
			})
		})
	}
}
