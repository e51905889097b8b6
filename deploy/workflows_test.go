package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

const actionlint = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.7"

func TestWorkflowsPassActionlint(t *testing.T) {
	t.Parallel()
	// for the scripts in them
	path := filepath.Dir(checker(t, "shellcheck")) + string(os.PathListSeparator) + os.Getenv("PATH")
	out, err := goRun("..", []string{"PATH=" + path}, actionlint, "-pyflakes=", "-no-color").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestWorkflowsArePinnedAndMayLittle(t *testing.T) {
	pinned := regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40}$`)
	called := regexp.MustCompile(`\b(?:scripts|deploy)/[\w.-]+\.(?:sh|yaml)\b`)
	for _, path := range glob(t, "../.github/workflows/*.yml", 1) {
		text := testfile.Read(t, path)
		var w struct {
			Permissions map[string]string
			Jobs        map[string]struct {
				Permissions map[string]string
				Steps       []struct{ Uses, Run string }
			}
		}
		if err := yaml.Unmarshal(text, &w); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
			t.Errorf("%s: permissions are %v, not contents: read", path, w.Permissions)
		}
		for name, job := range w.Jobs {
			if len(job.Permissions) > 0 && name != "release" {
				t.Errorf("%s: %s may %v", path, name, job.Permissions)
			}
			for _, s := range job.Steps {
				if s.Uses != "" && !pinned.MatchString(s.Uses) {
					t.Errorf("%s: %s is not pinned to a commit", path, s.Uses)
				}
				for _, file := range called.FindAllString(s.Run, -1) {
					if _, err := os.Stat(filepath.Join("..", file)); err != nil {
						t.Errorf("%s: %s: %v", path, strings.TrimSpace(s.Run), err)
					}
				}
			}
		}
	}
}
