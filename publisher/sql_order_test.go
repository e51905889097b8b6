package publisher

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// TestOrderOfTheSource: with ordering=source events come by seq alone, and all wait for one that failed.
func TestOrderOfTheSource(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		b.lead("me", time.Minute)
		var names []string
		for i := range 30 {
			names = append(names, fmt.Sprintf("O/%d", i))
		}
		b.write(names...)
		var got []int64
		for limit := 7; ; limit *= 7 {
			rows, more, err := b.rows.Fetch(t.Context(), nil, true, poller.Limit{Rows: limit})
			b.must(err)
			if more != (len(rows) < len(names)) {
				t.Fatalf("%d of %d events, and more: %t", len(rows), len(names), more)
			}
			if more {
				continue
			}
			for _, r := range rows {
				got = append(got, r.Ref.Seq)
			}
			break
		}
		for i, seq := range got {
			if seq != int64(i+1) {
				t.Fatalf("the order is %v", got)
			}
		}
		rows := b.all()
		b.must(b.rows.Settle(t.Context(), "me", 1,
			event.Marks{Failed: []event.Failure{{Marked: markedRow(&rows[1]), Attempts: 1, Delay: time.Hour}},
				Published: []event.Ref{rows[0].Ref}, Waiting: []event.Marked{markedRow(&rows[2])}}))
		for _, r := range b.all() {
			if !r.Waits {
				t.Fatalf("seq %d does not wait for another aggregate's failed event", r.Ref.Seq)
			}
		}
		b.must(b.rows.Settle(t.Context(), "me", 1, event.Marks{Retried: []event.Marked{markedRow(&rows[1])}}))
		if s := b.states(); s[0] != event.Published || s[1] != event.Published || s[2] != event.Pending {
			t.Errorf("states are %v", s[:3])
		}
	}, func(c *Config) { c.Ordering = poller.OrderSource })
}

// TestNoOrder: with ordering=none nothing waits.
func TestNoOrder(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		b.lead("me", time.Minute)
		b.write("O/1", "O/1")
		rows := b.all()
		b.must(b.rows.Settle(t.Context(), "me", 1,
			event.Marks{Failed: []event.Failure{{Marked: markedRow(&rows[0]), Attempts: 1, Delay: time.Nanosecond}}}))
		if rest := b.all(); len(rest) != 1 || rest[0].Waits {
			t.Errorf("got %+v", rest)
		}
	}, func(c *Config) { c.Ordering = poller.OrderNone })
}

// TestOneDueOfAnAggregate: where an operator made several events of one aggregate due, they go out one after the
// other.
func TestOneDueOfAnAggregate(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		b.lead("me", time.Minute)
		b.write("O/1", "O/1", "O/2")
		b.exec("UPDATE outbox SET state = 'FAILED', next_attempt_at = " + b.db.Earlier("1000"))
		due := func() (list []int64) {
			rows, _, err := b.rows.Due(t.Context(), nil, poller.Limit{Rows: 10})
			b.must(err)
			for _, r := range rows {
				list = append(list, r.Ref.Seq)
			}
			return list
		}
		if diff := cmp.Diff([]int64{1, 3}, due()); diff != "" {
			t.Errorf("due (-want +got):\n%s", diff)
		}
		b.must(b.rows.Settle(t.Context(), "me", 1,
			event.Marks{Retried: []event.Marked{{Ref: event.Ref{Seq: 1}, Aggregate: event.Aggregate{Type: "O", ID: "1"}}}}))
		if diff := cmp.Diff([]int64{2, 3}, due()); diff != "" {
			t.Errorf("due (-want +got):\n%s", diff)
		}
	})
}

// TestApplicationsOwnSession: an application writes in a session of its own zone, which on the test servers is not
// UTC.
func TestApplicationsOwnSession(t *testing.T) {
	t.Parallel()
	for engine, open := range map[string]func(*testing.T, string) (*sql.DB, error){
		"postgres": func(_ *testing.T, url string) (*sql.DB, error) { return sql.Open("pgx", url) },
		"mysql":    func(t *testing.T, url string) (*sql.DB, error) { return sql.Open("mysql", testenv.MySQLDSN(t, url)) },
	} {
		t.Run(engine, func(t *testing.T) {
			b := newBench(t, map[string]func(testing.TB) string{"postgres": testenv.Postgres, "mysql": testenv.MySQL}[engine])
			app, err := open(t, b.url)
			b.must(err)
			defer app.Close() //nolint:errcheck // the test's own
			var zone string
			b.must(app.QueryRowContext(t.Context(),
				map[string]string{"postgres": "SHOW timezone",
					"mysql": "SELECT TIMEDIFF(NOW(), UTC_TIMESTAMP())"}[engine]).Scan(&zone))
			if zone == "UTC" || zone == "00:00:00" {
				t.Fatalf("the server's zone is %s: this test proves nothing", zone)
			}
			b.insert(app, event.Aggregate{Type: "O", ID: "1"}, "{}")
			if age := time.Since(b.all()[0].Outbox.CreatedAt); age.Abs() > time.Minute {
				t.Errorf("created_at is %v off", age)
			}
			f, err := b.rows.Figures(t.Context())
			if err != nil || f.OldestPending > time.Minute {
				t.Errorf("figures: %+v, %v", f, err)
			}
		})
	}
}

// TestBuckets: ids as applications have them spread over all buckets, evenly enough for partitions.
func TestBuckets(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
	// 64 ids for each of 64 partitions: enough to tell a bad hash, few enough for SQLite under the race detector
	const n = 4 * claims.Buckets
	for _, e := range realEngines {
		t.Run(e.name, func(t *testing.T) {
			for kind, id := range map[string]func(int) string{
				"numbers": func(i int) string { return fmt.Sprint(100_000 + i) },
				"uuids":   func(i int) string { return uuid.NewSHA1(uuid.NameSpaceURL, []byte(fmt.Sprint(i))).String() },
				"names":   func(i int) string { return fmt.Sprintf("order-%d", i) },
			} {
				b := newBench(t, e.url, func(c *Config) { c.Timeout = 5 * time.Minute }) // SQLite is slow under the race detector
				b.must(b.db.Tx(t.Context(), "write", func(ctx context.Context, q statement.Querier) error {
					type object struct {
						ID string `json:"id"`
					}
					list := make([]object, n)
					for i := range list {
						list[i].ID = id(i)
					}
					s := b.db.Statement()
					s.Add("INSERT INTO ", b.outbox.String(),
						" (aggregate_type, aggregate_id, event_type, payload, idempotency_key) SELECT 'T', r.id, 'E', '{}', r.id FROM ",
						s.Rows("r", []statement.Field{statement.Text("id")}, list))
					_, err := s.Exec(ctx, q)
					return err
				}))
				s := b.db.Statement()
				s.Add("SELECT bucket FROM ", b.outbox.String())
				buckets, err := s.Ints(t.Context(), b.raw)
				b.must(err)
				var counts [64]float64
				for _, bucket := range buckets {
					if bucket < 0 || bucket >= claims.Buckets {
						t.Fatalf("bucket %d", bucket)
					}
					counts[claims.PartitionAt(int(bucket), len(counts))]++
				}
				most := 0.0
				for _, c := range counts {
					most = math.Max(most, c/(n/float64(len(counts))))
				}
				if most > 1.6 {
					t.Errorf("%s: the fullest of 64 partitions has %.2f times its share", kind, most)
				}
			}
		})
	}
}

// TestDeadlocksAreRepeated: two transactions that lock two rows in opposite orders both come through.
func TestDeadlocksAreRepeated(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		b.write("O/1", "O/2")
		var group sync.WaitGroup
		var attempts atomic.Int64
		ready := make(chan struct{}, 2)
		for _, order := range [][]int{{1, 2}, {2, 1}} {
			group.Go(func() {
				first := true
				err := b.db.Tx(t.Context(), "deadlock", func(ctx context.Context, q statement.Querier) error {
					attempts.Add(1)
					for i, seq := range order {
						if i == 1 && first && b.conn.Engine != "sqlite" { // whose transactions come one after the other
							first = false
							ready <- struct{}{}
							programtest.Until(t, "both have locked a row", func() bool { return len(ready) == 2 })
						}
						if _, err := q.ExecContext(ctx,
							fmt.Sprintf("UPDATE outbox SET retry_count = retry_count + 1 WHERE %s = %d", b.texts.rows.Seq(),
								seq)); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if b.conn.Engine != "sqlite" && attempts.Load() < 3 {
			t.Errorf("%d attempts: there was no deadlock", attempts.Load())
		}
		s := b.db.Statement()
		s.Add("SELECT retry_count FROM ", b.outbox.String())
		counts, err := s.Ints(t.Context(), b.raw)
		if diff := cmp.Diff([]int64{2, 2}, counts); err != nil || diff != "" {
			t.Errorf("%v, counts (-want +got):\n%s", err, diff)
		}
	})
}

// TestNames: tables are found however they are written, and one table has one name in the claims table.
func TestNames(t *testing.T) {
	t.Parallel()
	b := newBench(t, testenv.Postgres, func(c *Config) { c.Table, c.ClaimsTable = `public."Out.Box"`, "claims" })
	for _, text := range []string{`"Out.Box"`, `public."Out.Box"`, "public.[Out.Box]"} {
		c, err := b.view(func(c *Config) { c.Table = text }).open(t.Context())
		if err != nil || c.events.Claims.Place.Outbox != "public.Out.Box" {
			t.Errorf("%s: %v, %v", text, c, err)
		}
	}
	if _, err := newCatalog(Config{Table: "a..b", ClaimsTable: "c"}, b.conn, nil); !errors.Is(err, poller.ErrConfig) ||
		!strings.Contains(err.Error(), "source__table") {
		t.Errorf("got %v", err)
	}
}

// BenchmarkFetchAndSettle is the database's part of one batch of 500 on PostgreSQL.
func BenchmarkFetchAndSettle(bm *testing.B) {
	b := newBench(bm, testenv.Postgres)
	b.lead("me", time.Hour)
	const batch = 500
	b.fill(batch * (bm.N + 1))
	bm.ResetTimer()
	for range bm.N {
		rows, _, err := b.rows.Fetch(context.Background(), nil, true, poller.Limit{Rows: batch})
		if err != nil || len(rows) == 0 {
			bm.Fatal(len(rows), err)
		}
		m := event.Marks{Published: make([]event.Ref, len(rows))}
		for i := range rows {
			m.Published[i] = rows[i].Ref
		}
		b.must(b.rows.Settle(context.Background(), "me", 1, m))
	}
	bm.ReportMetric(float64(batch*bm.N)/bm.Elapsed().Seconds(), "events/s")
}
