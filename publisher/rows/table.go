// Package rows reads and changes the events of an outbox: fetching, marking, what waits and what is due, figures,
// listing and cleaning up. There is one [Table] for all of them. A table of `rowrelay outbox init` ([Own]) holds the
// states of its events; of another framework's ([Mapped]) what failed stands in a side table, one row for each event:
//
//	outbox, event (the id's text), aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error
//
// These rows are called entries. In an own table every row is its own entry. In another's, an event without an entry is
// pending as long as the table says so, and it waits while an earlier entry of its aggregate is in the way: that is not
// stored, so that followers cost nothing, however many they are, and go on as soon as that entry is gone.
//
// What differs by a word is said by Own and Mapped, and by words.go. read.go, look.go, settle.go, list.go and clean.go
// are the same for both. waiting.go is what only an own table has: WAITING events. side.go is what only the side table
// has.
package rows

import (
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/mapping"
)

// Table are the events of an outbox. In its statements o is a row of the outbox or an entry, b an entry that may be in
// the way of o, and s the entry of o.
//
// In an own table every search for pending events goes by (bucket, seq) over the index of pending ones, and says so in
// ORDER BY even where one row would do: statistics from another hour must not make a plan that reads the whole table.
// Where ordering is source, the order is seq alone; the pending ones' keys are then sorted.
type Table struct {
	foreign // only of another framework's table
	db      *statement.DB
	syntax  Syntax // only of an own table
	Claims  *claims.Table
	outbox  statement.Name
	cfg     Config
	o       words  // those of o
	side    string // the side table; "": there is none, the table is an own one
	entries string // the table of the entries
	// eventColumn and attemptsColumn are columns of the entries: the first names the event.
	eventColumn, attemptsColumn string
	// unordered says that no event ever waits for another.
	unordered bool
	key       string // the column by which rows are found
	readable  string // the columns that a row is looked up by, as LookUp takes them
	markable  string // the condition that mark changes o
	// byBucket and bySeq are the orders of pages, byPosition is that of entries o, byBlocked that of the entries b of one
	// aggregate, as the index has it that finds what is in the way.
	byBucket, bySeq, byPosition, byBlocked string
	// hints stand after a table's alias and name the index to be used, where a search is not to be left to statistics:
	// "pending" and "order" serve searches for pending events, "blocked" those for what is in the way, "key" for rows.
	hints map[string]string
}

// Config is how events are published, and what is kept of them.
type Config struct {
	Ordering poller.Ordering
	// Block says that a dead letter holds up the later events of its aggregate.
	Block bool
	// MaxRowBytes bounds a payload; 0: no bound.
	MaxRowBytes int
	// MostRows bounds the rows that one statement marks; 0: no bound. With more, SQL Server locks the whole table.
	MostRows int
	// Timeout bounds one statement; 0: no bound.
	Timeout time.Duration
	// Classify says what an error of the database means.
	Classify func(error) engine.Fault
	// Timed says that an own table has available_at and expires_at.
	Timed bool
	// Retention is how long published and discarded events are kept.
	Retention time.Duration
}

// Own returns the events of a table of `rowrelay outbox init`.
func Own(db *statement.DB, d Syntax, outbox statement.Name, cfg Config, of *claims.Table) *Table {
	seq := d.Seq()
	_, blocked := d.Seek("b", "")
	t := &Table{
		db: db, syntax: d, Claims: of, outbox: outbox, cfg: cfg, o: ownWords(db, d, "o"),
		entries: outbox.String(), eventColumn: seq, attemptsColumn: "retry_count",
		unordered: cfg.Ordering == poller.OrderNone,
		key:       seq, readable: "*", markable: "o.state IN ('PENDING', 'FAILED')",
		byBucket: "k.bucket, k." + seq, bySeq: "k." + seq, byPosition: "o." + seq, byBlocked: blocked + "b." + seq,
		hints: map[string]string{"key": d.Force(""), "pending": d.Force("pending"), "order": d.Force("order"),
			"blocked": d.Force("blocked")},
	}
	if t.bySource() { // every earlier event may be in the way
		t.byBlocked, t.hints["blocked"] = "b."+seq, t.hints["pending"]
	}
	if cfg.Timed {
		t.o.availableAt, t.o.expiresAt = d.Limit("o.available_at"), d.Limit("o.expires_at")
	}
	return t
}

// idsAtOnce stays below the parameters that every engine takes (SQL Server: 2,100).
const idsAtOnce = 1000

// Mapped returns the events of another framework's table, whose failed ones stand in side. Nothing is written to the
// table itself but the mark of publishing, and the count of failed attempts where it has one. It has no buckets.
//
// index is that of the table which holds the pending events in their order; "" where there is none.
func Mapped(db *statement.DB, v Values, l mapping.Layout, outbox, side statement.Name, index string, //nolint:gocritic // a copy is wanted
	cfg Config, of *claims.Table) *Table {
	cfg.MostRows = idsAtOnce
	f := foreign{l, v, db}
	o := f.words("o")
	t := &Table{
		foreign: f, db: db, Claims: of, outbox: outbox, cfg: cfg, o: o, side: side.String(),
		entries: side.String(), eventColumn: "event", attemptsColumn: "attempts",
		unordered: cfg.Ordering == poller.OrderNone || cfg.Ordering == poller.OrderKey && l.AggregateID == nil,
		key:       db.Quote(l.ID.Name), readable: f.mapped(), markable: o.pending,
		byBucket: o.order, bySeq: o.order, byPosition: "o.position, o.event", byBlocked: "b.position, b.event",
	}
	if index != "" {
		t.hints = map[string]string{"pending": v.ByIndex(db.Quote(index)), "order": v.ByIndex(db.Quote(index))}
	}
	return t
}

// SideOf is the name of the side table, which lies beside the claims.
func SideOf(claims statement.Name) statement.Name { return claims.Suffixed("_events") }

// Cleanable returns an error where published rows cannot be told from others by age.
func (t *Table) Cleanable() error {
	if t.side == "" {
		return nil
	}
	return t.Layout.Cleanable()
}

func (t *Table) bySource() bool { return t.cfg.Ordering == poller.OrderSource }

// scope adds the condition that an entry is one of this outbox.
func (t *Table) scope(s *statement.Statement, alias string) *statement.Statement {
	if t.side == "" {
		return s
	}
	return s.Add(alias, ".outbox = ", s.Arg(t.Claims.Place.Outbox), " AND ")
}

// blockedStates are the words of events that others wait for, or which wait: a search with the same words as the
// index' is known to be served by it.
const blockedStates = "'FAILED', 'DEAD LETTER', 'WAITING'"

// blocks adds the condition that an earlier event is in the way of o: one that failed, that waits (unless only heads
// count), or that was given up where the policy says so.
func (t *Table) blocks(s *statement.Statement, heads bool) {
	if t.unordered {
		s.Add("1 = 0")
		return
	}
	hint, whose, before := t.hints["blocked"], "o", "b."+t.eventColumn+" < "+t.o.order
	if t.side != "" {
		whose = "b"
		before = "(b.position < " + t.o.position + " OR b.position = " + t.o.position + " AND b.event < " + t.o.id + ")"
	}
	t.scope(s.Add("EXISTS (SELECT 1 FROM ", t.entries, " b", hint, " WHERE "), "b")
	if !t.bySource() {
		s.Add(t.sameAggregate("b", t.o.entryType, t.o.entryAggregate), " AND ", t.ordered(whose), " AND ")
	}
	s.Add(before, t.inTheWay("b", heads), ")")
}

// sameAggregate is the condition that an entry is of an aggregate.
func (t *Table) sameAggregate(b, typ, id string) string {
	if t.side != "" {
		return b + ".aggregate_type = " + typ + " AND " + b + ".aggregate_id = " + id
	}
	seek, _ := t.syntax.Seek(b, id)
	return seek + t.syntax.Same(b+".aggregate_type", b+".aggregate_id", typ, id)
}

// ordered is the condition that an entry has an aggregate: events without one wait for none. (To SQL Server a blank
// equals "".)
func (t *Table) ordered(alias string) string { return t.db.Bytes(alias+".aggregate_id") + " > 0" }

// inTheWay is the condition that an entry holds up others. It repeats the index' own words, which engines need to see
// that the index serves it.
func (t *Table) inTheWay(alias string, heads bool) string {
	state := alias + ".state"
	cond := " AND " + state + " IN (" + blockedStates + ")"
	if heads {
		cond += " AND " + state + " <> 'WAITING'"
	}
	if !t.cfg.Block {
		cond += " AND " + state + " <> 'DEAD LETTER'"
	}
	return cond
}

// oneOf adds the condition that a row is one of refs.
func (t *Table) oneOf(s *statement.Statement, w *words, refs []event.Ref) *statement.Statement {
	if t.side == "" {
		return s.Add(t.db.AnyInt(s, w.key, seqs(refs)))
	}
	if len(refs) == 0 {
		return s.Add("1 = 0")
	}
	s.Add(w.key, " IN (")
	for i, r := range refs {
		if i > 0 {
			s.Add(", ")
		}
		s.Add(t.values.Typed(t.ID, s.Arg(r.ID)))
	}
	return s.Add(")")
}

func seqs(refs []event.Ref) []int64 {
	list := make([]int64, len(refs))
	for i, r := range refs {
		list[i] = r.Seq
	}
	return list
}

func ids(refs []event.Ref) []string {
	list := make([]string, len(refs))
	for i, r := range refs {
		list[i] = r.ID
	}
	return list
}
