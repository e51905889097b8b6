package change

import (
	"fmt"
	"strings"
)

// Format is a wire format: how a delivery becomes bytes. docs/formats.md shows each with examples.
//
// Each format has two forms. The single form carries one event and is what a message of a broker and a request with
// output__batch=1 hold. The batch form is always a JSON array, also when it holds one event, so that a
// receiver of batches never has to look twice. What changes from delivery to delivery of an event (batch, token,
// number, attempt, backfill) stands in neither, so that a repetition has the same body: it belongs in headers. An
// output that has none sends the message form, which is the single form with these. The encoders append to a buffer,
// copy the event's JSON as it is, and use neither maps nor reflection.
//
//	d := &change.Delivery{…}
//	body := change.CloudEvents.AppendBatch(buf[:0], d)
type Format uint8

const (
	// CloudEvents is CloudEvents 1.0 in the structured JSON mode, and its batch format. It is the default.
	CloudEvents Format = iota
	// RowChange is azure-functions-db's RowChange:
	// {"event_id":…,"op":…,"source":…,"cursor":…,"pk":…,"before":…,"after":…,"metadata":…}.
	RowChange
	// SQLTrigger is what the Azure Functions SQL trigger hands to a function: [{"Operation":1,"Item":{…}}].
	SQLTrigger
	// Row is the row's JSON and nothing else.
	Row
	// Payload is the payload of an outbox event, byte for byte, and nothing else. The batch form is a JSON array: a
	// payload that is no JSON stands in it as a string.
	Payload
	// CloudEventsBinary is CloudEvents 1.0 in the binary mode of HTTP: the single form is the data alone, and
	// [BinaryAttributes] are the headers beside it. The other forms, which have no such headers, are those of CloudEvents.
	CloudEventsBinary
)

var formatNames = [...]string{CloudEvents: "cloudevents", RowChange: "rowchange", SQLTrigger: "sqltrigger", Row: "row",
	Payload: "payload", CloudEventsBinary: "cloudevents_binary"}

// ParseFormat returns the format called name, as output__format spells it. The error lists the choices.
func ParseFormat(name string) (Format, error) {
	for f, n := range formatNames {
		if n == name {
			return Format(f), nil
		}
	}
	return 0, fmt.Errorf("unknown format %q: choose one of %s", name, strings.Join(formatNames[:], ", "))
}

// String returns the name that ParseFormat reads.
func (f Format) String() string {
	if int(f) < len(formatNames) {
		return formatNames[f]
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// ContentType is the media type of the single form, or of the batch form. [Format.ContentTypeOf] knows that of one
// event.
func (f Format) ContentType(single bool) string {
	switch {
	case f != CloudEvents && f != CloudEventsBinary, f == CloudEventsBinary && single:
		return "application/json"
	case single:
		return "application/cloudevents+json"
	default:
		return "application/cloudevents-batch+json"
	}
}

// AppendEvent appends the single form of d.Events[i].
func (f Format) AppendEvent(dst []byte, d *Delivery, i int) []byte {
	return f.appendSingle(dst, d, i, false)
}

// AppendMessage appends the message form of d.Events[i], for outputs without headers.
func (f Format) AppendMessage(dst []byte, d *Delivery, i int) []byte {
	return f.appendSingle(dst, d, i, true)
}

func (f Format) appendSingle(dst []byte, d *Delivery, i int, message bool) []byte {
	e := &d.Events[i]
	switch {
	case f == SQLTrigger: // always an array: it is what the SQL trigger's bindings parse
		dst = append(dst, '[')
		dst = f.appendElement(dst, d, e, message)
		return append(dst, ']')
	case f == Payload && e.Outbox != nil, f == CloudEventsBinary && !message:
		return appendData(dst, e)
	default:
		return f.appendElement(dst, d, e, message)
	}
}

// AppendBatch appends the batch form: a JSON array of all of d.Events.
func (f Format) AppendBatch(dst []byte, d *Delivery) []byte {
	dst = append(dst, '[')
	for i := range d.Events {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = f.appendElement(dst, d, &d.Events[i], false)
	}
	return append(dst, ']')
}

// Bound returns an upper bound, in bytes, of what e adds to a request of d's sender: its encoding, the comma before it
// and the array around it. It costs one pass over the key and the cursor; d.Events is not looked at. It is never too
// small, and too large by less than 512 bytes for an event whose key and cursor are ASCII.
func (f Format) Bound(d *Delivery, e *Event) int {
	const brackets = 3 // "[", "]" and ","
	switch f {
	case Row:
		return brackets + rowBound(e)
	case SQLTrigger:
		return brackets + sqlTriggerBound(e)
	case RowChange:
		return brackets + rowChangeFixed + quotedBound(e.ID) + quotedBound(d.Table) + quotedBound(d.Engine) +
			quotedBound(d.Fingerprint) + quotedBound(e.Cursor) + quotedBound(d.Poller) + quotedBound(d.BatchID) +
			len(e.Key) + rowBound(e) + e.Written.bound()
	case Payload:
		return brackets + payloadBound(e)
	default:
		n := brackets + cloudEventFixed + 3*len(d.App) + 3*len(d.Poller) + attributeBound(e.ID) +
			quotedBound(d.Poller) + quotedBound(d.BatchID) + quotedBound(e.Cursor) + len(`,"rowrelaybackfill":`) +
			quotedBound(d.Backfill) + attributeBound(d.Source)
		if d.Type != "" {
			n += attributeBound(d.typeOf(e))
		}
		if e.Outbox != nil {
			return n + outboxBound(e.Outbox) + payloadBound(e)
		}
		return n + quotedBound(e.Key) + rowBound(e) + e.Written.bound()
	}
}

func (f Format) appendElement(dst []byte, d *Delivery, e *Event, message bool) []byte {
	switch f {
	case Row:
		return appendRow(dst, e)
	case SQLTrigger:
		return appendSQLTrigger(dst, e)
	case RowChange:
		return appendRowChange(dst, d, e, message)
	case Payload:
		return appendPayload(dst, e)
	default:
		return appendCloudEvent(dst, d, e, message)
	}
}

// ContentTypeOf is the media type of the single form of e: what AppendEvent writes. It differs from ContentType(true)
// for the data as it is, where each event may be of another type.
func (f Format) ContentTypeOf(e *Event) string {
	if (f == Payload || f == CloudEventsBinary) && e.Outbox != nil {
		return e.Outbox.content().mediaType()
	}
	return f.ContentType(true)
}

// AppendLine appends one event on one line of JSON, whatever the format: its single form, but for a payload, which
// stands there as it does in a batch.
func (f Format) AppendLine(dst []byte, d *Delivery, i int) []byte {
	if f == Payload {
		return f.appendElement(dst, d, &d.Events[i], true)
	}
	return f.AppendMessage(dst, d, i)
}
