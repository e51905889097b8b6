//go:build linux

package alive

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// TestMain is also the other process: it prints its mark and lives until it is killed, or nobody holds its input.
func TestMain(m *testing.M) {
	if dir := os.Getenv("ALIVE_DIR"); dir != "" {
		m := New(dir)
		_, _ = os.Stdout.WriteString(m.Own() + "\n")
		_, _ = io.Copy(io.Discard, os.Stdin) // select{} would be a deadlock, which ends a process
		runtime.KeepAlive(m)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// other starts a process, and returns its mark.
func other(t *testing.T, dir string) (mark string, process *exec.Cmd) {
	t.Helper()
	process = exec.Command(os.Args[0])
	process.Env = append(os.Environ(), "ALIVE_DIR="+dir)
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = process.Process.Kill(); _ = process.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || len(line) < 20 {
		t.Fatalf("%q, %v", line, err)
	}
	return strings.TrimSpace(line), process
}

// died is what Died says, without the time.
func died(m *Marks, mark string) bool {
	_, certain := m.Died(mark)
	return certain
}

// TestDied: a process that was killed has died, and everybody may find that out at once; one that lives has not.
func TestDied(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "marks")
	mark, process := other(t, dir)
	here := New(dir)
	if died(here, mark) {
		t.Fatal("a process that lives has died")
	}
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = process.Wait()
	for range 2 {
		if !died(here, mark) {
			t.Error("a process that was killed is not known to have died")
		}
	}
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(here.file(mark)+deadSuffix, long, long); err != nil {
		t.Fatal(err)
	}
	if ago, _ := New(dir).Died(mark); ago < time.Hour {
		t.Errorf("it is known for %s", ago)
	}
	if own := here.Own(); own == "" || died(here, own) || died(New(dir), own) {
		t.Errorf("this process, %q, has died", own)
	}
}

// TestNotCertain: what is not certain is no death.
func TestNotCertain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "marks")
	mark, process := other(t, dir)
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = process.Wait()
	here := New(dir)
	for _, unknown := range []string{"", "NOBODY", "../" + mark, mark + "."} {
		if died(here, unknown) {
			t.Errorf("%q has died", unknown)
		}
	}
	testfile.Write(t, here.file(mark), "another start of the machine")
	if died(here, mark) {
		t.Error("a process before this start of the machine has died")
	}
	testfile.Write(t, here.file(mark), here.start)
	if !died(here, mark) {
		t.Error("the process has died")
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if died(here, mark) || New(dir).Own() != "" {
		t.Error("a directory that everybody may write to is trusted")
	}
}

// TestTidy: files of processes that are known to be dead for long go, others stay: one that lived for days and died
// just now has leases still.
func TestTidy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "marks")
	living, _ := other(t, dir)
	dead, process := other(t, dir)
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = process.Wait()
	here := New(dir)
	age := func(file string) {
		t.Helper()
		long := time.Now().Add(-2 * old)
		if err := os.Chtimes(file, long, long); err != nil {
			t.Fatal(err)
		}
	}
	age(here.file(living))
	age(here.file(dead))
	own := here.Own()
	if !died(here, dead) {
		t.Error("the process that has died just now is forgotten")
	}
	age(here.file(dead) + deadSuffix)
	New(dir).Own()
	for file, want := range map[string]bool{here.file(living): true, here.file(own): true, here.file(dead): false,
		here.file(dead) + deadSuffix: false, here.file(living) + deadSuffix: false} {
		if _, err := os.Stat(file); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", file, err == nil, want)
		}
	}
}
