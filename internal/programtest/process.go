package programtest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience is how long Until and Wait wait: long past anything but a hang.
const Patience = 2 * time.Minute

// Options are what a process is started with.
type Options struct {
	// Dir is where it runs: state and local.settings.json are there. "" is a new directory.
	Dir string
	// Settings are its app settings. Of this process' own environment it gets PATH only.
	Settings map[string]string
	// Stdin is what is typed; nil is the end of the input.
	Stdin io.Reader
}

// Environ is the environment of a process with settings, in order of their names.
func Environ(dir string, settings map[string]string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		env = append(env, name+"="+settings[name])
	}
	return env
}

// Command is the program with arguments, ready to be started; the end of ctx kills it. For tests that look at its end
// themselves.
func Command(ctx context.Context, tb testing.TB, o Options, args ...string) *exec.Cmd {
	tb.Helper()
	if o.Dir == "" {
		o.Dir = tb.TempDir()
	}
	cmd := exec.CommandContext(ctx, Path(tb), args...) //nolint:gosec // the program under test, with the test's own words
	cmd.Dir, cmd.Env, cmd.Stdin = o.Dir, Environ(o.Dir, o.Settings), o.Stdin
	return cmd
}

// Process is the program at work, with what it says.
type Process struct {
	tb    testing.TB
	name  string
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has ended and all that it said was read
	err   error         // of waiting, once it has ended

	mu          sync.Mutex
	out, stdout strings.Builder // both streams as they came; stdout alone
}

// Start starts the program. It is killed when the test ends, if it has not ended before.
func Start(tb testing.TB, o Options, args ...string) *Process {
	tb.Helper()
	p := &Process{tb: tb, name: strings.Join(append([]string{"rowrelay"}, args...), " "), ended: make(chan struct{})}
	p.cmd = Command(tb.Context(), tb, o, args...)
	p.cmd.Stdout, p.cmd.Stderr = stream{p, true}, stream{p, false}
	if o.Stdin != nil {
		p.cmd.Stdin = nil
		p.typeInto(o.Stdin)
	}
	if err := p.cmd.Start(); err != nil {
		tb.Fatalf("%s: %v", p.name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	tb.Cleanup(func() {
		p.Kill()
		if tb.Failed() {
			tb.Log(p.last())
		}
	})
	return p
}

// typeInto passes on what is typed. exec.Cmd's own way would not see the end of the process before that of the typing.
func (p *Process) typeInto(typed io.Reader) {
	p.tb.Helper()
	in, err := p.cmd.StdinPipe()
	if err != nil {
		p.tb.Fatalf("%s: %v", p.name, err)
	}
	go func() {
		_, _ = io.Copy(in, typed) // the process may have ended
		_ = in.Close()
	}()
}

// stream is one of a process' two.
type stream struct {
	p      *Process
	stdout bool
}

// Write takes what the process says.
func (s stream) Write(text []byte) (int, error) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if s.stdout {
		s.p.stdout.Write(text)
	}
	return s.p.out.Write(text)
}

// Log is what it has said so far, on both streams.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// Stdout is what it has printed so far: the log of run is not there.
func (p *Process) Stdout() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stdout.String()
}

// tail bounds what a failed test shows of a process.
const tail = 6000

// last says how a process ended, and what it said last, in whole lines.
func (p *Process) last() string {
	text := p.Log()
	if from := len(text) - tail; from > 0 {
		text = text[from:]
		_, text, _ = strings.Cut(text, "\n")
		text = "…\n" + text
	}
	return fmt.Sprintf("%s (process %d) ended with %v, and said:\n%s", p.name, p.PID(), p.cmd.ProcessState, text)
}

// PID is its process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ended reports whether it has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Wait waits for its end and returns its exit code, -1 where a signal ended it.
func (p *Process) Wait() int {
	p.tb.Helper()
	limit := time.NewTimer(Patience)
	defer limit.Stop()
	select {
	case <-p.ended:
	case <-limit.C:
		p.tb.Fatalf("%s has not ended after %s", p.name, Patience)
	}
	if p.cmd.ProcessState == nil {
		p.tb.Fatalf("%s: %v", p.name, p.err)
	}
	return p.cmd.ProcessState.ExitCode()
}

// Signal sends a signal: SIGSTOP is what a platform does that freezes an instance, SIGCONT wakes it.
func (p *Process) Signal(sig syscall.Signal) {
	p.tb.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.tb.Fatalf("%v to %s: %v", sig, p.name, err)
	}
}

// Interrupt does what Ctrl-C does, and returns the exit code.
func (p *Process) Interrupt() int {
	p.tb.Helper()
	p.Signal(syscall.SIGINT)
	return p.Wait()
}

// Kill ends it without a word, unless it has ended, and waits for that.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it fails only where the process has ended
	<-p.ended
}
