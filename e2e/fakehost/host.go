package fakehost

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// hostVersion is what the host says of itself.
const hostVersion = "4.1052.100.26123"

// Start starts the function app and waits until its worker answers. ctx bounds the waiting only.
func Start(ctx context.Context, o Options) (*Host, error) {
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, fmt.Errorf("fakehost: script root: %w", err)
	}
	if o.Settings == nil {
		if o.Settings, err = LocalSettings(root); err != nil {
			return nil, err
		}
	}
	if o.StartLimit == 0 {
		o.StartLimit = probeLimit
	}
	h := &Host{root: root, options: o, settings: o.Settings, changed: make(chan struct{}), closed: make(chan struct{})}
	if h.config, err = readHostConfig(root, h.settings); err != nil {
		return nil, err
	}
	if err = h.newJobHost(); err != nil {
		return nil, err
	}
	h.client = &http.Client{
		Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16},
		// The invocation has failed with any status over 299, wherever it points.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if h.worker, err = h.start(); err != nil { //nolint:contextcheck // ctx bounds the waiting, not the worker
		return nil, err
	}
	go h.supervise(h.worker) //nolint:contextcheck // as above
	if _, err := h.ready(ctx); err != nil {
		h.Close()
		return nil, fmt.Errorf("fakehost: %w; it wrote:%s", err, h.transcript())
	}
	return h, nil
}

// Invoke invokes a function by its folder's name, as a timer whose status is known.
func (h *Host) Invoke(ctx context.Context, name string) Result {
	return h.InvokeWith(ctx, name, Invocation{})
}

// Kill takes the instance away, as the platform does: the worker ends by SIGKILL. What comes next is a new instance:
// nothing that was counted counts there. It returns when the process is gone.
func (h *Host) Kill() {
	h.mu.Lock()
	w := h.worker
	h.exits = nil
	h.mu.Unlock()
	w.kill()
	<-w.exited
}

// KillWorker ends the worker by SIGKILL from elsewhere, as the system does when memory is short: the host counts
// that. It returns when the process is gone.
func (h *Host) KillWorker() {
	w := h.current()
	_ = w.cmd.Process.Kill() // it fails only when the process has ended
	<-w.exited
}

// Terminate sends SIGTERM to the worker alone, and returns its exit code.
func (h *Host) Terminate(ctx context.Context) (int, error) { return h.signal(ctx, syscall.SIGTERM) }

// Interrupt is Ctrl-C under func start: it ends the host, whatever the worker's exit code is, which is returned.
func (h *Host) Interrupt(ctx context.Context) (int, error) {
	h.stop(errors.New("the host was interrupted"))
	return h.signal(ctx, syscall.SIGINT)
}

func (h *Host) signal(ctx context.Context, sig syscall.Signal) (int, error) {
	w := h.current()
	if err := w.cmd.Process.Signal(sig); err != nil {
		return 0, fmt.Errorf("fakehost: signal the worker: %w", err)
	}
	select {
	case <-w.exited:
		return w.code, nil
	case <-ctx.Done():
		return 0, fmt.Errorf("fakehost: the worker did not end after %s: %w", sig, context.Cause(ctx))
	}
}

// Close kills the worker and ends the host.
func (h *Host) Close() {
	h.stop(errors.New("the host was closed"))
	h.current().kill()
	<-h.closed
	h.client.CloseIdleConnections()
}

// Ready waits until a worker answers, after Kill for instance. It fails when there will be none.
func (h *Host) Ready(ctx context.Context) error {
	_, err := h.ready(ctx)
	return err
}

// Stopped says why the host has shut down; nil while it says Running.
func (h *Host) Stopped() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stopped
}

// Zombie says that the worker has exited with code 0 under a host that takes that for its end: there will be none any
// more, every invocation fails with "connection refused", and the host says Running.
func (h *Host) Zombie() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.zombie
}

// JobHosts is how often functions were indexed: once, and again after each new directory beside host.json.
func (h *Host) JobHosts() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.jobHost.number
}

// Restarts is the number of workers started after the first.
func (h *Host) Restarts() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.restarts
}

// WaitRestarts waits until at least n restarts have happened, and the worker of the last one answers.
func (h *Host) WaitRestarts(ctx context.Context, n int) error {
	for {
		h.mu.Lock()
		restarts, stopped, zombie, changed := h.restarts, h.stopped, h.zombie, h.changed
		h.mu.Unlock()
		switch {
		case restarts >= n:
			return h.Ready(ctx)
		case stopped != nil:
			return stopped
		case zombie:
			return errZombie
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("fakehost: wait for restart %d: %w", n, context.Cause(ctx))
		}
	}
}

// PID is the present worker's process.
func (h *Host) PID() int { return h.current().cmd.Process.Pid }

// URL is the present worker's address, for what the host itself never asks: /metrics.
func (h *Host) URL() string { return h.current().url("") }

// StartupTime is how long the present worker took from its start to its first answer; 0 before that.
func (h *Host) StartupTime() time.Duration {
	w := h.current()
	select {
	case <-w.ready:
		return w.readyAfter
	default:
		return 0
	}
}

// Functions are the folders with a function.json, each with the error that keeps it from being indexed, or nil.
func (h *Host) Functions() map[string]error {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make(map[string]error, len(h.functions))
	for name, f := range h.functions {
		list[name] = f.err
	}
	return list
}

// Logs are all lines so far, of all workers. The lines of a worker that was ended by Kill, Interrupt or Close are
// complete; those of a running one arrive a moment after they were written.
func (h *Host) Logs() []Line { return h.journal.all() }

// AwaitLine returns the first line that is wanted, of all so far and those to come. A line that the worker wrote before
// its answer may arrive after Invoke has returned: this is how to wait for it.
func (h *Host) AwaitLine(ctx context.Context, wanted func(Line) bool) (Line, error) {
	return h.journal.await(ctx, wanted)
}

func (h *Host) transcript() string {
	var b strings.Builder
	for _, line := range h.Logs() {
		b.WriteString("\n" + line.Source + ": " + line.Text)
	}
	return b.String()
}
