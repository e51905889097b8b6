package tracking_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/tracking"
)

// TestWritersNeedNoRights: whoever may write to the table needs nothing on what the triggers keep, and cannot use the
// function for a table of his own.
func TestWritersNeedNoRights(t *testing.T) {
	t.Parallel()
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

// TestSwappedTable: a copy that takes the table's name, as gh-ost and RENAME TABLE have it, has no triggers. Who may
// see triggers is told; who may not is told that he would not be.
func TestSwappedTable(t *testing.T) {
	t.Parallel()
	r := newRig(t, "mysql")
	user := "rr_reader_" + time.Now().Format("150405000000")
	r.exec("CREATE USER "+user+" IDENTIFIED BY 'x'", "GRANT SELECT ON * TO "+user)
	t.Cleanup(func() {
		if _, err := r.db.ExecContext(context.WithoutCancel(t.Context()), "DROP USER "+user); err != nil {
			t.Error(err)
		}
	})
	at, err := url.Parse(r.url)
	if err != nil {
		t.Fatal("the URL does not parse")
	}
	at.User = url.UserPassword(user, "x")
	reader, err := engines.Parse(at.String())
	if err != nil {
		t.Fatal(err)
	}
	says := func() (owner, reads string) {
		all, err := tracking.Look(t.Context(), r.conn, "orders", "", "orders", tracking.Writes{})
		if err != nil {
			t.Fatal(err)
		}
		some, err := tracking.Look(t.Context(), reader, "orders", "", "orders", tracking.Writes{})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(append(all.Faults, all.Unseen...), "; "), strings.Join(append(some.Faults, some.Unseen...), "; ")
	}
	owner, reads := says()
	if strings.Contains(owner, "TRIGGER") || strings.Contains(owner, "has no trigger") ||
		!strings.Contains(reads, "RENAME TABLE") {
		t.Errorf("before: %q, %q", owner, reads)
	}
	r.exec("CREATE TABLE copy LIKE orders", "RENAME TABLE orders TO old, copy TO orders")
	if owner, _ = says(); !strings.Contains(owner, "has no trigger") {
		t.Errorf("after: %q", owner)
	}
}

// TestUnseenOfPartitions: rows go with a partition, and with a chunk of a hypertable, without a trigger. Both are told
// beforehand.
func TestUnseenOfPartitions(t *testing.T) {
	t.Parallel()
	for table, parts := range map[string]string{"parted": "CREATE TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (9)",
		"hyper": "CREATE TABLE _timescaledb_internal.chunk (PRIMARY KEY (id)) INHERITS (hyper)", "plain": "SELECT 1"} {
		t.Run(table, func(t *testing.T) {
			r := newRig(t, "postgres")
			r.exec("CREATE SCHEMA _timescaledb_internal", "CREATE TABLE parted (id bigint PRIMARY KEY) PARTITION BY RANGE (id)",
				"CREATE TABLE hyper (id bigint PRIMARY KEY)", "CREATE TABLE plain (id bigint PRIMARY KEY)", parts)
			w, err := tracking.Install(t.Context(), r.conn, table, "", table, tracking.Writes{})
			if err != nil {
				t.Fatal(err)
			}
			if told := strings.Contains(strings.Join(w.Unseen, "\n"), "drop_chunks"); told != (table != "plain") {
				t.Errorf("not seen: %q", w.Unseen)
			}
		})
	}
}
