package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps" // exec is another function of these tests
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// The pages for operators: what is wrong, which numbers, and step by step.
const (
	operationsPage  = "operations.md"
	sizingPage      = "sizing.md"
	maintenancePage = "maintenance.md"
)

// TestOperationsNamesLogEvents compares the log events that the page tells of with those that the code writes.
func TestOperationsNamesLogEvents(t *testing.T) {
	compare(t, "log event", named(t, `\bevent=([a-z_]+)`), logEvents(t))
}

// TestOperationsNamesMetrics does the same with metrics.
func TestOperationsNamesMetrics(t *testing.T) {
	compare(t, "metric", named(t, `\b(rowrelay_[a-z_]+)`), metricNames(t))
}

// TestPagesNameSettings: each setting that a page names is one of settings.md.
func TestPagesNameSettings(t *testing.T) {
	settings := read(t, "settings.md")
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	for _, page := range append(pages, "../README.md") {
		for name := range namedOn(t, page, "`((?:source|output|state|status|log|dead_letter)__[a-z_]+[a-z])(?:`|=)") {
			names++
			short := strings.TrimPrefix(name, "output__") // an output's settings stand there without it
			known := strings.Contains(settings, "`"+name+"`") || strings.Contains(settings, "`"+short+"`")
			if !known && !strings.Contains(name, "__map__") {
				t.Errorf("%s names the setting %s, which is none", page, name)
			}
		}
	}
	if names < 100 {
		t.Errorf("only %d names were found", names)
	}
}

// named are the first groups of all matches on the page of failures.
func named(t *testing.T, pattern string) map[string]bool {
	t.Helper()
	return namedOn(t, operationsPage, pattern)
}

// namedOn are the first groups of all matches on a page.
func namedOn(t *testing.T, page, pattern string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(read(t, page), -1) {
		found[m[1]] = true
	}
	return found
}

func compare(t *testing.T, what string, page, code map[string]bool) {
	t.Helper()
	if len(page) == 0 || len(code) == 0 {
		t.Fatalf("%d of the page, %d of the code", len(page), len(code))
	}
	for _, name := range slices.Sorted(maps.Keys(page)) {
		if !code[name] {
			t.Errorf("%s names the %s %s, which the code does not have", operationsPage, what, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(code)) {
		if !page[name] {
			t.Errorf("%s does not tell of the %s %s", operationsPage, what, name)
		}
	}
}

// sources parses the files of some packages that are no tests.
func sources(t *testing.T, dirs ...string) []*ast.File {
	t.Helper()
	var files []*ast.File
	set := token.NewFileSet()
	for _, dir := range dirs {
		err := filepath.WalkDir("../"+dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(set, path, nil, 0)
			files = append(files, file)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// logEvents are the values that the code gives to the member "event" of a log line: as the argument behind "event", as
// a constant of poller.Event, and as the first argument of audit. "deadletter_…" of one that is put together is told
// apart by its parts.
func logEvents(t *testing.T) map[string]bool {
	t.Helper()
	events := map[string]bool{}
	add := func(e ast.Expr) {
		if text, ok := literal(e); ok {
			events[text] = true
		}
	}
	for _, file := range sources(t, "admin", "checkpointed", "handler", "poller", "cmd", "inspect", "status", "statuspage",
		"telemetry", "wiring") {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				for i := 0; i+1 < len(n.Args); i++ {
					if text, ok := literal(n.Args[i]); ok && text == "event" {
						add(n.Args[i+1])
					}
				}
				if called, ok := n.Fun.(*ast.SelectorExpr); ok && called.Sel.Name == "audit" && len(n.Args) > 0 {
					add(n.Args[0])
				}
			case *ast.ValueSpec:
				if kind, ok := n.Type.(*ast.Ident); ok && kind.Name == "Event" {
					for _, v := range n.Values {
						add(v)
					}
				}
			}
			return true
		})
	}
	for _, text := range eventVariables {
		events[text] = true
	}
	return events
}

// eventVariables are the events that reach audit through a variable: the test below finds each of them in the code.
var eventVariables = []string{"deadletter_replayed", "deadletter_sent_as_recorded", "deadletter_purged",
	"parked_purged", "outbox_requeued", "outbox_discarded"}

// TestEventVariables: what is listed above is in the code, and no other text of that form is.
func TestEventVariables(t *testing.T) {
	form := regexp.MustCompile(`^(deadletter|parked|outbox|checkpoint|lease|gap|fingerprint|backfill)_[a-z_]*(ed|ed_manually|as_recorded|begun)$`)
	known := logEvents(t)
	found := map[string]bool{}
	for _, file := range sources(t, "admin", "cmd") {
		ast.Inspect(file, func(n ast.Node) bool {
			if e, ok := n.(*ast.BasicLit); ok {
				if text, ok := literal(e); ok && form.MatchString(text) {
					found[text] = true
				}
			}
			return true
		})
	}
	for _, text := range eventVariables {
		if !found[text] {
			t.Errorf("the code does not have the event %s", text)
		}
	}
	for text := range found {
		if !known[text] {
			t.Errorf("%s may be a log event: if so, it belongs to eventVariables", text)
		}
	}
}

// TestOperationsQuotes: what the page quotes of a log line or of the status page is text of the code, between its
// ellipses.
func TestOperationsQuotes(t *testing.T) {
	var code strings.Builder
	for _, file := range sources(t, "admin", "checkpointed", "handler", "inspect", "poller", "publisher", "status",
		"telemetry", "cmd") {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr: // a text that is written in parts
				if text, ok := joined(n); ok {
					code.WriteString(text + "\n")
				}
			case *ast.BasicLit:
				if text, ok := literal(n); ok {
					code.WriteString(text + "\n")
				}
			}
			return true
		})
	}
	quotes := 0
	for _, line := range regexp.MustCompile(`(?ms)^- \*\*Looks like\*\*:.*?\n- `).FindAllString(read(t, operationsPage),
		-1) {
		for _, quote := range regexp.MustCompile(`"([^"`+"`"+
			`]+)"`).FindAllStringSubmatch(regexp.MustCompile("`[^`]*`").ReplaceAllString(squeeze(line), ""), -1) {
			quotes++
			for part := range strings.SplitSeq(quote[1], "…") {
				if !strings.Contains(code.String(), strings.TrimSpace(part)) {
					t.Errorf("%s quotes %q, and the code does not say %q", operationsPage, quote[1], part)
				}
			}
		}
	}
	if quotes < 10 {
		t.Errorf("only %d quotes were found", quotes)
	}
}

// joined is a sum of literals as one text.
func joined(e ast.Expr) (string, bool) {
	sum, ok := e.(*ast.BinaryExpr)
	if !ok {
		return literal(e)
	}
	x, left := joined(sum.X)
	y, right := joined(sum.Y)
	return x + y, left && right
}

func literal(e ast.Expr) (string, bool) {
	basic, ok := e.(*ast.BasicLit)
	if !ok || basic.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(basic.Value)
	return text, err == nil
}

// metricNames are the names that handler/ makes its metrics of: in each function a prefix ("rowrelay_" + name), and the
// first arguments of the calls of counter, gauge and histogram.
func metricNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, file := range sources(t, "handler") {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			prefix, short := "", []string{}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BinaryExpr:
					if text, ok := literal(n.X); ok && strings.HasPrefix(text, "rowrelay_") {
						prefix = text
					}
				case *ast.CallExpr:
					called, ok := n.Fun.(*ast.Ident)
					if ok && slices.Contains([]string{"counter", "gauge", "histogram"}, called.Name) && len(n.Args) > 0 {
						if text, ok := literal(n.Args[0]); ok {
							short = append(short, text)
						}
					}
				}
				return true
			})
			for _, s := range short {
				names[prefix+s] = true
			}
		}
	}
	return names
}

// TestOperationsHasRunbooks: each alert's runbook link leads to a section of the page that says what to do, or leads
// on; and the page tells of no alert that there is not.
func TestOperationsHasRunbooks(t *testing.T) {
	alerts := read(t, "../deploy/alerts.yaml")
	names := regexp.MustCompile(`(?m)^\s*-?\s*alert:\s*"?(\w+)"?\s*$`).FindAllStringSubmatch(alerts, -1)
	links := regexp.MustCompile(`docs/operations\.md#([\w-]+)`).FindAllStringSubmatch(alerts, -1)
	if len(names) == 0 || len(names) != len(links) {
		t.Fatalf("%d alerts, %d runbook links", len(names), len(links))
	}
	alert := map[string]bool{}
	for i, n := range names {
		alert[n[1]] = true
		section := cut(read(t, operationsPage), "\n### "+n[1]+"\n")
		section, _, _ = strings.Cut(section, "\n##")
		if want := strings.ToLower(n[1]); links[i][1] != want {
			t.Errorf("the runbook of %s leads to #%s, not #%s", n[1], links[i][1], want)
		} else if !strings.Contains(section, "**Do**") && !strings.Contains(section, "](#") && n[1] != "RowrelayDown" {
			t.Errorf("%s does not say what to do about %s:\n%s", operationsPage, n[1], section)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^#+ (Rowrelay[A-Z]\w+)$`).FindAllStringSubmatch(read(t, operationsPage),
		-1) {
		if !alert[m[1]] {
			t.Errorf("%s has a heading %s, and there is no such alert", operationsPage, m[1])
		}
	}
}

// TestMaintenanceProcedures runs the page's sh blocks in their order, with a poller on SQLite that has delivered two
// rows.
func TestMaintenanceProcedures(t *testing.T) {
	t.Parallel()
	blocks := fencedBlocks(t, maintenancePage)
	var script strings.Builder
	script.WriteString(`export SHOP_DB=sqlite:shop.db state__kind=file state__app_name=shop
export pollers__orders__source__connection=SHOP_DB pollers__orders__source__table=orders ` +
		`pollers__orders__source__cursor=id pollers__orders__output__kind=stdout
sqlite3 shop.db "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, customer TEXT); INSERT INTO orders (customer) VALUES ('Ada'), ('Bob')"
rowrelay run --once
`)
	run, looked := 0, 0
	for i, b := range blocks {
		switch b.lang + " " + b.tag {
		case "sh ":
			run++
			fmt.Fprintf(&script, "mark %d\n%s", i, b.text)
		case "sh not-run":
			looked++
			bashSyntax(t, b.text)
		default:
			t.Errorf("line %d: a block of %s %s, which this test does not know of", b.line, b.lang, b.tag)
		}
	}
	if run != 6 || looked != 1 {
		t.Errorf("%d blocks are run and %d looked at: is one missing?", run, looked)
	}
	printed := shell(t, script.String())
	all := strings.Join(slices.Collect(maps.Values(printed)), "")
	for _, want := range []string{"paused", "resumed", "state/new/orders.json", "0 row(s) will be delivered again",
		"there is no gap to accept", "0 dead letter(s)",
		`2 row(s) after (beginning)`} {
		if !strings.Contains(all, want) {
			t.Errorf("%q was not printed:\n%s", want, all)
		}
	}
	if strings.Contains(all, `"rowrelay.row.upsert"`) {
		t.Errorf("moving delivered rows again:\n%s", all)
	}
}

// TestSizingExamples: the worked examples of the lease and of the late window are what check prints for their settings.
func TestSizingExamples(t *testing.T) {
	t.Parallel()
	page := read(t, sizingPage)
	for _, example := range []struct{ settings, page, check string }{
		{"state__kind=file", "60 s gives 38 s (28 s on files)", "out of reach for 28s"},
		{"state__kind=blob state__create=true state__connection=AZURITE AZURITE='" + testenv.Azurite(t) + "'",
			"60 s gives 38 s (28 s on files)", "out of reach for 38s"},
		{"state__kind=file pollers__orders__source__late_window=4m pollers__orders__source__late_memory=240000",
			"2 × 240 s × 500 = 240000", "about 500 rows per second"},
	} {
		if !strings.Contains(page, example.page) {
			t.Errorf("%s does not say %q", sizingPage, example.page)
		}
		printed := shell(t, `export SHOP_DB=sqlite:shop.db `+example.settings+`
export pollers__orders__source__connection=SHOP_DB pollers__orders__source__table=orders `+
			`pollers__orders__source__cursor=changed pollers__orders__output__kind=stdout
sqlite3 shop.db "CREATE TABLE orders (id INTEGER PRIMARY KEY, changed INTEGER NOT NULL)"
mark 1
rowrelay check
`)
		if !strings.Contains(printed[1], example.check) {
			t.Errorf("check does not say %q:\n%s", example.check, printed[1])
		}
	}
}
