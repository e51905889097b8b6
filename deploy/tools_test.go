package deploy_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// checkers is the directory of what scripts/deploy-tools.sh installs.
var checkers = sync.OnceValues(func() (string, error) {
	var stderr bytes.Buffer
	cmd := exec.Command("../scripts/deploy-tools.sh")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", errors.New(err.Error() + "\n" + stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
})

// checker is the path of one of them.
func checker(t *testing.T, name string) string {
	t.Helper()
	dir, err := checkers()
	if err != nil {
		t.Fatalf("scripts/deploy-tools.sh: %v", err)
	}
	return filepath.Join(dir, "venv", "bin", name)
}

// goRun runs a tool that is named with its version. It is built as the program is (make build), so that both share the
// packages of the standard library in the build cache.
func goRun(dir string, environ []string, tool string, args ...string) *exec.Cmd {
	cmd := exec.Command("go", append([]string{"run", "-trimpath", tool}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), append(environ, "CGO_ENABLED=0")...)
	return cmd
}

// inDir runs a command in a directory and returns what it wrote to both outputs.
func inDir(dir string, environ []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, environ
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func glob(t *testing.T, pattern string, atLeast int) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) < atLeast {
		t.Fatalf("%s: %d files, %v", pattern, len(found), err)
	}
	return found
}
