package publisher

import (
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/feed/feedtest"
)

// TestReadOnlyServer: an outbox can be read on a standby, and nothing of it be published. `rowrelay check` found no
// fault there. The connections to a server that has failed over live on, and are left.
func TestReadOnlyServer(t *testing.T) {
	t.Parallel()
	b := newBench(t, testenv.Postgres)
	p := b.publish(engineConfig(b, claims.Partitioned))
	if err := p.Writable(t.Context()); err != nil {
		t.Fatal(err)
	}
	writable := testenv.ReadOnly(t, b.url)
	other := b.publish(engineConfig(b, claims.Partitioned))
	if _, err := other.About(t.Context()); err != nil {
		t.Errorf("it cannot be read: %v", err)
	}
	err := other.Writable(t.Context())
	if err == nil || !strings.Contains(err.Error(), "source__connection") || !strings.Contains(err.Error(), "primary") {
		t.Errorf("check: %v", err)
	}
	if err := other.Pause(t.Context(), "me"); err == nil || !strings.Contains(err.Error(), "source__connection") {
		t.Errorf("a write: %v", err)
	}
	writable()
	if err := other.Writable(t.Context()); err != nil {
		t.Errorf("its name leads to a primary now: %v", err)
	}
}

// TestRightThatIsTaken: the login loses the right to mark events while they are published. What was published then
// stays unmarked: it was published again with every tick.
func TestRightThatIsTaken(t *testing.T) {
	t.Parallel()
	server := testenv.OwnPostgres(t)
	b := newBench(t, func(testing.TB) string { return server.URL })
	b.exec("CREATE ROLE relay LOGIN")
	b.exec("GRANT SELECT, INSERT, UPDATE, DELETE ON outbox, rowrelay_claims TO relay")
	b.write("A/1")
	b.url = strings.Replace(server.URL, "://rowrelay@", "://relay@", 1)
	p := b.publish(engineConfig(b, claims.Leader))
	s, err := p.Feed().Open(t.Context())
	b.must(err)
	d := &engineSession{feedtest.Driver{T: t, Session: s}}
	g := d.nextWork()
	b.exec("REVOKE UPDATE ON outbox FROM relay")
	if _, err := d.Outcomes(t.Context(), "a", g); err == nil {
		t.Fatal("the mark was written")
	}
	_ = s.Close(t.Context(), &poller.Report{}) // it tells of the same
	s, err = p.Feed().Open(t.Context())
	b.must(err)
	d = &engineSession{feedtest.Driver{T: t, Session: s}}
	g, err = s.Next(t.Context(), poller.Limit{Rows: 10, Bytes: 1 << 20})
	if err == nil || !strings.Contains(err.Error(), "UPDATE") {
		t.Errorf("it would be published again: %s, %v", feedtest.Shape(g), err)
	}
	d.End()
	if err := p.Writable(t.Context()); err == nil || !strings.Contains(err.Error(), "UPDATE") {
		t.Errorf("check: %v", err)
	}
	b.exec("GRANT UPDATE ON outbox TO relay")
	d = b.openOn(t, engineConfig(b, claims.Leader))
	d.Settled("a", d.nextWork())
	d.End()
}
