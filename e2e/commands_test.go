package e2e

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// wants fails for each part that the text lacks.
func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("lacks %q:\n%s", part, text)
		}
	}
}

// TestDisclosure: wherever a user begins, it is said what Rowrelay is not.
func TestDisclosure(t *testing.T) {
	texts := map[string]string{}
	for name, args := range map[string][]string{"help": {"--help"}, "no arguments": {},
		"serve's help": {"serve", "--help"}, "run's help": {"run", "--help"}} {
		out := stdout(t, t.TempDir(), settings{}, args...)
		texts[name] = out
	}
	readme := testfile.Read(t, "../README.md")
	screen := strings.SplitN(string(readme), "\n", 25)
	texts["README's first screen"] = strings.Join(screen[:24], "\n")
	for _, file := range []string{"cmd/rowrelay/main.go", "handler/handler.go", "change/change.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), "../"+file, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		texts["package comment of "+file] = parsed.Doc.Text()
	}
	for where, text := range texts {
		plain := strings.Join(strings.Fields(strings.NewReplacer("*", "", "> ", "").Replace(text)), " ")
		for _, phrase := range []string{"not a native database trigger", "a pseudo trigger built on Azure Functions timers",
			"at-least-once", "receivers must be idempotent"} {
			if !strings.Contains(plain, phrase) {
				t.Errorf("%s lacks %q:\n%s", where, phrase, text)
			}
		}
	}
}
