// Package change holds the words that every part of Rowrelay speaks: an [Event] is one changed row, a [Cursor] is a
// position in a source, a [Batch] is what one fetch brought, a [Delivery] is what one request carries, and a [Format]
// turns a delivery into bytes.
//
// Rowrelay is not a native database trigger. It is a pseudo trigger built on Azure Functions timers. Delivery is
// at-least-once: an event may arrive more than once, and receivers must be idempotent. [Event.ID] is what they
// recognise a repetition by.
//
// Everything in an event is already JSON, written straight from the driver's values (see the Append functions): no
// part after the source looks inside a row.
package change

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Op says what happened to a row.
type Op uint8

const (
	// Upsert means that the row exists now, inserted or updated: a cursor cannot tell which.
	Upsert Op = iota
	// Delete means that the row is gone. A cursor sees that by a soft-delete column or a tombstone table only.
	Delete
	// Insert means that the row is new. No cursor can tell.
	Insert
	// Update means that the row was there before. No cursor can tell.
	Update
)

// String returns the op as every wire format writes it: "upsert", "delete", "insert" or "update".
func (o Op) String() string {
	switch o {
	case Delete:
		return "delete"
	case Insert:
		return "insert"
	case Update:
		return "update"
	default:
		return "upsert"
	}
}

// OpOf returns the op that String writes as text.
func OpOf(text string) (Op, bool) {
	for o := Upsert; o <= Update; o++ {
		if o.String() == text {
			return o, true
		}
	}
	return 0, false
}

// Event is one change of one row. Its byte slices are compact JSON and belong to the batch: they are read, never
// written.
type Event struct {
	// ID is equal across redeliveries, instances, restarts and outputs; at most 128 characters. See [EventID].
	ID string
	// Write names the write that is told, where a later one that is not told has made the row's version, and so its id,
	// another one; "" where that cannot be. See [Event.Known].
	Write string
	// Op is what happened to the row, as far as the source can tell.
	Op Op
	// Key is a JSON object of the key columns in key order: {"id":12093}.
	Key []byte
	// OrderKey is the JSON of the columns that decide the order: two events with equal OrderKey are never in flight
	// together and arrive in fetch order. It is Key itself unless source__order_key says otherwise.
	OrderKey []byte
	// Row is a JSON object of the projected columns in the table's order.
	Row []byte
	// Before is the row as it was before the change, an object with the members of Row, or null where there was none; nil
	// where the source does not tell it. Of a delete it is Row.
	Before []byte
	// Shape says how the format of the SQL trigger writes Row and Key; nil: as they are.
	Shape *Shape
	// Cursor is the row's own cursor: with the key it names this version of the row, and the id is made of it.
	Cursor Cursor
	// At is the position just after this event, where that is not Cursor itself: a window, for instance, that the row was
	// seen in. Nil means Cursor. See [Event.Position].
	At Cursor
	// Time is the cursor's own instant where the cursor is a time, otherwise the time of the fetch; Undated says that it
	// is the latter, which no body shows: a repetition is fetched at another time.
	Time    time.Time
	Undated bool
	// Writer is the number of the transaction that wrote this version of the row, or a higher one; 0 where that is not
	// known. See [Page.Numbers].
	Writer uint64
	// Attempts counts the failed attempts that were held against this very event (its ID) before this batch; 0 for an
	// event that was not tried yet.
	Attempts int
	// Refused says that there was evidence against this very event when its last attempt failed: that attempt counted.
	Refused bool
	// Broken is why the row can never be sent (larger than max_row_bytes, or a value without a lossless form); Row is then
	// null. Such an event is rejected without being sent. Nil for every other.
	Broken error
	// Aside says that the settings leave the event out: it moves the position. Where the source's do, nobody beyond it
	// sees the event; where an output's do, it counts as accepted.
	Aside bool
	// Waits says that an earlier event of its order key failed, in the source's own records: the event is absorbed without
	// being sent, whatever has become of the earlier one since the fetch. Only outboxes say so.
	Waits bool
	// Written is what the database says of the write itself; nil where it says nothing.
	Written *Written
	// Outbox is what an event of an outbox is; nil for a row of any other table.
	Outbox *Outbox
}

// Known is what a memory of delivered events knows it by. It is not the id where a row that was delivered is met once
// more with another content: one id has one body.
func (e *Event) Known() string {
	if e.Write != "" {
		return e.Write
	}
	return e.ID
}

// Position is the position just after this event: what a commit of it stores.
func (e *Event) Position() Cursor {
	if e.At != nil {
		return e.At
	}
	return e.Cursor
}

// Unsent says that nothing of the event is to be sent, whatever the destination is.
func (e *Event) Unsent() bool { return e.Broken != nil || e.Aside }

// Size is the memory that the event's content takes, in bytes: what batch_bytes and max_row_bytes count.
func (e *Event) Size() int {
	n := len(e.Key) + len(e.Row) + len(e.Before) + len(e.Cursor)
	if e.Outbox != nil {
		n += len(e.Outbox.Payload)
	}
	return n
}

// KeyHash returns the first 32 hex digits of SHA-256 over the key's JSON: the pk_hash of azure-functions-db's
// `{poller_name}:{pk_hash}:{cursor}`.
func (e *Event) KeyHash() string {
	sum := sha256.Sum256(e.Key)
	return hex.EncodeToString(sum[:16])
}

// EventID returns the id of an event: 32 hex digits of SHA-256 over poller, op, key, cursor and content, each preceded
// by its length. content is the row's JSON, or nil where the cursor is unique for every write (a rowversion): then the
// cursor alone tells two versions of a row apart.
func EventID(poller string, op Op, key []byte, cursor Cursor, content []byte) string {
	// One buffer instead of a streaming hash: SHA-256 over a contiguous slice needs no interface calls per part.
	var stack [1024]byte
	b := stack[:0]
	b = appendSized(b, []byte(poller))
	b = append(b, byte(op))
	b = appendSized(b, key)
	b = appendSized(b, cursor)
	b = appendSized(b, content)
	sum := sha256.Sum256(b)
	var out [32]byte
	hex.Encode(out[:], sum[:16])
	return string(out[:])
}

func appendSized(dst, part []byte) []byte {
	n := len(part)
	dst = append(dst, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	return append(dst, part...)
}

// Cursor is a position in a source, as the checkpoint stores it: one compact JSON object whose member "kind" says which
// kind of position it is (a tagged union: a column's value, a snapshot, a change version), the rest being the source's
// own. The empty Cursor is the beginning. Cursors are compared for equality only: their order is the database's
// business.
//
// The cursor mode writes azure-functions-db's form: {"kind":"timestamp+pk","value":"…","tiebreaker":{"id":1}}.
type Cursor []byte

// ErrCursor reports a cursor that is not one JSON object with a "kind".
var ErrCursor = errors.New("not a cursor: a cursor is one JSON object with a \"kind\"")

// ParseCursor checks and compacts data.
func ParseCursor(data []byte) (Cursor, error) {
	var tag struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(data, &tag); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCursor, err)
	}
	if tag.Kind == "" {
		return nil, ErrCursor
	}
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCursor, err)
	}
	return Cursor(b.Bytes()), nil
}

// IsStart reports whether the cursor is the beginning.
func (c Cursor) IsStart() bool { return len(c) == 0 }

// Equal reports whether two cursors are the same position.
func (c Cursor) Equal(d Cursor) bool { return bytes.Equal(c, d) }

// String is the cursor's JSON, or "(beginning)".
func (c Cursor) String() string {
	if c.IsStart() {
		return "(beginning)"
	}
	return string(c)
}

// MarshalJSON writes the position itself, null for the beginning.
func (c Cursor) MarshalJSON() ([]byte, error) {
	if c.IsStart() {
		return []byte("null"), nil
	}
	return c, nil
}

// UnmarshalJSON reads what MarshalJSON wrote, however it was indented since.
func (c *Cursor) UnmarshalJSON(data []byte) error {
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		*c = nil
		return nil
	}
	parsed, err := ParseCursor(data)
	if err != nil {
		return err
	}
	*c = parsed
	return nil
}

// Kind says why a batch was fetched.
type Kind uint8

const (
	// Live: the rows after the position. Only these move the position.
	Live Kind = iota
	// Sweep: rows below the position that were not there when it passed (they committed late), or that are above the safe
	// point for so long that they are delivered early.
	Sweep
	// Retry: rows of parked events, read again by their keys because their next attempt is due.
	Retry
	// Backfill: rows of a range that an operator asked to be sent again.
	Backfill
	// Apart: rows that live ones have passed, of one order key that has a backlog.
	Apart
)

// Batch is what one fetch brought.
type Batch struct {
	// Kind says why it was fetched.
	Kind Kind
	// ID names the batch in logs, deliveries and the checkpoint: batch_20260407_012346_0001.
	ID string
	// From is the position that the batch was fetched from. A commit of it is refused unless this is the stored one.
	From Cursor
	// To is the position after the whole batch where that is not the last event's: a window that closed, also without
	// events. Nil means the last event's.
	To Cursor
	// Events in the order in which the source showed them; empty when the source is drained.
	Events []Event
	// More says that the fetch stopped at a limit, so that there may be more to fetch at once.
	More bool
	// Fetched is when the fetch ended, FetchTime how long it took.
	Fetched   time.Time
	FetchTime time.Duration
}

// Delivery is what one request to an output carries: some events of one batch, and what a receiver can fence and
// recognise them by.
type Delivery struct {
	// App and Poller name the sender; Engine and Table the source (Table is "query" for a query).
	App, Poller, Engine, Table string
	// Type and Source are the CloudEvents attributes of these names where the settings choose them (output__type,
	// output__source); "" leaves Rowrelay's own. In Type, {op} and {event_type} stand for what the event says.
	Type, Source string
	// Fingerprint is the checkpoint's source_fingerprint.
	Fingerprint string
	// BatchID is the batch that the first of the events came in.
	BatchID string
	// Token is the fencing token of the lease, Number grows with every request made under it: a receiver that remembers
	// the highest pair for a key can refuse a late request of a stale owner.
	Token, Number uint64
	// Attempt counts the tries of this very request, from 1.
	Attempt int
	// Backfill names the backfill with a position of its own that sends the events, outside the order promise; "" for
	// every other delivery.
	Backfill string
	// TraceParent and TraceState are the W3C trace context of the request; "" where nothing is traced. An event that has
	// one of its own (Outbox.TraceParent) travels with that instead.
	TraceParent, TraceState string
	// Events holds at least one event, in order, and at most one for each OrderKey (unless ordering=none, or
	// output__several_per_key).
	Events []Event
}

// ErrConfig is wrapped by every error that says that the settings are at fault: only a person can mend it.
var ErrConfig = errors.New("configuration")

// ErrSmall is an ErrConfig of the program of `make demo` (build tag small): what it leaves out takes most of the time
// that compiling takes.
var ErrSmall = fmt.Errorf("%w: this is the small program of make demo, which knows SQLite, HTTP, standard output "+
	"and files: make build makes the whole one", ErrConfig)

// ErrLogin is an ErrConfig: a database refused the login. To repeat that each second locks accounts.
var ErrLogin = fmt.Errorf("%w", ErrConfig)

// Outbox is what an event of an outbox is (docs/outbox.md). Its Event has the idempotency key as ID
// (see there), {"aggregate_type":…,"aggregate_id":…} as OrderKey, {"seq":…} as Key, and a Cursor of kind "outbox" with
// the same seq; Row is a JSON object of the members below, for formats that send rows.
type Outbox struct {
	AggregateType, AggregateID, EventType string
	// IdempotencyKey is the row's own, as it stands.
	IdempotencyKey string
	// Payload is the row's, byte for byte; JSON says that it is valid JSON.
	Payload []byte
	JSON    bool
	// CreatedAt is the row's, in UTC; zero where the table has none.
	CreatedAt time.Time
	// TraceParent and TraceState are the row's W3C trace context; "" where it has none.
	TraceParent, TraceState string
}

// Shape says how the Azure SQL trigger writes the columns of a row and of its key, where that is another form than the
// one of all other formats.
type Shape struct {
	Row, Key []Member
}

// Member is a column as it stands in a JSON object. Name is `"name":`.
type Member struct {
	Name string
	Form Form
}

// Form is how the Azure SQL trigger writes a value: as .NET and its JSON library do.
type Form uint8

// The forms. Plain is that of all formats.
const (
	Plain   Form = iota
	Integer      // a number, however large
	Decimal      // a number with a point: 19.90, 5.0
	Float        // a number with a point, or with an exponent: 1.0, 1E+15
	Date         // a date with a time: 2026-04-07T00:00:00
	Clock        // a time of day, whose fraction has seven digits or none: 01:23:45.1230000
)

var formNames = [...]string{Plain: "plain", Integer: "integer", Decimal: "decimal", Float: "float", Date: "date",
	Clock: "clock"}

// String returns the form as dead letters record it.
func (f Form) String() string { return formNames[f] }

// FormOf returns the form that String writes as text.
func FormOf(text string) (Form, bool) {
	i := slices.Index(formNames[:], text)
	return Form(max(i, 0)), i >= 0
}
