// Package golden holds what the code says against files in which people have read what it should say. It gives the
// tests that import it the flag -update, which writes the files.
package golden

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// Pin compares got with a file under testdata/golden.
func Pin(t testing.TB, name, got string) {
	t.Helper()
	File(t, filepath.Join("testdata", "golden", name), got)
}

// File compares got with the file at path, or, with -update, writes it there.
func File(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		if err := write(path, got); err != nil {
			t.Error(err)
		}
		return
	}
	if err := compare(path, got); err != nil {
		test, _, _ := strings.Cut(t.Name(), "/")
		t.Errorf("%v\n(go test -run '^%s$' -update, in the test's folder, writes it: read what changes)", err, test)
	}
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func compare(path, got string) error {
	want, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		return fmt.Errorf("%s (-file +now):\n%s", path, diff)
	}
	return nil
}
