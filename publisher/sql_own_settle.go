package publisher

import (
	"context"
	"database/sql"
	"fmt"
	"math"
)

// settle is idempotent but for one thing: where the answer to a commit that freed aggregates is lost, the repetition finds
// their claims gone and says errLost, although all was marked. The session then ends as if it had lost them, which is safe.
func (e *ownEvents) settle(ctx context.Context, owner string, held int, m marks) error { //nolint:gocritic // the interface's
	if m.empty() {
		return nil
	}
	if m.plain() {
		return e.do(ctx, "mark events as published", func(ctx context.Context, q querier) error {
			n, err := e.markPublished(ctx, q, owner, held, m.published)
			if err != nil || n > 0 {
				return err
			}
			return e.checkClaims(ctx, q, e.name, owner, held)
		})
	}
	return e.tx(ctx, "mark events", func(ctx context.Context, q querier) error {
		if err := e.lockClaims(ctx, q, e.name, owner, held); err != nil {
			return err
		}
		return e.apply(ctx, q, owner, &m)
	})
}

func (m *marks) empty() bool {
	return m.plain() && len(m.published) == 0
}

// plain says that events were published, and nothing else happened.
func (m *marks) plain() bool {
	return len(m.retried) == 0 && len(m.failed) == 0 && len(m.waiting) == 0 && len(m.returned) == 0 && len(m.freed) == 0
}

// apply makes marks, in the order in which they depend on each other: what failed decides what waits, and what does not wait
// any more is found last.
func (e *ownEvents) apply(ctx context.Context, q querier, owner string, m *marks) error {
	published := seqs(m.published)
	for _, r := range m.retried {
		published = append(published, r.ref.seq)
	}
	if err := e.set(ctx, q, e.published(), published, "'PENDING', 'PUBLISHING', 'FAILED'"); err != nil {
		return fmt.Errorf("published: %w", err)
	}
	if err := e.fail(ctx, q, m.failed); err != nil {
		return fmt.Errorf("failed: %w", err)
	}
	if err := e.wait(ctx, q, m.waiting); err != nil {
		return fmt.Errorf("waiting: %w", err)
	}
	if err := e.flip(ctx, q, m.unblocked(e.cfg.Policy.Block)); err != nil {
		return fmt.Errorf("pending again: %w", err)
	}
	if err := e.set(ctx, q, "state = 'PENDING'", seqs(m.returned), "'PUBLISHING'"); err != nil {
		return fmt.Errorf("returned: %w", err)
	}
	if len(m.freed) == 0 {
		return nil
	}
	units := make([]string, len(m.freed))
	for i, a := range m.freed {
		units[i] = e.d.aggregateUnit(a)
	}
	if err := e.dropClaims(ctx, q, e.name, owner, units); err != nil {
		return fmt.Errorf("freed: %w", err)
	}
	return nil
}

func seqs(refs []ref) []int64 {
	list := make([]int64, len(refs))
	for i, r := range refs {
		list[i] = r.seq
	}
	return list
}

// unblocked are the aggregates whose waiting events may go on: those of a retried event, and of a dead one where that does
// not block.
func (m *marks) unblocked(block bool) []aggregate {
	var list []aggregate
	for _, r := range m.retried {
		list = append(list, r.aggregate)
	}
	for i := range m.failed {
		if f := &m.failed[i]; f.dead && !block {
			list = append(list, f.aggregate)
		}
	}
	return list
}

func (e *ownEvents) published() string {
	return "state = 'PUBLISHED', published_at = " + e.d.now() + ", next_attempt_at = NULL"
}

// markPublished is the one statement that acknowledges a batch.
func (e *ownEvents) markPublished(ctx context.Context, q querier, owner string, held int, refs []ref) (int64, error) {
	s := e.statement()
	s.add("UPDATE ", e.outbox.String(), " SET ", e.published(), " WHERE ", e.d.anyInt(s, e.d.seq(), seqs(refs)),
		" AND state IN ('PENDING', 'PUBLISHING', 'FAILED') AND ")
	e.guard(s, e.name, owner, held)
	return s.exec(ctx, q)
}

// set changes rows that are in one of the states.
func (e *ownEvents) set(ctx context.Context, q querier, set string, seqs []int64, states string) error {
	if len(seqs) == 0 {
		return nil
	}
	s := e.statement()
	s.add("UPDATE ", e.outbox.String(), " SET ", set, " WHERE ", e.d.anyInt(s, e.d.seq(), seqs), " AND state IN (", states, ")")
	_, err := s.exec(ctx, q)
	return err
}

var failureColumns = []jsonColumn{{"seq", false}, {"attempts", false}, {"pause", false}, {"dead", false}, {"reason", true}}

func (e *ownEvents) fail(ctx context.Context, q querier, failed []failure) error {
	if len(failed) == 0 {
		return nil
	}
	type object struct {
		Seq      int64  `json:"seq"`
		Attempts int    `json:"attempts"`
		Delay    int64  `json:"pause"`
		Dead     int    `json:"dead"`
		Reason   string `json:"reason"`
	}
	list := make([]object, len(failed))
	for i := range failed {
		f := &failed[i]
		list[i] = object{f.ref.seq, f.attempts, f.delay.Milliseconds(), 0, sayable(f.reason)}
		if f.dead {
			list[i].Dead = 1
		}
	}
	s := e.statement()
	s.add(e.d.update(e.outbox.String(), "o",
		"state = CASE WHEN f.dead = 1 THEN 'DEAD LETTER' ELSE 'FAILED' END, retry_count = f.attempts, last_error = f.reason, "+
			"next_attempt_at = CASE WHEN f.dead = 1 THEN NULL ELSE "+e.d.later("f.pause")+" END",
		s.rows("f", failureColumns, list), e.seq("o")+" = f.seq AND o.state IN ('PENDING', 'PUBLISHING', 'FAILED')"))
	_, err := s.exec(ctx, q)
	return err
}

// wait makes events WAITING as long as one before them is in the way; the others are, or become, PENDING.
func (e *ownEvents) wait(ctx context.Context, q querier, waiting []marked) error {
	if len(waiting) == 0 {
		return nil
	}
	all := make([]int64, len(waiting))
	for i, w := range waiting {
		all[i] = w.ref.seq
	}
	s := e.statement()
	s.add("SELECT ", e.seq("o"), " FROM ", e.outbox.String(), " o WHERE ", e.d.anyInt(s, e.seq("o"), all), " AND ")
	e.blocks(s, true)
	blocked, err := s.ints(ctx, q)
	if err != nil {
		return err
	}
	if err := e.set(ctx, q, "state = 'WAITING'", blocked, "'PENDING', 'PUBLISHING'"); err != nil {
		return err
	}
	return e.set(ctx, q, "state = 'PENDING'", all, "'PUBLISHING'")
}

// flip is letGo for those who do not count.
func (e *ownEvents) flip(ctx context.Context, q querier, of []aggregate) error {
	_, err := e.letGo(ctx, q, of)
	return err
}

// letGo makes the waiting events of aggregates PENDING up to the first one that is in the way still. It is two statements
// however many events wait.
func (e *ownEvents) letGo(ctx context.Context, q querier, of []aggregate) (int64, error) {
	if len(of) == 0 {
		return 0, nil
	}
	if e.bySource() {
		of = []aggregate{{}} // every event waits for every earlier one: there is one order
	}
	heads, err := e.heads(ctx, q, of)
	if err != nil {
		return 0, err
	}
	where := "o.state IN (" + blockedStates + ") AND o.state = 'WAITING' AND " + e.seq("o") + " < h.head"
	if !e.bySource() {
		where += " AND " + e.d.seek("o", "h.id") + e.d.same("o.aggregate_type", "o.aggregate_id", "h.typ", "h.id")
	}
	s := e.statement()
	s.add(e.d.update(e.outbox.String(), "o"+e.d.force(e.blockedIndex()), "state = 'PENDING'", s.rows("h", headColumns, heads), where))
	return s.exec(ctx, q)
}

var headColumns = []jsonColumn{{"typ", true}, {"id", true}, {"head", false}}

type head struct {
	Typ  string `json:"typ"`
	ID   string `json:"id"`
	Head int64  `json:"head"`
}

// heads returns for each aggregate the first event that holds up others; a number beyond all where there is none.
func (e *ownEvents) heads(ctx context.Context, q querier, of []aggregate) ([]head, error) {
	s := e.statement()
	s.add("SELECT a.typ, a.id, (SELECT b.", e.d.seq(), " FROM ", e.outbox.String(), " b", e.d.force(e.blockedIndex()), " WHERE ")
	if e.bySource() {
		s.add("1 = 1")
	} else {
		s.add(e.d.seek("b", "a.id"), e.d.same("b.aggregate_type", "b.aggregate_id", "a.typ", "a.id"))
	}
	s.add(e.inTheWay("b", true), " ORDER BY ", e.seq("b"), e.d.limit("1"), ") FROM ", s.rows("a", aggregateColumns, jsonAggregates(of)))
	var list []head
	err := s.each(ctx, q, func(scan func(...any) error) (bool, error) {
		var h head
		var seq sql.NullInt64
		err := scan(&h.Typ, &h.ID, &seq)
		if h.Head = seq.Int64; !seq.Valid {
			h.Head = math.MaxInt64
		}
		list = append(list, h)
		return true, err
	})
	return list, err
}
