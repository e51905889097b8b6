package docs_test

import (
	"strings"
	"testing"
)

// TestStateMoves runs the commands of the page of states: what was sent before the move is not sent again after it.
func TestStateMoves(t *testing.T) {
	t.Parallel()
	var script string
	for _, b := range fencedBlocks(t, "state.md") {
		if b.tag == "move" {
			script += b.text
		}
	}
	const again = "export state__kind=sql"
	if strings.Count(script, again) != 1 {
		t.Fatal("the page does not go on with the new settings")
	}
	printed := shell(t, strings.Replace("mark 1\n"+script, again, "mark 2\n"+again, 1))
	for part, want := range map[int][2]string{1: {`"item":"tea"`, `"item":"cup"`}, 2: {`"item":"cup"`, `"item":"tea"`}} {
		if !strings.Contains(printed[part], want[0]) || strings.Contains(printed[part], want[1]) {
			t.Errorf("part %d:\n%s", part, printed[part])
		}
	}
	if !strings.Contains(printed[2], "state/local/orders.json") {
		t.Errorf("the table's documents:\n%s", printed[2])
	}
}
