package tracking_test

import (
	"database/sql"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
)

// reader is a login that may do no more than read what a poller reads.
func (r *rig) reader(engine string) engine.Connection {
	r.Helper()
	name := "rr_reader_" + strings.ReplaceAll(time.Now().Format("150405.000000"), ".", "")
	tables := []string{"orders", "rowrelay_changes_orders", "rowrelay_changes_orders_state"}
	var gone []string
	switch engine {
	case "postgres":
		r.exec("CREATE ROLE "+name+" LOGIN PASSWORD 'secret'", "GRANT SELECT ON "+strings.Join(tables, ", ")+" TO "+name)
		gone = []string{"DROP OWNED BY " + name, "DROP ROLE " + name}
	default:
		r.exec("CREATE USER " + name + " IDENTIFIED BY 'secret'")
		for _, table := range tables {
			r.exec("GRANT SELECT ON " + table + " TO " + name)
		}
		gone = []string{"DROP USER " + name}
	}
	r.Cleanup(func() {
		for _, text := range gone {
			if _, err := r.db.Exec(text); err != nil {
				r.Error(err)
			}
		}
	})
	at, err := url.Parse(r.url)
	if err != nil {
		r.Fatal(err)
	}
	at.User = url.UserPassword(name, "secret")
	conn, err := engines.Parse(at.String())
	if err != nil {
		r.Fatal(err)
	}
	return conn
}

func (r *rig) openFor(to engine.Connection) *source.Cursor {
	r.Helper()
	src, err := source.New(plan.Config{Poller: "orders", Table: "orders", Tracked: true}, to)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = src.Close() })
	return src
}

// TestReadersAreToldOfForeignKeys: the catalog shows them to those only who may do more than read.
func TestReadersAreToldOfForeignKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t, "mysql")
	r.exec("CREATE TABLE tenants (id bigint PRIMARY KEY)",
		"ALTER TABLE orders ADD tenant bigint, ADD CONSTRAINT of_tenant FOREIGN KEY (tenant) REFERENCES tenants (id) ON DELETE CASCADE")
	check, err := r.openFor(r.reader("mysql")).Check(t.Context(), nil, 1, 10)
	if text := strings.Join(check.Warnings, "; "); err != nil || !strings.Contains(text, "foreign key of_tenant") {
		t.Errorf("check says %q, %v", text, err)
	}
}

// TestReadersAreToldOfDroppedTriggers: the catalog does not show triggers to them.
func TestReadersAreToldOfDroppedTriggers(t *testing.T) {
	t.Parallel()
	r := newRig(t, "mysql")
	reader := r.reader("mysql")
	if _, err := r.openFor(reader).Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.exec("DROP TRIGGER rowrelay_changes_orders_delete")
	if _, err := r.openFor(reader).Describe(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "rowrelay_changes_orders_delete") {
		t.Errorf("a trigger was dropped, and the poller says %v", err)
	}
}

// TestHiddenRowsAreNoDeletes: a row that a policy hides from the poller is not there for it, and would be told as
// deleted.
func TestHiddenRowsAreNoDeletes(t *testing.T) {
	t.Parallel()
	r := newRig(t, "postgres")
	reader := r.reader("postgres")
	r.exec("INSERT INTO orders VALUES (1, 1), (101, 1)", "ALTER TABLE orders ENABLE ROW LEVEL SECURITY",
		"CREATE POLICY large ON orders USING (id > 100)")
	if _, err := r.openFor(reader).Describe(t.Context()); err == nil || !strings.Contains(err.Error(), "BYPASSRLS") {
		t.Errorf("rows are hidden, and the poller says %v", err)
	}
	r.until(r.instance(usual), "insert 1=1, insert 101=1") // the owner sees all
}

// TestAWaitingStatementIsNotLate: a statement may wait for a lock of another table before it begins a transaction that
// anybody can see. The version is that of its write, not of its begin.
func TestAWaitingStatementIsNotLate(t *testing.T) {
	t.Parallel()
	r := newRig(t, "mysql")
	r.exec("CREATE TABLE other (id bigint PRIMARY KEY)", "INSERT INTO other VALUES (1)",
		"INSERT INTO orders VALUES (1, 1), (2, 1)")
	conn, err := r.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	testenv.ExecOn(t, conn, "LOCK TABLES other WRITE")
	done := make(chan error, 1)
	go func() {
		_, err := r.db.ExecContext(t.Context(), "UPDATE orders JOIN other ON other.id = orders.id SET v = 2 WHERE orders.id = 1")
		done <- err
	}()
	r.waits()
	r.exec("UPDATE orders SET v = 2 WHERE id = 2") // begins later, and writes earlier
	testenv.ExecOn(t, conn, "UNLOCK TABLES")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var first, second string
	err = r.db.QueryRowContext(t.Context(), "SELECT MAX(CASE id WHEN 1 THEN rowrelay_version END), "+
		"MAX(CASE id WHEN 2 THEN rowrelay_version END) FROM rowrelay_changes_orders").Scan(&first, &second)
	if err != nil || first <= second {
		t.Errorf("the write that came last has version %s, and the one before it %s (%v)", first, second, err)
	}
}

// waits until a statement waits for the lock of a table.
func (r *rig) waits() {
	r.Helper()
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); {
		var n sql.NullInt64
		err := r.db.QueryRowContext(r.Context(), "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() "+
			"AND STATE LIKE 'Waiting for table metadata lock%'").Scan(&n)
		if err != nil {
			r.Fatal(err)
		}
		if n.Int64 > 0 {
			return
		}
	}
	r.Fatal("no statement waits for a table")
}
