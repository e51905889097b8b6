package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// knownMembers are the added members (beyond azure-functions-db's) that this binary honours when "requires" lists them.
var knownMembers = []string{
	"incarnation", "lease_id", "write_seq", "ttl", "previous_lease_id", "previous_write_seq",
	"late", "parked", "paused", "backfill", "skips", "accepted_at", "apart",
}

// Decode reads a document strictly. Errors are a *DocumentError without a key.
func Decode(data []byte) (Document, error) {
	// Editors of Windows put a byte order mark in front of what an operator saved.
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if err := wellFormed(data); err != nil {
		return Document{}, err
	}
	members, err := splitObject(data)
	if err != nil {
		return Document{}, &DocumentError{Fault: Malformed, Detail: err.Error()}
	}
	var d Document
	r := &reader{members: members}
	// The version comes first: in a document of another version, no other member means what it means here.
	var version uint64
	if r.need("version", integer(&version)); r.err != nil {
		return Document{}, r.err
	}
	if version != documentVersion {
		return Document{}, &DocumentError{Fault: OtherVersion,
			Detail: fmt.Sprintf("version %d, this binary knows %d", version, documentVersion)}
	}
	r.take("requires", func(raw []byte) error { return json.Unmarshal(raw, &d.Requires) })
	for _, name := range d.Requires {
		if !slices.Contains(knownMembers, name) {
			return Document{}, &DocumentError{Fault: UnknownRequires, Detail: fmt.Sprintf("member %q", name)}
		}
	}
	r.need("poller_name", text(&d.PollerName))
	r.take("source_fingerprint", text(&d.SourceFingerprint))
	r.need("checkpoint", d.Checkpoint.read)
	r.take("late", absent(d.Late.read))
	r.take("parked", absent(func(raw []byte) (err error) {
		d.restParked, err = d.Parked.read(raw, "parked.")
		return err
	}))
	r.take("paused", absent(func(raw []byte) error { d.Paused = &Paused{}; return d.Paused.read(raw) }))
	r.take("backfill", absent(func(raw []byte) error { d.Backfill = &Backfill{}; return d.Backfill.read(raw) }))
	r.take("apart", absent(readApart(&d.Apart)))
	r.take("skips", absent(readSkips(&d.Skips)))
	r.need("lease", d.Lease.read)
	d.rest = r.members
	if r.err != nil {
		return Document{}, r.err
	}
	return d, nil
}

func (c *Checkpoint) read(data []byte) error {
	return readObject(data, "checkpoint.", c.readMembers)
}

func (c *Checkpoint) readMembers(r *reader) {
	// A missing cursor is not the beginning: null is. Whoever lost it must not start over unasked.
	r.need("cursor", func(raw []byte) error { return c.Cursor.UnmarshalJSON(raw) })
	r.take("incarnation", text(&c.Incarnation))
	r.take("table", text(&c.Table))
	r.take("columns", text(&c.Columns))
	r.take("collations", text(&c.Collations))
	r.take("gap", text(&c.Gap))
	r.take("last_successful_batch_id", text(&c.LastBatchID))
	r.take("updated_at", instant(&c.UpdatedAt))
	r.take("accepted_at", absent(instant(&c.AcceptedAt)))
	r.take("metadata", func(raw []byte) error {
		return readObject(raw, "checkpoint.metadata.", func(r *reader) {
			var rows uint64
			r.take("row_count", integer(&rows))
			c.RowCount, c.restMetadata = int(rows), r.members
		})
	})
	c.rest = r.members
}

func (l *LeaseRecord) read(data []byte) error {
	return readObject(data, "lease.", l.readMembers)
}

func (l *LeaseRecord) readMembers(r *reader) {
	r.take("owner_id", text(&l.OwnerID))
	// Without the token the next one could not be larger than all before it.
	r.need("fencing_token", integer(&l.FencingToken))
	r.take("lease_id", text(&l.LeaseID))
	r.take("write_seq", integer(&l.WriteSeq))
	r.take("ttl", func(raw []byte) error {
		var s string
		if err := text(&s)(raw); err != nil || s == "" {
			return err
		}
		ttl, err := time.ParseDuration(s)
		if err == nil && ttl < 0 {
			return errors.New("negative")
		}
		l.TTL = ttl
		return err
	})
	r.take("acquired_at", instant(&l.AcquiredAt))
	r.take("heartbeat_at", instant(&l.HeartbeatAt))
	r.take("expires_at", instant(&l.ExpiresAt))
	r.take("previous_lease_id", text(&l.PreviousID))
	r.take("previous_write_seq", integer(&l.PreviousSeq))
	l.rest = r.members
	if r.err == nil && l.OwnerID != "" && l.ExpiresAt.IsZero() {
		r.err = &DocumentError{Fault: Malformed, Detail: "lease.expires_at is missing while lease.owner_id is set"}
	}
}

// wellFormed tells empty, truncated and foreign content apart.
func wellFormed(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return &DocumentError{Fault: Empty}
	}
	if !utf8.Valid(data) {
		return &DocumentError{Fault: NotJSON, Detail: "not UTF-8"}
	}
	if json.Valid(data) {
		return nil
	}
	var value json.RawMessage
	err := json.Unmarshal(data, &value) // for its error
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && syntax.Offset >= int64(len(data)) && strings.Contains(err.Error(), "unexpected end") {
		return &DocumentError{Fault: Truncated, Detail: fmt.Sprintf("after %d bytes", len(data))}
	}
	return &DocumentError{Fault: NotJSON, Detail: err.Error()}
}

// reader takes members out of an object one by one and keeps the first error; what is left over is unknown.
type reader struct {
	path    string
	members []member
	err     error
}

// take reads the member if it is there.
func (r *reader) take(name string, read func(raw []byte) error) { r.member(name, read, false) }

// need reads the member and fails without it.
func (r *reader) need(name string, read func(raw []byte) error) { r.member(name, read, true) }

func (r *reader) member(name string, read func(raw []byte) error, required bool) {
	if r.err != nil {
		return
	}
	i := slices.IndexFunc(r.members, func(m member) bool { return m.name == name })
	if i < 0 {
		if required {
			r.err = &DocumentError{Fault: Malformed, Detail: r.path + name + " is missing"}
		}
		return
	}
	err := read(r.members[i].raw)
	r.members = slices.Delete(r.members, i, i+1)
	if err == nil {
		return
	}
	if inner, ok := errors.AsType[*DocumentError](err); ok {
		r.err = inner
		return
	}
	r.err = &DocumentError{Fault: Malformed, Detail: fmt.Sprintf("%s%s: %v", r.path, name, err)}
}

// failed returns err as a plain error: a nil *DocumentError in an error would not be nil.
func (r *reader) failed() error { return r.err }

func text(to *string) func([]byte) error {
	return func(raw []byte) (err error) {
		if string(raw) != "null" {
			*to, err = unquote(raw)
		}
		return err
	}
}

func flag(to *bool) func([]byte) error {
	return func(raw []byte) error { return json.Unmarshal(raw, to) }
}

// integer reads a number, or a string that holds one, of 0 to 2^63−1.
func integer(to *uint64) func([]byte) error {
	return func(raw []byte) (err error) {
		s := string(raw)
		if raw[0] == '"' {
			if s, err = unquote(raw); err != nil {
				return err
			}
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 0 {
			return fmt.Errorf("%.40s is not a whole number from 0 to 2^63-1", s)
		}
		*to = uint64(n)
		return nil
	}
}

// instant reads an RFC 3339 time; null is the zero time.
func instant(to *time.Time) func([]byte) error {
	return func(raw []byte) error {
		var s string
		if err := text(&s)(raw); err != nil || s == "" {
			return err
		}
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return err
		}
		if t = t.UTC(); t.Year() < 1 || t.Year() > 9999 {
			return fmt.Errorf("%.40s is beyond the years 1 to 9999", s)
		}
		*to = t.Truncate(time.Microsecond)
		return nil
	}
}
