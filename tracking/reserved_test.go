package tracking_test

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/tracking"
)

// TestColumnsOfOurOwn: what is read beside the key has names that no column of a table has, "gone" for instance.
func TestColumnsOfOurOwn(t *testing.T) {
	t.Parallel()
	d := sqlserver.Dialect{}
	rows := engine.Table{Name: "dbo.souls", From: "[dbo].[souls]", PrimaryKey: []string{"gone"},
		Columns: []engine.Column{{Name: "gone", Type: "bigint"}}}
	c, err := tracking.Of(d, &rows, "", "souls", tracking.Writes{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tracking.Join(d, &rows, tracking.BuiltIn(d.Syntax().Tracking.BuiltIn, &rows), c); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{c.Rows, c.Newer, c.OfKeys("(@p1)")} {
		if strings.Contains(text, "AS gone") || strings.Contains(text, "c.gone") {
			t.Errorf("a column of ours is named as the table's:\n%s", text)
		}
	}
	rows.PrimaryKey[0], rows.Columns[0].Name = engine.ChangeGone, engine.ChangeGone
	if _, err := tracking.Of(d, &rows, "", "souls", tracking.Writes{}); err == nil || !strings.Contains(err.Error(), "reserved column") {
		t.Errorf("a table with a column of ours: %v", err)
	}
}
