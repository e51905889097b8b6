package docs_test

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/tsqltest"
)

// TestChangeTracking runs the commands of its page.
func TestChangeTracking(t *testing.T) {
	t.Parallel()
	var script string
	for _, b := range fencedBlocks(t, "change-tracking.md") {
		if b.lang == "sh" {
			script += "mark 1\n" + b.text
		}
	}
	printed := shell(t, script)[1]
	for _, want := range []string{`"rowrelay.row.insert"`, `{"id":2,"item":"milk"}`, `"rowrelay.row.update"`,
		`{"id":1,"item":"rice"}`, `"rowrelay.row.delete"`, `"data":{"id":2}`, "keys          2, of which 1 are deleted"} {
		if !strings.Contains(printed, want) {
			t.Errorf("%s was not printed:\n%s", want, printed)
		}
	}
}

// TestChangeTrackingSQL parses the page's T-SQL: what switches tracking on, and a writer that says who it is.
func TestChangeTrackingSQL(t *testing.T) {
	statements := [][]string{
		{"AlterDatabaseSetStatement", "AlterDatabaseSetStatement", "AlterTableChangeTrackingModificationStatement",
			"GrantStatement"},
		{"DeclareVariableStatement", "DeclareVariableStatement", "SelectStatement", "UpdateStatement"},
	}
	for _, b := range fencedBlocks(t, "change-tracking.md") {
		if b.lang != "sql" || b.tag != "" { // those of other engines: tracking.TestWideningTheKey
			continue
		}
		if len(statements) == 0 {
			t.Fatalf("not known here:\n%s", b.text)
		}
		tsqltest.Is(t, b.text, statements[0]...)
		statements = statements[1:]
	}
	if len(statements) > 0 {
		t.Errorf("the page lacks %q", statements)
	}
}
