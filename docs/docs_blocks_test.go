package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// fenced is a fenced block of a page: its info string, split into the language and what follows, and its text.
type fenced struct {
	lang, tag string
	text      string
	line      int
}

var fence = regexp.MustCompile("(?ms)^```([a-z]*) *([a-z-]*)\n(.*?)^```$")

// fencedBlocks returns the blocks of a page in their order. One that is not closed, or has another info string than a
// word or two, is a fault.
func fencedBlocks(t *testing.T, page string) []fenced {
	t.Helper()
	text := read(t, page)
	var blocks []fenced
	for _, m := range fence.FindAllStringSubmatchIndex(text, -1) {
		blocks = append(blocks, fenced{
			lang: text[m[2]:m[3]], tag: text[m[4]:m[5]], text: text[m[6]:m[7]], line: 1 + strings.Count(text[:m[0]], "\n"),
		})
	}
	if marks := strings.Count("\n"+text, "\n```"); marks != 2*len(blocks) {
		t.Fatalf("%s: %d fences, and %d blocks: one is not closed, or is opened in another way", page, marks, len(blocks))
	}
	return blocks
}

func read(t *testing.T, page string) string {
	t.Helper()
	return string(testfile.Read(t, page))
}

// prose is a page without its fenced blocks.
func prose(text string) string { return fence.ReplaceAllString(text, "") }
