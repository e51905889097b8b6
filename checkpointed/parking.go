package checkpointed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/rowrelay/rowrelay/change"
)

// parkedKind is the kind of the side object that holds a document's parked events, parkedVersion the version of its
// form.
const (
	parkedKind    = "parked"
	parkedVersion = 1
)

// MaxReason bounds the reason that an entry keeps, in bytes: it is for people, and it must never hold a row.
const MaxReason = 300

// ParkedEntry is an order key that is parked: the event at its head was rejected, and later ones wait behind it. It
// never holds a row: a retry reads the row's newest state by its key.
type ParkedEntry struct {
	// OrderKey is what is parked: the event's order key, or with ordering=none the row's key.
	OrderKey json.RawMessage `json:"order_key"`
	// Key, Cursor and ID are those of the event at the head. Cursor and ID are empty for a row that has moved up from
	// among the followers and was not read yet.
	Key    json.RawMessage `json:"key"`
	Cursor change.Cursor   `json:"cursor"`
	ID     string          `json:"id"`
	// Attempts counts the failures held against ID; 0 for a row that waited behind another and is not tried yet.
	Attempts int `json:"attempts"`
	// First and Last are when the first and the last of these attempts failed, Next is when the next is due.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	Next  time.Time `json:"next,omitzero"`
	// Cause, Status and Reason are those of the last failure. Cause is a name of [Cause]; "" before the first.
	Cause  string `json:"cause,omitempty"`
	Status int    `json:"status,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Followers are keys of other rows with this order key, in the order in which their last events were fetched. There
	// are none where the order key is the row's own.
	Followers []json.RawMessage `json:"followers,omitempty"`
	// Blocked says that the event was dead-lettered, and that the key stays parked until an operator acts.
	Blocked bool `json:"blocked,omitempty"`
}

// parkedFile is the form of the object.
type parkedFile struct {
	Version int           `json:"version"`
	Entries []ParkedEntry `json:"entries"`
}

// EncodeParked writes the object of a document's parked events.
func EncodeParked(entries []ParkedEntry) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // a key is compared byte for byte: "<" must stay what it is
	if entries == nil {
		entries = []ParkedEntry{}
	}
	if err := enc.Encode(parkedFile{Version: parkedVersion, Entries: entries}); err != nil {
		return nil, fmt.Errorf("writing the parked events: %w", err)
	}
	return b.Bytes(), nil
}

// DecodeParked reads what EncodeParked wrote, and nothing else: such an object is written once and never edited, so
// that whatever differs is damage, or another version's.
func DecodeParked(data []byte) ([]ParkedEntry, error) {
	file, err := decodeParked(data)
	if err != nil {
		return nil, fmt.Errorf("reading the parked events: %w", err)
	}
	return file.Entries, nil
}

func decodeParked(data []byte) (parkedFile, error) {
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return parkedFile{}, err
	}
	if version.Version != parkedVersion {
		return parkedFile{}, fmt.Errorf("they are in version %d, this binary knows %d", version.Version, parkedVersion)
	}
	var file parkedFile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return parkedFile{}, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return parkedFile{}, errors.New("something follows after their end")
	}
	seen := make(map[string]bool, len(file.Entries))
	for i := range file.Entries {
		e := &file.Entries[i]
		if err := e.check(); err != nil {
			return parkedFile{}, fmt.Errorf("entry %d: %w", i, err)
		}
		if seen[string(e.OrderKey)] {
			return parkedFile{}, fmt.Errorf("entry %d: order key %s stands there twice", i, e.OrderKey)
		}
		seen[string(e.OrderKey)] = true
	}
	return file, nil
}

func (e *ParkedEntry) check() error {
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
	if len(reason) <= MaxReason {
		return reason
	}
	cut := MaxReason - len("…")
	for cut > 0 && !utf8.RuneStart(reason[cut]) {
		cut--
	}
	return reason[:cut] + "…"
}
