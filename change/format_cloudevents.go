package change

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Upper bounds of what the encoders write besides the texts and JSON of an event: member names, numbers (a uint64 takes
// 20 digits), the time, the key's hash, and slack.
const (
	cloudEventFixed = 512
	rowChangeFixed  = 384
)

// appendCloudEvent writes one CloudEvent (CloudEvents 1.0.2, JSON event format 1.0). The extension attributes' names
// are lower-case letters of at most 20 characters, as the specification asks. The token and the delivery number are
// strings, because a CloudEvents Integer ends at 2^31-1; the cursor is its JSON as text, because an attribute cannot be
// an object.
func appendCloudEvent(dst []byte, d *Delivery, e *Event, message bool) []byte {
	dst = appendAttributes(dst, d, e, message)
	if e.Outbox != nil {
		dst = appendOutboxData(dst, e)
	} else {
		dst = append(dst, `,"data":`...)
		dst = appendRow(dst, e)
	}
	return append(dst, '}')
}

// appendAttributes writes the object as far as its data.
func appendAttributes(dst []byte, d *Delivery, e *Event, message bool) []byte {
	dst = append(dst, `{"specversion":"1.0","type":`...)
	dst = appendType(dst, d, e)
	dst = append(dst, `,"source":`...)
	dst = appendSource(dst, d)
	dst = append(dst, `,"id":`...)
	if e.Outbox != nil {
		dst = appendAttribute(dst, e.ID) // made of the writer's own key
		dst = appendOutboxHead(dst, e.Outbox)
	} else {
		dst = AppendString(dst, e.ID)
		dst = appendRowHead(dst, e)
	}
	dst = append(dst, `,"rowrelaypoller":`...)
	dst = AppendString(dst, d.Poller)
	if message {
		dst = append(dst, `,"rowrelaybatch":`...)
		dst = AppendString(dst, d.BatchID)
		dst = append(dst, `,"rowrelaytoken":"`...)
		dst = strconv.AppendUint(dst, d.Token, 10)
		dst = append(dst, `","rowrelaydelivery":"`...)
		dst = strconv.AppendUint(dst, d.Number, 10)
		dst = append(dst, `","rowrelayattempt":`...)
		dst = strconv.AppendInt(dst, int64(d.Attempt), 10)
		if d.Backfill != "" {
			dst = append(dst, `,"rowrelaybackfill":`...)
			dst = AppendString(dst, d.Backfill)
		}
	}
	dst = append(dst, `,"rowrelaykeyhash":"`...)
	dst = appendKeyHash(dst, e)
	dst = append(dst, `","rowrelaycursor":`...)
	dst = appendCursor(dst, e.Cursor)
	if e.Written != nil {
		dst = e.Written.appendAttributes(dst)
	}
	return dst
}

// BinaryAttributes are the CloudEvents attributes of e as the structured mode writes them: what the binary mode says in
// headers beside the data ([CloudEventsBinary]), datacontenttype in Content-Type.
func BinaryAttributes(d *Delivery, e *Event) map[string]string {
	object := append(appendAttributes(nil, d, e, false), '}')
	var attributes map[string]string
	if err := json.Unmarshal(object, &attributes); err != nil {
		panic(err) // the encoder writes an object of strings
	}
	return attributes
}

func appendType(dst []byte, d *Delivery, e *Event) []byte {
	switch {
	case d.Type != "":
		return appendAttribute(dst, d.typeOf(e))
	case e.Outbox == nil:
		dst = append(dst, `"rowrelay.row.`...)
		dst = append(dst, e.Op.String()...)
		return append(dst, '"')
	case e.Outbox.EventType == "":
		return AppendQuoted(dst, typeOfNone)
	default:
		return appendAttribute(dst, e.Outbox.EventType)
	}
}

// appendRowHead writes the attributes that are a row's. The instant of a fetch is left out: the next fetch has another.
func appendRowHead(dst []byte, e *Event) []byte {
	if len(e.Key) > 0 {
		dst = append(dst, `,"subject":`...)
		dst = appendSubject(dst, e.Key)
	}
	if t := e.Time; !e.Undated && hasTime(t) {
		dst = append(dst, `,"time":"`...)
		dst = t.UTC().AppendFormat(dst, time.RFC3339Nano)
		dst = append(dst, '"')
	}
	return append(dst, `,"datacontenttype":"application/json"`...)
}

// typeOf fills in the placeholders of output__type.
func (d *Delivery) typeOf(e *Event) string {
	written := typeOfNone
	if e.Outbox != nil && e.Outbox.EventType != "" {
		written = e.Outbox.EventType
	}
	return strings.NewReplacer("{op}", e.Op.String(), "{event_type}", written).Replace(d.Type)
}

// appendSource writes what output__source says, or the URI-reference /<app>/<poller>. An empty app is left out:
// "//poller" would name a host.
func appendSource(dst []byte, d *Delivery) []byte {
	if d.Source != "" {
		return appendAttribute(dst, d.Source)
	}
	dst = append(dst, '"')
	if d.App != "" {
		dst = append(dst, '/')
		dst = append(dst, url.PathEscape(d.App)...)
	}
	dst = append(dst, '/')
	dst = append(dst, url.PathEscape(d.Poller)...)
	return append(dst, '"')
}

// appendKeyHash appends what KeyHash returns, without its string.
func appendKeyHash(dst []byte, e *Event) []byte {
	sum := sha256.Sum256(e.Key)
	return hex.AppendEncode(dst, sum[:16])
}

// appendSubject writes the key as a JSON string: the plain value of a key of one column (12093, A-17), otherwise the
// key's own JSON as text ({"tenant":1,"id":2}). A value that CloudEvents does not allow in a string (empty, control
// characters) takes the second form too, in which JSON has escaped them.
func appendSubject(dst, key []byte) []byte {
	value, ok := onlyValue(key)
	switch {
	case !ok && hasControl(key):
		return appendQuotedASCII(dst, key)
	case !ok:
		return AppendString(dst, key)
	case value[0] == '"': // a JSON string already, with the escapes it needs
		return append(dst, value...)
	default:
		dst = append(dst, '"')
		dst = append(dst, value...)
		return append(dst, '"')
	}
}

// onlyValue returns the value of an object of one member whose value is a scalar that can stand as a CloudEvents
// string.
func onlyValue(key []byte) ([]byte, bool) {
	if len(key) < len(`{"":0}`) || key[0] != '{' || key[1] != '"' || key[len(key)-1] != '}' {
		return nil, false
	}
	end, _ := scanString(key, 1)
	if end >= len(key)-1 || key[end] != ':' {
		return nil, false
	}
	value := key[end+1 : len(key)-1]
	switch {
	case len(value) == 0 || value[0] == '{' || value[0] == '[':
		return nil, false
	case value[0] == '"':
		end, plain := scanString(value, 0)
		return value, plain && end == len(value) && end > len(`""`)
	}
	for _, c := range value { // a number, true, false or null ends before any of these
		if c == ',' || c == ':' || c == '"' {
			return nil, false
		}
	}
	return value, true
}

// scanString returns the index after the JSON string that begins at b[i], and whether it is free of control characters
// (C0, DEL and C1: CloudEvents 1.0.2, type system, String), written as they are or as escapes.
func scanString(b []byte, i int) (end int, plain bool) {
	plain = true
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, plain
		case c == '\\':
			i++
			// \uXXXX is what the encoders write for control characters only; \", \\ and \/ stand for printable ones.
			if i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] != '/' {
				plain = false
			}
		case isControl(b, i):
			plain = false
		}
	}
	return len(b), false
}

func hasControl(b []byte) bool {
	for i := range b {
		if isControl(b, i) {
			return true
		}
	}
	return false
}

// isControl reports whether a control character begins at b[i]; those of C1 are U+0080 to U+009F, C2 80 to C2 9F.
func isControl(b []byte, i int) bool {
	return b[i] < 0x20 || b[i] == 0x7f || b[i] == 0xc2 && i+1 < len(b) && b[i+1] < 0xa0
}
