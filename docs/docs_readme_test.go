package docs_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestReadmeSample does what README says, in its order: its settings file, and then its commands. The binary is made as
// in the quick starts.
func TestReadmeSample(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	files, ran := 0, 0
	for _, b := range fencedBlocks(t, "../README.md") {
		switch b.lang + " " + b.tag {
		case "json ":
			files++
			fmt.Fprintf(&script, "cat >local.settings.json <<'ROWRELAY_JSON'\n%sROWRELAY_JSON\n", b.text)
		case "sh ":
			ran++
			fmt.Fprintf(&script, "mark %d\n%s", ran, b.text)
		case "sh repository":
			if !strings.Contains(read(t, "quickstarts/postgresql.md"), "```sh repository\n"+b.text+"```") {
				t.Errorf("README makes the binary in another way than the quick starts:\n%s", b.text)
			}
		case "sh not-run":
			bashSyntax(t, b.text)
		}
	}
	if files != 1 || ran != 1 {
		t.Fatalf("%d settings files, %d blocks that are run", files, ran)
	}
	printed := shell(t, script.String())
	if !strings.Contains(printed[1], `"rowrelay.row.upsert"`) || !strings.Contains(printed[1], `"item":"tea"`) {
		t.Errorf("the row was not printed as an event:\n%s", printed[1])
	}
}
