package deploy_test

import (
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// azdProject is what of azure.yaml must fit the rest.
type azdProject struct {
	Name             string
	RequiredVersions struct{ Azd string } `yaml:"requiredVersions"`
	Infra            struct{ Provider, Path, Module string }
	Services         map[string]struct {
		Project, Host, Language, Dist string
		Hooks                         map[string]struct{ Shell, Run string }
	}
	Hooks map[string]struct{ Shell, Run string }
}

// decode reads one YAML document strictly: what the type does not know is a fault.
func decode(t *testing.T, path string, into any) {
	t.Helper()
	text := testfile.Read(t, path)
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func TestAzdProjectFitsTheTemplate(t *testing.T) {
	var p azdProject
	decode(t, "../azure.yaml", &p)
	template := "../" + p.Infra.Path + "/" + p.Infra.Module
	for _, path := range []string{template + ".bicep", template + ".parameters.json"} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("azure.yaml: %v", err)
		}
	}
	app := testfile.Read(t, "bicep/modules/app.bicep")
	for name, s := range p.Services {
		if !strings.Contains(string(app), "'azd-service-name': '"+name+"'") {
			t.Errorf("azd finds the app of the service %q by a tag that app.bicep does not set", name)
		}
		if s.Language != "custom" || s.Host != "function" || p.RequiredVersions.Azd != ">= 1.20.0" {
			t.Errorf("language custom is for azd from 1.20.0 on: %+v", s)
		}
		if hook := s.Hooks["prepackage"].Run; hook != "bash deploy/package.sh "+s.Dist {
			t.Errorf("the hook %q does not make %q, which azd zips", hook, s.Dist)
		}
	}
	environment := testfile.Read(t, template+".bicep")
	if run := p.Hooks["postprovision"].Run; !strings.Contains(run, "$ROWRELAY_IDENTITY") ||
		!strings.Contains(string(environment), "output ROWRELAY_IDENTITY ") {
		t.Error("the hook postprovision shows an output that the template does not have")
	}
}

func TestScriptsPassShellcheck(t *testing.T) {
	scripts := append(glob(t, "*.sh", 4), "../scripts/deploy-tools.sh")
	if out, err := inDir(".", nil, checker(t, "shellcheck"), scripts...); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
