package docs_test

import (
	"strings"
	"testing"
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
