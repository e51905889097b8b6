package source

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/engine/postgres"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestPostgresDDLPartitioned: the statements run on a parent of partitions, where an index cannot be made concurrently,
// and the poller then reads it.
func TestPostgresDDLPartitioned(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	db := writer(t, "pgx", url, "CREATE TABLE o (id int, d date, PRIMARY KEY (id, d)) PARTITION BY RANGE (d)",
		"CREATE TABLE o1 PARTITION OF o FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')",
		"INSERT INTO o VALUES (1, '2026-02-02')")
	src := newSource(t, url, plan.Config{Poller: "p", Table: "o", Cursor: []string{"id"}, Key: []string{"id", "d"},
		LateCommits: "overlap"})
	p, err := src.current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	testenv.Exec(t, db, postgres.ExactColumn(&p.Table, "xid", []string{"id", "d"})...)
	src = newSource(t, url, plan.Config{Poller: "p", Table: "o", Cursor: []string{"xid"}})
	d, err := src.Describe(t.Context())
	if err != nil || d.Late != late.Exact || len(d.Warnings) != 0 {
		t.Fatalf("%+v %v", d, err)
	}
	r := (&reader{t: t, src: src}).start()
	testenv.Exec(t, db, "INSERT INTO o VALUES (2, '2026-03-03')")
	if got := r.drain(10); strings.Count(got, `"id"`) != 2 {
		t.Errorf("read %s", got)
	}
}

// TestPostgresForeignTransactions: a row cannot be inserted with a transaction of its own choice; and where one was
// brought in all the same, ahead of the server, the poller stops and says what mends it.
func TestPostgresForeignTransactions(t *testing.T) {
	t.Parallel()
	url, db := snapshotTable(t)
	src := snapshotSource(t, url, nil)
	r := (&reader{t: t, src: src}).start()
	r.drain(10)
	testenv.Exec(t, db, "CREATE TABLE archive AS SELECT * FROM o", "DELETE FROM o WHERE id = 2",
		"INSERT INTO o SELECT * FROM archive WHERE id = 2")
	r.want("brought back from an archive", 10, 2)

	testenv.Exec(t, db, "ALTER TABLE o DISABLE TRIGGER USER", "INSERT INTO o (id, xid) VALUES (6, '99999999999')",
		"ALTER TABLE o ENABLE TRIGGER USER")
	other := snapshotSource(t, url, nil) // one that looks at once
	_, err := other.Fetch(t.Context(), change.Range{After: r.at}, everything)
	if !errors.Is(err, poller.ErrGap) || !strings.Contains(err.Error(), "99999999999") {
		t.Fatalf("a row that is ahead of the server: %v", err)
	}
	if c, err := other.Check(t.Context(), r.at, 1, 10); err != nil || !errors.Is(c.ReadError, poller.ErrGap) {
		t.Errorf("check: %v %v", c.ReadError, err)
	}
	_, mend, found := strings.Cut(err.Error(), ": UPDATE ")
	if !found {
		t.Fatalf("no mend is named: %v", err)
	}
	testenv.Exec(t, db, "UPDATE "+mend)
	r.src = other
	r.want("mended", 10, 6)
}

// TestPostgresReplicatedWrites: the trigger also fires for what logical replication writes, which is a session's
// replication role.
func TestPostgresReplicatedWrites(t *testing.T) {
	t.Parallel()
	url, db := snapshotTable(t)
	r := (&reader{t: t, src: snapshotSource(t, url, nil)}).start()
	r.drain(10)
	testenv.Exec(t, db, "SET session_replication_role = replica; UPDATE o SET v = 1 WHERE id = 2; "+
		"INSERT INTO o (id, xid) VALUES (6, '1'); RESET session_replication_role")
	r.want("written as a replica", 10, 2, 6)
}

// subscribed makes a subscription that writes the table o, and never connects.
func subscribed(t *testing.T, db *sql.DB) {
	t.Helper()
	name := "rr_" + strings.ToLower(rand.Text())
	testenv.Exec(t, db, "CREATE SUBSCRIPTION "+name+" CONNECTION 'host=127.0.0.1' PUBLICATION p WITH (connect = false)")
	t.Cleanup(func() {
		for _, s := range []string{"ALTER SUBSCRIPTION " + name + " SET (slot_name = NONE)", "DROP SUBSCRIPTION " + name} {
			if _, err := db.ExecContext(context.WithoutCancel(t.Context()), s); err != nil {
				t.Errorf("drop the subscription: %v", err)
			}
		}
	})
	testenv.Exec(t, db, "INSERT INTO pg_subscription_rel (srsubid, srrelid, srsubstate) "+
		"SELECT oid, 'o'::regclass, 'r' FROM pg_subscription WHERE subname = '"+name+"'")
}

// TestPostgresTriggerOfASubscription: a trigger that is not ENABLE ALWAYS, as those of older versions, is warned about
// where a subscription writes the table.
func TestPostgresTriggerOfASubscription(t *testing.T) {
	t.Parallel()
	url, db := snapshotTable(t)
	warnings := func() string {
		d, err := snapshotSource(t, url, nil).Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(d.Warnings, "\n")
	}
	subscribed(t, db)
	if said := warnings(); said != "" {
		t.Errorf("it fires always: %s", said)
	}
	testenv.Exec(t, db, "ALTER TABLE o ENABLE TRIGGER rowrelay_o_xid")
	if said := warnings(); !strings.Contains(said, "ENABLE ALWAYS: updates are not seen") {
		t.Errorf("it does not fire for a subscription: %q", said)
	}
}

// TestPostgresTriggerWarnings: what sets the column on some writes only is said.
func TestPostgresTriggerWarnings(t *testing.T) {
	t.Parallel()
	url, db := snapshotTable(t)
	const name = `rowrelay_o_xid`
	for trigger, want := range map[string]string{
		"BEFORE INSERT OR UPDATE ON o FOR EACH ROW":                           "",
		"BEFORE UPDATE ON o FOR EACH ROW":                                     "BEFORE INSERT",
		"BEFORE INSERT ON o FOR EACH ROW":                                     "updates are not seen",
		"BEFORE INSERT OR UPDATE OF v ON o FOR EACH ROW":                      "updates are not seen",
		"BEFORE INSERT OR UPDATE ON o FOR EACH ROW WHEN (NEW.v > 0)":          "updates are not seen",
		"AFTER INSERT OR UPDATE ON o FOR EACH ROW":                            "updates are not seen",
		"BEFORE INSERT OR UPDATE ON o FOR EACH STATEMENT":                     "updates are not seen",
		"BEFORE UPDATE ON o FOR EACH ROW WHEN (OLD.v IS DISTINCT FROM NEW.v)": "updates are not seen",
	} {
		testenv.Exec(t, db, "DROP TRIGGER "+name+" ON o", "CREATE TRIGGER "+name+" "+trigger+" EXECUTE FUNCTION "+name+"()")
		d, err := snapshotSource(t, url, nil).Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(d.Warnings, "\n")
		if !strings.Contains(said, want) || (want == "") != (said == "") {
			t.Errorf("%s: %q, want %q", trigger, said, want)
		}
	}
}

// TestDDLBeforeTransactions: PostgreSQL 12 has no xid8, which is said instead of statements that fail.
func TestDDLBeforeTransactions(t *testing.T) {
	t.Parallel()
	d := postgres.Dialect{}
	tab := lateTable(d)
	tab.NoTransactions = true
	p, err := plan.New(d, &plan.Config{Table: "orders", Cursor: []string{"id"}, Key: []string{"id"}, LateCommits: "auto"},
		"h/d", tab)
	if err != nil {
		t.Fatal(err)
	}
	if text := p.DDL(); !strings.HasPrefix(text, "-- ") || strings.Contains(text, "CREATE") ||
		!strings.Contains(text, "version 13") {
		t.Errorf("%s", text)
	}
}
