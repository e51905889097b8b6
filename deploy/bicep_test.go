package deploy_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// bicepTypes is the directory `generated` of a clone of Azure/bicep-types-az, where there is one: then every property
// is looked up in it. Without it, the properties are compared with testdata/bicep-properties.txt, which was looked up.
const bicepTypes = "ROWRELAY_BICEP_TYPES"

// bicepResult is what bicep/check.py prints.
type bicepResult struct {
	Faults     []string                   `json:"faults"`
	Uses       []string                   `json:"uses"`
	Parameters map[string]map[string]bool `json:"parameters"`
}

func checkBicep(t *testing.T, dir string) (r bicepResult) {
	t.Helper()
	files := append(glob(t, dir+"/*.bicep", 2), glob(t, dir+"/modules/*.bicep", 8)...)
	args := []string{"bicep/check.py"}
	if types := os.Getenv(bicepTypes); types != "" {
		args = append(args, "--types", types)
	}
	out, err := exec.Command(checker(t, "python"), append(args, files...)...).Output()
	if err != nil {
		t.Fatalf("bicep/check.py: %v\n%s", err, stderrOf(err))
	}
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func stderrOf(err error) string {
	if exit, ok := err.(*exec.ExitError); ok { //nolint:errorlint // Output returns it as it is
		return string(exit.Stderr)
	}
	return ""
}

func TestBicepIsSoundAndSetsPropertiesThatExist(t *testing.T) {
	r := checkBicep(t, "bicep")
	for _, fault := range r.Faults {
		t.Error(fault)
	}
	const golden = "testdata/bicep-properties.txt"
	if os.Getenv(bicepTypes) != "" && os.Getenv("ROWRELAY_UPDATE") != "" && len(r.Faults) == 0 {
		testfile.Write(t, golden, strings.Join(r.Uses, "\n")+"\n")
	}
	text := testfile.Read(t, golden)
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(string(text)), "\n"), r.Uses); diff != "" {
		t.Errorf("resource properties that were not looked up in Azure's type index. With a clone of Azure/bicep-types-az:\n"+
			"%s=…/generated ROWRELAY_UPDATE=1 go test ./deploy -run TestBicep\n%s", bicepTypes, diff)
	}
}

// TestBicepCheckFindsFaults: the check above is only worth what it finds.
func TestBicepCheckFindsFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, old, with, fault string }{
		"syntax": {"main.bicep", "location: location\n  tags: tags\n}", "location: location\n  tags tags\n}",
			"syntax error"},
		"undeclared":       {"modules/vault.bicep", "tags: tags", "tags: labels", "labels is not declared"},
		"unused parameter": {"modules/vault.bicep", "tags: tags\n", "", "parameter tags is not used"},
		"no function":      {"main.bicep", "uniqueString(", "uniqueText(", "no function uniqueText"},
		"no decorator":     {"main.bicep", "@minLength(2)", "@minimumLength(2)", "no decorator minimumLength"},
		"no module":        {"main.bicep", "modules/vault.bicep", "modules/vaults.bicep", "there is no file"},
		"parameter lacks":  {"main.bicep", "    stateAppName: stateAppName\n", "", "needs the parameter stateAppName"},
		"parameter more": {"main.bicep", "    clientId: identity.properties.clientId\n",
			"    clientId: identity.properties.clientId\n    clientSecret: name\n", "has no parameter clientSecret"},
		"no output": {"main.bicep", "monitoring.outputs.connectionString", "monitoring.outputs.key",
			"monitoring has no output"},
		"twice": {"modules/vault.bicep", "param tags object\n", "param tags object\nparam tags object\n",
			"tags is declared twice"},
	} {
		t.Run(name, func(t *testing.T) { mutant(t, c.file, c.old, c.with, c.fault) })
	}
	if os.Getenv(bicepTypes) == "" {
		return // properties are compared with the golden file instead
	}
	for name, c := range map[string]struct{ file, old, with, fault string }{
		"no property":   {"modules/app.bicep", "httpsOnly: true", "httpOnly: true", "has no property httpOnly"},
		"no type":       {"modules/vault.bicep", "vaults@2024-11-01", "vaults@2024-11-02", "no resource type"},
		"a wrong value": {"modules/storage.bicep", "'TLS1_2'", "1", "minimumTlsVersion is 1"},
		"a wrong text":  {"modules/vault.bicep", "'standard'", "'cheap'", "not one of"},
		"needed":        {"modules/storage.bicep", "  kind: 'StorageV2'\n", "", "needs kind"},
		"read-only":     {"modules/app.bicep", "httpsOnly: true", "defaultHostName: name", "is read-only"},
		"existing": {"modules/storage-access.bicep", "  name: account\n", "  name: account\n  location: account\n",
			"existing resource sets location"},
	} {
		t.Run(name, func(t *testing.T) { mutant(t, c.file, c.old, c.with, c.fault) })
	}
}

func mutant(t *testing.T, file, old, with, fault string) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("bicep")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, file)
	text := testfile.Read(t, path)
	if !strings.Contains(string(text), old) {
		t.Fatalf("%s does not hold %q", file, old)
	}
	testfile.Write(t, path, strings.Replace(string(text), old, with, 1))
	r := checkBicep(t, dir)
	if !slices.ContainsFunc(r.Faults, func(f string) bool { return strings.Contains(f, fault) }) {
		t.Errorf("not found: %q; found: %q", fault, r.Faults)
	}
}

// parametersFile is a file of values for a template.
type parametersFile struct {
	Parameters map[string]struct {
		Value any `json:"value"`
	} `json:"parameters"`
}

func readParameters(t *testing.T, path string) (p parametersFile) {
	t.Helper()
	text := testfile.Read(t, path)
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return p
}

func TestParametersFilesFitTheirTemplates(t *testing.T) {
	r := checkBicep(t, "bicep")
	for _, name := range []string{"main", "azd"} {
		wanted, given := r.Parameters["bicep/"+name+".bicep"], readParameters(t, "bicep/"+name+".parameters.json").Parameters
		for p := range given {
			if _, known := wanted[p]; !known {
				t.Errorf("%s.parameters.json gives %s, which %s.bicep does not take", name, p, name)
			}
		}
		for p, needed := range wanted {
			if _, has := given[p]; needed && !has {
				t.Errorf("%s.parameters.json lacks %s", name, p)
			}
		}
	}
}
