package programtest_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/rowrelay/rowrelay/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }

// failing stands for a test that fails: it remembers what was said, and ends its goroutine as a real one does.
type failing struct {
	testing.TB
	failed   bool
	said     string
	cleanups []func()
}

func (f *failing) Fatalf(format string, args ...any) {
	f.failed = true
	f.said += fmt.Sprintf(format, args...) + "\n"
	runtime.Goexit()
}

func (f *failing) Log(args ...any)   { f.said += fmt.Sprintln(args...) }
func (f *failing) Failed() bool      { return f.failed }
func (f *failing) Cleanup(do func()) { f.cleanups = append(f.cleanups, do) }

// fails runs a test that has to fail, and returns what it said.
func fails(t *testing.T, test func(tb testing.TB)) string {
	t.Helper()
	f := &failing{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(f)
	}()
	<-done
	for i := len(f.cleanups) - 1; i >= 0; i-- {
		f.cleanups[i]()
	}
	if !f.failed {
		t.Fatal("it did not fail")
	}
	return f.said
}

// idle is an application that goes on, and whose only poller never finds its database.
func idle(t *testing.T) (o programtest.Options, address string) {
	address = programtest.FreeAddress(t)
	return programtest.Options{Settings: map[string]string{
		"state__kind": "memory", "state__app_name": "shop", "SHOP_DB": "sqlite:absent.db", "status__listen": address,
		"pollers__orders__source__connection": "SHOP_DB", "pollers__orders__source__table": "orders",
		"pollers__orders__source__cursor": "id",
		"pollers__orders__output__kind":   "stdout",
	}}, address
}

func TestAProcessIsWatchedAndInterrupted(t *testing.T) {
	o, address := idle(t)
	p := programtest.Start(t, o, "run")
	p.Until("it says that it runs", func() bool { return strings.Contains(p.Log(), `"msg":"running"`) })
	var text string
	p.Until("its metrics are served", func() bool {
		var err error
		text, err = programtest.Scrape(t.Context(), address)
		return err == nil
	})
	if !strings.Contains(text, "# TYPE rowrelay_") {
		t.Errorf("/metrics has nothing of ours:\n%s", text)
	}
	p.Signal(syscall.SIGSTOP)
	p.Signal(syscall.SIGCONT)
	if p.Ended() {
		t.Error("it has ended by itself")
	}
	if code := p.Interrupt(); code != 0 || !p.Ended() {
		t.Errorf("exit code %d", code)
	}
	if _, err := programtest.Scrape(t.Context(), address); err == nil {
		t.Error("somebody answers for a process that has ended")
	}
}

func TestAKilledProcessHasNoExitCode(t *testing.T) {
	o, _ := idle(t)
	p := programtest.Start(t, o, "run")
	p.Kill()
	if code := p.Wait(); code != -1 {
		t.Errorf("exit code %d", code)
	}
	p.Kill() // once more harms nothing
}

func TestStreamsAndExitCode(t *testing.T) {
	p := programtest.Start(t, programtest.Options{}, "version")
	if code := p.Wait(); code != 0 || !strings.HasPrefix(p.Stdout(), "rowrelay ") || p.Log() != p.Stdout() {
		t.Errorf("exit code %d:\n%s", code, p.Log())
	}
	p = programtest.Start(t, programtest.Options{}, "chekc")
	if code := p.Wait(); code != 2 || p.Stdout() != "" || !strings.Contains(p.Log(), "did you mean rowrelay check?") {
		t.Errorf("exit code %d:\n%s", code, p.Log())
	}
}

// What a program holds open of its input does not keep its end from being seen.
func TestAnInputThatStaysOpenKeepsNobody(t *testing.T) {
	in, typed := io.Pipe()
	defer typed.Close() //nolint:errcheck // nothing is under way
	if code := programtest.Start(t, programtest.Options{Stdin: in}, "version").Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A failed test says which process ended how, and what it said at last, in whole lines.
func TestAFailedTestShowsItsProcesses(t *testing.T) {
	said := fails(t, func(tb testing.TB) {
		p := programtest.Start(tb, programtest.Options{}, "--help")
		p.Wait()
		tb.Fatalf("the test's own words")
	})
	for _, part := range []string{"the test's own words\n", "rowrelay --help (process ",
		"ended with exit status 0, and said:\n"} {
		if !strings.Contains(said, part) {
			t.Errorf("lacks %q:\n%s", part, said)
		}
	}
}

func TestAnEndThatComesTooEarlyFailsAtOnce(t *testing.T) {
	said := fails(t, func(tb testing.TB) {
		p := programtest.Start(tb, programtest.Options{}, "chekc")
		p.Until("it works", func() bool { return false })
	})
	for _, part := range []string{"rowrelay chekc has ended before: it works\n", "exit status 2",
		"did you mean rowrelay check?"} {
		if !strings.Contains(said, part) {
			t.Errorf("lacks %q:\n%s", part, said)
		}
	}
}

func TestUntilNamesWhatItWaitedFor(t *testing.T) {
	said := fails(t, func(tb testing.TB) { programtest.UntilWithin(tb, 1, "the moon", func() bool { return false }) })
	if !strings.Contains(said, "in vain: the moon") {
		t.Errorf("it says %q", said)
	}
}

func TestNoAddressIsGivenTwice(t *testing.T) {
	given := map[string]bool{}
	for range 500 {
		address := programtest.FreeAddress(t)
		if given[address] {
			t.Fatalf("%s was given twice", address)
		}
		given[address] = true
	}
}

// Nothing of the tests' own environment reaches the program, which would take it for settings.
func TestTheEnvironmentIsTheTestsOwn(t *testing.T) {
	t.Setenv("pollers__leaked__source__table", "orders")
	p := programtest.Start(t, programtest.Options{}, "run", "--once")
	if p.Wait(); strings.Contains(p.Log(), "leaked") || !strings.Contains(p.Log(), "there is no poller") {
		t.Errorf("it says:\n%s", p.Log())
	}
}
