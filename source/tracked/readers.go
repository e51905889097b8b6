package tracked

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/counter"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/tracking"
)

// Readers writes, for each of some positions, which rows of the change table were delivered before it: conditions on
// the change table, by its own name.
func Readers(p *plan.Plan, positions []change.Cursor) (readers []tracking.Reader, err error) {
	if p.History != nil {
		return historyReaders(p, positions)
	}
	version := p.Table.Changes.In(p.Syntax.Quote, p.Table.Changes.Name) + "." + p.Sel.Syntax.Quote(p.Sel.Order[0].Name)
	for _, at := range positions {
		r, err := readerAt(p, version, at)
		if err != nil {
			return nil, fmt.Errorf("%w: the position %s: %w", poller.ErrConfig, at, err)
		}
		readers = append(readers, r)
	}
	return readers, nil
}

// historyReaders are the numbers of the last changes before positions.
func historyReaders(p *plan.Plan, positions []change.Cursor) (readers []tracking.Reader, err error) {
	for _, at := range positions {
		var r tracking.Reader
		pos, err := p.Decode(at)
		if err == nil && pos != nil {
			var n *big.Int
			if n, err = counter.Number(pos[0]); err == nil {
				r.Number = n.Int64()
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%w: the position %s: %w", poller.ErrConfig, at, err)
		}
		readers = append(readers, r)
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
