package publisher

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/sqlserver"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/feed/feedtest"
)

// While somebody has locked the claims of one owner, another settles, renews, takes and releases: two owners whose
// statements lock each other's claims on the way to their own deadlock.
func TestClaimsOfOthersLocked(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		if b.conn.Engine == "sqlite" {
			return // one writer: there are no locks of rows
		}
		b.write("A/1", "A/2")
		rows := b.all()
		b.take("one", time.Minute, 0, 2, 4, 6)
		b.take("two", time.Minute, 1, 3, 5)
		tx, err := b.raw.BeginTx(t.Context(), nil)
		b.must(err)
		defer tx.Rollback() //nolint:errcheck // it changes nothing
		b.must(b.claims.Hold(t.Context(), tx, "one", 4))
		if _, err := tx.ExecContext(t.Context(), "UPDATE rowrelay_claims SET info = 'x' WHERE unit = 'i:one'"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if n, err := b.claims.Renew(ctx, "two", []int{1, 3, 5}, time.Minute); err != nil || n != 4 {
			t.Errorf("renew: %d, %v", n, err)
		}
		failed := event.Marks{Failed: []event.Failure{{Marked: markedRow(&rows[0]), Attempts: 1}}}
		if err := b.rows.Settle(ctx, "two", 3, failed); err != nil {
			t.Errorf("settle: %v", err)
		}
		if got, err := b.claims.Take(ctx, "two", time.Minute, true, just(7)); err != nil || len(got.Partitions) != 1 {
			t.Errorf("take: %+v, %v", got, err)
		}
		if err := b.claims.Release(ctx, "two", nil); err != nil {
			t.Errorf("release: %v", err)
		}
	}, func(c *Config) { c.Partitions, c.Connections = 8, 2 })
}

// What is written behind a failed event becomes WAITING under skip_locked, too, and does not keep the failed one from
// its retry.
func TestFollowersWait(t *testing.T) {
	t.Parallel()
	everyEngine(t, followersWait, func(c *Config) { c.Strategy = claims.SkipLocked })
}

func followersWait(t *testing.T, b *bench) {
	t.Helper()
	b.write("A/1")
	s := b.openOn(t, engineConfig(b, claims.SkipLocked))
	s.Settled("r", s.nextWork())
	b.write("A/1", "A/1", "A/1")
	for retried := false; !retried; {
		g := s.nextWork()
		if feedtest.Shape(g) == "retry 1+" {
			s.Settled("a", g)
			retried = true
			continue
		}
		s.Settled("www"[:len(g.Batch.Events)], g)
		b.wantStates(event.Failed, event.Waiting, event.Waiting, event.Waiting)
	}
	b.wantStates(event.Published, event.Pending, event.Pending, event.Pending)
	s.Settled("aaa", s.nextWork())
	b.wantStates(event.Published, event.Published, event.Published, event.Published)
	s.End()
}

// TestSQLServerVarchar: a table with the columns of `rowrelay outbox init` that somebody made with varchar, as one byte
// is the half of a letter of nvarchar.
func TestSQLServerVarchar(t *testing.T) {
	t.Parallel()
	url := testenv.SQLServer(t)
	statements, err := DDL("sqlserver", "outbox", "rowrelay_claims")
	if err != nil {
		t.Fatal(err)
	}
	exact := "nvarchar(255)" + sqlserver.Statement{}.Exact()
	if _, err := testenv.Open(t, "sqlserver", url).ExecContext(t.Context(),
		strings.ReplaceAll(statements[0], exact, exact[1:])); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, func(testing.TB) string { return url }, func(c *Config) { c.Strategy = claims.SkipLocked })
	followersWait(t, b)
}

// Events without an aggregate wait for none, and each is tried again by itself.
func TestNoAggregate(t *testing.T) {
	t.Parallel()
	for _, strategy := range []claims.Strategy{claims.Leader, claims.SkipLocked} {
		t.Run(string(strategy), func(t *testing.T) {
			everyEngine(t, func(t *testing.T, b *bench) {
				b.write("O/", "O/")
				s := b.openOn(t, engineConfig(b, strategy))
				s.Settled("rr", s.nextWork())
				b.wantStates(event.Failed, event.Failed)
				b.write("O/")
				for published := 0; published < 3; {
					g := s.nextWork()
					for i := range g.Batch.Events {
						if g.Batch.Events[i].Waits {
							t.Errorf("an event without an aggregate waits: %s", feedtest.Shape(g))
						}
					}
					s.Settled("aaa"[:len(g.Batch.Events)], g)
					published += len(g.Batch.Events)
				}
				b.wantStates(event.Published, event.Published, event.Published)
				s.End()
			}, func(c *Config) { c.Strategy = strategy })
		})
	}
}

// An operator's requeue of an event whose last attempt is in flight is not undone by that attempt's failure.
func TestRequeueInFlight(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		b.write("A/1")
		b.lead("me", time.Minute)
		r := b.all()[0]
		for attempts := 1; attempts <= 2; attempts++ {
			b.must(b.rows.Settle(t.Context(), "me", 1,
				event.Marks{Failed: []event.Failure{{Marked: markedRow(&r), Attempts: attempts, Reason: "refused"}}}))
		}
		if n, err := (&Publisher{catalog: b.catalog}).Requeue(t.Context(), event.Filter{States: []event.State{event.Failed}},
			nil); err != nil || n != 1 {
			t.Fatalf("requeued %d, %v", n, err)
		}
		b.must(b.rows.Settle(t.Context(), "me", 1,
			event.Marks{Failed: []event.Failure{{Marked: markedRow(&r), Attempts: 3, Dead: true, Reason: "refused"}}}))
		b.wantStates(event.Failed)
		due, _, err := b.rows.Due(t.Context(), nil, poller.Limit{Rows: 10})
		if err != nil || len(due) != 1 || due[0].Attempts != 0 {
			t.Errorf("due: %+v, %v", due, err)
		}
		// A misplaced event stays before its last attempt, and has to rest all the same.
		for range 2 {
			b.must(b.rows.Settle(t.Context(), "me", 1,
				event.Marks{Failed: []event.Failure{{Marked: markedRow(&r), Attempts: 1, Delay: time.Hour, Reason: "misplaced"}}}))
			if due, next, err := b.rows.Due(t.Context(), nil, poller.Limit{Rows: 10}); err != nil ||
				len(due) != 0 || next < 59*time.Minute {
				t.Errorf("due: %+v in %v, %v", due, next, err)
			}
		}
	})
}

// Retries are bounded by bytes as a fetch is; one comes however large it is.
func TestDueBytes(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		b.write("A/1", "A/2", "A/3", "A/4") // 7 bytes each
		b.exec("UPDATE outbox SET state = 'FAILED', next_attempt_at = " + b.db.Now())
		for limit, want := range map[int]int{1: 1, 7: 1, 13: 1, 14: 2, 22: 3, 0: 4} {
			rows, _, err := b.rows.Due(t.Context(), nil, poller.Limit{Rows: 10, Bytes: limit})
			if err != nil || len(rows) != want {
				t.Errorf("limit %d: got %d rows, %v; want %d", limit, len(rows), err, want)
			}
		}
	})
}

// SQLite takes anything as text unless it is told not to.
func TestSQLiteNames(t *testing.T) {
	t.Parallel()
	b := newBench(t, sqliteFile)
	const insert = "INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key) VALUES (?, ?, 'E', '{}', ?)"
	for name, id := range map[string]any{"NUL": "a\x00b", "NUL first": "\x00x", "a blob": []byte("a")} {
		if _, err := b.raw.ExecContext(t.Context(), insert, id, "1", name+" type"); err == nil {
			t.Errorf("%s is an aggregate's type", name)
		}
		if _, err := b.raw.ExecContext(t.Context(), insert, "A", id, name+" id"); err == nil {
			t.Errorf("%s is an aggregate's id", name)
		}
	}
	for _, id := range []any{"", "é", "a b", 42} {
		b.exec(insert, "A", id, id)
	}
}

// However many events wait behind a failed one, MariaDB does not read them to find that it is due, nor before it is.
func TestDueReadsNoFollowers(t *testing.T) {
	t.Parallel()
	b := newBench(t, testenv.MySQL)
	b.write("O/0")
	b.exec("UPDATE outbox SET state = 'FAILED', next_attempt_at = " + b.db.Now())
	b.fillOf(20_000, 1, event.Waiting)
	one := b.open(func(c *Config) { c.Connections = 1 }) // the counters are the connection's
	read := func() (n int64) {
		rows, err := one.db.Pool.QueryContext(t.Context(), "SHOW SESSION STATUS LIKE 'Handler_read%'")
		b.must(err)
		defer rows.Close() //nolint:errcheck // rows.Err tells
		for rows.Next() {
			var name string
			var count int64
			b.must(rows.Scan(&name, &count))
			n += count
		}
		b.must(rows.Err())
		return n
	}
	before := read()
	rows, _, err := one.rows.Due(t.Context(), nil, poller.Limit{Rows: 10})
	if err != nil || len(rows) != 1 {
		t.Fatalf("due: %d rows, %v", len(rows), err)
	}
	if n := read() - before; n > 1000 {
		t.Errorf("%d rows were read to find one", n)
	}
}
