package rows

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// Settle is idempotent.
func (e *Table) Settle(ctx context.Context, owner string, held int, m event.Marks) error { //nolint:gocritic // the interface's
	if m.Plain() && len(m.Published) == 0 {
		return nil
	}
	if m.Plain() {
		for part := range slices.Chunk(m.Published, e.most(len(m.Published))) {
			err := e.db.Do(ctx, "mark events as published", func(ctx context.Context, q statement.Querier) error {
				n, err := e.markPublished(ctx, q, owner, held, part)
				if err != nil || n > 0 {
					return err
				}
				return e.Claims.Check(ctx, q, owner, held)
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	var rest []event.Aggregate
	err := e.db.Tx(ctx, "mark events", func(ctx context.Context, q statement.Querier) (err error) {
		if err := e.Claims.Hold(ctx, q, owner, held); err != nil {
			return err
		}
		rest, err = e.apply(ctx, q, &m)
		return err
	})
	if err != nil {
		return err
	}
	e.letRestGo(ctx, rest)
	return nil
}

// apply makes marks, in the order in which they depend on each other: what failed decides what waits, and what does
// not wait any more is found last. It returns the aggregates of which more events wait for nothing than one
// transaction lets go.
func (e *Table) apply(ctx context.Context, q statement.Querier, m *event.Marks) (rest []event.Aggregate, err error) {
	published := seqs(m.Published)
	for _, r := range m.Retried {
		published = append(published, r.Ref.Seq)
	}
	if err := e.set(ctx, q, e.published(), published, "'PENDING', 'FAILED'"); err != nil {
		return nil, fmt.Errorf("published: %w", err)
	}
	if err := e.fail(ctx, q, m.Failed); err != nil {
		return nil, fmt.Errorf("failed: %w", err)
	}
	if err := e.wait(ctx, q, m.Waiting); err != nil {
		return nil, fmt.Errorf("waiting: %w", err)
	}
	if _, rest, err = e.LetGo(ctx, q, m.Unblocked(e.cfg.Block)); err != nil {
		return nil, fmt.Errorf("pending again: %w", err)
	}
	return rest, nil
}

func seqs(refs []event.Ref) []int64 {
	list := make([]int64, len(refs))
	for i, r := range refs {
		list[i] = r.Seq
	}
	return list
}

func (e *Table) published() string {
	return "state = 'PUBLISHED', published_at = " + e.db.Now() + ", next_attempt_at = NULL"
}

// markPublished is the one statement that acknowledges a batch.
func (e *Table) markPublished(ctx context.Context, q statement.Querier, owner string, held int,
	refs []event.Ref) (int64, error) {
	s := e.db.Statement()
	e.syntax.BySeq(s, e.outbox, e.published, seqs(refs))
	s.Add(" AND state IN ('PENDING', 'FAILED') AND ")
	e.Claims.Guard(s, owner, held)
	return s.Exec(ctx, q)
}

// most is how many of n rows one statement changes; not 0.
func (e *Table) most(n int) int {
	if e.cfg.MostRows > 0 {
		return e.cfg.MostRows
	}
	return max(n, 1)
}

// set changes rows that are in one of the states.
func (e *Table) set(ctx context.Context, q statement.Querier, set string, seqs []int64, states string) error {
	for part := range slices.Chunk(seqs, e.most(len(seqs))) {
		s := e.db.Statement()
		e.syntax.BySeq(s, e.outbox, func() string { return set }, part)
		s.Add(" AND state IN (", states, ")")
		if _, err := s.Exec(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

var failureColumns = []statement.Field{statement.Int("seq"), statement.Int("attempts"), statement.Int("pause"),
	statement.Int("dead"), statement.Text("reason")}

// fail leaves alone what an operator has requeued since it was handed out: that has no attempts. (A misplaced event's
// attempts stop short of the last one, so that they need not grow.)
func (e *Table) fail(ctx context.Context, q statement.Querier, failed []event.Failure) error {
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
		list[i] = object{f.Ref.Seq, f.Attempts, f.Delay.Milliseconds(), 0, plaintext.Storable(f.Reason)}
		if f.Dead {
			list[i].Dead = 1
		}
	}
	s := e.db.Statement()
	s.Add(e.syntax.Update(e.outbox.String(), "o",
		"state = CASE WHEN f.dead = 1 THEN 'DEAD LETTER' ELSE 'FAILED' END, retry_count = f.attempts, last_error = f.reason, "+
			"next_attempt_at = CASE WHEN f.dead = 1 THEN NULL ELSE "+e.db.Later("f.pause")+" END",
		s.Rows("f", failureColumns, list),
		e.seq("o")+" = f.seq AND o.retry_count IN (f.attempts - 1, f.attempts) AND o.state IN ('PENDING', 'FAILED')"))
	_, err := s.Exec(ctx, q)
	return err
}

// wait makes events WAITING as long as one before them is in the way; the others stay PENDING.
func (e *Table) wait(ctx context.Context, q statement.Querier, waiting []event.Marked) error {
	if len(waiting) == 0 {
		return nil
	}
	all := make([]int64, len(waiting))
	for i, w := range waiting {
		all[i] = w.Ref.Seq
	}
	s := e.db.Statement()
	s.Add("SELECT ", e.seq("o"), " FROM ", e.outbox.String(), " o WHERE ", e.db.AnyInt(s, e.seq("o"), all), " AND ")
	e.blocks(s, true)
	blocked, err := s.Ints(ctx, q)
	if err != nil {
		return err
	}
	return e.set(ctx, q, "state = 'WAITING'", blocked, "'PENDING'")
}

// GoAtOnce is how many events one transaction lets go, of all its aggregates together: however many wait, it must not
// take longer than source__timeout, or it would never succeed. (SQL Server makes one lock of the table of 5000 locks
// of rows.)
var GoAtOnce = 4_000

// letRestGo goes on with letGo in transactions of their own, when the marks that made it possible are durable. It
// takes as long as one statement may: the session settles nothing else meanwhile. What is left then, or by a crash or
// a fault, mend finds.
func (e *Table) letRestGo(ctx context.Context, rest []event.Aggregate) {
	begun := time.Now()
	for len(rest) > 0 && (e.cfg.Timeout <= 0 || time.Since(begun) < e.cfg.Timeout) {
		some := rest
		err := e.db.Do(ctx, "let waiting events go on", func(ctx context.Context, q statement.Querier) (err error) {
			_, rest, err = e.LetGo(ctx, q, some)
			return err
		})
		if err != nil {
			return
		}
	}
}

// LetGo makes the waiting events of aggregates PENDING up to the first one that is in the way still, by seq, and no
// more of them than goAtOnce. It returns how many, and the aggregates that have more. It is two statements however
// many events wait.
//
// The order holds between one part and the next, and after a crash there: an event that is PENDING while an earlier
// one of its aggregate is WAITING is fetched with waits set, and absorbed instead of sent, be it of the aggregate's
// rest, let go by somebody else out of turn, or written since. What goes first is the beginning of what waits, so
// that nothing else stands before that, and it is sent as it comes.
func (e *Table) LetGo(ctx context.Context, q statement.Querier, of []event.Aggregate) (n int64,
	rest []event.Aggregate, err error) {
	if len(of) == 0 {
		return 0, nil, nil
	}
	if e.bySource() {
		of = []event.Aggregate{{}} // every event waits for every earlier one: there is one order
	}
	heads, rest, err := e.heads(ctx, q, of)
	if err != nil {
		return 0, nil, err
	}
	where := "o.state IN (" + blockedStates + ") AND o.state = 'WAITING' AND " + e.seq("o") + " < h.head"
	if !e.bySource() {
		where += " AND " + e.syntax.Seek("o", "h.id") + e.syntax.Same("o.aggregate_type", "o.aggregate_id", "h.typ",
			"h.id")
	}
	s := e.db.Statement()
	s.Add(e.syntax.Update(e.outbox.String(), "o"+e.syntax.Force(e.blockedIndex()), "state = 'PENDING'", s.Rows("h",
		headColumns, heads), where))
	n, err = s.Exec(ctx, q)
	return n, rest, err
}

var headColumns = []statement.Field{statement.Text("typ"), statement.Text("id"), statement.Int("head")}

type head struct {
	Typ  string `json:"typ"`
	ID   string `json:"id"`
	Head int64  `json:"head"`
}

// heads returns for each aggregate the first event that is not let go now: one that holds up others, or the first
// waiting one beyond this aggregate's part of goAtOnce; a number beyond all where there is neither. rest are those
// where it is the latter.
func (e *Table) heads(ctx context.Context, q statement.Querier, of []event.Aggregate) (list []head,
	rest []event.Aggregate, err error) {
	s := e.db.Statement()
	first := func(cond string, skip int) {
		s.Add("(SELECT b.", e.syntax.Seq(), " FROM ", e.outbox.String(), " b", e.syntax.Force(e.blockedIndex()),
			" WHERE ")
		if e.bySource() {
			s.Add("1 = 1")
		} else {
			s.Add(e.syntax.Seek("b", "a.id"), e.syntax.Same("b.aggregate_type", "b.aggregate_id", "a.typ", "a.id"))
		}
		s.Add(cond, " ORDER BY ", e.seq("b"), e.db.Limit("1", skip), ")")
	}
	s.Add("SELECT a.typ, a.id, ")
	first(e.inTheWay("b", true), 0)
	s.Add(", ")
	first(" AND b.state IN ("+blockedStates+") AND b.state = 'WAITING'", max(1, GoAtOnce/len(of)))
	s.Add(" FROM ", s.Rows("a", aggregateColumns, jsonAggregates(of)))
	err = s.Each(ctx, q, func(scan func(...any) error) (bool, error) {
		var h head
		var blocking, beyond sql.NullInt64
		err := scan(&h.Typ, &h.ID, &blocking, &beyond)
		if h.Head = blocking.Int64; !blocking.Valid {
			h.Head = math.MaxInt64
		}
		if beyond.Valid && beyond.Int64 < h.Head {
			h.Head = beyond.Int64
			rest = append(rest, event.Aggregate{Type: h.Typ, ID: h.ID})
		}
		list = append(list, h)
		return true, err
	})
	return list, rest, err
}
