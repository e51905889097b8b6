package feed

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// maxID is how long an event's id may be.
const maxID = 128

// eventsOf turns fetched rows into events. They share only the payloads with the rows. Their other bytes lie in one
// arena for the whole page.
func eventsOf(rows []event.Row, now time.Time) []change.Event {
	size := 0
	for i := range rows {
		o := &rows[i].Outbox
		size += 320 + 3*(len(o.AggregateType)+len(o.AggregateID)) + len(o.EventType) + len(o.IdempotencyKey) +
			len(o.Payload) + len(o.Payload)/4
	}
	arena := make([]byte, 0, size)
	list := make([]change.Event, len(rows))
	for i := range rows {
		arena = appendEvent(arena, &list[i], &rows[i])
		if list[i].Time.IsZero() {
			list[i].Time = now
		}
	}
	return list
}

// appendEvent makes e the event of a row, and appends its JSON to the arena. When the arena grows, slices of the old
// one stay valid.
func appendEvent(arena []byte, e *change.Event, r *event.Row) []byte {
	o := &r.Outbox
	*e = change.Event{ID: eventID(o.IdempotencyKey), Time: o.CreatedAt, Attempts: r.Attempts, Refused: r.Attempts > 1,
		Broken: r.Broken, Waits: r.Waits, Outbox: o, Undated: r.Timed} // what was to wait is not late
	cut := func(begin int) []byte { return arena[begin:len(arena):len(arena)] }

	begin := len(arena)
	arena = append(arena, '{')
	arena = appendRef(arena, r.Ref)
	arena = append(arena, '}')
	e.Key = cut(begin)
	e.OrderKey = e.Key
	if o.AggregateID != "" {
		begin = len(arena)
		arena = appendOrderKey(arena, event.Aggregate{Type: o.AggregateType, ID: o.AggregateID})
		e.OrderKey = cut(begin)
	}
	begin = len(arena)
	arena = append(arena, `{"kind":"outbox",`...)
	arena = appendRef(arena, r.Ref)
	arena = append(arena, '}')
	e.Cursor = cut(begin)
	begin = len(arena)
	if r.Broken != nil {
		arena = change.AppendNull(arena)
	} else {
		arena = appendRow(arena, r)
	}
	e.Row = cut(begin)
	return arena
}

// appendRef appends the member that names a row: a mapped table's id is text, whatever its type.
func appendRef(dst []byte, r event.Ref) []byte {
	if r.ID == "" {
		dst = append(dst, `"seq":`...)
		return change.AppendInt(dst, r.Seq)
	}
	dst = append(dst, `"id":`...)
	return change.AppendString(dst, r.ID)
}

// appendOrderKey appends the order key of an aggregate's events. aggregateOf reads it.
func appendOrderKey(dst []byte, a event.Aggregate) []byte {
	dst = append(dst, `{"aggregate_type":`...)
	dst = change.AppendString(dst, a.Type)
	dst = append(dst, `,"aggregate_id":`...)
	dst = change.AppendString(dst, a.ID)
	return append(dst, '}')
}

// aggregateOf reads an order key; false for the key of an event without an aggregate.
func aggregateOf(orderKey []byte) (event.Aggregate, bool) {
	var k struct {
		Type string `json:"aggregate_type"`
		ID   string `json:"aggregate_id"`
	}
	err := json.Unmarshal(orderKey, &k)
	return event.Aggregate{Type: k.Type, ID: k.ID}, err == nil && k.ID != ""
}

// appendRow appends the row as formats that send rows show it: the payload is embedded where it is JSON, text where
// it is text, and base64 otherwise, which payload_encoding then says.
func appendRow(dst []byte, r *event.Row) []byte {
	o := &r.Outbox
	dst = append(dst, '{')
	dst = appendRef(dst, r.Ref)
	dst = append(dst, `,"aggregate_type":`...)
	dst = change.AppendString(dst, o.AggregateType)
	dst = append(dst, `,"aggregate_id":`...)
	dst = change.AppendString(dst, o.AggregateID)
	dst = append(dst, `,"event_type":`...)
	dst = change.AppendString(dst, o.EventType)
	dst = append(dst, `,"payload":`...)
	switch {
	case o.Payload == nil:
		dst = change.AppendNull(dst)
	case o.JSON:
		dst = appendJSON(dst, o.Payload)
	case utf8.Valid(o.Payload):
		dst = change.AppendString(dst, o.Payload)
	default:
		dst = change.AppendBinary(dst, o.Payload)
		dst = append(dst, `,"payload_encoding":"base64"`...)
	}
	dst = append(dst, `,"created_at":`...)
	if o.CreatedAt.IsZero() {
		dst = change.AppendNull(dst)
	} else {
		dst = change.AppendInstant(dst, o.CreatedAt)
	}
	dst = append(dst, `,"idempotency_key":`...)
	dst = change.AppendString(dst, o.IdempotencyKey)
	return append(dst, '}')
}

// appendJSON appends valid JSON without line breaks, because some outputs write one event to a line. It keeps spaces.
func appendJSON(dst, payload []byte) []byte {
	if bytes.IndexByte(payload, '\n') < 0 && bytes.IndexByte(payload, '\r') < 0 {
		return append(dst, payload...)
	}
	b := bytes.NewBuffer(dst)
	if err := json.Compact(b, payload); err != nil { // it was said to be valid: better text than a broken row
		return change.AppendString(dst, payload)
	}
	return b.Bytes()
}

// eventID is the idempotency key, if every output can carry it unchanged as a header or a message id. Otherwise it is a
// hash of the key, and Outbox.IdempotencyKey has the key itself. Both are the same for every delivery of a row.
func eventID(key string) string {
	if plain(key) {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "k-" + hex.EncodeToString(sum[:16])
}

// plain reports whether a key is 1 to 128 printable ASCII characters without a space at an end.
func plain(key string) bool {
	if key == "" || len(key) > maxID || key[0] == ' ' || key[len(key)-1] == ' ' {
		return false
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return false
		}
	}
	return true
}
