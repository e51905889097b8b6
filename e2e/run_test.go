package e2e

import (
	"errors"
	"net"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// running is a `rowrelay run` that goes on until it is interrupted.
type running struct {
	cmd  *exec.Cmd
	mu   sync.Mutex
	said strings.Builder
}

// Write takes what the process says.
func (r *running) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.Write(p)
}

func (r *running) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.String()
}

// startRun starts `rowrelay run` in dir; the end of the test kills it.
func startRun(t *testing.T, dir string, s settings, args ...string) *running {
	t.Helper()
	r := &running{cmd: exec.CommandContext(t.Context(), program, append([]string{"run"}, args...)...)}
	r.cmd.Dir, r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = dir, s.environ(), r, r
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			_ = r.cmd.Process.Kill() // it may have ended
			_ = r.cmd.Wait()         // killed
		}
	})
	return r
}

// interrupt sends what Ctrl-C sends, and returns the exit code.
func (r *running) interrupt(t *testing.T) int {
	t.Helper()
	signal(t, r.cmd.Process.Pid, syscall.SIGINT)
	return r.wait(t)
}

func (r *running) wait(t *testing.T) int {
	t.Helper()
	err := r.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return r.cmd.ProcessState.ExitCode()
}

// freeAddress is one on which nobody listens: it was free a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// exitCode is a command's.
func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return -1
}
