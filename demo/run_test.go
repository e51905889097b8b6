package demo_test

import (
	"bufio"
	"database/sql"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// Whatever the shop is kept in: killed twice, started again, nothing is missing, nothing is out of order.
func TestKilledDemoGoesOnWithoutGap(t *testing.T) {
	for engine, shop := range map[string]func(testing.TB) string{
		"sqlite": nil, "postgres": testenv.Postgres, "mysql": testenv.MySQL, "sqlserver": testenv.SQLServer,
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			flags := []string{"--rate", "100"}
			if shop != nil {
				flags = append(flags, "--connection", shop(t))
			}
			killAt(t, dir, 50, flags...)
			killAt(t, dir, 150, flags...)
			out, errs, code := demo(t, dir, append(flags, "--for", "2s")...)
			if code != 0 || !strings.Contains(out, "missing 0, ") || strings.Contains(out, "OUT OF ORDER") {
				t.Errorf("exit code %d\n%s%s", code, out, errs)
			}
			if !strings.Contains(out, "Continuing at version ") {
				t.Errorf("it does not say that it goes on:\n%s", out)
			}
			for _, must := range []string{"pseudo trigger", "at-least-once", "idempotent"} {
				if !strings.Contains(out, must) {
					t.Errorf("the first lines do not say %q:\n%s", must, out)
				}
			}
			out, errs, code = demo(t, dir, append(flags, "--rate", "0", "--for", "100ms", "--json")...)
			s := last(t, out)
			if code != 0 || s.Written < 150 || s.Missing != 0 || s.Received+s.Overtaken != s.Written {
				t.Errorf("exit code %d, %+v\n%s", code, s, errs)
			}
			checkNoSecret(t, dir, out+errs, flags)
		})
	}
}

// TestTheDemoShowsItsStatusPage: its address stands in the first lines, and the page shows the poller.
func TestTheDemoShowsItsStatusPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := programtest.Start(t, programtest.Options{Dir: dir, Settings: map[string]string{"HOME": dir}}, "demo")
	address := regexp.MustCompile(`Status page: (http://127\.0\.0\.1:\d+/status)\n`)
	p.Until("the address of the status page", func() bool { return address.MatchString(p.Stdout()) })
	ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address.FindStringSubmatch(p.Stdout())[1], nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil || answer.StatusCode != http.StatusOK ||
		!strings.Contains(string(page), ">orders<") {
		t.Errorf("%s, %v:\n%s", answer.Status, err, page)
	}
	if code := p.Interrupt(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// checkNoSecret looks for the connection's password in what was printed and kept.
func checkNoSecret(t *testing.T, dir, said string, flags []string) {
	t.Helper()
	_, rest, ok := strings.Cut(flags[len(flags)-1], "://")
	if !ok {
		return
	}
	_, rest, _ = strings.Cut(rest, ":")
	password, _, _ := strings.Cut(rest, "@")
	if len(password) < 4 {
		t.Fatal("the test's password is too short to be looked for")
	}
	logs, err := filepath.Glob(filepath.Join(dir, ".rowrelay", "*", "rowrelay.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("no log: %v %v", logs, err)
	}
	text := testfile.Read(t, logs[0])
	if strings.Contains(said+string(text), password) {
		t.Error("the password is shown")
	}
}

// Ctrl-C ends it cleanly: what was written has arrived, the lease is free, and the exit code is 0. A directory may have
// any name.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := command(t, dir, "--dir", "100% of it?/#1", "--json")
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	lines := bufio.NewScanner(pipe)
	for interrupted := false; lines.Scan(); {
		out.WriteString(lines.Text() + "\n")
		if !interrupted && !strings.Contains(lines.Text(), `"received":0,`) {
			interrupted = true
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if s := last(t, out.String()); s.Missing != 0 || s.Received == 0 {
		t.Errorf("%+v", s)
	}
	text, errs, code := demo(t, dir, "--dir", "100% of it?/#1", "--for", "100ms")
	if code != 0 || !strings.Contains(text, "Continuing at version") || strings.Contains(text, "was killed") {
		t.Errorf("exit code %d\n%s%s", code, text, errs)
	}
}

// Two demos on one directory: both write, one relays, and each ends with nothing missing.
func TestTwoDemosShareTheWork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, errs, code := demo(t, dir, "--for", "100ms"); code != 0 {
		t.Fatalf("%s%s", out, errs)
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			out, errs, code := demo(t, dir, "--for", "2s", "--json")
			if s := last(t, out); code != 0 || s.Missing != 0 {
				t.Errorf("exit code %d, %+v\n%s", code, s, errs)
			}
		})
	}
	wg.Wait()
}

// The summary can also say that something is missing, and then the exit code does too.
func TestMissingOrderFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, errs, code := demo(t, dir, "--dir", "d", "--rate", "100", "--for", "2s"); code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	receiver, err := sql.Open("sqlite", filepath.Join(dir, "d", "receiver.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := receiver.Exec("DELETE FROM received WHERE version = 2"); err != nil {
		t.Fatal(err)
	}
	if err := receiver.Close(); err != nil {
		t.Fatal(err)
	}
	out, errs, code := demo(t, dir, "--dir", "d", "--for", "100ms", "--rate", "0")
	if code != 1 || !strings.Contains(out, "missing 1, ") || !strings.Contains(out, "missing: order 2 in version 2") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

// A shop that was taken away under its checkpoint is said, and --clean is the mend.
func TestVanishedShop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, errs, code := demo(t, dir, "--rate", "100", "--for", "2s"); code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	for _, name := range []string{"shop.db", "shop.db-wal", "shop.db-shm"} {
		if err := os.RemoveAll(filepath.Join(dir, ".rowrelay", "demo", name)); err != nil {
			t.Fatal(err)
		}
	}
	_, errs, code := demo(t, dir, "--for", "1s")
	if code != 1 || !strings.Contains(errs, "rowrelay demo --clean") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	if out, errs, code := demo(t, dir, "--clean"); code != 0 || !strings.Contains(out, "receiver.db") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if out, errs, code := demo(t, dir, "--for", "1s"); code != 0 || !strings.Contains(out, "missing 0, duplicates 0") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

func TestFaultyFlags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testfile.Write(t, filepath.Join(dir, "file"), "")
	for _, c := range []struct {
		want  string
		flags []string
	}{
		{"--rate", []string{"--rate", "-1"}},
		{"--rate", []string{"--rate", "1000000"}},
		{"--for", []string{"--for", "-1s"}},
		{"--dir", []string{"--dir", filepath.Join("file", "x")}},
		{"--dir", []string{"--connection", "sqlite:x.db"}},
		{"--connection", []string{"--connection", "oracle://scott:hunter2hunter2@localhost/x"}},
		{"connect to the shop", []string{"--connection", "postgres://rr:hunter2hunter2@127.0.0.1:1/x"}},
	} {
		out, errs, code := demo(t, dir, append(c.flags, "--for=1s")[:len(c.flags)]...)
		if code != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit code %d, %q", c.flags, code, errs)
		}
		if strings.Contains(out+errs, "hunter2hunter2") {
			t.Errorf("%v: the password is shown: %q", c.flags, out+errs)
		}
	}
}
