package golden

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestOnlyTheSameTextPasses: what is missing or differs is an error that names the file, and what was written is not.
func TestOnlyTheSameTextPasses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "statement.sql")
	if err := compare(path, "SELECT 1\n"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	if err := write(path, "SELECT 1\n"); err != nil {
		t.Fatal(err)
	}
	if err := compare(path, "SELECT 1\n"); err != nil {
		t.Errorf("the same text: %v", err)
	}
	for _, got := range []string{"SELECT 2\n", "SELECT 1", ""} {
		if err := compare(path, got); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q instead of what the file holds: %v", got, err)
		}
	}
}

// TestADifferenceFailsTheTest: File and Pin hand what compare finds to the test, with how to write the file.
func TestADifferenceFailsTheTest(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := write(filepath.Join("testdata", "golden", "a.txt"), "as it was\n"); err != nil {
		t.Fatal(err)
	}
	for got, fails := range map[string]bool{"as it was\n": false, "otherwise\n": true} {
		s := &spy{TB: t}
		Pin(s, "a.txt", got)
		if failed := s.failed != ""; failed != fails || failed && !strings.Contains(s.failed, "'^"+t.Name()+"$' -update") {
			t.Errorf("%q: %q", got, s.failed)
		}
	}
}

// spy keeps a failure from its test.
type spy struct {
	testing.TB
	failed string
}

func (s *spy) Errorf(format string, args ...any) { s.failed = fmt.Sprintf(format, args...) }
