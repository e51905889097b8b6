package e2e

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
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

// TestHelp: each command says what it does, and its flags.
func TestHelp(t *testing.T) {
	for args, parts := range map[string][]string{
		"": {"rowrelay demo", "rowrelay check", "rowrelay run", "rowrelay functions", "serve", "state",
			"version", "--settings", "--json", "docs/settings.md", "local.settings.json"},
		"serve": {"FUNCTIONS_CUSTOMHANDLER_PORT", "never exits on a fault", "--port"},
		"run":   {"Ctrl-C", "status__listen", "--once", "schedule"},
		"check": {"statement", "index", "first rows", "sends and changes nothing", "--rows"},
		"state": {"show", "reset", "pause", "resume", "clone", "export", "import", "accept-fingerprint",
			"accept-gap", "--output"},
		"status":     {"failing", "exit", "--json"},
		"state show": {"position, lease, parked events"},
		"state reset": {"--to beginning", "--to latest", "--to cursor=", "--to file=", "--yes", "--dry-run",
			"--break-lease", "refused while an instance holds the lease"},
		"deadletter":        {"list", "show", "replay", "purge"},
		"deadletter replay": {"--as-recorded", "BREAKS THE ORDER", "--dry-run", "--reason"},
		"backfill":          {"--from", "--to", "--rate", "--stop", "order of each key holds"},
		"functions":         {"function.json", "ORDERS_SCHEDULE", "--force"},
		"demo":              {"--connection"},
		"version":           {"version"},
	} {
		out, errs, err := command(t, t.TempDir(), settings{}, append(strings.Fields(args), "--help")...)
		if err != nil || errs != "" {
			t.Errorf("%s: %v: %s", args, err, errs)
		}
		wants(t, out, parts...)
	}
}

// TestMistypedCommands: what is not understood is an error on stderr that names what there is.
func TestMistypedCommands(t *testing.T) {
	s, _ := sqliteShop(t, "http://127.0.0.1:9/", 0)
	mistyped := map[string]bool{"chekc": true, "run --onec": true, "state show": true} // no command line of ours at all
	for args, want := range map[string]string{
		"chekc":                        "there is no command rowrelay chekc: did you mean rowrelay check?",
		"run --onec":                   "unknown flag: --onec",
		"run absent --once":            `there is no poller "absent": the settings name ["orders"]`,
		"check absent":                 `there is no poller "absent"`,
		"state show absent":            `there is no poller "absent"`,
		"state show orders":            "there is no state document yet",
		"state show":                   "does not take 0 argument(s): write rowrelay state show <poller>",
		"state reset orders":           `say where to: --to beginning`,
		"state show --output x orders": `no output "x"`,
		"functions absent":             `no poller "absent"`,
		"run --settings absent.json":   "absent.json",
		"serve":                        "rowrelay run",
	} {
		out, errs, err := command(t, t.TempDir(), s, strings.Fields(args)...)
		code := 1
		if mistyped[args] {
			code = 2
		}
		if exitCode(t, err) != code || out != "" || strings.Count(strings.TrimSpace(errs), "\n") > 3 {
			t.Errorf("%s: %v\n%s%s", args, err, out, errs)
		}
		wants(t, errs, want)
	}
	// serve names what the host would have set, and what to do without it.
	_, errs, _ := command(t, t.TempDir(), s, "serve")
	wants(t, errs, "FUNCTIONS_CUSTOMHANDLER_PORT", "func start", "rowrelay run", "--port")
}

func TestVersion(t *testing.T) {
	out := stdout(t, t.TempDir(), settings{}, "version", "--json")
	var v map[string]any
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"version", "go", "platform"} {
		if text, _ := v[name].(string); text == "" {
			t.Errorf("no %s: %s", name, out)
		}
	}
	if out := stdout(t, t.TempDir(), settings{}, "version"); !strings.HasPrefix(out, "rowrelay ") {
		t.Error(out)
	}
}

func TestFunctions(t *testing.T) {
	s, _ := sqliteShop(t, "http://127.0.0.1:9/", 0)
	dir := t.TempDir()
	path := filepath.Join(dir, "orders", "function.json")
	run := func(args ...string) string {
		t.Helper()
		out := stdout(t, dir, s, append([]string{"functions"}, args...)...)
		return out
	}
	wants(t, run(), "orders/function.json written", "ORDERS_SCHEDULE")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, string(text), `"timerTrigger"`, `"%ORDERS_SCHEDULE%"`)
	const mine = `{"bindings":[]}`
	if err := os.WriteFile(path, []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	wants(t, run("orders"), "left alone", "--force")
	if kept, err := os.ReadFile(path); err != nil || string(kept) != mine {
		t.Errorf("%v: %s", err, kept)
	}
	wants(t, run("--force"), "written")
	if again, err := os.ReadFile(path); err != nil || string(again) != string(text) {
		t.Errorf("%v: %s", err, again)
	}
}
