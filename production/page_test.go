package production

import (
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// update writes docs/production.md: go test ./production -run TestPage -update.
var update = flag.Bool("update", false, "write docs/production.md from the checklist")

const pageHead = `# The production checklist

<!-- Written from the checklist in production/: go test ./production -run TestPage -update. Do not edit. -->

` + "`rowrelay check --production`" + ` goes through this list. Run it where the settings of production are: before the first
start, after each change of the settings, and in the pipeline that deploys. It connects to the databases, the state
store and the queues; it sends and changes nothing. It does not ask the destinations of events.

| verdict | means |
|---|---|
| ok | seen to be in order, and what was seen is said |
| to mend | seen not to be; the exit code is 1 |
| cannot tell | nothing that the command sees decides it: look there yourself. The command does not fail for it |
| does not apply | to this app |

` + "`--accept lag,ordering`" + ` shows an item that is meant to be so as accepted, and does not fail for it. ` + "`--json`" + ` prints
the same for machines. Beside each item that is not ok it says what to do. A verdict is what the command saw at that
moment, with the rights and from the place where it ran. For Azure, run it in the app's own environment, or with its
settings in the file of ` + "`--settings`" + `.
`

// page is docs/production.md: the checklist, and the end of an output of the command.
func page(output string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%s", pageHead)
	group := ""
	for _, i := range checklist() {
		if i.group != group {
			group = i.group
			line("## %s\n", group)
		}
		line("### `%s`\n\n%s%s. %s\n", i.id, strings.ToUpper(i.asks[:1]), i.asks[1:], linked(i.why))
		if i.untold {
			line("A person has to look, as it is always *cannot tell*: %s.\n", linked(strings.TrimSuffix(i.mend, ".")))
		}
	}
	line("## What it prints\n\nThe end of what the binary printed in a test (`e2e/production_test.go`, on PostgreSQL and Azurite) "+
		"about a Function App that works, and is not ready.\n\n%s", strings.TrimRight(fenced(ending(output)), "\n"))
	return b.String()
}

// ending is the last group of an output, and its last line.
func ending(output string) string {
	groups := strings.Split(output, "\n\n")
	return strings.Join(groups[len(groups)-2:], "\n\n")
}

var pageName = regexp.MustCompile(`docs/([a-z-]+\.md)`)

// linked makes links of the names of pages, and keeps <poller> from being taken for a tag.
func linked(text string) string {
	return strings.ReplaceAll(pageName.ReplaceAllString(text, "[$0]($1)"), "<", `\<`)
}

func fenced(output string) string { return fmt.Sprintf("```text\n%s```\n", output) }

// TestPage: docs/production.md is the checklist, and what check --production wrote in e2e.
func TestPage(t *testing.T) {
	outputs := map[string]string{}
	for _, name := range []string{"good", "bad"} {
		text := testfile.Read(t, filepath.Join("..", "e2e", "testdata", "production", name+".txt"))
		outputs[name] = string(text)
	}
	want := page(outputs["bad"])
	const path = "../docs/production.md"
	if *update {
		testfile.Write(t, path, want)
	}
	got := testfile.Read(t, path)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/production.md (-checklist +page), write it with -update:\n%s", diff)
	}
	// The command's ids, in their order, are the page's headings.
	var ids, headings []string
	for _, i := range checklist() {
		ids = append(ids, i.id)
	}
	for _, m := range regexp.MustCompile("(?m)^### `([a-z-]+)`").FindAllStringSubmatch(string(got), -1) {
		headings = append(headings, m[1])
	}
	if !slices.Equal(ids, headings) || len(ids) != len(slices.Compact(slices.Sorted(slices.Values(ids)))) {
		t.Errorf("the command has %q\nthe page %q", ids, headings)
	}
	for _, output := range outputs {
		at := 0
		for _, line := range strings.Split(output, "\n") {
			for n, id := range ids {
				if strings.HasPrefix(line, "  ") && len(line) > 12 && strings.HasPrefix(line[12:], id+" ") {
					if n < at {
						t.Errorf("%s stands behind %s", id, ids[at])
					}
					at = n
				}
			}
		}
		if at != len(ids)-1 {
			t.Errorf("an output ends with %s", ids[at])
		}
	}
}
