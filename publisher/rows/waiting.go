package rows

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/plaintext"
	"github.com/rowrelay/rowrelay/publisher/event"
)

var failureColumns = []statement.Field{statement.Int("seq"), statement.Int("attempts"), statement.Int("pause"),
	statement.Int("dead"), statement.Text("reason")}

// fail leaves alone what an operator has requeued since it was handed out: that has no attempts. (A misplaced event's
// attempts stop short of the last one, so that they need not grow.)
// It returns those that are pending as before, although the statement named them.
func (t *Table) fail(ctx context.Context, q statement.Querier, failed []event.Failure) ([]event.Ref, error) {
	if len(failed) == 0 {
		return nil, nil
	}
	type object struct {
		Seq      int64  `json:"seq"`
		Attempts int    `json:"attempts"`
		Delay    int64  `json:"pause"`
		Dead     int    `json:"dead"`
		Reason   string `json:"reason"`
	}
	list, refs := make([]object, len(failed)), make([]event.Ref, len(failed))
	for i := range failed {
		f := &failed[i]
		refs[i] = f.Ref
		list[i] = object{f.Ref.Seq, f.Attempts, f.Delay.Milliseconds(), 0, plaintext.Storable(f.Reason)}
		if f.Dead {
			list[i].Dead = 1
		}
	}
	s := t.db.Statement()
	s.Add(t.syntax.Update(t.outbox.String(), "o"+t.hints["key"], // what else it looked at, it would lock
		"state = CASE WHEN f.dead = 1 THEN 'DEAD LETTER' ELSE 'FAILED' END, retry_count = f.attempts, last_error = f.reason, "+
			"next_attempt_at = CASE WHEN f.dead = 1 THEN NULL ELSE "+t.db.Later("f.pause")+" END",
		s.Rows("f", failureColumns, list),
		t.o.order+" = f.seq AND o.retry_count IN (f.attempts - 1, f.attempts) AND o.state IN ('PENDING', 'FAILED')"))
	n, err := s.Exec(ctx, q)
	if err != nil {
		return nil, err
	}
	return t.unchanged(ctx, q, n, refs, "o.state = 'PENDING'")
}

// wait makes events WAITING as long as one before them is in the way; the others stay PENDING.
func (t *Table) wait(ctx context.Context, q statement.Querier, waiting []event.Marked) error {
	if len(waiting) == 0 {
		return nil
	}
	s := t.db.Statement("SELECT ", t.o.key, " FROM ", t.outbox.String(), " o WHERE ")
	t.blocks(t.oneOf(s, &t.o, refsIn(waiting)).Add(" AND "), true)
	blocked, err := t.refs(ctx, q, s)
	for part := range slices.Chunk(blocked, t.most(len(blocked))) {
		if err == nil {
			_, err = t.change(t.db.Statement(), func() string { return "state = 'WAITING'" }, part, "'PENDING'").Exec(ctx, q)
		}
	}
	return err
}

// GoAtOnce is how many events one transaction lets go, of all its aggregates together: however many wait, it must not
// take longer than source__timeout, or it would never succeed. (SQL Server makes one lock of the table of 5000 locks
// of rows.)
var GoAtOnce = 4_000

// letRestGo goes on with LetGo in transactions of their own, for so long at most (0: to the end). What is left then, or
// by a crash or a fault, Mend finds.
func (t *Table) letRestGo(ctx context.Context, rest []event.Aggregate, most time.Duration) (count int64, err error) {
	for begun := time.Now(); err == nil && len(rest) > 0 && (most <= 0 || time.Since(begun) < most); {
		err = t.db.Do(ctx, "let waiting events go on", func(ctx context.Context, q statement.Querier) error {
			n, left, err := t.LetGo(ctx, q, rest)
			if count += n; err == nil {
				rest = left
			}
			return err
		})
	}
	return count, err
}

// LetGo makes the waiting events of aggregates PENDING up to the first one that is in the way still, by seq, and no
// more of them than goAtOnce. It returns how many, and the aggregates that have more. It is two statements however
// many events wait.
//
// The order holds between one part and the next, and after a crash there: an event that is PENDING while an earlier
// one of its aggregate is WAITING is fetched with waits set, and absorbed instead of sent, be it of the aggregate's
// rest, let go by somebody else out of turn, or written since. What goes first is the beginning of what waits, so
// that nothing else stands before that, and it is sent as it comes.
func (t *Table) LetGo(ctx context.Context, q statement.Querier, of []event.Aggregate) (n int64,
	rest []event.Aggregate, err error) {
	if len(of) == 0 {
		return 0, nil, nil
	}
	if t.bySource() {
		of = []event.Aggregate{{}} // every event waits for every earlier one: there is one order
	}
	heads, rest, err := t.heads(ctx, q, of)
	if err != nil {
		return 0, nil, err
	}
	where := "o.state IN (" + blockedStates + ") AND o.state = 'WAITING' AND " + t.o.order + " < h.head"
	if !t.bySource() {
		where += " AND " + t.sameAggregate("o", "h.typ", "h.id")
	}
	s := t.db.Statement()
	s.Add(t.syntax.Update(t.outbox.String(), "o"+t.hints["blocked"], "state = 'PENDING'", s.Rows("h",
		headColumns, heads), where))
	n, err = s.Exec(ctx, q)
	return n, rest, err
}

var headColumns = []statement.Field{statement.Text("typ"), statement.Text("id"), statement.Int("head")}

type head struct {
	event.Aggregate
	Head int64 `json:"head"`
}

// heads returns for each aggregate the first event that is not let go now: one that holds up others, or the first
// waiting one beyond this aggregate's part of goAtOnce; a number beyond all where there is neither. rest are those
// where it is the latter.
func (t *Table) heads(ctx context.Context, q statement.Querier, of []event.Aggregate) (list []head,
	rest []event.Aggregate, err error) {
	s := t.db.Statement()
	first := func(cond string, skip int) {
		s.Add("(SELECT b.", t.key, " FROM ", t.outbox.String(), " b", t.hints["blocked"],
			" WHERE ")
		if t.bySource() {
			s.Add("1 = 1")
		} else {
			s.Add(t.sameAggregate("b", "a.typ", "a.id"))
		}
		s.Add(cond, " ORDER BY ", t.byBlocked, t.db.Limit("1", skip), ")")
	}
	s.Add("SELECT a.typ, a.id, ")
	first(t.inTheWay("b", true), 0)
	s.Add(", ")
	first(" AND b.state IN ("+blockedStates+") AND b.state = 'WAITING'", max(1, GoAtOnce/len(of)))
	s.Add(" FROM ", s.Rows("a", headColumns[:2], of))
	err = s.Each(ctx, q, func(scan func(...any) error) (bool, error) {
		var h head
		var blocking, beyond sql.NullInt64
		err := scan(&h.Type, &h.ID, &blocking, &beyond)
		if h.Head = blocking.Int64; !blocking.Valid {
			h.Head = math.MaxInt64
		}
		if beyond.Valid && beyond.Int64 < h.Head {
			h.Head = beyond.Int64
			rest = append(rest, h.Aggregate)
		}
		list = append(list, h)
		return true, err
	})
	return list, rest, err
}

// Mend makes WAITING events without a head PENDING, some aggregates at a time. An event can become loose and blocked
// again only by marks of its aggregate's owner: at worst it becomes PENDING here, and is absorbed once more.
func (t *Table) Mend(ctx context.Context) (mended int, err error) {
	if t.side != "" {
		return t.mendBeside(ctx)
	}
	var waiting []event.Aggregate
	err = t.db.Do(ctx, "look for waiting events", func(ctx context.Context, q statement.Querier) error {
		waiting = nil
		s := t.db.Statement()
		s.Add("SELECT DISTINCT o.aggregate_type, o.aggregate_id FROM ", t.outbox.String(), " o",
			t.hints["pending"], " WHERE o.state IN (", blockedStates,
			") AND o.state = 'WAITING'")
		return s.Each(ctx, q, func(scan func(...any) error) (bool, error) {
			var a event.Aggregate
			err := scan(&a.Type, &a.ID)
			waiting = append(waiting, a)
			return true, err
		})
	})
	if err != nil {
		return 0, err
	}
	for some := range slices.Chunk(waiting, 1000) {
		n, err := t.letRestGo(ctx, some, 0)
		if mended += int(n); err != nil {
			return mended, err
		}
	}
	return mended, nil
}
