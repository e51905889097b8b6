package rows

import (
	"strconv"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/publisher/mapping"
)

// words are the expressions of one row of the outbox. Of a table of `rowrelay outbox init` they are its columns; of
// another framework's they are made of the columns that the settings name. "" stands for what the table does not have.
type words struct {
	id, key                             string // the id as it is told, and the column that finds a row
	bucket                              string
	typ, aggregate                      string // of the aggregate; an empty id means that there is none
	eventType, idempotency              string
	created, attempts, traceParent      string
	traceState, size, payload           string
	pending, done                       string // conditions: it is to be published, and it is not any more
	createdAt, publishedAt              string // the columns
	availableAt, expiresAt              string // as Row.SetTimes reads them
	order                               string // after ORDER BY
	place                               string // where it stands in that order
	step, stepPlace                     string // the column that the clean-up goes by, and its text
	position, entryType, entryAggregate string // what its entry in the side table says
}

// ownWords are those of a table of `rowrelay outbox init`, but for the times that one of an earlier version lacks.
func ownWords(db *statement.DB, d Syntax, alias string) words {
	if alias != "" {
		alias += "."
	}
	seq := alias + d.Seq()
	return words{
		id: seq, key: seq, bucket: alias + "bucket", typ: alias + "aggregate_type", aggregate: alias + "aggregate_id",
		eventType: alias + "event_type", idempotency: alias + "idempotency_key", created: alias + "created_at",
		attempts: alias + "retry_count", traceParent: alias + "traceparent", traceState: alias + "tracestate",
		size: db.Bytes(alias + "payload"), payload: alias + "payload",
		pending: alias + "state = 'PENDING'", done: alias + "state IN ('PUBLISHED', 'DISCARDED')",
		createdAt: alias + "created_at", publishedAt: alias + "published_at",
		order: seq, place: seq, step: seq, stepPlace: seq,
		entryType: alias + "aggregate_type", entryAggregate: alias + "aggregate_id",
	}
}

// foreign writes the columns of another framework's table.
type foreign struct {
	mapping.Layout
	values Values
	db     *statement.DB
}

func (f *foreign) words(alias string) words {
	at := func(c *column.Column) string { return f.column(c, alias) }
	text := func(c *column.Column) string { return f.values.Text(c, at(c)) }
	shown := func(c *column.Column) string { // as it is, where it is text
		if c == nil {
			return "NULL"
		} else if c.Kind == column.Text {
			return at(c)
		}
		return text(c)
	}
	orEmpty := func(c *column.Column, as func(*column.Column, string) string) string {
		switch {
		case c == nil:
			return "''"
		case c.Nullable:
			return "COALESCE(" + as(c, at(c)) + ", '')"
		}
		return as(c, at(c))
	}
	w := words{
		id: f.values.ID(f.ID, at(f.ID)), key: at(f.ID), bucket: "0",
		typ: orEmpty(f.AggregateType, f.values.Text), aggregate: orEmpty(f.AggregateID, f.values.Text),
		entryType: orEmpty(f.AggregateType, f.values.Short), entryAggregate: orEmpty(f.AggregateID, f.values.Short),
		eventType: shown(f.EventType), idempotency: shown(f.Key), created: "NULL", attempts: "0",
		traceParent: shown(f.TraceParent), traceState: shown(f.TraceState),
		payload: f.values.Payload(f.Payload, at(f.Payload)), pending: f.isPending(alias), done: f.isDone(alias),
	}
	w.size = "COALESCE(" + f.db.Bytes(w.payload) + ", 0)"
	if f.CreatedAt != nil {
		w.createdAt, w.created = at(f.CreatedAt), f.values.Instant(f.CreatedAt, at(f.CreatedAt))
	}
	if f.PublishedAt != nil {
		w.publishedAt = at(f.PublishedAt)
	}
	if f.AvailableAt != nil {
		w.availableAt = f.values.Limit(f.AvailableAt, at(f.AvailableAt))
	}
	if f.ExpiresAt != nil {
		w.expiresAt = f.values.Limit(f.ExpiresAt, at(f.ExpiresAt))
	}
	if f.Attempts != nil {
		w.attempts = "COALESCE(" + at(f.Attempts) + ", 0)"
	}
	if f.Seq != nil {
		w.order, w.place, w.position = at(f.Seq), text(f.Seq), f.values.Position(f.Seq, at(f.Seq))
		w.step, w.stepPlace = w.order, w.place
	} else {
		w.step, w.stepPlace = w.key, w.id // that has an index, which the time need not have
		w.order, w.place, w.position = w.createdAt+", "+w.key, w.created, w.created
	}
	return w
}

// column writes a column of the table.
func (f *foreign) column(c *column.Column, alias string) string {
	return alias + "." + f.db.Quote(c.Name)
}

// mapped lists the columns that source__map__… names, or that were found for it: all that a statement reads of a row. A
// login may be allowed to read no others.
func (f *foreign) mapped() string {
	var names []string
	for _, c := range f.Columns() {
		names = append(names, f.db.Quote(c.Name))
	}
	return strings.Join(names, ", ")
}

// isPending is the condition that a row is to be published.
func (f *foreign) isPending(alias string) string {
	switch {
	case f.State != nil:
		return f.column(f.State, alias) + " = " + f.values.Literal(f.State, f.Pending)
	case f.Published != nil && f.Published.Nullable:
		x := f.column(f.Published, alias)
		return "(" + x + " = " + f.values.Boolean(f.Published, false) + " OR " + x + " IS NULL)"
	case f.Published != nil:
		return f.column(f.Published, alias) + " = " + f.values.Boolean(f.Published, false)
	case f.PublishedAt != nil:
		return f.column(f.PublishedAt, alias) + " IS NULL"
	default:
		return "1 = 1"
	}
}

// isDone is the condition that a row was published. Rows in states of somebody else's (CAP's Delayed) are neither that
// nor pending, and are none of ours.
func (f *foreign) isDone(alias string) string {
	switch {
	case f.Deletes:
		return "1 = 0"
	case f.State != nil:
		return f.column(f.State, alias) + " = " + f.values.Literal(f.State, f.Done)
	case f.Published != nil:
		return f.column(f.Published, alias) + " = " + f.values.Boolean(f.Published, true)
	default:
		return f.column(f.PublishedAt, alias) + " IS NOT NULL"
	}
}

// marks are what is set when a row was published.
func (f *foreign) marks() string {
	var set []string
	for _, m := range []struct {
		column *column.Column
		value  func(*column.Column) string
	}{
		{f.State, func(c *column.Column) string { return f.values.Literal(c, f.Done) }},
		{f.Published, func(c *column.Column) string { return f.values.Boolean(c, true) }},
		{f.PublishedAt, func(c *column.Column) string { return f.values.Now(c, "") }},
	} {
		if m.column != nil {
			set = append(set, f.db.Quote(m.column.Name)+" = "+m.value(m.column))
		}
	}
	return strings.Join(set, ", ")
}

// ago is the database's clock less a duration, as a value of a column: c is that of another framework's table.
func (t *Table) ago(s *statement.Statement, c *column.Column, d time.Duration) string {
	if t.side == "" {
		return t.db.Earlier(s.Arg(d.Milliseconds()))
	}
	return t.values.Now(c, s.Arg(d.Milliseconds()))
}

// pageBreak stands between the two parts of where a page ended: neither holds it.
const pageBreak = "\x00"

// beyond adds the condition that o comes after where a page ended.
func (t *Table) beyond(s *statement.Statement, end string) {
	place, id, _ := strings.Cut(end, pageBreak)
	if t.side == "" || t.Seq != nil {
		s.Add(t.o.order, " > ", t.stepAt(s, place))
		return
	}
	at := func() string { return t.values.AtInstant(t.CreatedAt, s.Arg(place)) }
	s.Add(t.o.createdAt, " >= ", at(), " AND (", t.o.createdAt, " > ")
	s.Add(at(), " OR ", t.o.key, " > ", t.values.Typed(t.ID, s.Arg(id)), ")")
}

// stepAt is a value of the column that the clean-up goes by.
func (t *Table) stepAt(s *statement.Statement, place string) string {
	switch {
	case t.side == "":
		seq, _ := strconv.ParseInt(place, 10, 64) // that is what a page told
		return s.Arg(seq)
	case t.Seq != nil:
		return t.values.Typed(t.Seq, s.Arg(place))
	}
	return t.values.Typed(t.ID, s.Arg(place))
}
