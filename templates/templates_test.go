package templates_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testfile"
	"github.com/rowrelay/rowrelay/templates"
)

// root is the repository, which is also the root of the function app.
const root = ".."

func TestPollerIsTheTimerFunctionOfTheSample(t *testing.T) {
	got := string(templates.Poller("ORDERS_SCHEDULE"))
	if want := read(t, "orders/function.json"); got != want {
		t.Errorf("the template for ORDERS_SCHEDULE is\n%s\nwant orders/function.json:\n%s", got, want)
	}
	var function struct {
		Bindings []struct {
			Type, Direction, Name, Schedule string
			RunOnStartup                    *bool
		}
		Retry any
	}
	decode(t, "orders/function.json", &function)
	if len(function.Bindings) != 1 {
		t.Fatalf("%d bindings, want the timer alone: output bindings are written after our answer, without acknowledgement",
			len(function.Bindings))
	}
	b := function.Bindings[0]
	if b.Type != "timerTrigger" || b.Direction != "in" || b.Name != "timer" || b.Schedule != "%ORDERS_SCHEDULE%" {
		t.Errorf("binding is %+v, want an incoming timerTrigger named timer on %%ORDERS_SCHEDULE%%", b)
	}
	if b.RunOnStartup == nil || *b.RunOnStartup {
		t.Error("runOnStartup must be false, and said")
	}
	if function.Retry != nil {
		t.Error("the template carries a host retry policy")
	}
}

// TestStatusFunctionsAreGuarded: looking needs a function key, acting the admin key, and each has one method.
func TestStatusFunctionsAreGuarded(t *testing.T) {
	for name, c := range map[string]struct {
		content              []byte
		level, method, route string
	}{
		"status":        {templates.Status(), "function", "get", "{page:regex(^status([.]json)?$)}"},
		"statusactions": {templates.StatusActions(), "admin", "post", "status/actions"},
	} {
		var function struct {
			Bindings []struct {
				Type, Direction, Name, AuthLevel, Route string
				Methods                                 []string
			}
		}
		if err := json.Unmarshal(c.content, &function); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(function.Bindings) != 2 {
			t.Fatalf("%s has %d bindings", name, len(function.Bindings))
		}
		in, out := function.Bindings[0], function.Bindings[1]
		if in.Type != "httpTrigger" || in.Direction != "in" || in.AuthLevel != c.level ||
			!slices.Equal(in.Methods, []string{c.method}) || in.Route != c.route {
			t.Errorf("%s: %+v", name, in)
		}
		if out.Type != "http" || out.Direction != "out" || out.Name != "res" {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// What the host needs, byte for byte: see "Ten traps" in the protocol facts, 10.
func TestHostFileStartsTheBinary(t *testing.T) {
	var host struct {
		Version         string
		FunctionTimeout string
		CustomHandler   struct {
			Description struct {
				DefaultExecutablePath string
				Arguments             []string
			}
			EnableForwardingHTTPRequest *bool `json:"enableForwardingHttpRequest"`
			Port                        any
			HTTP                        any `json:"http"`
		}
	}
	decode(t, "host.json", &host)
	if host.Version != "2.0" || host.FunctionTimeout != "00:05:00" {
		t.Errorf("version %q and functionTimeout %q, want 2.0 and 00:05:00", host.Version, host.FunctionTimeout)
	}
	if path := host.CustomHandler.Description.DefaultExecutablePath; path != "rowrelay" {
		t.Errorf("defaultExecutablePath is %q: Core Tools marks only the zip entry of exactly this name executable, want rowrelay", path)
	}
	if args := host.CustomHandler.Description.Arguments; !slices.Equal(args, []string{"serve"}) {
		t.Errorf("arguments are %q, want serve", args)
	}
	if f := host.CustomHandler.EnableForwardingHTTPRequest; f == nil || *f {
		t.Error("enableForwardingHttpRequest must be false")
	}
	if host.CustomHandler.Port != nil || host.CustomHandler.HTTP != nil {
		t.Error("customHandler.port and customHandler.http must not be used")
	}
}

// TestHostOfTheTemplates: the plain one is the repository's own, and the other one has two members more.
func TestHostOfTheTemplates(t *testing.T) {
	if got, want := string(templates.Host(false)), read(t, "host.json"); got != want {
		t.Errorf("templates/host.json is\n%s\nwant that of the repository:\n%s", got, want)
	}
	var plain, queues map[string]any
	for text, into := range map[string]*map[string]any{string(templates.Host(false)): &plain,
		string(templates.Host(true)): &queues} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	for _, member := range []string{"extensionBundle", "extensions"} {
		if queues[member] == nil {
			t.Errorf("host-queues.json has no %s", member)
		}
		delete(queues, member)
	}
	if !reflect.DeepEqual(plain, queues) {
		t.Errorf("host-queues.json differs in more: %v, and host.json is %v", queues, plain)
	}
}

func TestSampleSettingsHaveTheTimersSchedule(t *testing.T) {
	var local struct{ Values map[string]string }
	decode(t, "local.settings.json", &local)
	for name, want := range map[string]string{
		"FUNCTIONS_WORKER_RUNTIME": "custom",
		"AzureWebJobsStorage":      "UseDevelopmentStorage=true",
		"state__kind":              "blob",
	} {
		if got := local.Values[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"ORDERS_SCHEDULE", "state__app_name", "pollers__orders__source__connection"} {
		if local.Values[name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
}

// The zip must hold the binary, host.json and the function files, and nothing else: no source, no
// settings. Both readers of .funcignore are asked: git's rules (azd, editors) and those of Core
// Tools, where a line is the beginning of a path, * stops at a slash and a ! line always wins.
func TestPublishedZip(t *testing.T) {
	want := []string{"host.json", "orders/function.json", "rowrelay"}
	outside := []string{
		".git/config", ".gitignore", ".ci/run", ".golangci.yml", ".rowrelay/state/local/orders.json", "local.settings.json",
		"shop.db", "go.mod",
		"Makefile", "Dockerfile", "LICENSE", "README.md", "docs/settings.md", "cmd/rowrelay/main.go", "templates/poller.json",
		"state/blobstore/blobstore.go", "source/testdata/x.golden", "scripts/services.sh", "orders/extra.json",
		"deep/er/function.json",
	}
	dir := t.TempDir()
	for _, path := range append(slices.Clone(want), outside...) {
		if strings.HasPrefix(path, ".git/") {
			continue
		}
		full := filepath.Join(dir, path)
		testfile.Write(t, full, "")
	}
	ignore, err := filepath.Abs(filepath.Join(root, ".funcignore"))
	if err != nil {
		t.Fatal(err)
	}

	git := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
		return string(out)
	}
	git("init", "-q")
	if got := strings.Fields(git("ls-files", "--others", "--exclude-from="+ignore)); !slices.Equal(got, want) {
		t.Errorf("by git's rules the zip holds %q, want %q", got, want)
	}

	excluded := coreToolsRules(t)
	for _, path := range want {
		if excluded(path) {
			t.Errorf("by the rules of Core Tools the zip lacks %s", path)
		}
	}
	for _, path := range outside {
		if !excluded(path) {
			t.Errorf("by the rules of Core Tools the zip holds %s", path)
		}
	}
}

func coreToolsRules(t *testing.T) func(path string) bool {
	t.Helper()
	var denied, kept []*regexp.Regexp
	for line := range strings.Lines(read(t, ".funcignore")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		line, keep := strings.CutPrefix(line, "!")
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimPrefix(line, "/")), `\*`, "[^/]+")
		re := regexp.MustCompile("^" + pattern)
		if keep {
			kept = append(kept, re)
		} else {
			denied = append(denied, re)
		}
	}
	matches := func(set []*regexp.Regexp, path string) bool {
		return slices.ContainsFunc(set, func(re *regexp.Regexp) bool { return re.MatchString(path) })
	}
	return func(path string) bool { return matches(denied, path) && !matches(kept, path) }
}

func read(t *testing.T, path string) string {
	t.Helper()
	return string(testfile.Read(t, filepath.Join(root, path)))
}

func decode(t *testing.T, path string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, path)), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// binding is the only one of a function.json.
func binding(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var function struct {
		Bindings []map[string]any
		Retry    any
	}
	if err := json.Unmarshal(text, &function); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if len(function.Bindings) != 1 || function.Retry != nil {
		t.Fatalf("want one binding and no retry policy: %s", text)
	}
	return function.Bindings[0]
}

func TestFunctionsOfAnOutbox(t *testing.T) {
	cleanup := binding(t, templates.Cleanup("0 0 * * * *"))
	if cleanup["type"] != "timerTrigger" || cleanup["direction"] != "in" || cleanup["schedule"] != "0 0 * * * *" ||
		cleanup["runOnStartup"] != false {
		t.Errorf("the clean-up is %v", cleanup)
	}
	partition := binding(t, templates.Partition("orders-partitions", "AzureWebJobsStorage"))
	if partition["type"] != "queueTrigger" || partition["direction"] != "in" ||
		partition["queueName"] != "orders-partitions" || partition["connection"] != "AzureWebJobsStorage" {
		t.Errorf("the partition is %v", partition)
	}
}
