package publisher

import (
	"fmt"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/feed/feedtest"
)

// fetchSome asks three times for a page while nothing is settled, and returns how many events of which aggregate came.
func fetchSome(t *testing.T, s poller.Session) map[string]int {
	t.Helper()
	found := map[string]int{}
	for range 3 {
		g, err := s.Next(t.Context(), poller.Limit{Rows: 100, Bytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range g.Batch.Events {
			found[e.Outbox.AggregateType+"/"+e.Outbox.AggregateID]++
		}
	}
	return found
}

// TestBusyAggregateOnEngines: of an aggregate with a backlog half a page is in flight, and events of others come while
// nothing of it is settled. Each of two instances reads only what is its own.
func TestBusyAggregateOnEngines(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		b.fillOf(1500, 1, event.Pending)
		names := make([]string, 40)
		for i := range names {
			names[i] = fmt.Sprintf("X/%d", i)
		}
		b.write(names...)
		buckets := map[string]int{}
		rows, err := b.raw.QueryContext(t.Context(), "SELECT DISTINCT aggregate_type, aggregate_id, bucket FROM outbox")
		b.must(err)
		defer rows.Close() //nolint:errcheck // Err tells
		for rows.Next() {
			var typ, id string
			var bucket int
			b.must(rows.Scan(&typ, &id, &bucket))
			buckets[typ+"/"+id] = bucket
		}
		b.must(rows.Err())
		cfg := engineConfig(b, claims.Partitioned)
		p := b.publish(cfg)
		for n := range cfg.Partitions {
			s, err := p.Partition(n).Open(t.Context())
			b.must(err)
			found := fetchSome(t, s)
			for name, bucket := range buckets {
				want := 1
				switch {
				case claims.PartitionAt(bucket, cfg.Partitions) != n:
					want = 0
				case name == "O/0":
					want = 50
				case bucket == buckets["O/0"]:
					want = found[name] // it may wait
				}
				if found[name] != want {
					t.Errorf("partition %d has %d events of %s in flight, want %d", n, found[name], name, want)
				}
			}
			b.must(s.Close(t.Context(), &poller.Report{}))
		}
		leader := b.openOn(t, engineConfig(b, claims.Leader))
		if found := fetchSome(t, leader); found["O/0"] != 50 || len(found) < len(names) {
			t.Errorf("the leader has %v in flight", found)
		}
		leader.End()
	})
}

// TestBusyAggregateOfAMappedTable: the same where no bucket tells aggregates apart; and the busy one goes on in order.
func TestBusyAggregateOfAMappedTable(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		b.fillOf(1500, 1, event.Pending)
		b.write("X/1", "X/2", "X/2")
		cfg := engineConfig(b, claims.Leader)
		cfg.Map = map[string]string{"id": b.texts.rows.Seq(), "state": "state", "pending": "PENDING", "done": "PUBLISHED",
			"published": "none"}
		statements, err := MappedDDL(b.conn.Engine, cfg.Table, cfg.ClaimsTable)
		b.must(err)
		for _, s := range statements {
			b.exec(s)
		}
		s := b.openOn(t, cfg)
		limit := poller.Limit{Rows: 100, Bytes: 1 << 20}
		first, err := s.Next(t.Context(), limit)
		b.must(err)
		if found := fetchSome(t, s); len(first.Batch.Events) != 50 || found["O/0"] != 0 || found["X/1"] != 1 ||
			found["X/2"] != 2 {
			t.Errorf("%d and then %v are in flight", len(first.Batch.Events), found)
		}
		half := first
		half.Batch.Events = half.Batch.Events[:25]
		outcomes := "aaaaaaaaaaaaaaaaaaaaaaaaa"
		s.Settled(outcomes, half)
		next, err := s.Next(t.Context(), limit)
		b.must(err)
		for deadline := time.Now().Add(time.Minute); len(next.Batch.Events) == 0 && time.Now().Before(deadline); {
			next, err = s.Next(t.Context(), limit)
			b.must(err)
		}
		if len(next.Batch.Events) != 25 || string(next.Batch.Events[0].Key) <= string(first.Batch.Events[49].Key) {
			t.Errorf("then comes %s after %s", feedtest.Shape(next), feedtest.Shape(first))
		}
		s.End()
	})
}

// TestNoRanges: an instance that holds nothing reads nothing, in whatever order.
func TestNoRanges(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		b.write("O/1", "O/2")
		for _, bySeq := range []bool{false, true} {
			rows, more, err := b.rows.Fetch(t.Context(), []claims.Range{}, bySeq, poller.Limit{Rows: 10})
			if err != nil || len(rows) > 0 || more {
				t.Errorf("by seq %t: %d rows, %v", bySeq, len(rows), err)
			}
		}
	})
}
