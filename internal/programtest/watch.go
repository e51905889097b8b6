package programtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// Until waits for a condition.
func Until(tb testing.TB, what string, met func() bool) {
	tb.Helper()
	UntilWithin(tb, Patience, what, met)
}

// UntilWithin waits for a condition that may need more time than others, or on something besides it.
func UntilWithin(tb testing.TB, most time.Duration, what string, met func() bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), most)
	defer cancel()
	for pause := 5 * time.Millisecond; !met(); pause = min(2*pause, 40*time.Millisecond) {
		if wait(ctx, pause); ctx.Err() != nil {
			tb.Fatalf("waited %s in vain: %s", most, what)
		}
	}
}

// Until waits for a condition that the process has to meet: its end, before that, fails the test at once.
func (p *Process) Until(what string, met func() bool) {
	p.tb.Helper()
	Until(p.tb, what, func() bool {
		ended := p.Ended() // before looking: what it did at last may be what is waited for
		if met() {
			return true
		}
		if ended {
			p.tb.Fatalf("%s has ended before: %s", p.name, what)
		}
		return false
	})
}

// Pause keeps a loop that asks again from taking the processor away from what it asks about.
func Pause(ctx context.Context) { wait(ctx, 5*time.Millisecond) }

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Scrape is what GET /metrics answers, as Prometheus reads it.
func Scrape(ctx context.Context, address string) (text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }() // it was read to its end, or the reading failed
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("/metrics answered %s: %s", answer.Status, body)
	}
	return string(body), err
}

// lastPort counts the ports that were picked, from a place of its own in each process of tests.
var lastPort = func() *atomic.Uint32 {
	var n atomic.Uint32
	n.Store(rand.Uint32N(ports)) //nolint:gosec // a place to begin at
	return &n
}()

const (
	firstPort = 20_000
	ports     = 12_000
)

// FreePort picks a port of 127.0.0.1 that was free a moment ago. It is below those that the kernel gives to connections
// (from 32768 on), of which the tests beside this one open thousands, and none that was picked a moment ago for another
// process: either might take it before its user listens.
func FreePort() (int, error) {
	for range 100 {
		port := int(firstPort + lastPort.Add(1)%ports)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)) //nolint:noctx // it returns at once
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			return 0, fmt.Errorf("find a free port: %w", err)
		}
		return port, nil
	}
	return 0, errors.New("find a free port: a hundred above 20000 are taken")
}

// FreeAddress is one on which nobody listens: for a process that shall, or for one that shall find nobody.
func FreeAddress(tb testing.TB) string {
	tb.Helper()
	port, err := FreePort()
	if err != nil {
		tb.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}
