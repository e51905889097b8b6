// Package changetest models what SQL Server's documentation says of change tracking, for tests: no server runs where
// most of them do. A test answers the statements that it expects itself, from the model.
package changetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Table is the table dbo.orders (id, v), whose changes are tracked.
type Table struct {
	Rows    map[int64]int64
	Log     []Written
	Past    []Written // what is retained no longer
	Current int64     // the version of the last commit
	Valid   int64     // CHANGE_TRACKING_MIN_VALID_VERSION
	// States are, of each key, what it was since another's last write, and Others the version of that.
	States map[int64][]string
	Others map[int64]int64
	// Columns says that columns are tracked: TRACK_COLUMNS_UPDATED.
	Columns bool
}

// Written is a row's part of a commit.
type Written struct {
	Version, ID int64
	Op          byte
	Own         bool
	Others      int64  // what one's own says of others
	Context     any    // 0x and digits, or nil
	State       string // what the row was then; "" where it was gone
}

// NewTable returns an empty table.
func NewTable() *Table {
	return &Table{Rows: map[int64]int64{}, States: map[int64][]string{}, Others: map[int64]int64{}}
}

// Commit does the work of one transaction: "i 1 5" and "u 1 6" write a row, "n 1" another column of it, "d 1" deletes
// it, "w 1" writes all of its columns; "own i 1 5" and so on under the context of one's own writes, "bare …" without
// saying what others have done.
func (m *Table) Commit(work ...string) {
	m.Current++
	for _, text := range work {
		var op byte
		var id, v int64
		var context any
		text, own := strings.CutPrefix(text, "own ")
		text, bare := strings.CutPrefix(text, "bare ")
		_, _ = fmt.Sscanf(text+" 0", "%c %d %d", &op, &id, &v)
		switch op {
		case 'd':
			delete(m.Rows, id)
		case 'i', 'u':
			m.Rows[id] = v
		}
		if !own {
			m.Others[id], m.States[id] = m.Current, nil
		}
		if own {
			context = fmt.Sprintf("0x52454C59%016X", m.Others[id])
		} else if bare {
			context = "0x52454C59"
		}
		state := ""
		if v, there := m.Rows[id]; there {
			state = strconv.FormatInt(v, 10)
		}
		m.States[id] = append(m.States[id], state)
		m.Log = append(m.Log, Written{m.Current, id, op, own, m.Others[id], context, state})
	}
}

// Clean removes what is retained no longer.
func (m *Table) Clean(upTo int64) {
	m.Valid = upTo
	m.Log = slices.DeleteFunc(m.Log, func(w Written) bool {
		if w.Version <= upTo {
			m.Past = append(m.Past, w)
		}
		return w.Version <= upTo
	})
}

// Mask is SYS_CHANGE_COLUMNS after a version, taken apart: JSON of the columns that updates named, nil where columns
// are not tracked, where one statement named all, and for what was inserted or deleted.
func (m *Table) Mask(id, since int64) any {
	named := map[byte]bool{}
	for _, w := range m.Log {
		if w.ID != id || w.Version <= since {
			continue
		}
		if !m.Columns || w.Op != 'u' && w.Op != 'n' {
			return nil
		}
		named[w.Op] = true
	}
	var columns []string
	if named['u'] {
		columns = append(columns, `{"n":"v"}`)
	}
	if named['n'] {
		columns = append(columns, `{"n":"näme"}`)
	}
	return "[" + strings.Join(columns, ",") + "]"
}

// Context is SYS_CHANGE_CONTEXT of a version of a row.
func (m *Table) Context(id, version int64) any {
	for _, w := range m.Log {
		if w.ID == id && w.Version == version {
			return w.Context
		}
	}
	return nil
}

// Change is a row of CHANGETABLE(CHANGES …): the version of its last write, and of its last insert, 0 for none.
type Change struct{ ID, Version, Created int64 }

// Changes are the changes after a version, in the order of version and key.
func (m *Table) Changes(since int64) []Change {
	of := map[int64]*Change{}
	var changes []Change
	for _, w := range m.Log {
		if w.Version <= since {
			continue
		}
		if of[w.ID] == nil {
			of[w.ID] = &Change{ID: w.ID}
		}
		of[w.ID].Version = w.Version
		if w.Op == 'i' {
			of[w.ID].Created = w.Version
		}
	}
	for _, c := range of {
		changes = append(changes, *c)
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return int(2*(a.Version-b.Version) + min(max(a.ID-b.ID, -1), 1))
	})
	return changes
}
