package deploy_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPublishTakesTheDirectoryInWhichItIsCalled: the functions are that directory's and the program is this clone's,
// for both ways of publishing. func, az and zip are stand-ins, which show the directory that they were given, and so is
// go: what package.sh really builds is another test's business.
func TestPublishTakesTheDirectoryInWhichItIsCalled(t *testing.T) {
	tools, app := t.TempDir(), t.TempDir()
	for _, name := range []string{"func", "zip", "az"} {
		text := fmt.Sprintf("#!/bin/bash -e\necho \"$*\" >>%[1]q/%[2]s.arguments\ncp -a . %[1]q/%[2]s.directory\n", tools,
			name)
		if name == "az" {
			text = "#!/bin/bash\n"
		}
		write(t, filepath.Join(tools, name), text, 0o700)
	}
	write(t, filepath.Join(tools, "go"),
		fmt.Sprintf("#!/bin/bash -e\necho \"$1 $2 $3\" >>%q/go.arguments\nwhile [[ $1 != -o ]]; do shift; done\n: >\"$2\"\n",
			tools), 0o700)
	write(t, filepath.Join(app, "host.json"), `{"version":"2.0","its":"own"}`, 0o600)
	write(t, filepath.Join(app, "invoices", "function.json"), `{"bindings":[]}`, 0o600)
	write(t, filepath.Join(app, "local.settings.json"), `{"Values":{"SHOP_DB":"secret"}}`, 0o600)
	environ := append(os.Environ(), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for script, args := range map[string][]string{"publish.sh": {"shop-relay", "--force"},
		"publish-package.sh": {"rg-shop", "shop-relay", "strrhost"}} {
		if out, err := inDir(app, environ, filepath.Join(here, script), args...); err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
	}
	arguments, err := os.ReadFile(filepath.Join(tools, "func.arguments"))
	if err != nil || string(arguments) != "azure functionapp publish shop-relay --custom --force\n" {
		t.Errorf("func %s, %v", arguments, err)
	}
	clone := "build -C " + filepath.Dir(here) + "\n"
	if built, err := os.ReadFile(filepath.Join(tools, "go.arguments")); err != nil || string(built) != clone+clone {
		t.Errorf("go %s, %v", built, err)
	}
	for _, name := range []string{"func", "zip"} {
		given := filepath.Join(tools, name+".directory")
		if files := filesBelow(t, given); !slices.Equal(files, []string{"host.json", "invoices/function.json", "rowrelay"}) {
			t.Errorf("%s was given %q", name, files)
		}
		if text, err := os.ReadFile(filepath.Join(given, "host.json")); err != nil || !strings.Contains(string(text), "its") {
			t.Errorf("%s was given another host.json: %s, %v", name, text, err)
		}
	}
}

// TestPublishSynchronisesTheTriggers: the platform refuses it while the app starts, and is asked again, for as long as
// that may take. The pauses are stand-ins too.
func TestPublishSynchronisesTheTriggers(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for refusals, wanted := range map[int]bool{0: true, 3: true, 11: true, 12: false} {
		tools, app := t.TempDir(), t.TempDir()
		for name, text := range map[string]string{"zip": "", "go": "while [[ $1 != -o ]]; do shift; done\n: >\"$2\"\n",
			"sleep": fmt.Sprintf("echo $1 >>%q/pauses\n", tools),
			"az": fmt.Sprintf("[[ $1 == rest ]] || exit 0\necho x >>%[1]q/asked\n(($(wc -l <%[1]q/asked) > %[2]d))\n", tools,
				refusals)} {
			write(t, filepath.Join(tools, name), "#!/bin/bash\n"+text, 0o700)
		}
		write(t, filepath.Join(app, "host.json"), `{"version":"2.0"}`, 0o600)
		write(t, filepath.Join(app, "orders", "function.json"), `{"bindings":[]}`, 0o600)
		environ := append(os.Environ(), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := inDir(app, environ, filepath.Join(here, "publish-package.sh"), "rg-shop", "shop-relay", "strrhost")
		if (err == nil) != wanted || wanted == strings.Contains(out, "could not be synchronised within two minutes") {
			t.Errorf("after %d refusals: %v\n%s", refusals, err, out)
		}
		pauses, _ := os.ReadFile(filepath.Join(tools, "pauses")) // none: there is no file
		if got := strings.Count(string(pauses), "10\n"); got != min(refusals, 11) {
			t.Errorf("%d pauses after %d refusals", got, refusals)
		}
	}
}

// TestPackageNeedsFunctions: a directory that lacks something is not published, and neither is it emptied.
func TestPackageNeedsFunctions(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	app := t.TempDir()
	refused := func(to, want string) {
		t.Helper()
		if out, err := inDir(app, nil, "bash", filepath.Join(here, "package.sh"), to); err == nil ||
			!strings.Contains(out, want) {
			t.Errorf("%v: %s", err, out)
		}
	}
	refused(t.TempDir(), "no host.json")
	write(t, filepath.Join(app, "host.json"), "{}", 0o600)
	refused(t.TempDir(), "no <poller>/function.json")
	write(t, filepath.Join(app, "orders", "function.json"), "{}", 0o600)
	refused(".", "is the directory of the functions")
	if files := filesBelow(t, app); len(files) != 2 {
		t.Errorf("what is left is %q", files)
	}
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// filesBelow are the files of a directory, by their names from there.
func filesBelow(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, _ := filepath.Rel(dir, path)
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
