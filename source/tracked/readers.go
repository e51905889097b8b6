package tracked

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/counter"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/tracking"
)

// Needs is what a poller's output still needs changes for.
type Needs struct {
	// At is its position, Parked are those of its parked events, which are read again.
	At     change.Cursor
	Parked []change.Cursor
	// Waiting are the keys of events that wait for parked ones.
	Waiting []json.RawMessage
}

// Readers writes, for what a poller's output needs, which rows of the change table were delivered before it: conditions
// on the change table, by its own name. Of an event that waits for a parked one the key is known, and not its change.
func Readers(p *plan.Plan, needs *Needs) (readers []tracking.Reader, err error) {
	if p.History != nil {
		return historyReaders(p, needs)
	}
	if len(needs.Waiting) > 0 {
		return nil, fmt.Errorf("rows wait for a parked one (%s), and how old their changes are is not known: try again when "+
			"they are delivered", needs.Waiting[0])
	}
	version := p.Table.Changes.In(p.Syntax.Quote, p.Table.Changes.Name) + "." + p.Sel.Syntax.Quote(p.Sel.Order[0].Name)
	for _, at := range append([]change.Cursor{needs.At}, needs.Parked...) {
		r, err := readerAt(p, version, at)
		if err != nil {
			return nil, errReader(at, err)
		}
		readers = append(readers, r)
	}
	return readers, nil
}

func errReader(at []byte, err error) error {
	return fmt.Errorf("%w: the position %s: %w", poller.ErrConfig, at, err)
}

// historyReaders are numbers of changes. That of one that waits is part of its key.
func historyReaders(p *plan.Plan, needs *Needs) (readers []tracking.Reader, err error) {
	numberAt := func(at change.Cursor) (int64, error) {
		pos, err := p.Decode(at)
		if err != nil || pos == nil {
			return 0, err
		}
		n, err := counter.Number(pos[0])
		if err != nil {
			return 0, err
		}
		return n.Int64(), nil
	}
	n, err := numberAt(needs.At)
	if err != nil {
		return nil, errReader(needs.At, err)
	}
	readers = append(readers, tracking.Reader{Number: n})
	for _, at := range needs.Parked {
		if plan.Unwritten(at) { // a row of the table itself
			continue
		}
		if n, err = numberAt(at); err != nil {
			return nil, errReader(at, err)
		}
		readers = append(readers, tracking.Reader{Number: n - 1, Parked: true})
	}
	for _, key := range needs.Waiting {
		if plan.NumberRead(key) != nil {
			continue
		}
		var numbered struct {
			Change json.Number `json:"rowrelay_change"`
		}
		err := json.Unmarshal(key, &numbered)
		if err == nil {
			n, err = numbered.Change.Int64()
		}
		if err != nil {
			return nil, errReader(key, err)
		}
		readers = append(readers, tracking.Reader{Number: n - 1, Parked: true})
	}
	return readers, nil
}

// none is the condition that no change meets: changes are still read from the beginning.
const none = "1 = 0"

func readerAt(p *plan.Plan, version string, at change.Cursor) (r tracking.Reader, err error) {
	if plan.Unwritten(at) { // a parked row of a snapshot: its change may be any
		return tracking.Reader{Passed: none}, nil
	}
	if p.ByWindows() {
		w, err := p.Snapshots().Decode(at)
		if err == nil && (!w.Begun || w.Scanning) {
			return tracking.Reader{Passed: none}, nil
		}
		// Only what every later snapshot sees, too: a position that nobody spoke of is then held against one number.
		return tracking.Reader{Passed: fmt.Sprintf("%s < '%d'::xid8", version, w.Seen.Whole())}, err
	}
	w, err := p.Within(at)
	if err != nil {
		return r, err
	}
	r.Passed = none
	if w.Since != nil {
		since, err := literal(w.Since)
		if err != nil {
			return r, err
		}
		r.Passed = version + " < " + since
	}
	if w.At != nil {
		read, err := literal(w.At)
		if err != nil {
			return r, err
		}
		r.At = version + " = " + read
		r.Own = version + " BETWEEN " + read + " AND " + read + p.Syntax.Tracking.Aging.Near
	}
	return r, nil
}

// literal is a version as a statement writes it.
func literal(version []byte) (string, error) {
	text := strings.ReplaceAll(string(version), `"`, "'")
	if text == "" || strings.Trim(text, "'-:.T0123456789") != "" {
		return "", fmt.Errorf("%s is no version", version)
	}
	return text, nil
}
