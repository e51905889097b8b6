package plan

import (
	"testing"

	"github.com/rowrelay/rowrelay/engine"
)

// TestMovedBy: names of columns that updates move are known by their words, and not by what stands within another word.
func TestMovedBy(t *testing.T) {
	for name, want := range map[string]bool{
		"updated_at": true, "UpdatedAt": true, "LAST_CHANGE": true, "dateModified": true, "datemodified": true,
		"ROW_VERSION": true,
		"lastmod":     true, "mtime": true, "isEdited": true, "RowIDUpdated": true, "touched": true, "rev": true,
		"etag":     true,
		"exchange": false, "exchange_rate": false, "blast": false, "credit": false, "creditedAt": false, "plastic_id": false,
		"created_at": false, "seq": false, "revenue": false,
	} {
		if got := MovedBy(&engine.Column{Name: name}); (got != "") != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
