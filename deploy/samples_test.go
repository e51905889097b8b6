package deploy_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// TestSamplesPassTheChecklist goes through the production checklist with the settings of each sample: what it asks to
// mend stands in a comment of the sample that says so, and nothing else does. The services of the samples are not
// there: the two items that reach for them say that.
func TestSamplesPassTheChecklist(t *testing.T) {
	for name, sample := range map[string]struct {
		settings func(t *testing.T) map[string]string
		files    []string
		hosted   bool // with what `rowrelay functions` writes
	}{
		"kubernetes": {settings, []string{"kubernetes/settings.yaml", "kubernetes/secret.example.yaml"}, false},
		"laptop": {func(t *testing.T) map[string]string {
			return compose(t, "compose.laptop.yaml").Services["rowrelay"].Environment
		}, []string{"compose.laptop.yaml"}, false},
		"bicep": {func(t *testing.T) map[string]string { return bicepSettings(t, "bicep/main.parameters.json") }, nil, true},
		"azd":   {func(t *testing.T) map[string]string { return bicepSettings(t, "bicep/azd.parameters.json") }, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := programtest.Options{Dir: t.TempDir(), Settings: nowhere(t, sample.settings(t))}
			if sample.hosted {
				if out, err := programtest.Command(t.Context(), t, o, "functions").CombinedOutput(); err != nil {
					t.Fatalf("rowrelay functions: %v\n%s", err, out)
				}
			}
			toMend, items := production(t, o)
			named := namedItems(t, sample.files, items)
			if got := slices.Sorted(maps.Keys(toMend)); !slices.Equal(got, named) {
				t.Errorf("to mend are %q, and the comments of the sample name %q: %v", got, named, toMend)
			}
		})
	}
}

// nowhere makes of the settings' hosts names that nobody can have, and gives tokens to whoever asks for an identity's.
func nowhere(t *testing.T, given map[string]string) map[string]string {
	t.Helper()
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"x","expires_on":"4102444800","resource":"x","token_type":"Bearer"}`))
	}))
	t.Cleanup(tokens.Close)
	moved := map[string]string{"IDENTITY_ENDPOINT": tokens.URL, "IDENTITY_HEADER": "x"}
	names := strings.NewReplacer("windows.net", "windows.invalid", "example.com", "example.invalid", "=sqlserver;",
		"=sqlserver.invalid;", "//azurite:", "//azurite.invalid:")
	for name, value := range given {
		moved[name] = names.Replace(value)
	}
	return moved
}

// production returns the items that `check --production` asks to mend, with what it saw, and the ids of all. Those that
// say of nothing but names that cannot be found are left out.
func production(t *testing.T, o programtest.Options) (toMend map[string]string, items []string) {
	t.Helper()
	out, err := programtest.Command(t.Context(), t, o, "check", "--production", "--json").Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var view struct {
		Items []struct {
			ID      string
			Answers []struct{ Verdict, Seen string }
		}
	}
	if err := json.Unmarshal(out, &view); err != nil || len(view.Items) == 0 {
		t.Fatalf("%v: %s%s", err, out, stderrOf(err))
	}
	toMend = map[string]string{}
	unreached := []string{}
	for _, i := range view.Items {
		items = append(items, i.ID)
		for _, a := range i.Answers {
			switch {
			case a.Verdict != "to mend":
			case !slices.ContainsFunc(strings.Split(a.Seen, " | "), func(part string) bool {
				return !strings.Contains(part, "lookup ")
			}):
				unreached = append(unreached, i.ID)
			default:
				toMend[i.ID] = a.Seen
			}
		}
	}
	if !slices.Equal(unreached, []string{"settings", "state-reached"}) {
		t.Errorf("not reached, by %q", unreached)
	}
	return toMend, items
}

var (
	commented = regexp.MustCompile(`(?m)(?:^|\s)#(.*)$`)
	inTicks   = regexp.MustCompile("`([a-z-]+)`")
)

// namedItems are the items that the comments of files name, sorted.
func namedItems(t *testing.T, files, items []string) []string {
	t.Helper()
	named := map[string]bool{}
	for _, path := range files {
		text := testfile.Read(t, path)
		for _, line := range commented.FindAllStringSubmatch(string(text), -1) {
			for _, word := range inTicks.FindAllStringSubmatch(line[1], -1) {
				if slices.Contains(items, word[1]) {
					named[word[1]] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(named))
}
