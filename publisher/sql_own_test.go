package publisher

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/poller"
)

var counter atomic.Int64

func TestDescribe(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		d, err := b.view().open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !d.own || d.Engine != b.conn.Engine || !strings.HasSuffix(d.Table, "outbox") || !strings.HasPrefix(d.Fingerprint, "sha256:") {
			t.Errorf("got %+v", d)
		}
		_, err = b.view(func(c *Config) { c.Table = "nothing_here" }).open(t.Context())
		if !errors.Is(err, poller.ErrConfig) || !strings.Contains(err.Error(), "rowrelay outbox init orders --apply") {
			t.Errorf("no table: got %v", err)
		}
		_, err = b.view(func(c *Config) { c.ClaimsTable = "nothing_here" }).open(t.Context())
		if !errors.Is(err, poller.ErrConfig) || !strings.Contains(err.Error(), "rowrelay outbox init orders --apply") {
			t.Errorf("no claims table: got %v", err)
		}
	})
}

func TestFetch(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		before := time.Now().Add(-2 * time.Second)
		b.write("Order/1", "Order/2", "Order/1")
		b.insert(b.raw, aggregate{"Order", "ünïcode 🚀 "}, "not json 🚀")
		rows := b.all()
		if len(rows) != 4 {
			t.Fatalf("got %d rows, want 4", len(rows))
		}
		r := rows[3]
		if r.outbox.AggregateID != "ünïcode 🚀 " || string(r.outbox.Payload) != "not json 🚀" || r.outbox.JSON || r.outbox.EventType != "Happened" {
			t.Errorf("got %+v", r.outbox)
		}
		if at := rows[0].outbox.CreatedAt; at.Before(before) || at.After(time.Now().Add(2*time.Second)) || at.Location() != time.UTC {
			t.Errorf("created_at is %v, now is %v", at, time.Now().UTC())
		}
		if !rows[0].outbox.JSON || string(rows[0].outbox.Payload) != `{"n":1}` {
			t.Errorf("got the payload %s", rows[0].outbox.Payload)
		}
		if rows[0].at.bucket != rows[2].at.bucket || rows[0].at.bucket < 0 || rows[0].at.bucket >= Buckets {
			t.Errorf("one aggregate, buckets %d and %d", rows[0].at.bucket, rows[2].at.bucket)
		}
	})
}

// TestFetchPages reads many rows page by page, in every kind of ranges: each comes once, in order.
func TestFetchPages(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		const n = 120
		for i := range n {
			b.insert(b.raw, aggregate{"T", fmt.Sprint(i % 40)}, `{}`)
		}
		for name, ranges := range map[string][]bucketRange{
			"all": nil, "one": {{0, Buckets}}, "split": {{0, 100}, {100, 500}, {600, Buckets}, {500, 600}}, "odd": {{0, 333}, {700, 900}}, "none": {{5, 5}},
		} {
			var after position
			got := 0
			for more := true; more; {
				rows, next, err := b.rows.fetch(t.Context(), ranges, after, poller.Limit{Rows: 7})
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range rows {
					if ranges != nil && !inside(ranges, r.at.bucket) {
						t.Errorf("%s: a row of bucket %d", name, r.at.bucket)
					}
					if r.at.bucket < after.bucket || r.at.bucket == after.bucket && r.at.seq <= after.seq {
						t.Errorf("%s: %v came after %v", name, r.at, after)
					}
					after = r.at
				}
				got, more = got+len(rows), next
			}
			want := 0
			for _, r := range b.all() {
				if ranges == nil || inside(ranges, r.at.bucket) {
					want++
				}
			}
			if got != want {
				t.Errorf("%s: got %d rows, want %d", name, got, want)
			}
		}
	})
}

func inside(ranges []bucketRange, bucket int) bool {
	for _, r := range ranges {
		if bucket >= r.from && bucket < r.to {
			return true
		}
	}
	return false
}

func TestFetchStopsAtBytes(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		for range 5 {
			b.insert(b.raw, aggregate{"T", "1"}, strings.Repeat("x", 1000))
		}
		rows, more, err := b.rows.fetch(t.Context(), nil, position{}, poller.Limit{Rows: 10, Bytes: 2500})
		if err != nil || len(rows) != 2 || !more {
			t.Errorf("got %d rows, more %v, %v; want 2", len(rows), more, err)
		}
		rows, more, err = b.rows.fetch(t.Context(), nil, position{}, poller.Limit{Rows: 10, Bytes: 10})
		if err != nil || len(rows) != 1 || !more {
			t.Errorf("got %d rows, more %v, %v; want the one that is always brought", len(rows), more, err)
		}
		b.insert(b.raw, aggregate{"T", "1"}, strings.Repeat("ü", 3000))
		small := b.open(func(c *Config) { c.MaxRowBytes = 5000 })
		rows, _, err = small.rows.fetch(t.Context(), nil, position{}, poller.Limit{Rows: 10})
		if err != nil || len(rows) != 6 {
			t.Fatalf("got %d rows, %v", len(rows), err)
		}
		if last := rows[5]; last.broken == nil || last.outbox.Payload != nil || !strings.Contains(last.broken.Error(), "6000 bytes") {
			t.Errorf("a payload above max_row_bytes: %v, %d bytes", last.broken, len(last.outbox.Payload))
		}
		if rows[0].broken != nil {
			t.Error(rows[0].broken)
		}
	})
}

// TestLifeOfAnEvent goes through the states of seeds/004 with an aggregate of four, beside others that flow.
func TestLifeOfAnEvent(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		b.lead("me", time.Minute)
		b.write("O/1", "O/1", "O/1", "O/2", "O/1", "o/1")
		rows := b.all()
		// The first fails; the second is absorbed behind it; the other aggregate is published.
		fail := failure{marked: markedRow(&rows[0]), attempts: 1, delay: 10 * time.Millisecond, reason: "refused\x00 by \xff"}
		b.must(b.rows.settle(ctx, "me", 1, marks{published: []ref{rows[3].ref}, failed: []failure{fail}, waiting: []marked{markedRow(&rows[1])}}))
		b.wantStates(Failed, Waiting, Pending, Published, Pending, Pending)
		// The next fetch knows that the others have to wait, and "o/1" is another aggregate.
		var waits []bool
		rest := b.all()
		for _, r := range rest {
			waits = append(waits, r.waits)
		}
		if diff := cmp.Diff([]bool{true, true, false}, waits); diff != "" {
			t.Errorf("waits (-want +got):\n%s", diff)
		}
		b.must(b.rows.settle(ctx, "me", 1, marks{waiting: []marked{markedRow(&rest[0]), markedRow(&rest[1])}, published: []ref{rest[2].ref}}))
		b.wantStates(Failed, Waiting, Waiting, Published, Waiting, Published)
		if other, err := b.rows.other(ctx, nil, nil); err != nil || other != nil {
			t.Errorf("other: got %v, %v; want none", other, err)
		}
		// It becomes due.
		var due []row
		eventually(t, "the failed event is due", func() bool {
			var err error
			due, _, err = b.rows.due(ctx, nil, poller.Limit{Rows: 10}, claim{})
			b.must(err)
			return len(due) == 1
		})
		if due[0].attempts != 1 || due[0].ref != rows[0].ref {
			t.Errorf("due: %+v", due[0])
		}
		// A second failure: the next attempt is far.
		fail.attempts, fail.delay = 2, time.Hour
		b.must(b.rows.settle(ctx, "me", 1, marks{failed: []failure{fail}}))
		due, next, err := b.rows.due(ctx, nil, poller.Limit{Rows: 10}, claim{})
		if err != nil || len(due) != 0 || next < 59*time.Minute || next > time.Hour+time.Second {
			t.Errorf("due: %d rows, next %v, %v; want none for an hour", len(due), next, err)
		}
		if n, err := b.rows.mend(ctx); err != nil || n != 0 {
			t.Errorf("mend changed %d rows, %v; there is nothing to mend", n, err)
		}
		// The retry succeeds: everything behind it is pending again.
		b.must(b.rows.settle(ctx, "me", 1, marks{retried: []marked{markedRow(&rows[0])}}))
		b.wantStates(Published, Pending, Pending, Published, Pending, Published)
		// The second dies: what is behind it stays blocked.
		fail = failure{marked: markedRow(&rows[1]), attempts: 1, dead: true, reason: "refused"}
		b.must(b.rows.settle(ctx, "me", 1, marks{failed: []failure{fail}, waiting: []marked{markedRow(&rest[0]), markedRow(&rest[1])}}))
		b.wantStates(Published, Dead, Waiting, Published, Waiting, Published)
		f, err := b.rows.figures(ctx)
		if err != nil || f.Dead != 1 || f.Waiting != 2 || f.Pending != 0 || f.Bound != 0 || f.OldestPending != 0 {
			t.Errorf("figures: %+v, %v", f, err)
		}
		g, err := b.rows.look(ctx)
		if err != nil || g.work {
			t.Errorf("look: %+v, %v; want no work", g, err)
		}
	})
}

// TestDeadLetterReleases is after_dead_letter=release: what waits behind a dead letter goes on with it.
func TestDeadLetterReleases(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		b.lead("me", time.Minute)
		b.write("O/1", "O/1", "O/1")
		rows := b.all()
		b.must(b.rows.settle(t.Context(), "me", 1, marks{failed: []failure{{marked: markedRow(&rows[0]), attempts: 1, delay: time.Hour}},
			waiting: []marked{markedRow(&rows[1]), markedRow(&rows[2])}}))
		b.wantStates(Failed, Waiting, Waiting)
		b.must(b.rows.settle(t.Context(), "me", 1, marks{failed: []failure{{marked: markedRow(&rows[0]), attempts: 2, dead: true}}}))
		b.wantStates(Dead, Pending, Pending)
		for _, r := range b.all() {
			if r.waits {
				t.Error("a row waits behind a dead letter that does not block")
			}
		}
	}, func(c *Config) { c.Policy.Block = false })
}

// TestMend turns what a crash left.
func TestMend(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		b.write("O/1", "O/1", "O/2", "O/3", "O/3")
		b.exec("UPDATE outbox SET state = 'WAITING' WHERE " + b.engine.rows.seq() + " IN (2, 5)")
		b.exec("UPDATE outbox SET state = 'PUBLISHING' WHERE " + b.engine.rows.seq() + " = 3")
		b.exec("UPDATE outbox SET state = 'DEAD LETTER' WHERE " + b.engine.rows.seq() + " = 4")
		g, err := b.rows.look(t.Context())
		if err != nil || !g.work {
			t.Errorf("look: %+v, %v", g, err)
		}
		n, err := b.rows.mend(t.Context())
		if err != nil || n != 2 {
			t.Errorf("mended %d rows, %v; want 2", n, err)
		}
		b.wantStates(Pending, Pending, Pending, Dead, Waiting)
	})
}

// TestSettleLeavesOperatorsAlone: rows that somebody discarded meanwhile stay so.
func TestSettleLeavesOperatorsAlone(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		b.lead("me", time.Minute)
		b.write("O/1", "O/2")
		rows := b.all()
		b.exec("UPDATE outbox SET state = 'DISCARDED'")
		b.must(b.rows.settle(t.Context(), "me", 1, marks{published: []ref{rows[0].ref, rows[1].ref}}))
		b.must(b.rows.settle(t.Context(), "me", 1, marks{failed: []failure{{marked: markedRow(&rows[0]), attempts: 1, delay: time.Second}}}))
		b.wantStates(Discarded, Discarded)
	})
}

func TestOther(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		b.write("O/1", "O/2", "o/1", "O/1 ")
		var avoid []aggregate
		for i := range 4 {
			r, err := b.rows.other(t.Context(), nil, avoid)
			if err != nil || r == nil {
				t.Fatalf("after %d: got %v, %v", i, r, err)
			}
			avoid = append(avoid, r.aggregate())
		}
		if r, err := b.rows.other(t.Context(), nil, avoid); err != nil || r != nil {
			t.Errorf("got %v, %v; want none", r, err)
		}
	})
}

func TestWorkAndFigures(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		if parts, err := b.rows.work(t.Context(), 8); err != nil || len(parts) != 0 {
			t.Errorf("an empty outbox has work in %v, %v", parts, err)
		}
		b.write("O/1", "O/2", "O/3")
		want := map[int]bool{}
		for _, r := range b.all() {
			want[partitionAt(r.at.bucket, 8)] = true
		}
		parts, err := b.rows.work(t.Context(), 8)
		if err != nil || len(parts) != len(want) {
			t.Errorf("work in %v, %v; want %v", parts, err, want)
		}
		for _, p := range parts {
			if !want[p] {
				t.Errorf("no work in partition %d", p)
			}
		}
		b.exec("UPDATE outbox SET created_at = " + b.db.Earlier("60000") + " WHERE " + b.engine.rows.seq() + " = 1")
		f, err := b.rows.figures(t.Context())
		if err != nil || f.Pending != 3 || f.OldestPending < time.Minute || f.OldestPending > 2*time.Minute {
			t.Errorf("figures: %+v, %v", f, err)
		}
	})
}

// TestCatalogIsReadAgain: when the table goes away and comes back, the next look sees it.
func TestCatalogIsReadAgain(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		look := func() error {
			o, err := b.catalog.open(t.Context())
			if err == nil {
				_, err = o.events.look(t.Context())
			}
			return err
		}
		b.must(look())
		b.exec("DROP TABLE outbox")
		for range 2 {
			if err := look(); !errors.Is(err, poller.ErrConfig) || !strings.Contains(err.Error(), "rowrelay outbox init orders --apply") {
				t.Errorf("got %v", err)
			}
		}
		statements, err := DDL(b.conn.Engine, "outbox", "rowrelay_claims")
		b.must(err)
		for _, s := range statements {
			b.exec(s)
		}
		if err := look(); err != nil {
			t.Error(err)
		}
	})
}
