package docs_test

import (
	"strings"
	"testing"
)

// TestSQLOutput runs the commands of its page.
func TestSQLOutput(t *testing.T) {
	t.Parallel()
	var script string
	for _, b := range fencedBlocks(t, "sql-output.md") {
		script += b.text
	}
	const last = `sqlite3 copy.db "SELECT * FROM orders_copy"`
	if strings.Count(script, last) != 1 {
		t.Fatal("the page does not show the copy at its end")
	}
	printed := shell(t, strings.Replace(script, last, "mark 1\n"+last, 1))[1]
	if strings.TrimSpace(printed) != "1|tea|4" {
		t.Errorf("the copy is %q", printed)
	}
}
