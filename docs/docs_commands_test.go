package docs_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	osexec "os/exec" // exec is another function of these tests
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sqlc-dev/teesql/parser"

	"github.com/rowrelay/rowrelay/internal/testenv"
)

// A quick start is a page whose commands are all accounted for:
//
//	sh             run in order, in one shell, in an empty directory
//	sh repository  run in a copy of this repository: it makes the binary that the others use
//	sh forever     run until a tick has delivered something, then ended by Ctrl-C; it must succeed
//	sh not-run     what needs Docker, Azure or a host: checked for its syntax
//	sql            fed to the engine's own client, or parsed where there is no engine
//	text           lines that the block before it has printed
type quickstart struct {
	page string
	// url makes the database, and says which URL of the page stands for it; nil where there is no engine: then every command has to be refused
	// by the port of nobody that refused puts into the page.
	url     func(testing.TB) string
	says    string
	client  func(t *testing.T, database string) string // the command that takes SQL on its standard input
	refused func(page, nobody string) string
	// how many blocks there are of each kind: one that the walker does not know of, or that is not run any more, shows here.
	counts map[string]int
	// statements are the types of the T-SQL that is only parsed.
	statements []string
	delivered  int // events that the receiver gets
}

var quickstarts = []quickstart{
	{
		page: "postgresql", url: testenv.Postgres, says: "postgres://shop:secret@localhost/shop?sslmode=disable", client: psql, delivered: 1,
		counts: map[string]int{"sh": 8, "sh repository": 1, "sh forever": 1, "sh not-run": 2, "sql": 2, "text": 2},
	},
	{
		page: "mysql", url: testenv.MySQL, says: "mysql://root:secret@127.0.0.1:3306/shop", client: mysqlClient, delivered: 1,
		counts: map[string]int{"sh": 7, "sh repository": 1, "sh forever": 1, "sh not-run": 2, "sql": 2, "text": 2},
	},
	{
		page: "outbox", url: testenv.Postgres, says: "postgres://shop:secret@localhost/shop?sslmode=disable", client: psql, delivered: 1,
		counts: map[string]int{"sh": 5, "sh repository": 1, "sh forever": 1, "sh not-run": 1, "sql": 1, "text": 2},
	},
	{
		page: "sql-server",
		refused: func(page, nobody string) string {
			return strings.Replace(page, "@127.0.0.1:1433?", "@"+nobody+"?", 1)
		},
		counts:     map[string]int{"sh": 6, "sh repository": 1, "sh not-run": 4, "sql": 3},
		statements: []string{"CreateTableStatement", "CreateIndexStatement", "InsertStatement", "CreateLoginStatement", "CreateUserStatement", "GrantStatement", "UpdateStatement"},
	},
	{
		page: "azure-sql-identity",
		refused: func(page, nobody string) string {
			return strings.Replace(page, "export SHOP_DB__server=shop-sql.database.windows.net", "export SHOP_DB__server="+strings.Replace(nobody, ":", ",", 1), 1)
		},
		counts:     map[string]int{"sh": 3, "sh repository": 1, "sh not-run": 3, "sql": 2},
		statements: []string{"CreateTableStatement", "CreateIndexStatement", "InsertStatement", "CreateUserStatement", "GrantStatement"},
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
				testenv.NotRun(t, "docs/quickstarts/"+q.page+".md", fmt.Sprintf("%d blocks of %s: syntax only", n, outsiders(blocks)))
			}
			if q.url == nil {
				q.runRefused(t, blocks)
				return
			}
			q.run(t, blocks)
		})
	}
}

// outsiders are the programs that a page's blocks name which are not run.
func outsiders(blocks []fenced) string {
	var names []string
	for _, b := range blocks {
		if b.tag != "not-run" {
			continue
		}
		for line := range strings.Lines(strings.ReplaceAll(b.text, "\\\n", " ")) {
			if words := strings.Fields(line); len(words) > 0 {
				names = append(names, words[0])
			}
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// run types the page into a shell, and looks at what was printed and at what arrived.
func (q *quickstart) run(t *testing.T, blocks []fenced) {
	to := newReceiver(t)
	database := q.url(t)
	var script strings.Builder
	for i, b := range blocks {
		switch b.lang + " " + b.tag {
		case "sh ":
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
	printed := shell(t, untilDelivered+page)
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
	if got := to.events(); got != q.delivered {
		t.Errorf("the receiver got %d events, not %d", got, q.delivered)
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
	var script strings.Builder
	for i, b := range blocks {
		switch b.lang + " " + b.tag {
		case "sh ":
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
	page := q.refused(script.String(), nobody(t))
	if page == script.String() {
		t.Fatal("the page does not say where the database is")
	}
	commands := 0
	for i, text := range shell(t, refusals+page) {
		for line := range strings.Lines(text) {
			code, command, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "## "), " rowrelay ")
			if !ok || !strings.HasPrefix(line, "## ") {
				continue
			}
			commands++
			switch connects := !strings.HasPrefix(command, "functions"); {
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
}

// refusals stands before the program: its failure is expected, and noted.
const refusals = `rowrelay() { local code=0; command rowrelay "$@" || code=$?; echo "## $code rowrelay $*"; }
`

// shell runs a script in an empty directory with nothing but the program in its PATH, and returns what it printed, by the number that it gave to mark.
func shell(t *testing.T, script string) map[int]string {
	t.Helper()
	cmd := osexec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", "mark() { echo; echo \"@@@ $1\"; }\n"+script)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + filepath.Dir(program(t)) + ":" + os.Getenv("PATH"), "HOME=" + cmd.Dir}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	printed := map[int]string{}
	for i, part := range strings.Split(string(out), "\n@@@ ") {
		var n int
		head, text, _ := strings.Cut(part, "\n")
		if _, err := fmt.Sscan(head, &n); err != nil {
			if i == 0 {
				continue
			}
			t.Fatalf("what follows a mark is no number: %q", head)
		}
		printed[n] += text
	}
	return printed
}

// program is the binary that the quick starts' first block makes, in a copy of this repository.
func program(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var built = sync.OnceValues(func() (string, error) {
	script := ""
	for _, q := range quickstarts {
		text, err := os.ReadFile("quickstarts/" + q.page + ".md")
		if err != nil {
			return "", err
		}
		_, rest, _ := strings.Cut(string(text), "```sh repository\n")
		block, _, ok := strings.Cut(rest, "```")
		switch {
		case !ok:
			return "", fmt.Errorf("%s has no block that makes the binary", q.page)
		case script != "" && block != script:
			return "", fmt.Errorf("%s makes the binary in another way than the page before it", q.page)
		}
		script = block
	}
	copied := filepath.Join(scratch, "repository")
	if err := copyRepository("..", copied); err != nil {
		return "", err
	}
	cmd := osexec.Command("bash", "-euo", "pipefail", "-c", script+"command -v rowrelay") //nolint:gosec // the page's own text
	cmd.Dir = copied
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", script, err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1], nil
})

// copyRepository copies what go build and make read: all but what begins with a dot, programs and links.
func copyRepository(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if strings.HasPrefix(entry.Name(), ".") && name != "." {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		if info, err := entry.Info(); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 != 0 {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), text, 0o600)
	})
}

// scratch outlives the tests that share what is in it.
var scratch string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if scratch, err = os.MkdirTemp("", "rowrelay-docs-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(scratch) }() // a temporary directory
		return m.Run()
	}())
}

// bashSyntax fails where the text is no shell script.
func bashSyntax(t *testing.T, text string) {
	t.Helper()
	cmd := osexec.CommandContext(t.Context(), "bash", "-n", "-c", text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("not a shell script: %v\n%s%s", err, out, text)
	}
}

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
	text := fmt.Sprintf("[client]\nprotocol=tcp\nhost=%s\nport=%s\nuser=%s\npassword=%s\n", u.Hostname(), u.Port(), u.User.Username(), password)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "mysql --defaults-extra-file=" + file + " " + strings.TrimPrefix(u.Path, "/")
}

// nobody is an address of this machine where nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	return strings.TrimPrefix(s.URL, "http://")
}

// squeeze makes one space of many: a page's columns need not be those of the program.
func squeeze(text string) string { return strings.Join(strings.Fields(text), " ") }

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
