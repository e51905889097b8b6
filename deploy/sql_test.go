package deploy_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sqlc-dev/teesql/ast"
	"github.com/sqlc-dev/teesql/parser"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// The scripts of sql/ with the names of the publisher's golden files.
var sqlcmd = strings.NewReplacer("$(identity)", "id-app", "$(login)", "rowrelay", "$(schema)", "shop", "$(table)",
	"outbox",
	"$(claims)", "rowrelay_claims", "$(password)", "Secret-1")

// statementsOf parses a script as T-SQL, batch by batch.
func statementsOf(t *testing.T, path string) (list []ast.Statement) {
	t.Helper()
	text := testfile.Read(t, path)
	script := sqlcmd.Replace(string(text))
	if strings.Contains(script, "$(") {
		t.Errorf("%s has a variable that the test does not know", path)
	}
	for _, batch := range strings.Split(script, "\nGO\n") {
		parsed, err := parser.Parse(t.Context(), strings.NewReader(batch))
		if err != nil {
			t.Fatalf("%s is not T-SQL: %v", path, err)
		}
		for _, b := range parsed.Batches {
			list = append(list, b.Statements...)
		}
	}
	if len(list) == 0 {
		t.Fatalf("%s holds no statement", path)
	}
	return list
}

// rights are, for each table, what may be done to it: "SELECT", or "UPDATE column".
type rights map[string][]string

func (r rights) add(table string, what ...string) {
	for _, w := range what {
		if !slices.Contains(r[table], w) {
			r[table] = append(r[table], w)
		}
	}
	slices.Sort(r[table])
}

// granted is what a script grants, table by table; rights that are of no table stand under "".
func granted(t *testing.T, path string) rights {
	t.Helper()
	r := rights{}
	for _, s := range statementsOf(t, path) {
		grant, is := s.(*ast.GrantStatement)
		if !is {
			t.Fatalf("%s holds a %T beside its grants", path, s)
		}
		var table string
		var columns []string
		if o := grant.SecurityTargetObject; o != nil {
			names := o.ObjectName.MultiPartIdentifier.Identifiers
			table = names[len(names)-1].Value
			for _, c := range o.Columns {
				columns = append(columns, c.Value)
			}
		}
		for _, p := range grant.Permissions {
			var words []string
			for _, w := range p.Identifiers {
				words = append(words, w.Value)
			}
			verb := strings.Join(words, " ")
			if len(columns) == 0 {
				r.add(table, verb)
			}
			for _, c := range columns {
				r.add(table, verb+" "+c)
			}
		}
	}
	return r
}

var (
	updates = regexp.MustCompile(`^UPDATE (\S+) SET (.*)$`)
	target  = regexp.MustCompile(`(?:FROM|JOIN|INTO|UPDATE) \[shop\]\.\[([a-z_]+)\]( AS ([a-z]+))?`)
	assign  = regexp.MustCompile(`^ ?\[?([a-z_]+)\]? = `)
)

// needed is what the statements of golden files do to tables. columns says whether updates are told apart by their
// columns.
func needed(t *testing.T, columns bool, files ...string) rights {
	t.Helper()
	r := rights{}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join("../publisher", filepath.Dir(file), "testdata/golden/sqlserver",
			filepath.Base(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(line, "--") {
				continue
			}
			line = strings.TrimPrefix(line, "SET DEADLOCK_PRIORITY LOW; ")
			alias := map[string]string{}
			for _, m := range target.FindAllStringSubmatch(line, -1) {
				r.add(m[1], "SELECT")
				alias[m[3]] = m[1]
			}
			named := func(name string) string {
				if table, is := alias[name]; is && name != "" {
					return table
				}
				return strings.Trim(strings.TrimPrefix(name, "[shop]."), "[]")
			}
			words := strings.Fields(line)
			switch {
			case strings.HasPrefix(line, "MERGE INTO "):
				r.add(named(words[2]), "INSERT", "UPDATE")
			case strings.HasPrefix(line, "INSERT INTO "):
				r.add(named(words[2]), "INSERT")
			case strings.HasPrefix(line, "DELETE FROM "):
				r.add(named(words[2]), "DELETE")
			case strings.HasPrefix(line, "DELETE "):
				r.add(named(words[1]), "DELETE")
			case updates.MatchString(line):
				m := updates.FindStringSubmatch(line)
				if table := named(m[1]); !columns || table != "outbox" {
					r.add(table, "UPDATE")
				} else {
					r.add(table, columnsSet(m[2])...)
				}
			}
		}
	}
	return r
}

// columnsSet are the columns that the list after SET assigns, up to the FROM or WHERE at its own depth.
func columnsSet(text string) (list []string) {
	depth, begins := 0, true
	for i := range text {
		rest := text[i:]
		switch {
		case depth == 0 && (strings.HasPrefix(rest, " WHERE ") || strings.HasPrefix(rest, " FROM ")):
			return list
		case text[i] == '(':
			depth++
		case text[i] == ')':
			depth--
		case depth == 0 && text[i] == ',':
			begins = true
			continue
		case begins && assign.MatchString(rest):
			list = append(list, "UPDATE "+assign.FindStringSubmatch(rest)[1])
			begins = false
		}
	}
	return list
}

func TestGrantsAreWhatTheStatementsNeed(t *testing.T) {
	cursor := granted(t, "sql/grant-cursor.sql")
	if diff := cmp.Diff(rights{"outbox": {"SELECT"}}, cursor); diff != "" { // the variable is named table in each script
		t.Errorf("grant-cursor.sql: %s", diff)
	}
	for _, path := range glob(t, "../source/testdata/golden/sqlserver/*.sql", 30) {
		text := testfile.Read(t, path)
		if verb := regexp.MustCompile(`(?m)^\s*(INSERT|UPDATE|DELETE|MERGE|CREATE|ALTER|EXEC)\b`).Find(text); verb != nil {
			t.Errorf("%s: cursor mode is to read only, and says %s", path, verb)
		}
	}
	own := needed(t, true, "statements.sql", "rows/admin.sql")
	if diff := cmp.Diff(own, granted(t, "sql/grant-outbox.sql")); diff != "" {
		t.Errorf("grant-outbox.sql does not grant what the statements need (-) or grants more (+):\n%s", diff)
	}
	mapped := needed(t, false, "rows/seed.sql", "rows/state.sql", "rows/deleted.sql")
	// The claims' own statements are those of every outbox.
	mapped["rowrelay_claims"] = own["rowrelay_claims"]
	if diff := cmp.Diff(mapped, granted(t, "sql/grant-outbox-mapped.sql")); diff != "" {
		t.Errorf("grant-outbox-mapped.sql does not grant what the statements need (-) or grants more (+):\n%s", diff)
	}
	if tables := slices.Sorted(maps.Keys(own)); len(tables) != 2 {
		t.Errorf("the statements of an outbox use the tables %q", tables)
	}
	for path, right := range map[string]string{"azure": "VIEW DATABASE STATE", "server": "VIEW SERVER STATE"} {
		if diff := cmp.Diff(rights{"": {right}}, granted(t, "sql/grant-transactions-"+path+".sql")); diff != "" {
			t.Errorf("grant-transactions-%s.sql: %s", path, diff)
		}
	}
}

func TestOtherScriptsAreTSQL(t *testing.T) {
	for path, least := range map[string]int{"sql/user-azure.sql": 1, "laptop/seed.sql": 6, "laptop/write.sql": 2} {
		if got := len(statementsOf(t, path)); got < least {
			t.Errorf("%s: %d statements", path, got)
		}
	}
}
