package tracking_test

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/tracking"
)

// TestCopiedTriggers: gh-ost makes the triggers anew on its copy of the table while it locks the table, under other
// names, and leaves the old table with the old ones. No change is missed, so that nothing is to be installed; and
// whoever uninstalls removes the copies, too, which would make every write fail.
func TestCopiedTriggers(t *testing.T) {
	r := newRig(t, "mysql")
	r.exec("CREATE TABLE _orders_gho LIKE orders")
	for _, event := range []string{"insert", "update", "delete"} {
		var name, mode, text string
		var sets [4]any
		trigger := "rowrelay_changes_orders_" + event
		err := r.db.QueryRowContext(t.Context(), "SHOW CREATE TRIGGER "+trigger).Scan(&name, &mode, &text, &sets[0], &sets[1],
			&sets[2], &sets[3])
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(text, "FOR EACH ROW")
		r.exec("CREATE TRIGGER " + trigger + "_v2 AFTER " + event + " ON _orders_gho FOR EACH ROW" + body)
	}
	r.exec("RENAME TABLE orders TO _orders_del, _orders_gho TO orders")
	status, err := tracking.Look(t.Context(), r.conn, "orders", "", "orders")
	if err != nil || len(status.Faults) > 0 {
		t.Error(status.Faults, err)
	}
	w, err := tracking.Install(t.Context(), r.conn, "orders", "", "orders", tracking.Writes{})
	if err != nil || !w.Done {
		t.Error(w.Statements, err)
	}
	if w, err = tracking.Uninstall(t.Context(), r.conn, "orders", "", "orders"); err == nil {
		err = w.Apply(t.Context(), r.db)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.exec("INSERT INTO orders VALUES (1, 1)")
}
