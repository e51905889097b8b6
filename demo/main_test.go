package demo_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }

// patience bounds a whole run: it is long past anything but a hang.
const patience = 2 * time.Minute

// summary is the last line of `rowrelay demo --json`.
type summary struct {
	Summary                                           bool
	Written, Received, Missing, Duplicates, Overtaken int64
	Inverted                                          int64 `json:"out_of_order"`
	Position                                          string
}

// demo runs the demo to its end.
func demo(t *testing.T, dir string, flags ...string) (out, errs string, code int) {
	t.Helper()
	cmd := command(t, dir, flags...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

func command(t *testing.T, dir string, flags ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), programtest.Path(t), append([]string{"demo"}, flags...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir)
	watch := time.AfterFunc(patience, func() {
		if cmd.Process != nil {
			_ = cmd.Process.Kill()
		}
	})
	t.Cleanup(func() { watch.Stop() })
	return cmd
}

// last reads the summary of a --json run.
func last(t *testing.T, out string) summary {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var s summary
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &s); err != nil || !s.Summary {
		t.Fatalf("no summary (%v) in:\n%s", err, out)
	}
	return s
}

// killAt starts the demo and kills it, without a chance to clean up, once the receiver has got n events.
func killAt(t *testing.T, dir string, n int64, flags ...string) {
	t.Helper()
	cmd := command(t, dir, append(flags, "--json")...)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		var view struct{ Received int64 }
		if err := json.Unmarshal(lines.Bytes(), &view); err != nil {
			t.Errorf("not JSON: %s", lines.Bytes())
		}
		if view.Received >= n {
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Errorf("it ended by itself: %v\n%s", err, &stderr)
	}
	_, _ = io.Copy(io.Discard, pipe)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("it was not killed but ended: %v\n%s", err, &stderr)
	}
}
