package e2e

import (
	"net/http"
	"syscall"
	"testing"
)

func stopProcess(t *testing.T, pid int)     { signal(t, pid, syscall.SIGSTOP) }
func continueProcess(t *testing.T, pid int) { signal(t, pid, syscall.SIGCONT) }

func signal(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatalf("%v to %d: %v", sig, pid, err)
	}
}

// holdFirst returns an answer that holds the first request until release is closed, and closes reached when it is
// there.
func holdFirst(s *sink, reached, release chan struct{}) func(http.ResponseWriter, []cloudEvent) bool {
	first := true
	return func(http.ResponseWriter, []cloudEvent) bool {
		if first {
			first = false
			close(reached)
			s.mu.Unlock()
			<-release
			s.mu.Lock()
			return false // its sender is gone: nothing was accepted
		}
		return true
	}
}
