package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

const productionHead = `# The production checklist

<!-- Written from the checklist in cmd/rowrelay/production_items*.go: go test ./cmd/rowrelay -run TestProductionPage -update-production. Do not edit. -->

` + "`rowrelay check --production`" + ` goes through this list: run it where the settings of production are, before the first start, after each
change of the settings, and in the pipeline that deploys. It connects to the databases, the state store and the queues; it sends and changes
nothing. Destinations of events are not asked.

| verdict | means |
|---|---|
| ok | seen to be in order, and what was seen is said |
| to mend | seen not to be; the exit code is 1 |
| cannot tell | nothing that the command sees decides it: look there yourself. These do not make the command fail |
| does not apply | to this app |

An item that is meant to be as it is can be named: ` + "`rowrelay check --production --accept lag,ordering`" + ` shows it as accepted and does not fail for it.
` + "`--json`" + ` prints the same for machines. A verdict is what the command saw at that moment, with the rights and from the place where it ran: run on a laptop it sees
the laptop's environment. On Azure, run it in the app's own environment, or with its settings in the file of ` + "`--settings`" + `.

The list has what seed 000, §10 asks for, and what else was found to go wrong. Where a rule differs from the seed's, the item says why.
`

// writeProductionPage writes docs/production.md: the checklist, and two outputs of the command.
func writeProductionPage(w io.Writer, goodOutput, badOutput string) error {
	p := &printer{w: w}
	p.line("%s", productionHead)
	group := ""
	for _, i := range checklist() {
		if i.group != group {
			group = i.group
			p.line("## %s\n", group)
		}
		p.line("### `%s`\n\n%s%s.\n", i.id, strings.ToUpper(i.asks[:1]), i.asks[1:])
		p.line("- **Why**: %s", linked(i.why))
		if i.untold {
			p.line("- **Verdict**: cannot tell, always: a person has to look.")
		}
		p.line("- **Mend**: %s.\n", linked(strings.TrimSuffix(i.mend, ".")))
	}
	p.line("## What it prints\n\nBoth outputs are the binary's, from a test (`e2e/production_test.go`), with names and ports replaced. "+
		"The engines are real PostgreSQL and Azurite; the TLS of the first is a front of the test's, because the tests' PostgreSQL has none. "+
		"Not run: Azure, SQL Server.\n\n"+
		"An app that is ready: `rowrelay run` on one machine, PostgreSQL over verified TLS, a login that may only read.\n\n%s\n"+
		"A Function App that works, and is not ready:\n\n%s", fenced(goodOutput), strings.TrimRight(fenced(badOutput), "\n"))
	return p.err
}

var pageName = regexp.MustCompile(`docs/([a-z-]+\.md)`)

// linked makes links of the names of pages, and keeps <poller> from being taken for a tag.
func linked(text string) string {
	return strings.ReplaceAll(pageName.ReplaceAllString(text, "[$0]($1)"), "<", `\<`)
}

func fenced(output string) string { return fmt.Sprintf("```text\n%s```\n", output) }
