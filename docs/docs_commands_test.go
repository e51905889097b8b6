package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	osexec "os/exec" // exec is another function of these tests
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// shell runs a script in an empty directory with nothing but the program in its PATH, and returns what it printed, by
// the number that it gave to mark.
func shell(t *testing.T, script string) map[int]string {
	t.Helper()
	cmd := osexec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c",
		"mark() { echo; echo \"@@@ $1\"; }\n"+script)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + filepath.Dir(program(t)) + ":" + os.Getenv("PATH"), "HOME=" + cmd.Dir}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	printed := map[int]string{}
	for i, part := range strings.Split(string(out), "\n@@@ ") {
		var n int
		head, text, _ := strings.Cut(part, "\n")
		if _, err := fmt.Sscan(head, &n); err != nil {
			if i == 0 {
				continue
			}
			t.Fatalf("what follows a mark is no number: %q", head)
		}
		printed[n] += text
	}
	return printed
}

// program is the binary that the quick starts' first block makes, in a copy of this repository.
func program(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var built = sync.OnceValues(func() (string, error) {
	script := ""
	for _, q := range quickstarts {
		text, err := os.ReadFile("quickstarts/" + q.page + ".md")
		if err != nil {
			return "", err
		}
		_, rest, _ := strings.Cut(string(text), "```sh repository\n")
		block, _, ok := strings.Cut(rest, "```")
		switch {
		case !ok:
			return "", fmt.Errorf("%s has no block that makes the binary", q.page)
		case script != "" && block != script:
			return "", fmt.Errorf("%s makes the binary in another way than the page before it", q.page)
		}
		script = block
	}
	copied := filepath.Join(scratch, "repository")
	if err := copyRepository("..", copied); err != nil {
		return "", err
	}
	cmd := osexec.Command("bash", "-euo", "pipefail", "-c", script+"command -v rowrelay") //nolint:gosec // the page's own text
	cmd.Dir = copied
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", script, err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1], nil
})

// copyRepository copies what go build and make read: all but what begins with a dot, programs and links.
func copyRepository(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if strings.HasPrefix(entry.Name(), ".") && name != "." {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		if info, err := entry.Info(); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 != 0 {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), text, 0o600)
	})
}

// scratch outlives the tests that share what is in it.
var scratch string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if scratch, err = os.MkdirTemp("", "rowrelay-docs-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(scratch) }() // a temporary directory
		return m.Run()
	}())
}

// bashSyntax fails where the text is no shell script.
func bashSyntax(t *testing.T, text string) {
	t.Helper()
	cmd := osexec.CommandContext(t.Context(), "bash", "-n", "-c", text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("not a shell script: %v\n%s%s", err, out, text)
	}
}

// squeeze makes one space of many: a page's columns need not be those of the program.
func squeeze(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestCommandsExist runs each command that a page, or an alert, names as far as its help: the subcommand exists, and so
// do its flags.
func TestCommandsExist(t *testing.T) {
	t.Parallel()
	pages := []string{"../deploy/README.md", "../deploy/alerts.yaml"}
	for _, pattern := range ourPages {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		pages = append(pages, found...)
	}
	seen := map[string]string{}
	for _, page := range pages {
		text := regexp.MustCompile(`\{\{[^}]*\}\}`).ReplaceAllString(read(t, page), "orders")
		for _, m := range regexp.MustCompile("`(rowrelay [^`]+)`|(?m:^)(?:[a-z_]+=\\S+ )*(rowrelay [^|>#\n]+)").FindAllStringSubmatch(text, -1) {
			line := strings.Join(strings.Fields(m[1]+m[2]), " ")
			plain := strings.Trim(line, " abcdefghijklmnopqrstuvwxyz0123456789=-_") == ""
			if plain || page == operationsPage || page == maintenancePage {
				seen[line] = page
			}
		}
	}
	if len(seen) < 60 {
		t.Fatalf("only %d commands were found", len(seen))
	}
	for line, page := range seen {
		args := append(strings.Fields(line)[1:], "--help")
		cmd := osexec.CommandContext(t.Context(), program(t), args...) //nolint:gosec // the page's own text
		cmd.Dir, cmd.Env = t.TempDir(), []string{"PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %s: %v\n%s", page, line, err, out)
			continue
		}
		usage := regexp.MustCompile(`(?m)^  (rowrelay(?: [a-z-]+)*)(?: .*)?$`).FindStringSubmatch(cut(string(out),
			"Usage:\n"))
		named := usage != nil && strings.HasPrefix(line+" ", usage[1]+" ")
		if !named || strings.Contains(string(out), "Available Commands:") && line != usage[1] {
			t.Errorf("%s: %s is no command: its help is that of %q", page, line, usage)
		}
	}
}

func cut(text, behind string) string {
	_, rest, _ := strings.Cut(text, behind)
	return rest
}
