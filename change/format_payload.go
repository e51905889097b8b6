package change

import (
	"encoding/base64"
	"unicode/utf8"
)

// content is what the payload of an outbox event is to a receiver.
type content uint8

const (
	contentJSON   content = iota // valid JSON, in UTF-8
	contentText                  // UTF-8
	contentBinary                // anything else
	contentNone                  // the row has NULL
)

// content judges the payload. JSON is UTF-8 (RFC 8259, 8.1), which encoding/json does not check.
func (o *Outbox) content() content {
	switch {
	case o.Payload == nil:
		return contentNone
	case !utf8.Valid(o.Payload):
		return contentBinary
	case o.JSON:
		return contentJSON
	default:
		return contentText
	}
}

// mediaType is the content type of the payload as it is.
func (c content) mediaType() string {
	switch c {
	case contentJSON:
		return "application/json"
	case contentText:
		return "text/plain; charset=utf-8"
	default:
		return "application/octet-stream"
	}
}

// appendData writes the data of an event as it is, as a body of its own: a row's JSON, an outbox event's payload.
func appendData(dst []byte, e *Event) []byte {
	if e.Outbox != nil {
		return append(dst, e.Outbox.Payload...)
	}
	return appendRow(dst, e)
}

// appendPayload writes the payload as an element of a JSON array. A row of a table has none, and is written itself: the
// settings refuse the format there.
func appendPayload(dst []byte, e *Event) []byte {
	o := e.Outbox
	if o == nil {
		return appendRow(dst, e)
	}
	switch o.content() {
	case contentJSON:
		return appendEmbedded(dst, o.Payload)
	case contentText:
		return AppendString(dst, o.Payload)
	case contentNone:
		return AppendNull(dst)
	default:
		return AppendBinary(dst, o.Payload)
	}
}

// appendEmbedded copies valid JSON on one line: in it line breaks stand between tokens only, and become spaces.
func appendEmbedded(dst, json []byte) []byte {
	start := len(dst)
	dst = append(dst, json...)
	for i, c := range dst[start:] {
		if c == '\n' || c == '\r' {
			dst[start+i] = ' '
		}
	}
	return dst
}

// payloadBound is an upper bound of what appendPayload writes.
func payloadBound(e *Event) int {
	o := e.Outbox
	if o == nil {
		return rowBound(e)
	}
	switch o.content() {
	case contentJSON:
		return len(o.Payload)
	case contentText:
		return quotedBound(o.Payload)
	case contentNone:
		return len(jsonNull)
	default:
		return len(`""`) + base64.StdEncoding.EncodedLen(len(o.Payload))
	}
}
