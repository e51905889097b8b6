package fakehost

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	probeEvery = 25 * time.Millisecond
)

// start starts the handler in a process of its own.
func (h *Host) start() (*worker, error) {
	h.mu.Lock()
	port := h.jobHost.port
	h.mu.Unlock()
	w := &worker{port: port, ready: make(chan struct{}), exited: make(chan struct{})}
	w.cmd = exec.Command(filepath.Join(h.root, h.config.executable), h.config.arguments...) //nolint:gosec,noctx // a test's own binary; its end is the host's business
	w.cmd.Dir = h.config.directory
	w.cmd.Env = h.environment(port)
	stdout, stderr := &lines{journal: &h.journal, source: "stdout"}, &lines{journal: &h.journal, source: "stderr"}
	w.cmd.Stdout, w.cmd.Stderr = stdout, stderr
	w.cmd.WaitDelay = 2 * time.Second // a child of the handler may hold its output open
	begun := time.Now()
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("fakehost: start the worker: %w", err)
	}
	go func() {
		_ = w.cmd.Wait() // the process's state says more
		stdout.end()
		stderr.end()
		w.code = exitCode(w.cmd.ProcessState)
		close(w.exited)
	}()
	go h.probe(w, begun)
	return w, nil
}

// environment is the worker's: the host's variables, all app settings, and what any process on the machine has.
func (h *Host) environment(port int) []string {
	env := make([]string, 0, len(h.settings)+8)
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range h.settings {
		env = append(env, name+"="+value)
	}
	return append(env,
		fmt.Sprintf("FUNCTIONS_CUSTOMHANDLER_PORT=%d", port),
		fmt.Sprintf("FUNCTIONS_HTTPWORKER_PORT=%d", port),
		"FUNCTIONS_CUSTOMHANDLER_WORKER_ID="+newID(),
		"FUNCTIONS_APP_ROOT_PATH="+h.root,
	)
}

// probe asks GET / until anything at all answers.
func (h *Host) probe(w *worker, begun time.Time) {
	ctx, cancel := context.WithTimeout(context.Background(), h.options.StartLimit)
	defer cancel()
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		if h.ping(ctx, w) {
			w.readyAfter = time.Since(begun)
			close(w.ready)
			return
		}
		select {
		case <-w.exited:
			return
		case <-ctx.Done():
			h.journal.add("host", fmt.Sprintf("Initializing HttpWorker timed out: no answer to GET / within %s",
				h.options.StartLimit))
			_ = w.cmd.Process.Kill() // which counts
			return
		case <-tick.C:
		}
	}
}

func (h *Host) ping(ctx context.Context, w *worker) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url("/"), nil)
	if err != nil {
		return false
	}
	res, err := h.client.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close() // any status counts; the body is not read
	return true
}

func (w *worker) url(path string) string { return fmt.Sprintf("http://127.0.0.1:%d%s", w.port, path) }

// kill sends SIGKILL, for the host or the platform.
func (w *worker) kill() {
	w.killed.Store(true)
	_ = w.cmd.Process.Kill() // it fails only when the process has ended
}

// exitCode is the code as .NET sees it: 128 and the signal for a signalled process.
func exitCode(state *os.ProcessState) int {
	if state == nil {
		return -1
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
