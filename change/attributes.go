package change

import (
	"strconv"
	"time"
)

// Attribute is one name and value that travels beside a message's body: a header of AMQP or Kafka, an application
// property of Service Bus or Event Hubs.
type Attribute struct{ Name, Value string }

// Attributes appends what a broker's message says beside its body, in a fixed order, to dst: what a receiver recognises
// a repetition by, what it can fence by, and what an outbox event is. Events of tables have no event_type and so on; a
// receiver of the format `payload` finds everything but the payload here.
func (d *Delivery) Attributes(dst []Attribute, e *Event) []Attribute {
	add := func(name, value string) {
		if value != "" {
			dst = append(dst, Attribute{name, value})
		}
	}
	if o := e.Outbox; o != nil {
		add("idempotency_key", o.IdempotencyKey)
		add("event_type", o.EventType)
		add("aggregate_type", o.AggregateType)
		add("aggregate_id", o.AggregateID)
		if !o.CreatedAt.IsZero() {
			add("created_at", o.CreatedAt.UTC().Format(time.RFC3339Nano))
		}
	} else {
		add("idempotency_key", e.ID)
		add("event_type", "rowrelay.row."+e.Op.String())
	}
	parent, state := d.traceOf(e)
	add("traceparent", parent)
	add("tracestate", state)
	add("rowrelay_poller", d.Poller)
	add("rowrelay_batch", d.BatchID)
	add("rowrelay_token", strconv.FormatUint(d.Token, 10))
	add("rowrelay_delivery", strconv.FormatUint(d.Number, 10))
	add("rowrelay_attempt", strconv.Itoa(d.Attempt))
	add("rowrelay_backfill", d.Backfill)
	add("rowrelay_key_hash", e.KeyHash())
	add("rowrelay_cursor", string(e.Cursor))
	if w := e.Written; w != nil {
		add("rowrelay_changed", w.Columns)
		add("rowrelay_context", w.Context)
	}
	return dst
}

// traceOf is the W3C trace context that an event travels with: its own, which is its producer's, or else the request's.
func (d *Delivery) traceOf(e *Event) (parent, state string) {
	if e.Outbox != nil && e.Outbox.TraceParent != "" {
		return e.Outbox.TraceParent, e.Outbox.TraceState
	}
	return d.TraceParent, d.TraceState
}

// MessageKey is what a broker keeps the order of an event's aggregate by (Kafka's key, Service Bus' SessionId, Event
// Hubs' PartitionKey): the aggregate's id, or for a row of a table the JSON of its order key. "" is an event without an
// aggregate: it has no order to keep.
func (e *Event) MessageKey() string {
	if e.Outbox != nil {
		return e.Outbox.AggregateID
	}
	return string(e.OrderKey)
}
