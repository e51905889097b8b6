package publisher

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

var counter atomic.Int64

func TestDescribe(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		d, err := b.view().open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !d.Own || d.Engine != b.conn.Engine || !strings.HasSuffix(d.Table, "outbox") ||
			!strings.HasPrefix(d.Fingerprint, "sha256:") {
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
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		before := time.Now().Add(-2 * time.Second)
		b.write("Order/1", "Order/2", "Order/1")
		b.insert(b.raw, event.Aggregate{Type: "Order", ID: "ünïcode 🚀 "}, "not json 🚀")
		rows := b.all()
		if len(rows) != 4 {
			t.Fatalf("got %d rows, want 4", len(rows))
		}
		r := rows[3]
		if r.Outbox.AggregateID != "ünïcode 🚀 " || string(r.Outbox.Payload) != "not json 🚀" || r.Outbox.JSON ||
			r.Outbox.EventType != "Happened" {
			t.Errorf("got %+v", r.Outbox)
		}
		if at := rows[0].Outbox.CreatedAt; at.Before(before) || at.After(time.Now().Add(2*time.Second)) ||
			at.Location() != time.UTC {
			t.Errorf("created_at is %v, now is %v", at, time.Now().UTC())
		}
		if !rows[0].Outbox.JSON || string(rows[0].Outbox.Payload) != `{"n":1}` {
			t.Errorf("got the payload %s", rows[0].Outbox.Payload)
		}
		if rows[0].Bucket != rows[2].Bucket || rows[0].Bucket < 0 || rows[0].Bucket >= claims.Buckets {
			t.Errorf("one aggregate, buckets %d and %d", rows[0].Bucket, rows[2].Bucket)
		}
	})
}

// TestFetchPages reads many rows, in every kind of ranges: each comes once, in order, and a page is the first of them.
func TestFetchPages(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		const n = 120
		for i := range n {
			b.insert(b.raw, event.Aggregate{Type: "T", ID: fmt.Sprint(i % 40)}, `{}`)
		}
		for name, ranges := range map[string][]claims.Range{
			"all": nil, "one": {{From: 0, To: claims.Buckets}},
			"split": {{From: 0, To: 100}, {From: 100, To: 500}, {From: 600, To: claims.Buckets}, {From: 500, To: 600}},
			"odd":   {{From: 0, To: 333}, {From: 700, To: 900}}, "none": {{From: 5, To: 5}},
		} {
			want := b.all()
			if ranges != nil {
				want = slices.DeleteFunc(want, func(r event.Row) bool { return !inside(ranges, r.Bucket) })
			}
			slices.SortFunc(want, func(x, y event.Row) int { return 1<<20*(x.Bucket-y.Bucket) + int(x.Ref.Seq-y.Ref.Seq) })
			for _, limit := range []int{7, n} {
				rows, more, err := b.rows.Fetch(t.Context(), ranges, false, poller.Limit{Rows: limit})
				if first := min(limit, len(want)); err != nil || more != (first < len(want)) ||
					!slices.EqualFunc(rows, want[:first], func(x, y event.Row) bool { return x.Ref == y.Ref }) {
					t.Errorf("%s: %d of %d rows, more %t, %v", name, len(rows), len(want), more, err)
				}
			}
		}
	})
}

func inside(ranges []claims.Range, bucket int) bool {
	for _, r := range ranges {
		if bucket >= r.From && bucket < r.To {
			return true
		}
	}
	return false
}

func TestFetchStopsAtBytes(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		for range 5 {
			b.insert(b.raw, event.Aggregate{Type: "T", ID: "1"}, strings.Repeat("x", 1000))
		}
		rows, more, err := b.rows.Fetch(t.Context(), nil, false, poller.Limit{Rows: 10, Bytes: 2500})
		if err != nil || len(rows) != 2 || !more {
			t.Errorf("got %d rows, more %v, %v; want 2", len(rows), more, err)
		}
		rows, more, err = b.rows.Fetch(t.Context(), nil, false, poller.Limit{Rows: 10, Bytes: 10})
		if err != nil || len(rows) != 1 || !more {
			t.Errorf("got %d rows, more %v, %v; want the one that is always brought", len(rows), more, err)
		}
		b.insert(b.raw, event.Aggregate{Type: "T", ID: "1"}, strings.Repeat("ü", 3000))
		small := b.open(func(c *Config) { c.MaxRowBytes = 5000 })
		rows, _, err = small.rows.Fetch(t.Context(), nil, false, poller.Limit{Rows: 10})
		if err != nil || len(rows) != 6 {
			t.Fatalf("got %d rows, %v", len(rows), err)
		}
		if last := rows[5]; last.Broken == nil || last.Outbox.Payload != nil ||
			!strings.Contains(last.Broken.Error(), "6000 bytes") {
			t.Errorf("a payload above max_row_bytes: %v, %d bytes", last.Broken, len(last.Outbox.Payload))
		}
		if rows[0].Broken != nil {
			t.Error(rows[0].Broken)
		}
	})
}

// TestLifeOfAnEvent goes through the states with an aggregate of four, beside others that flow.
func TestLifeOfAnEvent(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		b.lead("me", time.Minute)
		b.write("O/1", "O/1", "O/1", "O/2", "O/1", "o/1")
		rows := b.all()
		// The first fails; the second is absorbed behind it; the other aggregate is published.
		fail := event.Failure{Marked: markedRow(&rows[0]), Attempts: 1, Delay: 10 * time.Millisecond,
			Reason: "refused\x00 by \xff"}
		b.must(b.rows.Settle(ctx, "me", 1,
			event.Marks{Published: []event.Ref{rows[3].Ref}, Failed: []event.Failure{fail},
				Waiting: []event.Marked{markedRow(&rows[1])}}))
		b.wantStates(event.Failed, event.Waiting, event.Pending, event.Published, event.Pending, event.Pending)
		// The next fetch knows that the others have to wait, and "o/1" is another aggregate.
		var waits []bool
		rest := b.all()
		for _, r := range rest {
			waits = append(waits, r.Waits)
		}
		if diff := cmp.Diff([]bool{true, true, false}, waits); diff != "" {
			t.Errorf("waits (-want +got):\n%s", diff)
		}
		b.must(b.rows.Settle(ctx, "me", 1,
			event.Marks{Waiting: []event.Marked{markedRow(&rest[0]), markedRow(&rest[1])}, Published: []event.Ref{rest[2].Ref}}))
		b.wantStates(event.Failed, event.Waiting, event.Waiting, event.Published, event.Waiting, event.Published)
		if other, err := b.rows.Others(ctx, nil, nil, poller.Limit{Rows: 1}); err != nil || len(other) > 0 {
			t.Errorf("other: got %v, %v; want none", other, err)
		}
		// It becomes due.
		var due []event.Row
		programtest.Until(t, "the failed event is due", func() bool {
			var err error
			due, _, err = b.rows.Due(ctx, nil, poller.Limit{Rows: 10})
			b.must(err)
			return len(due) == 1
		})
		if due[0].Attempts != 1 || due[0].Ref != rows[0].Ref {
			t.Errorf("due: %+v", due[0])
		}
		// A second failure: the next attempt is far.
		fail.Attempts, fail.Delay = 2, time.Hour
		b.must(b.rows.Settle(ctx, "me", 1, event.Marks{Failed: []event.Failure{fail}}))
		due, next, err := b.rows.Due(ctx, nil, poller.Limit{Rows: 10})
		if err != nil || len(due) != 0 || next < 59*time.Minute || next > time.Hour+time.Second {
			t.Errorf("due: %d rows, next %v, %v; want none for an hour", len(due), next, err)
		}
		if n, err := b.rows.Mend(ctx); err != nil || n != 0 {
			t.Errorf("mend changed %d rows, %v; there is nothing to mend", n, err)
		}
		// The retry succeeds: everything behind it is pending again.
		b.must(b.rows.Settle(ctx, "me", 1, event.Marks{Retried: []event.Marked{markedRow(&rows[0])}}))
		b.wantStates(event.Published, event.Pending, event.Pending, event.Published, event.Pending, event.Published)
		// The second dies: what is behind it stays blocked.
		fail = event.Failure{Marked: markedRow(&rows[1]), Attempts: 1, Dead: true, Reason: "refused"}
		b.must(b.rows.Settle(ctx, "me", 1,
			event.Marks{Failed: []event.Failure{fail}, Waiting: []event.Marked{markedRow(&rest[0]), markedRow(&rest[1])}}))
		b.wantStates(event.Published, event.Dead, event.Waiting, event.Published, event.Waiting, event.Published)
		f, err := b.rows.Figures(ctx)
		if err != nil || f.Dead != 1 || f.Waiting != 2 || f.Pending != 0 || f.Bound != 0 || f.OldestPending != 0 {
			t.Errorf("figures: %+v, %v", f, err)
		}
		g, err := b.rows.Look(ctx)
		if err != nil || g.Work {
			t.Errorf("look: %+v, %v; want no work", g, err)
		}
	})
}

// TestDeadLetterReleases is after_dead_letter=release: what waits behind a dead letter goes on with it.
func TestDeadLetterReleases(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		b.lead("me", time.Minute)
		b.write("O/1", "O/1", "O/1")
		rows := b.all()
		b.must(b.rows.Settle(t.Context(), "me", 1,
			event.Marks{Failed: []event.Failure{{Marked: markedRow(&rows[0]), Attempts: 1, Delay: time.Hour}},
				Waiting: []event.Marked{markedRow(&rows[1]), markedRow(&rows[2])}}))
		b.wantStates(event.Failed, event.Waiting, event.Waiting)
		b.must(b.rows.Settle(t.Context(), "me", 1,
			event.Marks{Failed: []event.Failure{{Marked: markedRow(&rows[0]), Attempts: 2, Dead: true}}}))
		b.wantStates(event.Dead, event.Pending, event.Pending)
		for _, r := range b.all() {
			if r.Waits {
				t.Error("a row waits behind a dead letter that does not block")
			}
		}
	}, func(c *Config) { c.Policy.Block = false })
}

// TestMend turns what a crash left.
func TestMend(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		b.write("O/1", "O/1", "O/2", "O/3", "O/3")
		b.exec("UPDATE outbox SET state = 'WAITING' WHERE " + b.texts.rows.Seq() + " IN (2, 5)")
		b.exec("UPDATE outbox SET state = 'DEAD LETTER' WHERE " + b.texts.rows.Seq() + " = 4")
		g, err := b.rows.Look(t.Context())
		if err != nil || !g.Work {
			t.Errorf("look: %+v, %v", g, err)
		}
		n, err := b.rows.Mend(t.Context())
		if err != nil || n != 1 {
			t.Errorf("mended %d rows, %v; want 1", n, err)
		}
		b.wantStates(event.Pending, event.Pending, event.Pending, event.Dead, event.Waiting)
	})
}

// TestSettleLeavesOperatorsAlone: rows that somebody discarded meanwhile stay so.
func TestSettleLeavesOperatorsAlone(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		b.lead("me", time.Minute)
		b.write("O/1", "O/2")
		rows := b.all()
		b.exec("UPDATE outbox SET state = 'DISCARDED'")
		b.must(b.rows.Settle(t.Context(), "me", 1, event.Marks{Published: []event.Ref{rows[0].Ref, rows[1].Ref}}))
		b.must(b.rows.Settle(t.Context(), "me", 1,
			event.Marks{Failed: []event.Failure{{Marked: markedRow(&rows[0]), Attempts: 1, Delay: time.Second}}}))
		b.wantStates(event.Discarded, event.Discarded)
	})
}

func TestOthers(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		b.write("O/1", "O/2", "o/1", "O/1 ")
		var avoid []event.Aggregate
		for i := range 4 {
			rows, err := b.rows.Others(t.Context(), nil, avoid, poller.Limit{Rows: 1})
			if err != nil || len(rows) != 1 {
				t.Fatalf("after %d: got %v, %v", i, rows, err)
			}
			avoid = append(avoid, rows[0].Aggregate())
		}
		if r, err := b.rows.Others(t.Context(), nil, avoid, poller.Limit{Rows: 1}); err != nil || len(r) > 0 {
			t.Errorf("got %v, %v; want none", r, err)
		}
	})
}

// TestAgain: what was published meanwhile is left out, and what waits for an event that failed meanwhile.
func TestAgain(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		b.write("O/1", "O/1", "O/2", "O/3", "O/3")
		b.take("me", time.Minute, 0)
		rows := b.all()
		refs := make([]event.Ref, len(rows))
		byAggregate := map[string][]event.Row{}
		for i := range rows {
			refs[i] = rows[i].Ref
			id := rows[i].Outbox.AggregateID
			byAggregate[id] = append(byAggregate[id], rows[i])
		}
		b.must(b.rows.Settle(t.Context(), "me", 1, event.Marks{Published: []event.Ref{byAggregate["3"][0].Ref},
			Failed: []event.Failure{{Marked: markedRow(&byAggregate["1"][0]), Attempts: 1, Delay: time.Minute}}}))
		again, err := b.rows.Again(t.Context(), refs)
		b.must(err)
		got := map[string]int64{}
		for _, r := range again {
			got[r.Outbox.AggregateID] = r.Ref.Seq
		}
		want := map[string]int64{"2": byAggregate["2"][0].Ref.Seq, "3": byAggregate["3"][1].Ref.Seq}
		if len(again) != 2 || !maps.Equal(got, want) {
			t.Errorf("publishable still are %v, want %v", got, want)
		}
	})
}

func TestWorkAndFigures(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		if parts, err := b.rows.Work(t.Context(), []int{0, 1, 2, 3, 4, 5, 6, 7}, 8); err != nil || len(parts) != 0 {
			t.Errorf("an empty outbox has work in %v, %v", parts, err)
		}
		b.write("O/1", "O/2", "O/3")
		want := map[int]bool{}
		for _, r := range b.all() {
			want[claims.PartitionAt(r.Bucket, 8)] = true
		}
		parts, err := b.rows.Work(t.Context(), []int{0, 1, 2, 3, 4, 5, 6, 7}, 8)
		if err != nil || len(parts) != len(want) {
			t.Errorf("work in %v, %v; want %v", parts, err, want)
		}
		for _, p := range parts {
			if !want[p] {
				t.Errorf("no work in partition %d", p)
			}
		}
		b.exec("UPDATE outbox SET created_at = " + b.db.Earlier("60000") + " WHERE " + b.texts.rows.Seq() + " = 1")
		f, err := b.rows.Figures(t.Context())
		if err != nil || f.Pending != 3 || f.OldestPending < time.Minute || f.OldestPending > 2*time.Minute {
			t.Errorf("figures: %+v, %v", f, err)
		}
	})
}

// TestCatalogIsReadAgain: when the table goes away and comes back, the next look sees it.
func TestCatalogIsReadAgain(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		look := func() error {
			o, err := b.catalog.open(t.Context())
			if err == nil {
				_, err = o.events.Look(t.Context())
			}
			return err
		}
		b.must(look())
		b.exec("DROP TABLE outbox")
		for range 2 {
			if err := look(); !errors.Is(err, poller.ErrConfig) ||
				!strings.Contains(err.Error(), "rowrelay outbox init orders --apply") {
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
