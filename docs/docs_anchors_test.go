package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// TestAnchors: in the pages below docs/ and beside README every relative link leads to a file, and every anchor to a
// heading.
func TestAnchors(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"*.md", "quickstarts/*.md", "decisions/*.md", "../*.md", "../deploy/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		pages = append(pages, found...)
	}
	link := regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)
	for _, page := range pages {
		for _, m := range link.FindAllStringSubmatch(prose(read(t, page)), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := page
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1]))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link %s leads nowhere", page, m[1])
			} else if m[2] != "" && !anchors(read(t, target))[m[2]] {
				t.Errorf("%s: %s has no heading #%s", page, target, m[2])
			}
		}
	}
}

// anchors are those of a page's headings, as GitHub makes them.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ +(.+)$`).FindAllStringSubmatch(prose(text), -1) {
		var anchor strings.Builder
		for _, r := range strings.ToLower(strings.TrimSpace(m[1])) {
			switch {
			case r == ' ':
				anchor.WriteByte('-')
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				anchor.WriteRune(r)
			}
		}
		found[anchor.String()] = true
	}
	return found
}
