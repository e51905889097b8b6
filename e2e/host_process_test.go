package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rowrelay/rowrelay/e2e/fakehost"
)

// hostVariable holds what the test binary is to do as a host: the functions' root and the settings.
const hostVariable = "ROWRELAY_E2E_HOST"

// beHost is the test binary as a host that can be killed: it invokes orders once, and never ends.
func beHost(text string) {
	var app struct {
		Root     string
		Settings settings
	}
	if err := json.Unmarshal([]byte(text), &app); err != nil {
		panic(err)
	}
	host, err := fakehost.Start(context.Background(), fakehost.Options{Root: app.Root, Settings: app.Settings})
	if err != nil {
		panic(err)
	}
	fmt.Println(host.PID())
	host.Invoke(context.Background(), "orders")
	select {}
}

// hostProcess starts the fake host in a process of its own, and returns it and its worker's id.
func hostProcess(t *testing.T, root string, s settings) (host *os.Process, worker int) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"Root": root, "Settings": withSchedules(s)})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^$") //nolint:gosec // the test itself
	cmd.Env = append(os.Environ(), hostVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(line, &worker); err != nil {
		t.Fatalf("%v: %q", err, line)
	}
	t.Cleanup(func() {
		if alive(worker) {
			_ = syscall.Kill(worker, syscall.SIGKILL)
		}
	})
	return cmd.Process, worker
}

// alive reports whether a process that is not ours runs. One that has ended may wait for somebody to take note.
func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(text), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

// holdThird makes the receiver accept two requests, close reached with the third, and hold it until release is called.
func holdThird(t *testing.T, to *sink) (reached chan struct{}, release func()) {
	t.Helper()
	reached = make(chan struct{})
	released := make(chan struct{})
	release = sync.OnceFunc(func() { close(released) })
	t.Cleanup(release)
	requests := 0
	to.decide(func(http.ResponseWriter, []cloudEvent) bool {
		if requests++; requests == 3 {
			close(reached)
			to.mu.Unlock()
			<-released
			to.mu.Lock()
			return false
		}
		return true
	})
	return reached, release
}
