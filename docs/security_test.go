package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// What SECURITY.md calls as its witness is there: each test, file and link.
func TestSecurityNamesWhatExists(t *testing.T) {
	raw := testfile.Read(t, "../SECURITY.md")
	text := string(raw)
	tests := testNames(t)
	named := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(text, -1)
	if len(named) < 10 {
		t.Errorf("SECURITY.md names %d tests: this test reads it wrongly", len(named))
	}
	for _, m := range named {
		if !tests[m[1]] {
			t.Errorf("SECURITY.md names %s, which no package has", m[1])
		}
	}
	path := regexp.MustCompile("`((?:[a-z]+/)+[a-z._-]*)[^`]*`|\\]\\(([^)#:]+)\\)")
	for _, m := range path.FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.FromSlash("../" + m[1] + m[2])); err != nil {
			t.Errorf("SECURITY.md names %s%s, which is not there", m[1], m[2])
		}
	}
}

// testNames are all tests of the repository.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names, function := map[string]bool{}, regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && strings.HasPrefix(e.Name(), ".") && path != ".." {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range function.FindAllSubmatch(text, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
