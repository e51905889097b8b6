package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
)

// wholeKind is the kind of a position in the table itself: {"kind":"table+pk","after":{"id":7}}.
const wholeKind = "table+pk"

// ofTable is the plan by which the table itself is read: its rows, each with the version of its last change, in the
// order of the key. What the change table tells of itself is not read beside them.
func (p *Plan) ofTable() *Plan {
	whole, tracked := *p, *p.Tracked
	columns := p.Sel.Columns
	if tracked.Floor >= 0 { // the last two
		columns = columns[:len(columns)-2]
		tracked.Floor, tracked.Head = -1, -1
	}
	whole.Tracked, whole.Order = &tracked, p.Key
	whole.Syntax = p.Dialect.Syntax()
	whole.Sel = keyset.Selection{Syntax: &whole.Syntax, From: p.Table.Changes.Whole, Columns: columns,
		Order: keyset.Pick(columns, p.Key), Where: p.Sel.Where}
	return &whole
}

// inTable is a position in the table itself: after a row, or before the first. Beside a history Read is the number that
// changes are read after.
type inTable struct {
	Kind  string          `json:"kind"`
	Read  json.RawMessage `json:"read,omitempty"`
	After json.RawMessage `json:"after,omitempty"`
}

// InTable reports whether a position is one in the table itself, and not among its changes.
func InTable(at change.Cursor) bool {
	var s inTable
	return !at.IsStart() && json.Unmarshal(at, &s) == nil && s.Kind == wholeKind
}

// AfterRow is the position after the row with a key, which is Event.Key; before the first row where that is nil. read
// is nil but beside a history.
func AfterRow(key, read []byte) change.Cursor {
	at := `{"kind":"` + wholeKind + `"`
	if read != nil {
		at += `,"read":` + string(read)
		if plain, is := bytes.CutSuffix(key, fmt.Appendf(nil, `,"%s":%s}`, engine.HistoryRead, read)); is {
			key = append(slices.Clip(plain), '}')
		}
	}
	if key != nil {
		at += `,"after":` + string(key)
	}
	return change.Cursor(at + "}")
}

// DecodeInTable reads such a position: the key's values, nil before the first row, and read.
func (p *Plan) DecodeInTable(at change.Cursor) (pos keyset.Position, read []byte, err error) {
	var s inTable
	err = json.Unmarshal(at, &s)
	if err == nil && s.Kind != wholeKind {
		err = fmt.Errorf("its kind is %q, not %q", s.Kind, wholeKind)
	}
	if err == nil && s.After != nil {
		pos, err = decodeMembers(s.After, p.Whole.KeyColumns())
	}
	if err == nil {
		err = p.Whole.checkScalars(pos)
	}
	if err == nil && (s.Read != nil) != (p.History != nil) {
		err = errors.New("the rows were read beside changes of another kind (source__every_change)")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: the position %s in the table does not fit the settings (key %v): %w; begin the snapshot "+
			"again with: rowrelay state reset %s --to snapshot", poller.ErrConfig, at,
			keyset.ColumnNames(p.Whole.Sel.Order), err, poller.AnyDocument)
	}
	return pos, s.Read, nil
}
