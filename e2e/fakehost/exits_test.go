package fakehost_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/e2e/fakehost"
)

func TestTrap7Exits(t *testing.T) {
	t.Run("0 is never restarted", func(t *testing.T) {
		host := start(t, app(t, "exit 0", nil))
		for range 2 {
			if result := host.Invoke(t.Context(), "orders"); result.Succeeded {
				t.Error(result)
			}
		}
		if result := host.Invoke(t.Context(), "orders"); !strings.Contains(result.Why, "connection refused") {
			t.Error(result)
		}
		if host.Ready(t.Context()) == nil || host.WaitRestarts(t.Context(), 1) == nil {
			t.Error("a worker answers")
		}
		if host.Stopped() != nil || !host.Zombie() || host.Restarts() != 0 {
			t.Errorf("stopped %v after %d restarts", host.Stopped(), host.Restarts())
		}
	})
	t.Run("0 is 200 to newer hosts", func(t *testing.T) {
		options := app(t, "exit 0", nil)
		options.ZeroRestarts = true
		host := start(t, options)
		for range 4 {
			host.Invoke(t.Context(), "orders")
		}
		if err := host.Ready(t.Context()); err != nil || host.Restarts() != 4 || host.Zombie() {
			t.Errorf("%v after %d restarts", err, host.Restarts())
		}
	})
	t.Run("200 is restarted, uncounted", func(t *testing.T) {
		host := start(t, app(t, "exit 200", nil))
		for range 5 {
			host.Invoke(t.Context(), "orders")
		}
		if err := host.Ready(t.Context()); err != nil || host.Restarts() != 5 {
			t.Errorf("%v after %d restarts", err, host.Restarts())
		}
	})
	t.Run("the third other stops the host", func(t *testing.T) {
		host := start(t, app(t, "exit 1", nil))
		for range 2 {
			host.Invoke(t.Context(), "orders")
			if err := host.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		host.Invoke(t.Context(), "orders")
		if err := host.Ready(t.Context()); err == nil || host.Restarts() != 2 || host.Stopped() == nil {
			t.Errorf("%v after %d restarts", err, host.Restarts())
		}
	})
	t.Run("the third kill from elsewhere stops the host", func(t *testing.T) {
		host := start(t, app(t, "good", nil))
		url := host.URL()
		for n := range 3 {
			if err := host.Ready(t.Context()); err != nil || host.URL() != url {
				t.Fatalf("kill %d: %v; a JobHost has one port: %s, %s", n, err, url, host.URL())
			}
			host.KillWorker()
		}
		if err := host.Ready(t.Context()); err == nil || host.Restarts() != 2 {
			t.Errorf("%v after %d restarts", err, host.Restarts())
		}
	})
	t.Run("a worker that never answers", func(t *testing.T) {
		options := app(t, "deaf", nil)
		options.StartLimit = 50 * time.Millisecond
		if _, err := fakehost.Start(t.Context(), options); err == nil || strings.Count(err.Error(), "timed out") != 3 {
			t.Errorf("got %v, want three attempts", err)
		}
	})
	t.Run("at the start", func(t *testing.T) {
		if _, err := fakehost.Start(t.Context(), app(t, "exit at start", nil)); err == nil ||
			!strings.Contains(err.Error(), "bad settings") {
			t.Errorf("got %v, want what the worker wrote", err)
		}
	})
}

func TestTrap8Kills(t *testing.T) {
	short := map[string]string{"host.json": strings.Replace(hostJSON, "00:05:00", "00:00:00.3", 1)}
	t.Run("a silent worker at functionTimeout", func(t *testing.T) {
		host := start(t, app(t, "silent", short))
		if result := host.Invoke(t.Context(), "orders"); !result.TimedOut || result.Succeeded {
			t.Error(result)
		}
		if err := host.Ready(t.Context()); err != nil || host.Restarts() != 1 {
			t.Errorf("%v after %d restarts", err, host.Restarts())
		}
	})
	t.Run("a worker whose answer hung", func(t *testing.T) {
		host := start(t, app(t, "null", short))
		pid := host.PID()
		if result := host.Invoke(t.Context(), "orders"); !result.Hung {
			t.Error(result)
		}
		if err := host.WaitRestarts(t.Context(), 1); err != nil || host.PID() == pid {
			t.Errorf("the worker was not killed when the time was over: %v", err)
		}
	})
	t.Run("at any other moment", func(t *testing.T) {
		host := start(t, app(t, "silent", nil))
		got := make(chan fakehost.Result)
		go func() { got <- host.Invoke(t.Context(), "orders") }()
		for range 4 {
			host.Kill()
			if err := host.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		host.Close()
		if result := <-got; result.Succeeded || result.Why == "" {
			t.Error(result)
		}
		if host.Restarts() != 4 {
			t.Errorf("%d restarts", host.Restarts())
		}
	})
	t.Run("Ctrl-C is a signal", func(t *testing.T) {
		host := start(t, app(t, "good", nil))
		if code, err := host.Interrupt(t.Context()); code != 0 || err != nil || host.Stopped() == nil {
			t.Errorf("exit code %d, %v", code, err)
		}
	})
	t.Run("SIGTERM of the worker alone", func(t *testing.T) {
		host := start(t, app(t, "good", nil))
		if code, err := host.Terminate(t.Context()); code != 128+int(syscall.SIGTERM) || err != nil {
			t.Errorf("exit code %d, %v", code, err)
		}
		if err := host.WaitRestarts(t.Context(), 1); err != nil {
			t.Error(err)
		}
	})
}
