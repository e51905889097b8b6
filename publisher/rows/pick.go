package rows

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// Pick hands aggregates out, in one transaction under READ COMMITTED:
//
//  1. Look, without a lock, for pending events whose aggregate nobody has claimed, from a bucket drawn at random: so instances begin at different places, and no bucket starves. A search that begins with a bucket shows each
//     aggregate's first pending event, its head, first.
//  2. Claim the aggregates. A claim that lives is left alone, the owner's own too: its events are in flight. With it the row of
//     the owner's membership is locked, and all is undone where that has lapsed.
//  3. In a new statement read the events of the aggregates that were got, pending and PUBLISHING, by seq, and mark them.
//
// An aggregate that something holds up is handed out as well, once: its events say that they wait, and settle as
// WAITING, which no search for pending events finds again. Its failed event is due again when that claim has ended.
//
// Why no two instances have one aggregate: the claim's row is unique, and is replaced only when it has expired by the
// database's clock. Nothing else decides.
//
// Why the order holds: what step 1 saw may be old. Another instance may have had the aggregate in between, and
// published its events, or given them back, or failed one. It ended its claim in the transaction that wrote so, and
// step 2 cannot get the claim before that commit; step 3's statement begins after step 2, and so sees what was
// written: it never misses an earlier event because somebody had it locked, and does not bring one that was
// published. A claim that expired has no last commit: its events are PUBLISHING still, which is why step 3 reads
// those. (The old owner's mark, if it comes now, is refused.)
//
// Why nothing deadlocks: every transaction of an instance (a pick, a settlement, a renewal, a release) locks claims
// first, in the order of their names, and then events of aggregates that it has claimed, which no other instance's
// transaction writes. What it locks of the claims it finds by their keys: a search by owner would lock others' on the
// way, out of that order. The member's row ("i:") comes after those of aggregates ("a:"), too, and nobody locks it
// for long but its owner; a survey that ends skip_locked locks the counter and members, and then events, but no
// aggregates, so that a pick that waits for it holds nothing that it wants.
//
// Why no pick leaves events PUBLISHING for another strategy, which would pass them over, however late it takes
// effect: a survey puts another one into force only after it has deleted every lapsed member's row (see dropLapsed),
// and a pick holds its owner's from step 2 to its commit. Where the pick has locked it first, the survey waits, and
// its next statements see claims and events as the pick has left them: either the claims live, and skip_locked stays
// in force, or they have expired, and the events become PENDING with all others. Where the survey was first, the pick
// finds no row, whenever its statement began, and is undone. Nobody brings the row back: a renewal extends only what
// is there and live, and join is sent once.
func (e *Table) Pick(ctx context.Context, by claims.Claim, limit poller.Limit) (rows []event.Row, more bool,
	err error) {
	return e.PickFrom(ctx, rand.IntN(claims.Buckets), by, limit) //nolint:gosec // a place to begin at
}

// PickFrom is Pick with the bucket to begin at.
func (e *Table) PickFrom(ctx context.Context, bucket int, by claims.Claim, limit poller.Limit) (rows []event.Row,
	more bool, err error) {
	err = e.db.Tx(ctx, "pick events", func(ctx context.Context, q statement.Querier) error {
		rows, more = nil, false
		found, err := e.candidates(ctx, q, bucket, max(limit.Rows, 1))
		if err != nil || len(found) == 0 {
			return err
		}
		got, err := e.claimAggregates(ctx, q, by, found)
		if err != nil || len(got) == 0 {
			more = len(found) >= limit.Rows // all were somebody's by now: others may follow
			return err
		}
		if rows, more, err = e.handOut(ctx, q, got, limit); err != nil {
			return err
		}
		more = more || len(found) >= limit.Rows
		return e.dropUnused(ctx, q, by.Owner, got, rows)
	})
	return rows, more, err
}

// candidate is the head of an aggregate.
type candidate struct {
	seq    int64
	bucket int
	event.Aggregate
	shard string
}

// candidates are heads among the first n pending events from a bucket on, and round to it again; where there are
// fewer, also those of aggregates whose owner has died with events PUBLISHING.
func (e *Table) candidates(ctx context.Context, q statement.Querier, from, n int) ([]candidate, error) {
	var found []candidate
	seen := map[event.Aggregate]bool{}
	read := func(s *statement.Statement) (count int, err error) {
		err = s.Each(ctx, q, func(scan func(...any) error) (bool, error) {
			var c candidate
			if err := scan(&c.seq, &c.bucket, &c.Type, &c.ID); err != nil {
				return false, err
			}
			count++
			if !seen[c.Aggregate] {
				seen[c.Aggregate] = true
				c.shard = e.syntax.ShardOf(c.Type, c.ID)
				found = append(found, c)
			}
			return true, nil
		})
		return count, err
	}
	for _, r := range []claims.Range{{From: from, To: claims.Buckets}, {From: 0, To: from}} {
		if r.From == r.To || n <= 0 {
			continue
		}
		s := e.db.Statement()
		e.candidateStatement(s, event.Pending, &r, n)
		count, err := read(s)
		if err != nil {
			return nil, fmt.Errorf("look for aggregates: %w", err)
		}
		n -= count
	}
	if n > 0 {
		s := e.db.Statement()
		e.candidateStatement(s, event.Publishing, nil, n)
		if _, err := read(s); err != nil {
			return nil, fmt.Errorf("look for what was left: %w", err)
		}
	}
	return found, nil
}

func (e *Table) candidateStatement(s *statement.Statement, state event.State, r *claims.Range, n int) {
	s.Add("SELECT ", e.seq("o"), ", o.bucket, o.aggregate_type, o.aggregate_id FROM ", e.outbox.String(), " o",
		e.forced(state), " WHERE o.state = '", string(state), "'")
	if r != nil {
		s.Add(" AND o.bucket >= ", s.Arg(r.From), " AND o.bucket < ", s.Arg(r.To))
	}
	s.Add(" AND NOT ")
	e.claimed(s)
	s.Add(" ORDER BY ", e.order(state), e.db.Limit(s.Arg(n), 0))
}

// claimAggregates claims the aggregates of heads, for a live member only; it returns those that it got.
func (e *Table) claimAggregates(ctx context.Context, q statement.Querier, c claims.Claim,
	found []candidate) ([]candidate, error) {
	shards := make([]claims.Shard, len(found))
	for i := range found {
		shards[i] = claims.Shard{Name: found[i].shard, Info: shardInfo(found[i].Aggregate)}
	}
	names, err := e.Claims.TakeFor(ctx, q, c, shards)
	if err != nil {
		return nil, err
	}
	got := map[string]bool{}
	for _, n := range names {
		got[n] = true
	}
	return slices.DeleteFunc(found, func(c candidate) bool { return !got[c.shard] }), nil
}

// shardInfo tells people which aggregate a hashed shard is.
func shardInfo(a event.Aggregate) string {
	data, err := json.Marshal(map[string]string{"type": plaintext.Start(plaintext.Storable(a.Type), 120),
		"id": plaintext.Start(plaintext.Storable(a.ID), 120)})
	if err != nil {
		return ""
	}
	return plaintext.Start(string(data), 1000)
}

// handOut reads and marks the events of aggregates that were just claimed.
func (e *Table) handOut(ctx context.Context, q statement.Querier, got []candidate,
	limit poller.Limit) (rows []event.Row, more bool, err error) {
	s := e.db.Statement()
	e.handOutStatement(s, got, max(limit.Rows, 1)+1)
	if rows, more, err = event.Read(ctx, s, q, limit, e.scan); err != nil {
		return nil, false, fmt.Errorf("read their events: %w", err)
	}
	list := make([]int64, len(rows))
	for i := range rows {
		list[i] = rows[i].Ref.Seq
	}
	if err := e.set(ctx, q, "state = 'PUBLISHING'", list, "'PENDING'"); err != nil {
		return nil, false, fmt.Errorf("mark them as PUBLISHING: %w", err)
	}
	return rows, more, nil
}

func (e *Table) handOutStatement(s *statement.Statement, got []candidate, n int) {
	buckets := make([]int64, 0, len(got))
	shards := make([]string, len(got))
	for i := range got {
		buckets = append(buckets, int64(got[i].bucket))
		shards[i] = got[i].shard
	}
	slices.Sort(buckets)
	buckets = slices.Compact(buckets)
	arm := func(state event.State) {
		s.Add("SELECT o.bucket, ", e.seq("o"), " FROM ", e.outbox.String(), " o", e.forced(state),
			" WHERE o.state = '", string(state), "' AND o.bucket >= ", s.Arg(buckets[0]),
			" AND o.bucket <= ", s.Arg(buckets[len(buckets)-1]), " AND ", e.db.AnyInt(s, "o.bucket", buckets))
		s.Add(" AND ", e.db.AnyText(s, e.syntax.Shard("o.aggregate_type", "o.aggregate_id"), shards),
			" ORDER BY o.bucket, ", e.seq("o"), e.db.Limit(s.Arg(n), 0))
	}
	s.Add("SELECT ")
	e.columns(s)
	s.Add(", CASE WHEN ")
	e.blocks(s, false)
	s.Add(" THEN 1 ELSE 0 END FROM (SELECT bucket, ", e.syntax.Seq(), " FROM (SELECT bucket, ", e.syntax.Seq(),
		" FROM (")
	arm(event.Pending)
	s.Add(") p UNION ALL SELECT bucket, ", e.syntax.Seq(), " FROM (")
	arm(event.Publishing)
	s.Add(") l) u ORDER BY bucket, ", e.syntax.Seq(), e.db.Limit(s.Arg(n), 0), ") k JOIN ", e.outbox.String(),
		" o ON ", e.seq("o"), " = k.", e.syntax.Seq(),
		" ORDER BY k.bucket, k.", e.syntax.Seq())
}

// dropUnused ends the claims of aggregates whose events did not fit into the limit.
func (e *Table) dropUnused(ctx context.Context, q statement.Querier, owner string, got []candidate,
	rows []event.Row) error {
	used := map[event.Aggregate]bool{}
	for i := range rows {
		used[rows[i].Aggregate()] = true
	}
	var unused []string
	for i := range got {
		if !used[got[i].Aggregate] {
			unused = append(unused, got[i].shard)
		}
	}
	if len(unused) == 0 {
		return nil
	}
	return e.Claims.Drop(ctx, q, owner, unused)
}

// Restore makes PENDING again what the owner's claims left PUBLISHING.
func (e *Table) Restore(ctx context.Context, q statement.Querier, owner string, shards []string) error {
	s := e.db.Statement()
	s.Add("SELECT ", e.seq("o"), " FROM ", e.outbox.String(),
		" o WHERE o.state = 'PUBLISHING' AND EXISTS (SELECT 1 FROM ", e.Claims.Place.Table,
		" c WHERE c.outbox = ", s.Arg(e.Claims.Place.Outbox), " AND c.unit = ", e.syntax.Shard("o.aggregate_type",
			"o.aggregate_id"), " AND c.owner = ", s.Arg(owner))
	if shards != nil {
		s.Add(" AND ", e.db.AnyText(s, "c.unit", shards))
	}
	s.Add(")")
	list, err := s.Ints(ctx, q)
	if err != nil {
		return fmt.Errorf("find what is left: %w", err)
	}
	return e.set(ctx, q, "state = 'PENDING'", list, "'PUBLISHING'")
}

// Free makes every event PENDING that is PUBLISHING.
func (e *Table) Free(ctx context.Context, q statement.Querier) error {
	_, err := e.db.Statement("UPDATE ", e.outbox.String(),
		" SET state = 'PENDING' WHERE state = 'PUBLISHING'").Exec(ctx, q)
	if err != nil {
		return fmt.Errorf("free what is left PUBLISHING: %w", err)
	}
	return nil
}
