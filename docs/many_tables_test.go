package docs_test

import (
	"strings"
	"testing"
)

// TestManyTables runs the commands of its page.
func TestManyTables(t *testing.T) {
	t.Parallel()
	var script string
	for _, b := range fencedBlocks(t, "many-tables.md") {
		script += "mark 1\n" + b.text
	}
	printed := shell(t, script)[1]
	const sent = `{"id":1,"name":"ceeb1b0fed3a241b5220aab62b938855","changed":1}`
	for _, want := range []string{"2 of 2 pollers ok", "\n" + sent, "\n" + `{"id":1,"item":"tea","changed":1}`} {
		if !strings.Contains(printed, want) {
			t.Errorf("%s was not printed:\n%s", want, printed)
		}
	}
}
