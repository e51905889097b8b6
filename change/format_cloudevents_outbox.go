package change

import (
	"strings"
	"time"
	"unicode/utf8"
)

// outboxFixed is an upper bound of what an outbox event's member names add to those of a row's.
const outboxFixed = 160

// typeOfNone is the type of an outbox event whose own is empty: CloudEvents wants one.
const typeOfNone = "rowrelay.outbox.event"

// appendOutboxHead writes the attributes that an outbox event has in a row's place: everything that its writer said of
// it. An instant that nobody wrote down is left out rather than made up, because it would differ from delivery to
// delivery.
func appendOutboxHead(dst []byte, o *Outbox) []byte {
	if o.AggregateType != "" || o.AggregateID != "" {
		dst = append(dst, `,"subject":`...)
		dst = appendAttribute(dst, o.AggregateType, "/", o.AggregateID)
	}
	if t := o.CreatedAt; hasTime(t) {
		dst = append(dst, `,"time":"`...)
		dst = t.UTC().AppendFormat(dst, time.RFC3339Nano)
		dst = append(dst, '"')
	}
	if c := o.content(); c != contentNone {
		dst = append(dst, `,"datacontenttype":"`...)
		dst = append(dst, c.mediaType()...)
		dst = append(dst, '"')
	}
	dst = appendExtension(dst, "partitionkey", o.AggregateID) // the extension Partitioning
	dst = appendExtension(dst, "idempotencykey", o.IdempotencyKey)
	dst = appendExtension(dst, "traceparent", o.TraceParent) // the extension Distributed Tracing, as the next one
	return appendExtension(dst, "tracestate", o.TraceState)
}

// appendOutboxData writes the payload: JSON and text as data, anything else as data_base64, and neither where there is
// none.
func appendOutboxData(dst []byte, e *Event) []byte {
	switch e.Outbox.content() {
	case contentNone:
		return dst
	case contentBinary:
		dst = append(dst, `,"data_base64":`...)
	default:
		dst = append(dst, `,"data":`...)
	}
	return appendPayload(dst, e)
}

// outboxBound is an upper bound of what an outbox event has in the place of its key and row.
func outboxBound(o *Outbox) int {
	eventType := max(attributeBound(o.EventType), len(typeOfNone))
	return outboxFixed + eventType + attributeBound(o.AggregateType) + 2*attributeBound(o.AggregateID) +
		attributeBound(o.IdempotencyKey) + attributeBound(o.TraceParent) + attributeBound(o.TraceState)
}

func appendExtension(dst []byte, name, value string) []byte {
	if value == "" { // an attribute that has no value is left out
		return dst
	}
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	dst = append(dst, '"', ':')
	return appendAttribute(dst, value)
}

// appendAttribute writes the parts as one CloudEvents string. What CloudEvents does not allow in a string (1.0.2, type
// system: control characters, noncharacters, what is no Unicode) is percent-encoded, and then the percent signs of the
// same text too. A text without such characters is written as it is.
func appendAttribute(dst []byte, parts ...string) []byte {
	var stack [512]byte
	text := stack[:0]
	for _, part := range parts {
		if isAttribute(part) {
			text = append(text, part...)
			continue
		}
		for i := 0; i < len(part); {
			r, size := utf8.DecodeRuneInString(part[i:])
			if r == '%' || !isAllowed(r, size) {
				for _, c := range []byte(part[i : i+size]) {
					text = append(text, '%', upperHex[c>>4], upperHex[c&15])
				}
			} else {
				text = append(text, part[i:i+size]...)
			}
			i += size
		}
	}
	return AppendString(dst, text)
}

const upperHex = "0123456789ABCDEF"

func isAttribute(s string) bool {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if !isAllowed(r, size) {
			return false
		}
		i += size
	}
	return true
}

// isAllowed reports whether a rune of size bytes may stand in a CloudEvents string.
func isAllowed(r rune, size int) bool {
	switch {
	case r < 0x20, r >= 0x7f && r <= 0x9f, r == utf8.RuneError && size == 1:
		return false
	case r >= 0xfdd0 && r <= 0xfdef, r&0xfffe == 0xfffe:
		return false
	}
	return true
}

// attributeBound is an upper bound of appendAttribute's output.
func attributeBound(s string) int { return quotedBound(s) + 2*strings.Count(s, "%") }
