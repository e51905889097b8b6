package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

const shopYAML = `# one file for a machine
state: {kind: file}
pollers:
  orders:
    source: {connection: SHOP_DB, table: orders, cursor: id, late_commits: none}
    output: {kind: stdout, format: row, constants__by: "it's %NAME%"}
    batch_size: 0100
env:
  SHOP_DB: sqlite:shop.db
`

// TestOneFileOfSettings: check, run and the state's commands take a YAML file as they take the environment, and the
// environment wins over it; local.settings.json is not read beside it.
func TestOneFileOfSettings(t *testing.T) {
	t.Chdir(t.TempDir())
	testfile.Write(t, "shop.db", "")
	runSQL(t, "sqlite:shop.db", `CREATE TABLE orders (id integer PRIMARY KEY, note text)`,
		`INSERT INTO orders VALUES (1, 'one')`)
	testfile.Write(t, "rowrelay.yaml", shopYAML)
	testfile.Write(t, "local.settings.json", `{"Values": {"state__kind": "nonsense"}}`)
	environ := []string{"NAME=me", "pollers__orders__batch_size=7"}
	if out, errs, err := sampled(t, environ, "check", "--config", "rowrelay.yaml"); err != nil {
		t.Fatal(err, out, errs)
	}
	out, errs, err := sampled(t, environ, "run", "--once", "--config", "rowrelay.yaml")
	if err != nil || !strings.Contains(out, `{"id":1,"note":"one","by":"it's me"}`) {
		t.Error(err, out, errs)
	}
	out, errs, err = sampled(t, environ, "state", "show", "orders", "--config", "rowrelay.yaml")
	if err != nil || !strings.Contains(out, "orders") {
		t.Error(err, out, errs)
	}
	for args, want := range map[string]string{
		"run --once":                        "nonsense", // of local.settings.json
		"check --config gone.yaml":          "read the configuration: open gone.yaml",
		"serve --config rowrelay.yaml":      "rowrelay serve takes no --config",
		"init new --config rowrelay.yaml":   "rowrelay init takes no --config",
		"run --config a.yaml --settings b":  "--config and --settings both name the file",
		"config to-env --config wrong.yaml": "wrong.yaml, line 2: state__kind is a list",
	} {
		testfile.Write(t, "wrong.yaml", "state:\n  kind: [file]\n")
		if out, errs, err := sampled(t, nil, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\n%s%s", args, err, out, errs)
		}
	}
}

// TestSettingsConvertBothWays: YAML, local.settings.json and variables of a shell say the same.
func TestSettingsConvertBothWays(t *testing.T) {
	t.Chdir(t.TempDir())
	convert := func(environ []string, args ...string) string {
		t.Helper()
		out, errs, err := sampled(t, environ, append([]string{"config"}, args...)...)
		if err != nil {
			t.Fatal(err, errs)
		}
		return out
	}
	testfile.Write(t, "a.yaml", shopYAML)
	testfile.Write(t, "a.json", convert(nil, "to-env", "--config", "a.yaml", "--json"))
	testfile.Write(t, "b.yaml", convert(nil, "to-yaml", "--settings", "a.json"))
	variables := convert(nil, "to-env", "--config", "b.yaml")
	testfile.Write(t, "c.env", variables)
	shell := exec.Command("sh", "-c", "set -a; . ./c.env; env")
	shell.Env = []string{"PATH=" + os.Getenv("PATH")}
	environ, err := shell.Output()
	if err != nil {
		t.Fatal(err)
	}
	// Other variables of the environment are not the program's to write down; SHOP_DB stays there.
	testfile.Write(t, "d.yaml", convert(strings.Split(strings.TrimSpace(string(environ)), "\n"), "to-yaml"))
	d := convert(nil, "to-env", "--config", "d.yaml")
	if variables != d+"SHOP_DB=sqlite:shop.db\n" || strings.Count(d, "\n") != 9 {
		t.Errorf("there:\n%s\nand back:\n%s", variables, d)
	}
	for _, want := range []string{"batch_size=0100\n", `constants__by="it's %NAME%"` + "\n"} {
		if !strings.Contains(variables, want) {
			t.Errorf("no %s in\n%s", want, variables)
		}
	}
	// What Compose would end too early stands in double quotes, where nothing is expanded or run.
	for _, value := range []string{"a = 'x'", "\\", "' $HOME `id` \" \\ \\n", "a\nb"} {
		env := convert([]string{"log__level=" + value}, "to-env")
		got, err := exec.Command("sh", "-c", env+`printf %s "$log__level"`).Output()
		if err != nil || string(got) != value || strings.Contains(env, `'\''`) {
			t.Errorf("%q became %q by %s: %v", value, got, env, err)
		}
	}
	testfile.Write(t, "odd.yaml", "pollers: {a: {output: {headers: {X-A: b}}}}")
	for _, args := range []string{"to-env --config odd.yaml", "to-yaml"} {
		if out, _, err := sampled(t, []string{"HOME=/"}, strings.Fields("config "+args)...); err == nil {
			t.Errorf("%s: %s", args, out)
		}
	}
}
