// Package deadletter keeps the events that Rowrelay gives up: after max_attempts failed attempts, or at once where an
// event cannot be sent at all. Nothing is given up silently: each becomes a [Record] with the row, the reason and the
// history, stored before the commit that lets the poller go on. A crash in between stores it again, under the same
// name.
//
// A [Store] keeps records beside the state documents (dead_letter__kind=state):
//
//	deadletters/{app}/{poller}[.{output}]/{event id}.json
//
// and lists, reads and deletes them for rowrelay deadletter. A [Queue] sends them to a queue (dead_letter__kind=queue);
// one that is too large for it is put in the store, and the message says where.
//
// A record is JSON, one object:
//
//	{"version":2, "id":"…", "app":"shop", "poller":"orders", "output":"", "engine":"postgres", "table":"public.orders",
//	 "fingerprint":"sha256:…", "key":{"id":7}, "order_key":{"id":7}, "cursor":{"kind":"…", …}, "op":"upsert", "row":{…},
//	 "forms":{"row":{"total":"decimal"},"key":{"id":"integer"}}, "time":"…", "undated":true,
//	 "cause":"refused", "status":422, "reason":"…", "attempts":5, "first_attempt":"…", "last_attempt":"…",
//	 "written_at":"…"}
//
// row is null where it could not be encoded, and where payload_ref names the record that has it. cause is unavailable,
// refused or impossible; status is the destination's last HTTP status, 0 where there was none; times are RFC 3339 in
// UTC, and left out where there is none. undated says that time is not the cursor's own instant: it is that of the
// fetch. forms says which columns the format sqltrigger writes in a form of its own. Records of version 1 have neither,
// and no fingerprint of the source. Values are those of the event (docs/values.md), byte for byte.
package deadletter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// version is the version of records that this binary writes. It reads first, too.
const version, first = 2, 1

// Record is an event that was given up, with its history.
type Record struct {
	ID                        string
	App, Poller, Output       string
	Engine, Table             string
	Fingerprint               string // of the source
	Key, OrderKey             json.RawMessage
	Cursor                    change.Cursor
	Op                        change.Op
	Row                       json.RawMessage // nil for null
	Before                    json.RawMessage // so is the event's
	Shape                     *change.Shape
	Time                      time.Time // the event's
	Undated                   bool      // so is the event
	Cause                     poller.Cause
	Status                    int
	Reason                    string
	Attempts                  int
	FirstAttempt, LastAttempt time.Time
	WrittenAt                 time.Time
	// PayloadRef is the name of the record that has the row, where this one is a message that would have been too large.
	PayloadRef string
}

// fields is a record's form in JSON.
type fields struct {
	Version      int             `json:"version"`
	ID           string          `json:"id"`
	App          string          `json:"app"`
	Poller       string          `json:"poller"`
	Output       string          `json:"output"`
	Engine       string          `json:"engine"`
	Table        string          `json:"table"`
	Fingerprint  string          `json:"fingerprint,omitempty"`
	Key          json.RawMessage `json:"key"`
	OrderKey     json.RawMessage `json:"order_key"`
	Cursor       change.Cursor   `json:"cursor"`
	Op           string          `json:"op"`
	Row          json.RawMessage `json:"row"`
	Before       json.RawMessage `json:"before,omitempty"`
	Forms        *forms          `json:"forms,omitempty"`
	PayloadRef   string          `json:"payload_ref,omitempty"`
	Time         time.Time       `json:"time,omitzero"`
	Undated      bool            `json:"undated,omitempty"`
	Cause        string          `json:"cause"`
	Status       int             `json:"status"`
	Reason       string          `json:"reason"`
	Attempts     int             `json:"attempts"`
	FirstAttempt time.Time       `json:"first_attempt,omitzero"`
	LastAttempt  time.Time       `json:"last_attempt,omitzero"`
	WrittenAt    time.Time       `json:"written_at,omitzero"`
}

// New returns the record of a dead letter. It never fails: what cannot be told is left out, because an event that could
// not become a record would hold up its poller for ever.
func New(d poller.DeadLetter, now time.Time) *Record {
	e := &d.Event
	r := &Record{
		ID: e.ID, App: d.App, Poller: d.Poller, Output: d.Output, Engine: d.Engine, Table: d.Table,
		Fingerprint: d.Fingerprint, Key: asJSON(e.Key), OrderKey: asJSON(e.OrderKey), Cursor: e.Cursor,
		Op: e.Op, Before: e.Before, Shape: e.Shape, Time: writable(e.Time), Undated: e.Undated,
		Cause: d.Cause, Status: max(d.Status, 0), Reason: d.Reason, Attempts: max(d.Attempts, 0),
		FirstAttempt: writable(d.First), LastAttempt: writable(d.Last), WrittenAt: writable(now),
	}
	if !bytes.Equal(e.Row, null) && json.Valid(e.Row) {
		r.Row = json.RawMessage(e.Row)
	}
	return r
}

var null = []byte("null")

// asJSON is data, or the string of it where it is not JSON.
func asJSON(data []byte) json.RawMessage {
	if len(data) > 0 && json.Valid(data) {
		return data
	}
	quoted, _ := json.Marshal(string(data)) // a string cannot fail
	return quoted
}

// writable is t as RFC 3339 can hold it: the zero time for one beyond the years 1 to 9999.
func writable(t time.Time) time.Time {
	if t = t.UTC(); t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// Event returns the event as it was recorded, under its id.
func (r *Record) Event() change.Event {
	return change.Event{
		ID: r.ID, Op: r.Op, Key: r.Key, OrderKey: r.OrderKey, Row: r.Row, Before: r.Before, Shape: r.Shape,
		Cursor: r.Cursor,
		Time:   r.Time, Undated: r.Undated, Attempts: r.Attempts,
	}
}

// Encode writes the record as one line of JSON. It fails for members that are not JSON, which New does not make.
func (r *Record) Encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // values stay as they are
	err := enc.Encode(fields{
		version, r.ID, r.App, r.Poller, r.Output, r.Engine, r.Table, r.Fingerprint, r.Key, r.OrderKey, r.Cursor,
		r.Op.String(), r.Row, r.Before, formsOf(r.Shape), r.PayloadRef, r.Time, r.Undated, r.Cause.String(), r.Status,
		r.Reason, r.Attempts, r.FirstAttempt, r.LastAttempt, r.WrittenAt,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the dead letter %s: %w", r.ID, err)
	}
	return b.Bytes(), nil
}

// ErrRecord reports what is no dead letter's record.
var ErrRecord = errors.New("not a dead letter's record")

// Decode reads a record strictly. Errors wrap ErrRecord.
func Decode(data []byte) (*Record, error) {
	r, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return r, nil
}

func decode(data []byte) (*Record, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("not UTF-8")
	}
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	if head.Version < first || head.Version > version {
		return nil, fmt.Errorf("version %d, and this rowrelay knows %d to %d: use the one that wrote it", head.Version, first,
			version)
	}
	var f fields
	if err := change.Strict(data, &f); err != nil {
		return nil, err
	}
	r := &Record{
		ID: f.ID, App: f.App, Poller: f.Poller, Output: f.Output, Engine: f.Engine, Table: f.Table,
		Fingerprint: f.Fingerprint, Key: f.Key, OrderKey: f.OrderKey, Cursor: f.Cursor, PayloadRef: f.PayloadRef,
		Before: f.Before,
		Time:   f.Time.UTC(), Undated: f.Undated, Status: f.Status, Reason: f.Reason, Attempts: f.Attempts,
		FirstAttempt: f.FirstAttempt.UTC(), LastAttempt: f.LastAttempt.UTC(), WrittenAt: f.WrittenAt.UTC(),
	}
	if !bytes.Equal(f.Row, null) {
		r.Row = f.Row
	}
	if head.Version == first {
		r.Undated = undated(r.Cursor)
	}
	var err error
	if r.Shape, err = f.Forms.shape(r.Row, r.Key); err != nil {
		return nil, err
	}
	return r, r.check(&f)
}

// check proves what Go's types leave open, and reads the words.
func (r *Record) check(f *fields) error {
	var known bool
	if r.Op, known = change.OpOf(f.Op); !known {
		return fmt.Errorf("op is %.40q", f.Op)
	}
	switch f.Cause {
	case poller.Unavailable.String():
		r.Cause = poller.Unavailable
	case poller.Refused.String():
		r.Cause = poller.Refused
	case poller.Impossible.String():
		r.Cause = poller.Impossible
	default:
		return fmt.Errorf("cause is %.40q", f.Cause)
	}
	switch {
	case f.ID == "" || f.Poller == "":
		return errors.New("id or poller is missing")
	case len(f.Key) == 0 || bytes.Equal(f.Key, null) || len(f.OrderKey) == 0 || bytes.Equal(f.OrderKey, null):
		return errors.New("key or order_key is missing")
	case f.Row == nil:
		return errors.New("row is missing: null says that there is none")
	case f.Status < 0 || f.Attempts < 0:
		return errors.New("status or attempts is negative")
	}
	return nil
}
