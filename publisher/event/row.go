package event

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// Glance is what there is to do in an outbox.
type Glance struct {
	Work, Paused bool
	Waiting      bool   // there may be what Mend mends
	By           string // who paused it, when and why
	Partitions   int    // in force; 0: none yet
}

// Aggregate names what an event is about: events of one aggregate are published in their order. The JSON names are
// those that statements take lists of them by.
type Aggregate struct {
	Type string `json:"typ"`
	ID   string `json:"id"`
}

// Row is one event as it was fetched.
type Row struct {
	Ref      Ref
	Bucket   int // 0 for ordering=source, and of a table without buckets
	Outbox   change.Outbox
	Attempts int // failed ones that count
	Waits    bool
	Broken   error // see change.Event.Broken
	// Timed says that it has an available_at, and Early how long it is until then; 0: it has come.
	Timed bool
	Early time.Duration
	// Expired says that its expires_at has come.
	Expired bool
}

// Aggregate is the row's.
func (r *Row) Aggregate() Aggregate { return Aggregate{r.Outbox.AggregateType, r.Outbox.AggregateID} }

// Ref names a row of the table in marks: its seq, or for a mapped table the text of its id.
type Ref struct {
	Seq int64
	ID  string
}

// String names a row for people.
func (r Ref) String() string {
	if r.ID != "" {
		return fmt.Sprintf("id %q", r.ID)
	}
	return "seq " + strconv.FormatInt(r.Seq, 10)
}

// SetPayload takes a payload in that was read, of a size in bytes, unless it is larger than most (0: no bound).
func (r *Row) SetPayload(payload []byte, size, most int) {
	if most > 0 && (payload == nil && size > most || len(payload) > most) {
		r.Broken = fmt.Errorf("the payload has %d bytes, and max_row_bytes is %d: raise that, or write less",
			max(size, len(payload)), most)
		return
	}
	r.Outbox.Payload, r.Outbox.JSON = payload, json.Valid(payload)
}

// SetTimes takes the times in before which it is not published, and after which no more; nil: there is none. The year 1
// is none either: programs write it that had none to write, in a zone of their own, and MySQL's zero date is read as
// that. What cannot be read makes it a broken row: it must not go out too early, or too late.
func (r *Row) SetTimes(available, expires any, now time.Time) {
	if available != nil {
		at := r.limit("available_at", available)
		r.Timed, r.Early = true, max(0, at.Sub(now))
	}
	if expires != nil {
		at := r.limit("expires_at", expires)
		r.Expired = r.Broken == nil && at.Year() > 1 && !at.After(now)
	}
}

// limit reads a time that bounds when the row may be published.
func (r *Row) limit(name string, v any) time.Time {
	at, ok := asLimit(v)
	if !ok {
		if b, isBytes := v.([]byte); isBytes {
			v = string(b)
		}
		r.Broken = fmt.Errorf("its %s is %q, which is no time: write one in UTC, as 2026-01-31 23:59:59", name, fmt.Sprint(v))
	}
	return at
}
