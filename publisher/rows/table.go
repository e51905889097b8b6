// Package rows reads and changes the events of an outbox of our own, a table of `rowrelay outbox init`: fetching,
// marking, what waits and what is due, listing and cleaning up.
package rows

import (
	"context"
	"database/sql"
	"strconv"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// Table are the events of a table of `rowrelay outbox init`. In its statements o is the outbox, b another row of it
// that may be in the way.
//
// Every search for pending events goes by (bucket, seq) over the index of pending ones, and says so in ORDER BY even
// where one row would do: statistics from another hour must not make a plan that reads the whole table. Where
// ordering is source, the order is seq alone; the pending ones' keys are then sorted.
type Table struct {
	db     *statement.DB
	syntax Syntax
	Claims *claims.Table
	outbox statement.Name
	cfg    Config
}

// Config is how events are published, and what is kept of them.
type Config struct {
	Ordering poller.Ordering
	// Partitions are the settings'.
	Partitions int
	// Block says that a dead letter holds up the later events of its aggregate.
	Block bool
	// MaxRowBytes bounds a payload; 0: no bound.
	MaxRowBytes int
	// MostRows bounds the rows that one statement marks; 0: no bound. With more, SQL Server locks the whole table.
	MostRows int
	// Timeout bounds one statement; 0: no bound.
	Timeout time.Duration
	// Retention is how long published and discarded events are kept.
	Retention time.Duration
}

// New returns the events of an outbox, and its claims.
func New(db *statement.DB, d Syntax, outbox statement.Name, cfg Config, how claims.Syntax, where claims.Place) *Table {
	e := &Table{db: db, syntax: d, outbox: outbox, cfg: cfg}
	e.Claims = claims.New(db, how, where, cfg.Partitions)
	return e
}

func (e *Table) seq(alias string) string { return alias + "." + e.syntax.Seq() }

// forced is the hint for reading events of a state, in their order.
func (e *Table) forced(state event.State) string {
	if state == event.Failed {
		return "" // few, and found by either index
	}
	return e.syntax.Force("pending")
}

// order is the order of the index that holds events of a state.
func (e *Table) order(state event.State) string {
	switch {
	case state == event.Failed:
		return "o.next_attempt_at"
	case state == event.Pending || e.syntax.ByState():
		return "o.bucket, " + e.seq("o")
	default:
		return "o.aggregate_type, o.aggregate_id, " + e.seq("o")
	}
}

func (e *Table) bySource() bool { return e.cfg.Ordering == poller.OrderSource }

// blocks adds the condition that an earlier event is in the way of o: one that failed, that waits (unless only heads
// count), or that was given up where the policy says so.
func (e *Table) blocks(s *statement.Statement, heads bool) {
	if e.cfg.Ordering == poller.OrderNone {
		s.Add("1 = 0")
		return
	}
	s.Add("EXISTS (SELECT 1 FROM ", e.outbox.String(), " b", e.syntax.Force(e.blockedIndex()), " WHERE ")
	if !e.bySource() {
		s.Add(e.syntax.Seek("b", "o.aggregate_id"), e.syntax.Same("b.aggregate_type", "b.aggregate_id",
			"o.aggregate_type", "o.aggregate_id"), " AND ", e.ordered(), " AND ")
	}
	s.Add(e.seq("b"), " < ", e.seq("o"), e.inTheWay("b", heads), ")")
}

// ordered is the condition that o has an aggregate: events without one wait for none. (To SQL Server a blank equals
// "".)
func (e *Table) ordered() string { return e.db.Bytes("o.aggregate_id") + " > 0" }

// blockedIndex is the index that finds what is in the way.
func (e *Table) blockedIndex() string {
	if e.bySource() {
		return "pending"
	}
	return "blocked"
}

// inTheWay is the condition that an event holds up others. It repeats the index' own words, which engines need to see
// that the index serves it.
func (e *Table) inTheWay(alias string, heads bool) string {
	state := alias + ".state"
	cond := " AND " + state + " IN (" + blockedStates + ")"
	if heads {
		cond += " AND " + state + " <> 'WAITING'"
	}
	if !e.cfg.Block {
		cond += " AND " + state + " <> 'DEAD LETTER'"
	}
	return cond
}

// Look asks for one row of each kind that is work, and for what is said of the whole outbox, in one statement.
func (e *Table) Look(ctx context.Context) (g event.Glance, err error) {
	first := func(s *statement.Statement, state event.State, also func()) {
		s.Add("(SELECT 1 FROM ", e.outbox.String(), " o", e.forced(state), " WHERE o.state = '", string(state), "'")
		also()
		s.Add(" ORDER BY ", e.order(state), e.db.Limit("1", 0), ")")
	}
	err = e.db.Do(ctx, "look for work", func(ctx context.Context, q statement.Querier) error {
		s := e.db.Statement()
		s.Add("SELECT COALESCE(")
		first(s, event.Pending, func() {})
		s.Add(", ")
		first(s, event.Failed, func() { s.Add(" AND o.next_attempt_at <= ", e.db.Now()) })
		// Where no index leads with the state, the index of what waits also holds what others wait for: to look for
		// WAITING in it would read every dead letter. That there is anything of the kind is reason enough to let mend
		// look.
		s.Add(", 0), COALESCE(")
		if e.syntax.ByState() {
			first(s, event.Waiting, func() {})
		} else {
			s.Add("(SELECT 1 FROM ", e.outbox.String(), " o WHERE o.state IN (", blockedStates, ") ORDER BY ",
				e.order(event.Waiting), e.db.Limit("1", 0), ")")
		}
		s.Add(", 0), ")
		e.Claims.Paused(s, "p")
		s.Add(", ")
		e.Claims.Counter(s)
		// SQL Server evaluates a subquery in COALESCE twice, and what the first one saw may be gone: NULL says that
		// there was work.
		var work, waiting sql.NullInt64
		var by, info sql.NullString
		if err := s.Row(ctx, q, &work, &waiting, &by, &info); err != nil {
			return err
		}
		g = event.Glance{
			Work: !work.Valid || work.Int64 != 0, Waiting: !waiting.Valid || waiting.Int64 != 0,
			Paused: by.Valid, By: by.String,
			Partitions: claims.PartitionsIn(info.String),
		}
		return nil
	})
	return g, err
}

// keys adds a table expression k of (bucket, seq), in order, of pending rows in ranges after a position, at most n.
// Ranges that do not touch are one seek each: a search over all that lies between them would read what others have to
// publish.
func (e *Table) keys(s *statement.Statement, ranges []claims.Range, after event.Position, n int,
	also func(*statement.Statement)) {
	s.Add("(")
	e.keysOnly(s, ranges, after, n, also)
	s.Add(") k")
}

func (e *Table) keysOnly(s *statement.Statement, ranges []claims.Range, after event.Position, n int,
	also func(*statement.Statement)) {
	if e.bySource() || after.BySeq {
		e.keysBySeq(s, ranges, after, n, also)
		return
	}
	order := " ORDER BY bucket, " + e.syntax.Seq()
	if ranges == nil {
		ranges = []claims.Range{{From: 0, To: claims.Buckets}}
	}
	arms := e.arms(ranges, after)
	if len(arms) == 1 {
		e.arm(s, arms[0], after, n, also)
		return
	}
	s.Add("SELECT bucket, ", e.syntax.Seq(), " FROM (")
	for i, r := range arms {
		if i > 0 {
			s.Add(" UNION ALL ")
		}
		s.Add("SELECT bucket, ", e.syntax.Seq(), " FROM (")
		e.arm(s, r, after, n, also)
		s.Add(") r", strconv.Itoa(i))
	}
	s.Add(") u", order, e.db.Limit(s.Arg(n), 0))
}

// arms are the ranges after a position. Where the engine does not seek by row values, the rest of the position's
// bucket is a range of its own: it would read, for every page anew, the events of that bucket that are in flight.
func (e *Table) arms(ranges []claims.Range, after event.Position) []claims.Range {
	arms := make([]claims.Range, 0, len(ranges)+1)
	split := e.syntax.Orderly("o", "", "") == ""
	for _, r := range ranges {
		switch {
		case r.To <= after.Bucket: // before the position
		case split && after.Seq > 0 && r.From <= after.Bucket && after.Bucket+1 < r.To:
			arms = append(arms, claims.Range{From: after.Bucket, To: after.Bucket + 1},
				claims.Range{From: after.Bucket + 1, To: r.To})
		default:
			arms = append(arms, r)
		}
	}
	if len(arms) == 0 {
		arms = append(arms, claims.Range{From: claims.Buckets, To: claims.Buckets}) // nothing
	}
	return arms
}

// keysBySeq is keysOnly in the order of seq. What lies in other buckets is passed over in the index.
func (e *Table) keysBySeq(s *statement.Statement, ranges []claims.Range, after event.Position, n int,
	also func(*statement.Statement)) {
	s.Add("SELECT o.bucket, ", e.seq("o"), " FROM ", e.outbox.String(), " o", e.syntax.Force("order"),
		" WHERE o.state = 'PENDING' AND ", e.seq("o"), " > ", s.Arg(after.Seq))
	if len(ranges) != 1 || ranges[0] != (claims.Range{From: 0, To: claims.Buckets}) {
		e.inRanges(s, ranges)
	}
	also(s)
	s.Add(" ORDER BY ", e.seq("o"), e.db.Limit(s.Arg(n), 0))
}

// arm is one seek.
func (e *Table) arm(s *statement.Statement, r claims.Range, after event.Position, n int,
	also func(*statement.Statement)) {
	s.Add("SELECT o.bucket, ", e.seq("o"), " FROM ", e.outbox.String(), " o", e.forced(event.Pending),
		" WHERE o.state = 'PENDING' AND ")
	within := after.Bucket >= r.From && after.Seq > 0
	switch split := e.syntax.Orderly("o", "", "") == ""; {
	case within && split:
		s.Add("o.bucket = ", s.Arg(after.Bucket), " AND ", e.seq("o"), " > ",
			s.Arg(after.Seq)) // all of the range that is left
	case within:
		s.Add("o.bucket >= ", s.Arg(after.Bucket), " AND ", e.syntax.Orderly("o", s.Arg(after.Bucket),
			s.Arg(after.Seq)), " AND o.bucket < ", s.Arg(r.To))
	default:
		s.Add("o.bucket >= ", s.Arg(max(r.From, after.Bucket)), " AND o.bucket < ", s.Arg(r.To))
	}
	also(s)
	s.Add(" ORDER BY o.bucket, ", e.seq("o"), e.db.Limit(s.Arg(n), 0))
}

func nothing(*statement.Statement) {}

// columns adds what scan reads, from o. The payload comes only where it is not too large.
func (e *Table) columns(s *statement.Statement) {
	size := e.db.Bytes("o.payload")
	payload := "o.payload"
	if e.cfg.MaxRowBytes > 0 {
		payload = "CASE WHEN " + size + " <= " + s.Arg(e.cfg.MaxRowBytes) + " THEN o.payload END"
	}
	s.Add(e.seq("o"), ", o.bucket, o.aggregate_type, o.aggregate_id, o.event_type, o.idempotency_key, o.created_at, o.retry_count, o.traceparent, o.tracestate, ",
		size, ", ")
	s.Add(payload)
}

// scan reads one row of columns and, after them, whether it waits.
func (e *Table) scan(scan func(...any) error) (event.Row, error) {
	var r event.Row
	var created any
	var parent, state sql.NullString
	var size int
	var payload []byte
	o := &r.Outbox
	if err := scan(&r.Ref.Seq, &r.At.Bucket, &o.AggregateType, &o.AggregateID, &o.EventType, &o.IdempotencyKey,
		&created, &r.Attempts, &parent, &state,
		&size, &payload, &r.Waits); err != nil {
		return event.Row{}, err
	}
	r.At.Seq = r.Ref.Seq
	if e.bySource() {
		r.At.Bucket = 0
	}
	o.CreatedAt, o.TraceParent, o.TraceState = event.AsTime(created), parent.String, state.String
	r.SetPayload(payload, size, e.cfg.MaxRowBytes)
	return r, nil
}

// Fetch reads live events of these buckets after a position, in their order. more says that the limit cut them off.
func (e *Table) Fetch(ctx context.Context, ranges []claims.Range, after event.Position,
	limit poller.Limit) (rows []event.Row, more bool, err error) {
	err = e.db.Do(ctx, "fetch events", func(ctx context.Context, q statement.Querier) error {
		s := e.db.Statement()
		e.fetchStatement(s, ranges, after, max(limit.Rows, 1)+1)
		rows, more, err = event.Read(ctx, s, q, limit, e.scan)
		return err
	})
	return rows, more, err
}

func (e *Table) fetchStatement(s *statement.Statement, ranges []claims.Range, after event.Position, n int) {
	s.Add("SELECT ")
	e.columns(s)
	s.Add(", CASE WHEN ")
	e.blocks(s, false)
	s.Add(" THEN 1 ELSE 0 END FROM ")
	e.keys(s, ranges, after, n, nothing)
	s.Add(" JOIN ", e.outbox.String(), " o ON ", e.seq("o"), " = k.", e.syntax.Seq(), " ORDER BY ")
	if !e.bySource() && !after.BySeq {
		s.Add("k.bucket, ")
	}
	s.Add("k.", e.syntax.Seq())
}

// Others leaves out what waits and what is avoided: what comes first among the rest is the next of its aggregate.
func (e *Table) Others(ctx context.Context, ranges []claims.Range, avoid []event.Aggregate,
	limit poller.Limit) (rows []event.Row, err error) {
	return e.publishable(ctx, "look for events of other aggregates", limit, func(s *statement.Statement) {
		e.keys(s, ranges, event.Position{Bucket: -1}, limit.Rows, func(s *statement.Statement) {
			for _, a := range avoid { // first: what may be in the way costs more
				s.Add(" AND NOT (", e.syntax.Same("o.aggregate_type", "o.aggregate_id", s.Arg(a.Type), s.Arg(a.ID)), ")")
			}
			s.Add(" AND NOT ")
			e.blocks(s, false)
		})
	})
}

// Again leaves out what waits.
func (e *Table) Again(ctx context.Context, refs []event.Ref) ([]event.Row, error) {
	return e.publishable(ctx, "read events again", poller.Limit{Rows: len(refs)}, func(s *statement.Statement) {
		s.Add("(SELECT o.bucket, ", e.seq("o"), " FROM ", e.outbox.String(), " o WHERE ")
		s.Add(e.db.AnyInt(s, e.seq("o"), seqs(refs)), " AND o.state = 'PENDING' AND NOT ")
		e.blocks(s, false)
		s.Add(") k")
	})
}

// publishable reads the rows that a table expression k of their bucket and seq names, in their order.
func (e *Table) publishable(ctx context.Context, what string, limit poller.Limit,
	keys func(*statement.Statement)) (rows []event.Row, err error) {
	err = e.db.Do(ctx, what, func(ctx context.Context, q statement.Querier) error {
		s := e.db.Statement()
		s.Add("SELECT ")
		e.columns(s)
		s.Add(", 0 FROM ")
		keys(s)
		s.Add(" JOIN ", e.outbox.String(), " o ON ", e.seq("o"), " = k.", e.syntax.Seq())
		s.Add(" ORDER BY k.bucket, k.", e.syntax.Seq())
		rows, _, err = event.Read(ctx, s, q, limit, e.scan)
		return err
	})
	return rows, err
}

var aggregateColumns = []statement.Field{statement.Text("typ"), statement.Text("id")}

func jsonAggregates(list []event.Aggregate) any {
	type object struct {
		Typ string `json:"typ"`
		ID  string `json:"id"`
	}
	objects := make([]object, len(list))
	for i, a := range list {
		objects[i] = object{a.Type, a.ID}
	}
	return objects
}
