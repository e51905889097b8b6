package docs_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sqlc-dev/teesql/parser"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// A quick start is a page whose commands are all accounted for:
//
//	sh             run in order, in one shell, in an empty directory
//	sh repository  run in a copy of this repository: it makes the binary that the others use
//	sh forever     run until a tick has delivered something, then ended by Ctrl-C; it must succeed
//	sh not-run     what needs Docker, Azure or a host: run with stand-ins of these programs (quickstartOutsiders)
//	sql            fed to the engine's own client, or parsed where there is no engine
//	text           lines that the block before it has printed
type quickstart struct {
	page string
	// url makes the database, and says which URL of the page stands for it; nil where there is no engine: then every
	// command has to be refused by the port of nobody that refused puts into the page.
	url     func(testing.TB) string
	says    string
	client  func(t *testing.T, database string) string // the command that takes SQL on its standard input
	refused func(page, nobody string) string
	// how many blocks there are of each kind: one that the walker does not know of, or that is not run any more, shows
	// here.
	counts map[string]int
	// statements are the types of the T-SQL that is only parsed.
	statements []string
	delivered  int // events that the receiver gets
	// what the page does with Core Tools: "start" the directory, "publish" it, or nothing.
	tools string
}

var quickstarts = []quickstart{
	{
		page: "postgresql", url: testenv.Postgres, says: "postgres://shop:secret@localhost/shop?sslmode=disable",
		client: psql, delivered: 1, tools: "start",
		counts: map[string]int{"sh": 8, "sh repository": 1, "sh forever": 1, "sh not-run": 2, "sql": 2, "text": 3},
	},
	{
		page: "mysql", url: testenv.MySQL, says: "mysql://root:secret@127.0.0.1:3306/shop", client: mysqlClient, delivered: 1,
		counts: map[string]int{"sh": 6, "sh repository": 1, "sh forever": 1, "sh not-run": 1, "sql": 2, "text": 2},
	},
	{
		page: "sql-server",
		refused: func(page, nobody string) string {
			return strings.Replace(page, "@127.0.0.1:1433?", "@"+nobody+"?", 1)
		},
		counts: map[string]int{"sh": 5, "sh repository": 1, "sh not-run": 3, "sql": 3},
		statements: []string{"CreateTableStatement", "CreateIndexStatement", "InsertStatement", "CreateLoginStatement",
			"CreateUserStatement", "GrantStatement", "UpdateStatement"},
	},
	{
		page: "azure-sql-trigger",
		refused: func(page, nobody string) string {
			return strings.Replace(page, "@127.0.0.1:1433?", "@"+nobody+"?", 1)
		},
		counts:     map[string]int{"sh": 2, "sh repository": 1, "sql": 3},
		statements: []string{"SelectStatement", "GrantStatement", "AlterDatabaseSetStatement", "UpdateStatement"},
	},
	{
		page: "azure-sql-identity", tools: "publish",
		refused: func(page, nobody string) string {
			return strings.Replace(page, "export SHOP_DB__server=shop-sql.database.windows.net",
				"export SHOP_DB__server="+strings.Replace(nobody, ":", ",", 1), 1)
		},
		counts: map[string]int{"sh": 3, "sh repository": 1, "sh not-run": 4, "sql": 2},
		statements: []string{"CreateTableStatement", "CreateIndexStatement", "InsertStatement", "CreateUserStatement",
			"GrantStatement"},
	},
}

// TestQuickstarts runs every command of the quick starts.
func TestQuickstarts(t *testing.T) {
	pages, err := filepath.Glob("quickstarts/*.md")
	if err != nil || len(pages) != len(quickstarts) {
		t.Fatalf("%d pages, and %d are run: %v", len(pages), len(quickstarts), err)
	}
	for _, q := range quickstarts {
		t.Run(q.page, func(t *testing.T) {
			t.Parallel()
			blocks := fencedBlocks(t, "quickstarts/"+q.page+".md")
			counts := map[string]int{}
			for _, b := range blocks {
				counts[strings.TrimSpace(b.lang+" "+b.tag)]++
			}
			if !maps.Equal(counts, q.counts) {
				t.Fatalf("blocks: %v; this test knows of %v", counts, q.counts)
			}
			for _, b := range blocks {
				if b.lang == "sh" {
					bashSyntax(t, b.text)
				}
			}
			if n := counts["sh not-run"]; n > 0 {
				testenv.NotRun(t, "docs/quickstarts/"+q.page+".md", fmt.Sprintf("%d blocks of %s: stand-ins", n, outsiders(blocks)))
			}
			if q.url == nil {
				q.runRefused(t, blocks)
				return
			}
			q.run(t, blocks)
		})
	}
}

// outsiders are the programs that a page's blocks name and that are not run.
func outsiders(blocks []fenced) string {
	named := map[string]bool{}
	for _, b := range blocks {
		if b.tag != "not-run" {
			continue
		}
		for _, name := range append([]string{"func"}, quickstartOutsiders...) {
			if regexp.MustCompile(`(?m)(^|[ (])` + name + ` `).MatchString(b.text) {
				named[name] = true
			}
		}
		if strings.Contains(b.text, "publish.sh") { // which calls it
			named["func"] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(named)), ", ")
}

// run types the page into a shell, and looks at what was printed and at what arrived.
func (q *quickstart) run(t *testing.T, blocks []fenced) {
	to := newReceiver(t)
	database := q.url(t)
	others := newOutsiders(t)
	var script strings.Builder
	for i, b := range blocks {
		switch b.lang + " " + b.tag {
		case "sh ", "sh not-run":
			fmt.Fprintf(&script, "mark %d\n%s", i, b.text)
		case "sh forever":
			fmt.Fprintf(&script, "mark %d\nuntil_delivered %s", i, b.text)
		case "sql ":
			fmt.Fprintf(&script, "mark %d\n%s <<'ROWRELAY_SQL'\n%sROWRELAY_SQL\n", i, q.client(t, database), b.text)
		}
	}
	page := script.String()
	for _, r := range [][2]string{{q.says, database}, {"http://127.0.0.1:8080/orders", to.URL + "/orders"}} {
		if !strings.Contains(page, r[0]) {
			t.Fatalf("the page does not say %s", r[0])
		}
		page = strings.ReplaceAll(page, r[0], r[1])
	}
	printsTheTexts(t, blocks, shell(t, others.path+untilDelivered+page))
	if got := to.events(); got != q.delivered {
		t.Errorf("the receiver got %d events, not %d", got, q.delivered)
	}
	q.looksAtTools(t, others)
}

// printsTheTexts holds the text blocks of a page against what the commands before them printed.
func printsTheTexts(t *testing.T, blocks []fenced, printed map[int]string) {
	t.Helper()
	last := ""
	for i, b := range blocks {
		switch {
		case b.lang == "text":
			for line := range strings.Lines(b.text) {
				if !strings.Contains(squeeze(last), squeeze(line)) {
					t.Errorf("line %d of the page: %q is not in what was printed:\n%s", b.line, strings.TrimSpace(line), last)
				}
			}
		case b.lang == "sh" && b.tag == "":
			last = printed[i]
		}
	}
}

// untilDelivered runs what never ends by itself until it has delivered something, and ends it as Ctrl-C does.
const untilDelivered = `until_delivered() {
	"$@" >forever.log 2>&1 & local pid=$! tries
	for tries in $(seq 600); do
		! grep -q '"event":"tick_complete"' forever.log || break
		kill -0 $pid || break
		sleep 0.1
	done
	kill -INT $pid
	wait $pid || { cat forever.log; return 1; }
	grep '"event":"tick_complete"' forever.log
}
export status__listen=127.0.0.1:0 # pages are tested side by side
`

// runRefused runs the page's commands without an engine: each that connects has to be refused, and by nothing else.
func (q *quickstart) runRefused(t *testing.T, blocks []fenced) {
	var types []string
	others := newOutsiders(t)
	var script strings.Builder
	for i, b := range blocks {
		switch b.lang + " " + b.tag {
		case "sh ", "sh not-run":
			fmt.Fprintf(&script, "mark %d\n%s", i, b.text)
		case "sql ":
			parsed, err := parser.Parse(t.Context(), strings.NewReader(b.text))
			if err != nil {
				t.Fatalf("line %d of the page: not T-SQL: %v", b.line, err)
			}
			for _, batch := range parsed.Batches {
				for _, s := range batch.Statements {
					name := fmt.Sprintf("%T", s)
					types = append(types, name[strings.LastIndex(name, ".")+1:])
				}
			}
		}
	}
	if !slices.Equal(types, q.statements) {
		t.Errorf("the page's T-SQL is %v, not %v", types, q.statements)
	}
	page := q.refused(script.String(), programtest.FreeAddress(t))
	if page == script.String() {
		t.Fatal("the page does not say where the database is")
	}
	commands := 0
	printed := shell(t, others.path+refusals+page)
	printsTheTexts(t, blocks, printed)
	for i, text := range printed {
		for line := range strings.Lines(text) {
			code, command, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "## "), " rowrelay ")
			if !ok || !strings.HasPrefix(line, "## ") {
				continue
			}
			commands++
			command, onAzure := strings.CutSuffix(command, managedIdentity)
			switch connects := !strings.HasPrefix(command, "functions"); {
			case connects && onAzure:
				t.Errorf("rowrelay %s: with a managed identity, which only Azure has: on a reader's machine it cannot log in",
					command)
			case connects && (code != "1" || !strings.Contains(text, "connection refused")):
				t.Errorf("rowrelay %s: exit code %s, and it should have been refused:\n%s", command, code, text)
			case !connects && code != "0":
				t.Errorf("rowrelay %s: exit code %s:\n%s", command, code, text)
			}
		}
		for line := range strings.Lines(text) {
			if _, fault, ok := strings.Cut(line, "✗ "); ok && !strings.Contains(fault, "connection refused") {
				t.Errorf("block %d: a fault besides the refusal: %s", i, fault)
			}
		}
	}
	if want := strings.Count(page, "\nrowrelay "); commands != want || want == 0 {
		t.Errorf("%d commands were seen, and the page has %d", commands, want)
	}
	q.looksAtTools(t, others)
}

// refusals stands before the program: its failure is expected, and noted, and so is a setting that asks for a managed
// identity.
const refusals = `rowrelay() {
	local code=0 with=
	command rowrelay "$@" || code=$?
	! env | grep -qi '__credential=managedidentity' || with="` + managedIdentity + `"
	echo "## $code rowrelay $*$with"
}
`

const managedIdentity = " (managed identity)"

func psql(_ *testing.T, _ string) string { return `psql -qv ON_ERROR_STOP=1 "$SHOP_DB"` }

// mysqlClient reads where the server is from a file, since the client takes no URL.
func mysqlClient(t *testing.T, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal("not a URL") // without the value: it holds a password
	}
	password, _ := u.User.Password()
	file := filepath.Join(t.TempDir(), "client.cnf")
	text := fmt.Sprintf("[client]\nprotocol=tcp\nhost=%s\nport=%s\nuser=%s\npassword=%s\n", u.Hostname(), u.Port(),
		u.User.Username(), password)
	testfile.Write(t, file, text)
	return "mysql --defaults-extra-file=" + file + " " + strings.TrimPrefix(u.Path, "/")
}

// receiver counts the events that it accepts.
type receiver struct {
	*httptest.Server
	mu sync.Mutex
	n  int
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var body json.RawMessage
		if err := json.NewDecoder(req.Body).Decode(&body); err != nil || req.URL.Path != "/orders" {
			http.Error(w, "not an event", http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		var many []json.RawMessage
		if json.Unmarshal(body, &many) == nil {
			r.n += len(many)
		} else {
			r.n++
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) events() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}
