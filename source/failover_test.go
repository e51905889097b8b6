package source

import (
	"context"
	"io"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/source/plan"
)

// TestPostgresPromotion: a standby that was promoted shows at once that it is another life of the database, long before
// a checkpoint completes. The source comes by an address that leads to whoever is the primary, as those of poolers and
// providers do.
func TestPostgresPromotion(t *testing.T) {
	t.Parallel()
	primary := testenv.OwnPostgres(t)
	db := testenv.Open(t, "pgx", primary.URL)
	testenv.Exec(t, db, "CREATE TABLE o (id bigint PRIMARY KEY)", "INSERT INTO o VALUES (1), (2)")
	standby := primary.Standby()

	var target atomic.Value
	target.Store(primary.Address())
	url := through(t, primary.URL, &target)
	src := newSource(t, url, plan.Config{Table: "o", Cursor: []string{"id"}})
	incarnation := func() string {
		t.Helper()
		page, err := src.Fetch(t.Context(), change.Range{}, everything)
		if err != nil {
			t.Fatal(err)
		}
		return page.Incarnation
	}
	before := incarnation()
	if again := incarnation(); before == "" || again != before {
		t.Fatalf("the incarnation was %q and is %q", before, again)
	}
	own := newSource(t, standby.URL, plan.Config{Table: "o", Cursor: []string{"id"}})
	if page, err := own.Fetch(t.Context(), change.Range{}, everything); err != nil || page.Incarnation != before {
		t.Errorf("the standby says %q, the primary %q: %v", page.Incarnation, before, err)
	}

	standby.Promote()
	page, err := own.Fetch(t.Context(), change.Range{}, everything)
	if err != nil || page.Incarnation == before {
		t.Errorf("a kept connection to the promoted standby says %q as before: %v", page.Incarnation, err)
	}
	target.Store(standby.Address())
	src = newSource(t, url, plan.Config{Table: "o", Cursor: []string{"id"}}) // the old connections end with the primary
	after := incarnation()
	if after == before {
		t.Fatalf("no failover is seen: the incarnation is %q as before", after)
	}
	was, is := strings.Split(before, "/"), strings.Split(after, "/")
	if was[2] != "1" || is[2] != "2" || was[1] != is[1] {
		t.Errorf("the incarnation was %q and is %q", before, after)
	}
	if page.Incarnation != after {
		t.Errorf("a kept connection says %q, a new one %q", page.Incarnation, after)
	}
	promoted := testenv.Open(t, "pgx", standby.URL)
	testenv.Exec(t, promoted, "CHECKPOINT")
	if checkpointed := incarnation(); checkpointed != after {
		t.Errorf("after a checkpoint the incarnation is %q, it was %q", checkpointed, after)
	}
}

// postgresIdentityRights: what a role may not ask for is missing in the incarnation, and is no other database.
func postgresIdentityRights(t *testing.T, address string) {
	db := testenv.Open(t, "pgx", address)
	testenv.Exec(t, db, "CREATE TABLE o (id bigint PRIMARY KEY)", "INSERT INTO o VALUES (1)", "CREATE ROLE stranger LOGIN",
		"GRANT SELECT ON o TO stranger")
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User("stranger")
	incarnation := func() string {
		t.Helper()
		page, err := newSource(t, u.String(), plan.Config{Table: "o", Cursor: []string{"id"}}).Fetch(t.Context(),
			change.Range{}, everything)
		if err != nil {
			t.Fatal(err)
		}
		return page.Incarnation
	}
	whole := incarnation()
	parts := strings.Split(whole, "/")
	if len(parts) != 5 || parts[1] == "" || parts[2] != "1" {
		t.Fatalf("the incarnation is %q", whole)
	}
	for _, c := range []struct{ revoke, want string }{
		{"pg_walfile_name(pg_lsn)", whole}, // the control file's timeline stands in
		{"pg_control_system()", "postgres//1/" + parts[3] + "/" + parts[4]},
		{"pg_control_checkpoint()", ""},
	} {
		testenv.Exec(t, db, "REVOKE EXECUTE ON FUNCTION "+c.revoke+" FROM PUBLIC")
		is := incarnation()
		if is != c.want {
			t.Errorf("without %s the incarnation is %q", c.revoke, is)
		}
		if relation, record := compareAs(whole, is); relation != checkpointed.SameDatabase || record != whole {
			t.Errorf("without %s it counts as %d, recorded as %q", c.revoke, relation, record)
		}
	}
}

// through is the URL of a forwarder to whatever target says when a connection is made.
func through(t *testing.T, raw string, target *atomic.Value) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := (&net.Dialer{}).DialContext(ctx, "tcp", target.Load().(string))
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
			go func() { _, _ = io.Copy(client, server); _ = client.Close() }()
		}
	}()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal("the URL does not parse")
	}
	u.Host = l.Addr().String()
	return u.String()
}
