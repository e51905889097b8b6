package change_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// docs/formats.md shows golden files: each block of JSON that a comment names is that file, indented.
func TestDocsShowTheGoldenFiles(t *testing.T) {
	page := testfile.Read(t, filepath.Join("..", "docs", "formats.md"))
	blocks := regexp.MustCompile("(?s)<!-- change/(testdata/formats/\\S+) -->\n```json\n(.*?)\n```").FindAllSubmatch(page,
		-1)
	if named := bytes.Count(page, []byte("<!-- change/testdata/")); len(blocks) < len(formats) || named != len(blocks) ||
		bytes.Count(page, []byte("```json")) != named {
		t.Errorf("%d examples, %d of them named: each example names its golden file", len(blocks), named)
	}
	shown := map[string]bool{}
	for _, block := range blocks {
		path := filepath.FromSlash(string(block[1]))
		golden := testfile.Read(t, path)
		var want bytes.Buffer
		if err := json.Indent(&want, bytes.TrimSpace(golden), "", "  "); err != nil {
			t.Fatal(err)
		}
		if got := string(block[2]); got != want.String() {
			t.Errorf("docs/formats.md does not show %s but\n%s", path, got)
		}
		shown[filepath.Base(filepath.Dir(path))] = true
	}
	for _, f := range formats {
		if !shown[f.String()] || !strings.Contains(string(page), "\n## "+f.String()+"\n") {
			t.Errorf("docs/formats.md has no section and example of %s", f)
		}
	}
}
