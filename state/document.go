package state

import (
	"fmt"
	"strconv"
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

// Document is one poller's state, in the form of seeds/001, §4. docs/state.md explains each member. It is a value: a
// copy may be changed freely, as long as slices are replaced and not written into.
//
// Members that this binary does not know are kept as they stand, at the top level and inside checkpoint, its metadata,
// and lease; unless "requires" lists one of them, and then the document is refused.
type Document struct {
	PollerName        string
	SourceFingerprint string
	// Requires names the members that a binary must know to handle this document without losing something.
	Requires   []string
	Checkpoint Checkpoint
	Lease      LeaseRecord
	rest       []member
}

// Checkpoint says how far the source has been delivered.
type Checkpoint struct {
	Cursor      change.Cursor
	LastBatchID string // last_successful_batch_id
	UpdatedAt   time.Time
	RowCount    int // metadata.row_count: events in that batch
	// Incarnation is the life of the database in which Cursor was read; "" where the engine has none.
	Incarnation string

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

	rest []member
}

// Encode writes the document, or returns a *DocumentError when it is larger than MaxDocument.
func (d *Document) Encode() ([]byte, error) {
	w := &objectWriter{b: make([]byte, 0, 1024)}
	w.open("")
	w.raw("version", strconv.AppendInt(nil, documentVersion, 10))
	if len(d.Requires) > 0 {
		w.raw("requires", appendNames(nil, d.Requires))
	}
	w.string("poller_name", d.PollerName)
	w.string("source_fingerprint", d.SourceFingerprint)
	d.Checkpoint.write(w)
	d.Lease.write(w)
	w.rest(d.rest)
	w.close()
	w.b = append(w.b, '\n')
	if len(w.b) > MaxDocument {
		return nil, &DocumentError{Fault: TooLarge, Detail: fmt.Sprintf("%d bytes", len(w.b))}
	}
	return w.b, nil
}

func (c *Checkpoint) write(w *objectWriter) {
	w.open("checkpoint")
	cursor := []byte(c.Cursor)
	if c.Cursor.IsStart() {
		cursor = []byte("null")
	}
	w.raw("cursor", cursor)
	if c.Incarnation != "" {
		w.string("incarnation", c.Incarnation)
	}
	w.string("last_successful_batch_id", c.LastBatchID)
	w.raw("updated_at", appendTime(c.UpdatedAt))
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
