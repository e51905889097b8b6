package deploy_test

import (
	"debug/elf"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

var dockerfiles = []string{"../Dockerfile", "Dockerfile.run"}

func TestDockerfilesPassHadolint(t *testing.T) {
	for _, path := range dockerfiles {
		if out, err := inDir(".", nil, checker(t, "hadolint"), path); err != nil {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
	}
}

// instructions are the lines of a Dockerfile without comments, continued lines joined.
func instructions(t *testing.T, path string) (list []string) {
	t.Helper()
	text := testfile.Read(t, path)
	joined := strings.ReplaceAll(string(text), "\\\n", " ")
	for _, line := range strings.Split(joined, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, line)
		}
	}
	return list
}

// runs is the RUN instruction of a Dockerfile that holds a text, as a command for this machine: /src is the clone, and
// files of the image's root lie below root.
func runs(t *testing.T, path, part, root string) string {
	t.Helper()
	for _, line := range instructions(t, path) {
		if command, is := strings.CutPrefix(line, "RUN "); is && strings.Contains(command, part) {
			return regexp.MustCompile(` /`).ReplaceAllString(command, " "+root+"/")
		}
	}
	t.Fatalf("%s has no RUN with %s", path, part)
	return ""
}

// TestDockerfilesBuildAStaticBinary runs the Go stages' commands here: no Docker engine is needed for them.
func TestDockerfilesBuildAStaticBinary(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	environ := append(os.Environ(), "VERSION=v9.8.7")
	for path, c := range map[string]struct{ part, binary string }{
		"../Dockerfile":  {"package.sh", "wwwroot/rowrelay"},
		"Dockerfile.run": {"go build", "rowrelay"},
	} {
		if out, err := inDir("..", environ, "bash", "-ec", runs(t, path, c.part, root)); err != nil {
			t.Fatalf("%s: %v\n%s", path, err, out)
		}
		binary := filepath.Join(root, c.binary)
		if runtime.GOOS == "linux" {
			static(t, binary)
		}
		if out, err := inDir(root, nil, binary, "version"); err != nil || !strings.Contains(out, "v9.8.7") {
			t.Errorf("%s: version says %q, %v", path, out, err)
		}
	}
	checkPackage(t, filepath.Join(root, "wwwroot"))
}

func static(t *testing.T, binary string) {
	t.Helper()
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("%s needs a dynamic loader, and the image has none", binary)
		}
	}
}

// checkPackage: exactly what a function app runs, with the names that host.json says.
func checkPackage(t *testing.T, dir string) {
	t.Helper()
	got := filesBelow(t, dir)
	want := []string{"host.json", "rowrelay"}
	for _, f := range glob(t, "../*/function.json", 1) {
		want = append(want, filepath.Join(filepath.Base(filepath.Dir(f)), "function.json"))
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the package holds %q, want %q", got, want)
	}
	text := testfile.Read(t, filepath.Join(dir, "host.json"))
	var host struct {
		CustomHandler struct {
			Description struct{ DefaultExecutablePath string }
		}
	}
	if err := json.Unmarshal(text, &host); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, host.CustomHandler.Description.DefaultExecutablePath))
	if err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("what host.json starts is not there or not executable: %v, %v", info, err)
	}
}

func TestDockerfileOfRunNeedsNoRoot(t *testing.T) {
	lines := instructions(t, "Dockerfile.run")
	last := slices.IndexFunc(lines, func(l string) bool { return l == "FROM ${BASE}" })
	if last < 0 {
		t.Fatal("there is no stage FROM ${BASE}")
	}
	for _, want := range []string{"USER 65532:65532", `ENTRYPOINT ["/rowrelay"]`, `CMD ["run"]`} {
		if !slices.Contains(lines[last:], want) {
			t.Errorf("the image lacks %s", want)
		}
	}
	for _, l := range lines[last:] {
		if strings.HasPrefix(l, "RUN ") {
			t.Errorf("%s: the image has no shell", l)
		}
	}
}

func TestImagesNameATag(t *testing.T) {
	for _, path := range dockerfiles {
		for _, l := range instructions(t, path) {
			name, value, is := strings.Cut(strings.TrimPrefix(l, "ARG "), "=")
			if !strings.HasPrefix(l, "ARG ") || !is || name == "VERSION" {
				continue
			}
			if !strings.Contains(value, ":") || strings.HasSuffix(value, ":latest") {
				t.Errorf("%s: %s names no tag", path, l)
			}
		}
	}
}

// TestDockerBuildContext: what the builds copy is not ignored, and secrets are.
func TestDockerBuildContext(t *testing.T) {
	text := testfile.Read(t, "../.dockerignore")
	ignored := strings.Fields(string(text))
	if !slices.Contains(ignored, "local.settings.json") || !slices.Contains(ignored, ".git") {
		t.Error(".dockerignore lets local.settings.json or .git in")
	}
	for _, needed := range []string{"go.mod", "go.sum", "host.json", "cmd", "deploy", "orders"} {
		if slices.Contains(ignored, needed) {
			t.Errorf(".dockerignore leaves out %s", needed)
		}
	}
}
