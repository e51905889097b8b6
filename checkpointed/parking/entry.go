package parking

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
)

// sourceKey is the order key of the one entry that ordering=source has. It is no event's order key, because those are
// objects of one column at least.
const sourceKey = "[]"

// Kind is the kind of the side object that holds a document's parked events, version that of its form.
const (
	Kind    = "parked"
	version = 1
)

// maxReason bounds the reason that an entry keeps, in bytes: it is for people, and it must never hold a row.
const maxReason = 300

// Entry is an order key that is parked. The event at its head was rejected, and later ones wait for it. An entry never
// holds a row: a retry reads the row's newest state by its key.
type Entry struct {
	// OrderKey is what is parked: the event's order key, or with ordering=none the row's key.
	OrderKey json.RawMessage `json:"order_key"`
	// Key, Cursor and ID are those of the event at the head. Cursor and ID are empty for a row that has moved up from
	// among the followers and was not read yet.
	Key    json.RawMessage `json:"key"`
	Cursor change.Cursor   `json:"cursor"`
	ID     string          `json:"id"`
	// Attempts counts the failures held against ID; 0 for a row that waited for another and is not tried yet.
	Attempts int `json:"attempts"`
	// First and Last are when the first and the last of these attempts failed, Next is when the next is due.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	Next  time.Time `json:"next,omitzero"`
	// Cause, Status and Reason are those of the last failure. Cause is a name of [poller.Cause]; "" before the first.
	Cause  string `json:"cause,omitempty"`
	Status int    `json:"status,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Followers are keys of other rows with this order key, which wait for the head, in the order in which their last
	// events were fetched. There are none where the order key is the row's own.
	Followers []json.RawMessage `json:"followers,omitempty"`
	// Blocked says that the event was dead-lettered, and that the key stays parked until an operator acts.
	Blocked bool `json:"blocked,omitempty"`
}

// Waited reports whether the entry is the event that the poller waits at (ordering=source). Its row was not passed: the
// position is before it.
func (e *Entry) Waited() bool { return string(e.OrderKey) == sourceKey }

// object is the form of the side object.
type object struct {
	Version int     `json:"version"`
	Entries []Entry `json:"entries"`
}

// Encode writes the object of a document's parked events.
func Encode(entries []Entry) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // a key is compared byte for byte: "<" must stay what it is
	if entries == nil {
		entries = []Entry{}
	}
	if err := enc.Encode(object{Version: version, Entries: entries}); err != nil {
		return nil, fmt.Errorf("writing the parked events: %w", err)
	}
	return b.Bytes(), nil
}

// Decode reads what Encode wrote, and nothing else. Such an object is written once and never edited, so that whatever
// differs is damage, or another version's.
func Decode(data []byte) ([]Entry, error) {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	if head.Version != version {
		return nil, fmt.Errorf("they are in version %d, this binary knows %d", head.Version, version)
	}
	var o object
	if err := change.Strict(data, &o); err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(o.Entries))
	for i := range o.Entries {
		e := &o.Entries[i]
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		if seen[string(e.OrderKey)] {
			return nil, fmt.Errorf("entry %d: order key %s stands there twice", i, e.OrderKey)
		}
		seen[string(e.OrderKey)] = true
	}
	return o.Entries, nil
}

// Save stores entries as a side object, where there are any, and returns what a commit names. put stores an object:
// Lease.PutObject. An object that no commit names is removed by the next Collect.
func Save(ctx context.Context, entries []Entry, put func(ctx context.Context, kind string, data []byte) (string, error),
) (*state.ObjectRef, error) {
	if len(entries) == 0 {
		return &state.ObjectRef{}, nil
	}
	data, err := Encode(entries)
	if err != nil {
		return nil, err
	}
	name, err := put(ctx, Kind, data)
	if err != nil {
		return nil, fmt.Errorf("storing the parked events: %w", err)
	}
	return &state.ObjectRef{Object: name, Count: Rows(entries)}, nil
}

// Rows counts the rows of entries: heads and followers.
func Rows(entries []Entry) int {
	n := len(entries)
	for i := range entries {
		n += len(entries[i].Followers)
	}
	return n
}

// Has reports whether a key is that of the head or of a follower.
func (e *Entry) Has(key []byte) bool {
	return bytes.Equal(e.Key, key) ||
		slices.ContainsFunc(e.Followers, func(k json.RawMessage) bool { return bytes.Equal(k, key) })
}

func (e *Entry) check() error {
	switch {
	case !isKey(e.OrderKey), !isKey(e.Key):
		return errors.New("it has no order key, or no key")
	case e.Attempts < 0:
		return fmt.Errorf("it counts %d attempts", e.Attempts)
	case e.Attempts > 0 && (e.Cursor.IsStart() || e.ID == ""):
		return errors.New("it counts attempts, and has no cursor or no id")
	}
	for _, f := range e.Followers {
		if !isKey(f) {
			return errors.New("a follower has no key")
		}
	}
	return nil
}

func isKey(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// Clip shortens a reason to what an entry keeps.
func Clip(reason string) string {
	if len(reason) <= maxReason {
		return reason
	}
	cut := maxReason - len("…")
	for cut > 0 && !utf8.RuneStart(reason[cut]) {
		cut--
	}
	return reason[:cut] + "…"
}

func contains(keys [][]byte, key []byte) bool {
	return slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, key) })
}
