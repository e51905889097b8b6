package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/templates"
)

// functionsIn runs `rowrelay functions` in the present directory, and returns what it printed.
func functionsIn(t *testing.T, environ []string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if err := execute(t.Context(), append([]string{"functions"}, args...), environ, nil, &out, &errs); err != nil ||
		errs.Len() > 0 {
		t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
	}
	return out.String()
}

// shopSettings are a poller's, and nothing of the host.
func shopSettings() []string {
	return []string{
		"SHOP_DB=sqlite:shop.db", "state__kind=file", "pollers__orders__source__connection=SHOP_DB",
		"pollers__orders__source__table=orders",
		"pollers__orders__source__cursor=id", "pollers__orders__output__kind=stdout",
	}
}

// lacking are the lines that say what `func start` lacks, by their first words.
func lacking(t *testing.T, printed string) (list []string) {
	t.Helper()
	if strings.HasSuffix(printed, "\nfunc start lacks nothing here\n") {
		return nil
	}
	_, said, ok := strings.Cut(printed, "\nfunc start still lacks here:\n")
	if !ok {
		t.Fatalf("nothing is said of func start:\n%s", printed)
	}
	for line := range strings.Lines(said) {
		list = append(list, strings.TrimSpace(line))
	}
	return list
}

// From an empty directory to one that `func start` takes: each thing that is missing is named, until it is mended.
func TestFunctionsLeadToFuncStart(t *testing.T) {
	t.Chdir(t.TempDir())
	printed := functionsIn(t, shopSettings())
	if text, err := os.ReadFile("host.json"); err != nil || !bytes.Equal(text, templates.Host(false)) {
		t.Errorf("host.json: %v\n%s", err, text)
	}
	environ := shopSettings()
	for _, step := range []struct {
		lack string // how the first line of what is lacking begins
		mend func()
	}{
		{"the program rowrelay, which host.json starts: cp ", func() { writeHere(t, "rowrelay", "", 0o600) }},
		{"the right to execute rowrelay: chmod +x rowrelay", func() {
			if err := os.Chmod("rowrelay", 0o700); err != nil { //nolint:gosec // a program
				t.Fatal(err)
			}
		}},
		{"AzureWebJobsStorage, ", func() { environ = append(environ, "AzureWebJobsStorage=UseDevelopmentStorage=true") }},
		{"FUNCTIONS_WORKER_RUNTIME: write ", func() { environ = append(environ, "FUNCTIONS_WORKER_RUNTIME=custom") }},
		{"orders/function.json: its schedule is the app setting ORDERS_SCHEDULE, which is not set", func() {
			environ = append(environ, "ORDERS_SCHEDULE=*/10 * * * * *")
		}},
	} {
		if got := lacking(t, printed); len(got) == 0 || !strings.HasPrefix(got[0], step.lack) {
			t.Fatalf("want %q, and func start lacks %q", step.lack, got)
		}
		step.mend()
		printed = functionsIn(t, environ)
	}
	if got := lacking(t, printed); got != nil {
		t.Errorf("func start lacks %q", got)
	}
}

// What `func start` would not take is named, too.
func TestFunctionsNameWhatIsWrongForFuncStart(t *testing.T) {
	for name, c := range map[string]struct {
		environ []string
		host    string
		want    string // "": nothing is lacking
	}{
		"an identity":      {environ: []string{"AzureWebJobsStorage__accountName=strrhost"}},
		"an empty storage": {[]string{"AzureWebJobsStorage= "}, "", "AzureWebJobsStorage, "},
		"another runtime":  {[]string{"FUNCTIONS_WORKER_RUNTIME=node"}, "", "FUNCTIONS_WORKER_RUNTIME is node: "},
		"no schedule":      {[]string{"ORDERS_SCHEDULE=soon"}, "", "orders/function.json: schedule: "},
		"another program": {nil, `{"version":"2.0","customHandler":{"description":{"defaultExecutablePath":"bin/relay"}}}`,
			"the program bin/relay, "},
		"an absolute path": {nil, `{"version":"2.0","customHandler":{"description":{"defaultExecutablePath":"/nowhere/relay"}}}`,
			"the program /nowhere/relay, "},
		"no custom handler": {nil, `{"version":"2.0"}`,
			"host.json: customHandler.description.defaultExecutablePath is missing"},
		"no state":           {[]string{"state__kind="}, "", "the settings have 1 fault(s), "},
		"a broken host.json": {nil, `{`, "host.json cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			writeHere(t, "rowrelay", "", 0o700)
			if c.host != "" {
				writeHere(t, "host.json", c.host, 0o600)
			}
			environ := append(shopSettings(), "FUNCTIONS_WORKER_RUNTIME=custom", "ORDERS_SCHEDULE=*/10 * * * * *")
			if name != "an identity" {
				environ = append(environ, "AzureWebJobsStorage=UseDevelopmentStorage=true")
			}
			for _, pair := range c.environ { // in the place of what is there
				key, _, _ := strings.Cut(pair, "=")
				environ = append(slices.DeleteFunc(environ, func(p string) bool { return strings.HasPrefix(p, key+"=") }), pair)
			}
			got := lacking(t, functionsIn(t, environ))
			if c.want == "" && got != nil || c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], c.want)) {
				t.Errorf("want %q, and func start lacks %q", c.want, got)
			}
		})
	}
}

// `func start` reads local.settings.json beside host.json, and no other file.
func TestFunctionsSayWhichSettingsFuncStartReads(t *testing.T) {
	t.Chdir(t.TempDir())
	values := map[string]string{"FUNCTIONS_WORKER_RUNTIME": "custom", "ORDERS_SCHEDULE": "*/10 * * * * *",
		"AzureWebJobsStorage": "UseDevelopmentStorage=true"}
	text, err := json.Marshal(map[string]any{"Values": values})
	if err != nil {
		t.Fatal(err)
	}
	writeHere(t, "rowrelay", "", 0o700)
	writeHere(t, "shop.json", string(text), 0o600)
	if got := lacking(t, functionsIn(t, shopSettings(), "--settings", "shop.json")); len(got) != 1 ||
		!strings.HasPrefix(got[0], "local.settings.json: ") {
		t.Errorf("func start lacks %q", got)
	}
	writeHere(t, "local.settings.json", string(text), 0o600)
	if got := lacking(t, functionsIn(t, shopSettings())); got != nil {
		t.Errorf("func start lacks %q", got)
	}
}

// A host.json may serve other functions: it is never overwritten, and one that is written knows the queues of a
// fan-out.
func TestHostFileIsWrittenOnce(t *testing.T) {
	fanout := append(shopSettings(), "pollers__orders__source__mode=outbox", "pollers__orders__source__fanout_queue=parts",
		"pollers__orders__source__fanout_connection=AzureWebJobsStorage", "AzureWebJobsStorage=UseDevelopmentStorage=true")
	t.Chdir(t.TempDir())
	const own = `{"version":"2.0","customHandler":{"description":{"defaultExecutablePath":"rowrelay"}}}`
	writeHere(t, "host.json", own, 0o600)
	if printed := functionsIn(t, fanout, "--force"); !strings.Contains(printed, "host.json exists, left alone\n") ||
		!strings.Contains(printed, "host.json lacks what queue triggers need") {
		t.Errorf("it says:\n%s", printed)
	}
	if text, err := os.ReadFile("host.json"); err != nil || string(text) != own {
		t.Errorf("host.json is %s, %v", text, err)
	}
	t.Chdir(t.TempDir())
	printed := functionsIn(t, fanout)
	if text, err := os.ReadFile("host.json"); err != nil || !bytes.Equal(text, templates.Host(true)) {
		t.Errorf("host.json is %s, %v", text, err)
	}
	if strings.Contains(printed, "queue triggers need") || strings.Contains(printed, "maxDequeueCount") ||
		strings.Contains(printed, "maxPollingInterval") {
		t.Errorf("what it has written lacks something:\n%s", printed)
	}
}

func writeHere(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(".", name), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
