package mapping

import (
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/engine/column"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// writer writes the statements for a mapped table. In its statements o is the user's table and s the side table,
// which holds the events that failed, were given up or discarded, one row each:
//
//	outbox, event (the id's text), aggregate_type, aggregate_id, position, state, attempts, next_attempt_at, last_error
//
// An event without a row there is pending as long as the user's table says so. It waits when an earlier event of its
// aggregate has a row that blocks: that is not stored, so that followers cost nothing, however many they are, and go
// on by themselves as soon as that row is gone.
type writer struct {
	layout
	db     *statement.DB
	syntax Syntax
	// outbox names this table in the side table and in the claims.
	outbox string
	// table and side are quoted and qualified.
	table, side string
	// blocks are the states that hold an aggregate up: FAILED, and DEAD LETTER where after_dead_letter is block.
	// byAggregate says that it is the aggregate, everything that no order is kept at all (neither), or that every
	// later event waits.
	blocks                  []event.State
	byAggregate, everything bool
	maxBytes                int // of a payload; 0: no bound
}

// pending is the condition that the user's table says of a row which is to be published.
func (q *writer) pending(alias string) string {
	switch {
	case q.state != nil:
		return q.column(q.state, alias) + " = " + q.syntax.Literal(q.state, q.layout.pending)
	case q.published != nil && q.published.Nullable:
		x := q.column(q.published, alias)
		return "(" + x + " = " + q.syntax.Boolean(q.published, false) + " OR " + x + " IS NULL)"
	case q.published != nil:
		return q.column(q.published, alias) + " = " + q.syntax.Boolean(q.published, false)
	case q.publishedAt != nil:
		return q.column(q.publishedAt, alias) + " IS NULL"
	default:
		return "1 = 1"
	}
}

// aggregateExpr writes a row's aggregate; an empty id means that it has none, and waits for nobody.
func (q *writer) aggregateExpr() (typ, id string) { return q.aggregate(q.syntax.Text) }

// aggregateKey writes a row's aggregate as it stands in the side table.
func (q *writer) aggregateKey() (typ, id string) { return q.aggregate(q.syntax.Short) }

func (q *writer) aggregate(as func(c *column.Column, expr string) string) (typ, id string) {
	text := func(c *column.Column) string {
		if c == nil {
			return "''"
		}
		return orEmpty(c, as(c, q.column(c, "o")))
	}
	return text(q.aggregateType), text(q.aggregateID)
}

// orEmpty is the text of a column, empty for NULL.
func orEmpty(c *column.Column, expr string) string {
	if !c.Nullable {
		return expr
	}
	return "COALESCE(" + expr + ", '')"
}

// ordered is the list after ORDER BY.
func (q *writer) ordered() string {
	if q.seq != nil {
		return q.column(q.seq, "o")
	}
	return q.column(q.createdAt, "o") + ", " + q.text(&q.id)
}

// settled is the condition that a row has an entry in the side table.
func (q *writer) settled(s *statement.Statement) string {
	return "EXISTS (SELECT 1 FROM " + q.side + " s" + q.syntax.Hold() + " WHERE s.outbox = " + s.Arg(q.outbox) +
		" AND s.event = " + q.text(&q.id) + ")"
}

// blocked is the condition that a row has to wait, "" where none ever has to.
func (q *writer) blocked(s *statement.Statement) string {
	if !q.byAggregate && !q.everything {
		return ""
	}
	cond := "EXISTS (SELECT 1 FROM " + q.side + " s" + q.syntax.Hold() + " WHERE s.outbox = " + s.Arg(q.outbox)
	if q.byAggregate {
		typ, id := q.aggregateKey()
		cond += " AND s.aggregate_type = " + typ + " AND s.aggregate_id = " + id + " AND s.aggregate_id <> ''"
	}
	cond += " AND s.state IN (" + event.Quoted(q.blocks) + ") AND "
	position := q.position("o")
	if q.seq != nil {
		return cond + "s.position < " + position + ")"
	}
	return cond + "(s.position < " + position + " OR (s.position = " + position + " AND s.event < " + q.text(&q.id) + ")))"
}

// projection are the columns of an event, in the order of scan. The payload comes only where it is not too large.
func (q *writer) projection() string {
	typ, id := q.aggregateExpr()
	created := "NULL"
	if q.createdAt != nil {
		created = q.instant(q.createdAt, "o")
	}
	payload := q.syntax.Payload(&q.payload, q.column(&q.payload, "o"))
	size := "COALESCE(" + q.db.Bytes(payload) + ", 0)"
	if q.maxBytes > 0 {
		payload = "CASE WHEN " + size + " <= " + strconv.Itoa(q.maxBytes) + " THEN " + payload + " END"
	}
	return strings.Join([]string{q.text(&q.id), typ, id, q.orNull(q.eventType), size, payload, created,
		q.orNull(q.key), q.orNull(q.traceParent),
		q.orNull(q.traceState), q.stored()}, ", ")
}

// orNull is a column that is only shown: as it is, where it is text.
func (q *writer) orNull(c *column.Column) string {
	switch {
	case c == nil:
		return "NULL"
	case c.Kind == column.Text:
		return q.column(c, "o")
	default:
		return q.text(c)
	}
}

// stored is the number of failed attempts that the user's table tells.
func (q *writer) stored() string {
	switch {
	case q.attempts == nil:
		return "0"
	case q.attempts.Nullable:
		return "COALESCE(" + q.column(q.attempts, "o") + ", 0)"
	default:
		return q.column(q.attempts, "o")
	}
}

// column writes a column of the user's table.
func (q *writer) column(c *column.Column, alias string) string {
	return alias + "." + q.db.Quote(c.Name)
}

// text writes the value of a column of o as the text that stands in the side table, and in Go.
func (q *writer) text(c *column.Column) string { return q.syntax.Text(c, q.column(c, "o")) }

// instant writes a time in UTC as text of one width.
func (q *writer) instant(c *column.Column, alias string) string {
	return q.syntax.Instant(c, q.column(c, alias))
}

// position writes where a row stands in the order as text of one width, so that texts compare as the values do.
func (q *writer) position(alias string) string {
	if q.seq == nil {
		return q.instant(q.createdAt, alias)
	}
	return q.syntax.Position(q.seq, q.column(q.seq, alias))
}
