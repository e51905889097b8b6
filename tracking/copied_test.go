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
	t.Parallel()
	r := newRig(t, "mysql")
	r.exec("CREATE TABLE _orders_gho LIKE orders")
	var deleted string
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
		deleted = body // the last one's
		r.exec("CREATE TRIGGER " + trigger + "_v2 AFTER " + event + " ON _orders_gho FOR EACH ROW" + body)
	}
	r.exec("RENAME TABLE orders TO _orders_del, _orders_gho TO orders")
	status, err := tracking.Look(t.Context(), r.conn, "orders", "", "orders", tracking.Writes{})
	if err != nil || len(status.Faults) > 0 {
		t.Error(status.Faults, err)
	}
	// A trigger that only begins with the name is none.
	r.exec("DROP TRIGGER rowrelay_changes_orders_delete_v2",
		"CREATE TRIGGER rowrelay_changes_orders_delete_audit AFTER DELETE ON orders FOR EACH ROW SET @deleted = 1")
	status, err = tracking.Look(t.Context(), r.conn, "orders", "", "orders", tracking.Writes{})
	if err != nil || len(status.Faults) != 1 || !strings.Contains(status.Faults[0], "delete") {
		t.Error(status.Faults, err)
	}
	r.exec("CREATE TRIGGER rowrelay_changes_orders_delete_v2 AFTER DELETE ON orders FOR EACH ROW" + deleted)
	w, err := tracking.Install(t.Context(), r.conn, "orders", "", "orders", tracking.Writes{})
	if err != nil || !w.Done {
		t.Error(w.Statements, err)
	}
	if w, err = tracking.Uninstall(t.Context(), r.conn, "orders", "", "orders", tracking.Writes{}); err == nil {
		err = w.Apply(t.Context(), r.db)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.exec("INSERT INTO orders VALUES (1, 1)")
}

// TestTriggersOfAnotherDatabase: a dump that is restored into another database has triggers that write to the change
// table of the first one. They are not taken for those of the table.
func TestTriggersOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	r, other := newRig(t, "mysql"), newRig(t, "mysql")
	var first string
	if err := r.db.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&first); err != nil {
		t.Fatal(err)
	}
	other.exec("DROP TRIGGER rowrelay_changes_orders_insert", "CREATE TRIGGER rowrelay_changes_orders_insert AFTER INSERT ON orders "+
		"FOR EACH ROW INSERT IGNORE INTO `"+first+"`.`rowrelay_changes_orders` (id) VALUES (NEW.id)")
	status, err := tracking.Look(t.Context(), other.conn, "orders", "", "orders", tracking.Writes{})
	if err != nil || len(status.Faults) != 1 || !strings.Contains(status.Faults[0], "writes elsewhere") {
		t.Error(status.Faults, err)
	}
	w, err := tracking.Uninstall(t.Context(), other.conn, "orders", "", "orders", tracking.Writes{})
	if err == nil {
		err = w.Apply(t.Context(), other.db)
	}
	if err != nil {
		t.Fatal(err)
	}
	other.install("orders")
	status, err = tracking.Look(t.Context(), other.conn, "orders", "", "orders", tracking.Writes{})
	if err != nil || len(status.Faults) > 0 {
		t.Error(status.Faults, err)
	}
}
