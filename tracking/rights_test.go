package tracking_test

import (
	"testing"
	"time"
)

// TestWritersNeedNoRights: whoever may write to the table needs nothing on what the triggers keep, and cannot use the
// function for a table of his own.
func TestWritersNeedNoRights(t *testing.T) {
	r := newRig(t, "postgres")
	role := "rr_writer_" + time.Now().Format("150405000000")
	r.exec("CREATE ROLE "+role, "GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON orders TO "+role,
		"GRANT CREATE ON SCHEMA public TO "+role)
	conn, err := r.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, text := range []string{"RESET ROLE", "DROP OWNED BY " + role, "DROP ROLE " + role} {
			if _, err := conn.ExecContext(t.Context(), text); err != nil {
				t.Error(err)
			}
		}
		_ = conn.Close()
	}()
	for _, text := range []string{"SET ROLE " + role, "INSERT INTO orders VALUES (1, 1), (2, 1)",
		"UPDATE orders SET v = 2 WHERE id = 1",
		"DELETE FROM orders WHERE id = 2", "CREATE TABLE mine (id bigint, v bigint)"} {
		if _, err := conn.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"SELECT * FROM rowrelay_changes_orders", "DELETE FROM rowrelay_changes_orders_state",
		"CREATE TRIGGER x AFTER INSERT ON mine FOR EACH ROW EXECUTE FUNCTION rowrelay_changes_orders_keep()"} {
		if _, err := conn.ExecContext(t.Context(), text); err == nil {
			t.Errorf("a writer may: %s", text)
		}
	}
	r.until(r.instance(usual), "insert 1=2, delete 2")
}
