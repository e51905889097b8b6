package deploy_test

import (
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// What is fetched is named by its whole version, where whoever made it keeps such names: a job of today is the job of
// tomorrow.
func TestWhatIsFetchedHasAVersion(t *testing.T) {
	whole := regexp.MustCompile(`\d+\.\d+\.\d+|-CU\d+-`)
	named := regexp.MustCompile(`\b(?:golang|mssql/server|azure-storage/azurite):[\w.-]+|\b(?:azure-functions-core-tools|azurite)@[\w.-]+`)
	seen := map[string]bool{}
	for _, path := range append([]string{"../.github/workflows/ci.yml"},
		append(glob(t, "compose*.yaml", 2), dockerfiles...)...) {
		text := testfile.Read(t, path)
		for _, name := range named.FindAllString(string(text), -1) {
			seen[name[:strings.IndexAny(name, ":@")]] = true
			if !whole.MatchString(name) {
				t.Errorf("%s: %s floats", path, name)
			}
		}
	}
	for _, name := range []string{"golang", "mssql/server", "azure-storage/azurite", "azure-functions-core-tools"} {
		if !seen[name] {
			t.Errorf("nothing names %s: this test looks for it in vain", name)
		}
	}
}

// TestOtherProgramsOfTheServersImage: the image's own entrypoint prepares and starts the server; another program takes
// its place.
func TestOtherProgramsOfTheServersImage(t *testing.T) {
	text := testfile.Read(t, "compose.laptop.yaml")
	var file struct {
		Services map[string]struct {
			Image               string
			Entrypoint, Command any // words, or a line
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	others := 0
	for name, s := range file.Services {
		if !strings.Contains(s.Image, "mssql/server") || name == "sqlserver" {
			continue
		}
		others++
		if s.Entrypoint == nil || s.Command != nil {
			t.Errorf("%s gives %v to the server's own entrypoint", name, s.Command)
		}
	}
	if others != 2 {
		t.Errorf("%d programs of the server's image, besides the server", others)
	}
}

// TestScalingNamesItsKEDA: before 2.17 a ScaledObject has no fallback.behavior (keda-docs, 2.16 and 2.17,
// scaledobject-spec).
func TestScalingNamesItsKEDA(t *testing.T) {
	var scaled scaledObject
	decode(t, "kubernetes/outbox-scaling.yaml", &scaled)
	if scaled.Spec.Fallback.Behavior == "" {
		t.Fatal("fallback.behavior is not used: any KEDA will do")
	}
	for _, path := range []string{"kubernetes/outbox-scaling.yaml", "README.md"} {
		text := testfile.Read(t, path)
		if !strings.Contains(string(text), "KEDA 2.17 or later") {
			t.Errorf("%s does not say which KEDA it takes", path)
		}
	}
}
