package state

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// MaxDocument is the largest document that is ever written, in bytes: it is rewritten with every heartbeat, and has to
// fit where a store's entry is small.
const MaxDocument = 64 << 10

// documentVersion is the version that this binary reads and writes.
const documentVersion = 1

// maxNumber is the largest integer that every JSON reader keeps exact (2^53−1); a larger one is written as a string.
const maxNumber = 1<<53 - 1

// timeLayout is RFC 3339 in UTC with microseconds, always at full length.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// Document is one poller's state. docs/state.md explains each member. It is a value: a
// copy may be changed freely, as long as slices are replaced and not written into.
//
// Members that this binary does not know are kept as they stand, at the top level and inside each object that it knows;
// unless "requires" lists one of them, and then the document is refused.
type Document struct {
	PollerName        string
	SourceFingerprint string
	// Requires names the members that a binary must know to handle this document without losing something. Encode adds
	// and removes late, parked, paused and apart by itself.
	Requires   []string
	Checkpoint Checkpoint
	Lease      LeaseRecord
	// Late is how late commits are handled, and what is remembered for it; the zero value is a document from before there
	// was a choice.
	Late Late
	// Parked names the object that holds the parked events; empty when none is parked.
	Parked ObjectRef
	// Paused says that an operator paused the poller; nil when it is not. It may be over: see [Snapshot.Paused].
	Paused *Paused
	// Backfill is a range that is sent again beside the live rows; nil when there is none.
	Backfill *Backfill
	// Apart are order keys with a backlog, which are read apart from the live rows; at most MaxApart.
	Apart []Apart
	// Skips are the last advances by hand, oldest first, at most MaxSkips: Encode leaves the oldest out, also where the
	// document would be too large with them.
	Skips []Skip

	rest, restParked []member
}

// ObjectRef names an immutable side object (see Lease.PutObject) and how many entries it holds.
type ObjectRef struct {
	Object string
	Count  int
}

// Late is the memory of late commits (docs/late-commits.md). With mode overlap, Checkpoint.Cursor is the window's low
// edge.
type Late struct {
	// Mode is the value of source__late_commits that this document was written under: exact, overlap, settle or none; ""
	// before the first choice.
	Mode string
	// Frontier is how far live rows were delivered (overlap); the low edge moves to Next once what was delivered by
	// Since, by the database's clock, is older than the window.
	Frontier, Next change.Cursor
	Since          time.Time
	// Clock is the database's clock as it was read last, at ClockAt by the store's clock, where the cursor is a time. A
	// process that finds it set back by more than the window moves the position back.
	Clock, ClockAt time.Time
	// Memory holds the hashes of what was settled above the checkpoint, but for what Known covers, and its count is that
	// of all of them; Journal those that were added since its object was stored.
	Memory  ObjectRef
	Journal Journal
	// Known says which transactions' rows between the checkpoint and the frontier are settled, remembered or not.
	Known Known

	rest, restMemory []member
}

// Known says of the transactions below a number that their rows were delivered. A binary that does not know it delivers
// rows again.
type Known struct {
	// Numbers says what is counted: numbers of another history mean other transactions.
	Numbers string
	Below   uint64
	// Of identifies the positions between which it is so: a binary that moves them may leave this member as it was.
	Of string
}

// Journal holds hashes of settled events. A binary that does not know it delivers these again.
type Journal struct {
	Pages  []string // names of side objects that hold some as well
	Hashes string   // 8 bytes each, big-endian, as base64
	// Of identifies the positions between which these events lie, as Known.Of does.
	Of string
}

// Equal reports whether two journals say the same.
func (j *Journal) Equal(k *Journal) bool {
	return j.Hashes == k.Hashes && j.Of == k.Of && slices.Equal(j.Pages, k.Pages)
}

// IsZero reports whether there is none.
func (j *Journal) IsZero() bool { return j.Equal(&Journal{}) }

// Paused says who paused a poller, and when.
type Paused struct {
	At time.Time
	By string
	// Until ends the pause by itself; the zero time does not. It is the store's clock. A replay sets it, whose process may
	// die before it has ended its pause.
	Until time.Time

	rest []member
}

// Over reports whether a pause has ended by itself. now is the store's clock: see [Snapshot.Now].
func (p *Paused) Over(now time.Time) bool { return !p.Until.IsZero() && !now.Before(p.Until) }

// MovedBy begins the name of whoever paused a document that was moved to another store.
const MovedBy = "rowrelay state move"

// Moved reports whether the document was moved to another store, where it goes on.
func (p *Paused) Moved() bool { return strings.HasPrefix(p.By, MovedBy) }

// Backfill is a replay of a range, beside the live rows.
type Backfill struct {
	// ID names it in logs; it is chosen at random.
	ID string
	// Whole says that the range is the whole table, as it was when changes began to be read beside it: without it a
	// receiver would know those rows only that change later.
	Whole bool
	// From and To bound the range as source.Range's After and UpTo do; At is how far it has come.
	From, To, At change.Cursor
	// PerSecond throttles it; 0 does not.
	PerSecond int
	// Done counts rows, of Total as counted at the start.
	Done, Total int64
	StartedAt   time.Time
	By          string

	rest []member
}

// Apart is an order key whose rows the position has passed, although those after At are not delivered.
type Apart struct {
	OrderKey json.RawMessage
	At       change.Cursor
}

// MaxApart is how many order keys are read apart. MaxApartBytes bounds what one of them takes in the document: a larger
// one is not read apart.
const (
	MaxApart      = 16
	MaxApartBytes = 1 << 10
)

// Skip is an advance of the checkpoint by hand that passed over rows: data loss that an operator chose.
type Skip struct {
	At       time.Time
	By       string
	From, To change.Cursor
	Rows     int64 // -1 when they could not be counted

	rest []member
}

// MaxSkips is how many skips a document remembers.
const MaxSkips = 10

// Checkpoint says how far the source has been delivered.
type Checkpoint struct {
	Cursor      change.Cursor
	LastBatchID string // last_successful_batch_id
	UpdatedAt   time.Time
	RowCount    int // metadata.row_count: events in that batch
	// AcceptedAt is when the destination last accepted an event, by the clock of the process that sent it; zero: not
	// known.
	AcceptedAt time.Time
	// Incarnation is the life of the database in which Cursor was read; "" where the engine has none.
	Incarnation string
	// Table is the identity of the table itself, Columns the kinds of the cursor's and key's columns, and Collations what
	// they are sorted by, as the source writes them; "" where the engine shows none, and in what an older version wrote.
	Table, Columns, Collations string
	// Gap says why Cursor cannot be gone on from: a gap in the source that an operator has to decide on; "" where none was
	// found, and for those that the source goes on showing by itself.
	Gap string

	rest, restMetadata []member
}

// LeaseRecord says who may deliver. An empty OwnerID means that nobody holds the lease; the other members then tell of
// the last holder.
type LeaseRecord struct {
	OwnerID string
	// FencingToken grows by one with every acquisition and is never reset.
	FencingToken uint64
	// LeaseID is drawn at random for each acquisition, WriteSeq counts the writes under it: together they name one write.
	LeaseID  string
	WriteSeq uint64
	TTL      time.Duration
	// The times are the store's clock, estimated by the holder.
	AcquiredAt, HeartbeatAt, ExpiresAt time.Time
	// PreviousID and PreviousSeq are LeaseID and WriteSeq as this acquisition found them: what the holder before wrote
	// beyond them never landed, and never will.
	PreviousID  string
	PreviousSeq uint64

	rest []member
}

// Objects are the names of the side objects that the document needs.
func (d *Document) Objects() []string {
	return slices.DeleteFunc(append([]string{d.Parked.Object, d.Late.Memory.Object}, d.Late.Journal.Pages...),
		func(name string) bool { return name == "" })
}

// Encode writes the document, or returns a *DocumentError when it is larger than MaxDocument.
func (d *Document) Encode() ([]byte, error) {
	skips := lastSkips(d.Skips)
	for {
		data := d.encode(skips)
		if len(data) <= MaxDocument {
			return data, nil
		}
		if len(skips) == 0 {
			return nil, &DocumentError{Fault: TooLarge, Detail: fmt.Sprintf("%d bytes", len(data))}
		}
		skips = skips[1:] // history gives way: a commit must not fail for it
	}
}

func (d *Document) encode(skips []Skip) []byte {
	w := &objectWriter{b: make([]byte, 0, 1024)}
	w.open("")
	w.raw("version", strconv.AppendInt(nil, documentVersion, 10))
	if names := d.requires(); len(names) > 0 {
		w.raw("requires", appendNames(nil, names))
	}
	w.string("poller_name", d.PollerName)
	w.string("source_fingerprint", d.SourceFingerprint)
	d.Checkpoint.write(w)
	d.Late.write(w)
	if d.Parked != (ObjectRef{}) || len(d.restParked) > 0 {
		d.Parked.write(w, "parked", d.restParked)
	}
	if d.Paused != nil {
		d.Paused.write(w)
	}
	if d.Backfill != nil {
		d.Backfill.write(w)
	}
	if len(d.Apart) > 0 {
		w.raw("apart", appendApart(nil, d.Apart))
	}
	if len(skips) > 0 {
		w.raw("skips", appendSkips(nil, skips))
	}
	d.Lease.write(w)
	w.rest(d.rest)
	w.close()
	return append(w.b, '\n')
}

func (c *Checkpoint) write(w *objectWriter) {
	w.open("checkpoint")
	w.raw("cursor", cursorJSON(c.Cursor))
	if c.Incarnation != "" {
		w.string("incarnation", c.Incarnation)
	}
	if c.Table != "" {
		w.string("table", c.Table)
	}
	if c.Columns != "" {
		w.string("columns", c.Columns)
	}
	if c.Collations != "" {
		w.string("collations", c.Collations)
	}
	if c.Gap != "" {
		w.string("gap", c.Gap)
	}
	w.string("last_successful_batch_id", c.LastBatchID)
	w.raw("updated_at", appendTime(c.UpdatedAt))
	if !c.AcceptedAt.IsZero() {
		w.raw("accepted_at", appendTime(c.AcceptedAt))
	}
	w.open("metadata")
	w.raw("row_count", appendInteger(uint64(max(c.RowCount, 0))))
	w.rest(c.restMetadata)
	w.close()
	w.rest(c.rest)
	w.close()
}

func (r *LeaseRecord) write(w *objectWriter) {
	w.open("lease")
	w.string("owner_id", r.OwnerID)
	w.raw("fencing_token", appendInteger(r.FencingToken))
	w.string("lease_id", r.LeaseID)
	w.raw("write_seq", appendInteger(r.WriteSeq))
	w.string("ttl", r.TTL.String())
	w.raw("acquired_at", appendTime(r.AcquiredAt))
	w.raw("heartbeat_at", appendTime(r.HeartbeatAt))
	w.raw("expires_at", appendTime(r.ExpiresAt))
	if r.PreviousID != "" || r.PreviousSeq != 0 {
		w.string("previous_lease_id", r.PreviousID)
		w.raw("previous_write_seq", appendInteger(r.PreviousSeq))
	}
	w.rest(r.rest)
	w.close()
}

func appendNames(dst []byte, names []string) []byte {
	dst = append(dst, '[')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, quote(name)...)
	}
	return append(dst, ']')
}

func appendInteger(n uint64) []byte {
	if n > maxNumber {
		return quote(strconv.FormatUint(n, 10))
	}
	return strconv.AppendUint(nil, n, 10)
}

func appendTime(t time.Time) []byte {
	if t.IsZero() {
		return []byte("null")
	}
	return quote(t.UTC().Format(timeLayout))
}
