package main

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowrelay/rowrelay/admin"
	"github.com/rowrelay/rowrelay/cmd/rowrelay/commandline"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// completed asks for completions as the scripts of the shells do, and returns the values, without what is said about
// them, and the directive.
func completed(t *testing.T, environ []string, words ...string) (values []string, directive string) {
	t.Helper()
	var out, errs bytes.Buffer
	err := execute(context.Background(), append([]string{cobra.ShellCompRequestCmd}, words...), environ,
		strings.NewReader(""), &out, &errs)
	if err != nil {
		t.Fatalf("%v: %v\n%s", words, err, errs.String())
	}
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		if number, ok := strings.CutPrefix(line, ":"); ok {
			return values, number
		}
		value, _, _ := strings.Cut(line, "\t")
		values = append(values, value)
	}
	t.Fatalf("%v: no directive in %q", words, out.String())
	return nil, ""
}

const (
	noFiles = "4" // cobra's ShellCompDirectiveNoFileComp
	noSpace = "6" // and ShellCompDirectiveNoSpace
	files   = "0"
	byEnd   = "8"
	onlyDir = "16"
)

var shopEnviron = []string{
	"SHOP_DB=sqlite:shop.db", "state__kind=memory",
	"pollers__orders__source__connection=SHOP_DB", "pollers__orders__source__table=orders",
	"pollers__orders__source__cursor=id",
	"pollers__orders__output__kind=stdout", "pollers__orders__outputs__audit__kind=stdout",
	"pollers__events__source__connection=SHOP_DB", "pollers__events__source__mode=outbox",
	"pollers__events__source__table=outbox",
	"pollers__events__output__kind=http",
	"pollers__events__output__url=https://user:plantedPassword@example.com/?code=plantedCode",
	"pollers__broken__source__table=x",
}

func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		words     string // those of the command line; the last is what is being typed
		want      []string
		directive string
	}{
		{"run ", []string{"broken", "events", "orders"}, noFiles},
		{"run orders ", []string{"broken", "events"}, noFiles},
		{"run orders events broken ", nil, noFiles},
		{"run or", []string{"broken", "events", "orders"}, noFiles},
		{"check --rows 1 orders ", []string{"broken", "events"}, noFiles},
		{"state show ", []string{"broken", "events", "orders"}, noFiles},
		{"state show orders ", nil, noFiles},
		{"state clone orders ", nil, noFiles},
		{"state import orders ", nil, files},
		{"outbox status ", []string{"events"}, noFiles},
		{"deadletter replay orders ", nil, noFiles},
		{"state show orders --output ", []string{"audit"}, noFiles},
		{"backfill orders --output=", []string{"audit"}, noFiles},
		{"state reset orders --to ", []string{"beginning", "cursor=", "file=", "latest", "snapshot"}, noSpace},
		{"state reset orders --ties ", []string{"after", "before"}, noFiles},
		{"backfill orders --to ", []string{"cursor=", "latest"}, noSpace},
		{"deadletter list orders --cause ", []string{"impossible", "refused", "unavailable"}, noFiles},
		{"outbox list events --state ", slices.Sorted(slices.Values(admin.AllStates())), noFiles},
		{"demo --connection ", []string{"mysql://", "postgres://", "sqlserver://"}, noSpace},
		{"demo --rate ", nil, noFiles},
		{"demo --dir ", nil, onlyDir},
		{"run --settings ", []string{"json"}, byEnd},
		{"vers", []string{"version"}, noFiles},
		{"demo ", nil, noFiles},
	} {
		t.Run(c.words, func(t *testing.T) {
			t.Chdir(t.TempDir())
			values, directive := completed(t, shopEnviron, strings.Split(c.words, " ")...)
			slices.Sort(values)
			if !slices.Equal(values, c.want) {
				t.Errorf("%q, want %q", values, c.want)
			}
			if directive != c.directive {
				t.Errorf("directive %s, want %s", directive, c.directive)
			}
		})
	}
}

// The names come out of the file that --settings names, as for every command.
func TestCompletionReadsSettings(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	text := `{"Values":{"pollers__parcels__source__table":"parcels"}}`
	testfile.Write(t, filepath.Join(dir, "other.json"), text)
	if values, _ := completed(t, nil, "run", "--settings", "other.json", ""); !slices.Equal(values, []string{"parcels"}) {
		t.Errorf("%q", values)
	}
	if values, _ := completed(t, nil, "run", ""); len(values) > 0 {
		t.Errorf("without settings: %q", values)
	}
	// A file that cannot be read must not put its error among the names.
	if values, _ := completed(t, nil, "run", "--settings", "missing.json", ""); len(values) > 0 {
		t.Errorf("without the file: %q", values)
	}
}

// What a poller is called with shows no secret.
func TestCompletionShowsNoSecrets(t *testing.T) {
	t.Chdir(t.TempDir())
	var out, errs bytes.Buffer
	if err := execute(context.Background(), []string{cobra.ShellCompRequestCmd, "run", ""}, shopEnviron, nil, &out,
		&errs); err != nil {
		t.Fatal(err)
	}
	if text := out.String() + errs.String(); strings.Contains(text, "planted") ||
		!strings.Contains(text, "outbox of SHOP_DB") {
		t.Error(text)
	}
}

// No flag offers the files of the working directory where it takes no file, and what stands in the table is a flag.
func TestEveryFlagIsCompleted(t *testing.T) {
	known := map[string]bool{}
	for _, cmd := range commandline.EveryCommand(newRoot(&console{})) {
		path := strings.TrimPrefix(cmd.CommandPath(), "rowrelay ")
		for _, flags := range []*pflag.FlagSet{cmd.LocalNonPersistentFlags(), cmd.PersistentFlags()} {
			flags.VisitAll(func(f *pflag.Flag) {
				known["--"+f.Name], known[path+" --"+f.Name] = true, true
				if _, ok := cmd.GetFlagCompletionFunc(f.Name); !ok && f.NoOptDefVal == "" {
					t.Errorf("%s --%s has no completion", cmd.CommandPath(), f.Name)
				}
			})
		}
		if cmd.ValidArgsFunction == nil {
			t.Errorf("%s: its arguments have no completion", cmd.CommandPath())
		}
	}
	for name := range commandline.FlagValues {
		if !known[name] {
			t.Errorf("FlagValues: there is no %s", name)
		}
	}
}
