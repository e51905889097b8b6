package collect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
)

// tracked is what happened to the row in scratch since the page's position, and keeps what it tells of the change
// table. A row that was inserted and deleted since then is deleted.
func (c *Collector) tracked(t *plan.Tracked) change.Op {
	if t.Floor >= 0 {
		c.Floor = append(c.Floor[:0], c.value(t.Floor)...)
		c.Head = append(c.Head[:0], c.value(t.Head)...)
	}
	created := c.value(t.Created)
	switch {
	case bytes.Equal(c.value(t.Present), keyset.Null):
		return change.Delete
	case c.Whole, bytes.Equal(created, c.value(t.Version)), c.Since != nil && c.Since(created),
		c.Untold != nil && c.Untold(created):
		return change.Insert
	}
	return change.Update
}

// untold says why the delete in scratch cannot be told.
func (c *Collector) untold(key []byte) error {
	col := &c.Plan.Sel.Columns[c.nulled[0]]
	return fmt.Errorf("column %q of type %s: %w; the row with key %s is gone, and its delete can be told by no key: "+
		"nothing is to be done, unless a receiver knows the row", col.Name, col.Type, c.why, key)
}

// unwritten reports whether the row in scratch is there, and nothing is known of when it was written (inserted, where
// updates are not wanted): then its version does not tell it from what it was before.
func (c *Collector) unwritten(op change.Op) bool {
	t := c.Plan.Tracked
	if t == nil || op == change.Delete {
		return false
	}
	at := t.Version
	if op == change.Insert && c.Cfg.OnlyInserts() {
		at = t.Created
	}
	return !plan.Later(c.value(at), nil)
}

// identity is what the id is made of: the row's cursor. Where updates are not wanted, an insert is the same however
// often the row was written since, so that it can be told once more where it may not have been told. A change of a
// history has its number in the key.
func (c *Collector) identity(e *change.Event) change.Cursor {
	if c.Plan.History != nil {
		return nil
	}
	if c.Plan.Tracked == nil || e.Op != change.Insert || !c.Cfg.OnlyInserts() {
		return e.Cursor
	}
	return c.Plan.AppendCursor(nil, [][]byte{c.value(c.Plan.Tracked.Created)}, e.Key)
}

// write is Event.Write: of a write that counts (source__changed), where the last window is read again and again. There
// it is met once more, with the version of a write that does not count. (Not with source__ignore_context: one's own
// delete may be told there, and then one's own insert has to be told, too.)
func (c *Collector) write(e *change.Event) string {
	t := c.Plan.Tracked
	if t == nil || e.Op == change.Delete || len(c.Cfg.Changed) == 0 || c.Cfg.Ignored != "" ||
		c.Plan.Syntax.Tracking.Exact {
		return ""
	}
	touched := c.value(t.Touched)
	if !plan.Later(touched, nil) {
		return ""
	}
	return change.EventID(c.Cfg.Poller, identifying(e.Op), e.Key, c.Plan.AppendCursor(nil, [][]byte{touched}, e.Key), nil)
}

// written is Event.Written: an update's columns, where the mask holds all of them, and the last write's context.
func (c *Collector) written(op change.Op) *change.Written {
	if c.Plan.History != nil {
		return c.recorded(op)
	}
	t := c.Plan.Tracked
	if t == nil || t.Context < 0 {
		return nil
	}
	var columns []struct {
		Name string `json:"n"`
	}
	var context string
	if op == change.Update && c.Masked && json.Unmarshal(c.value(t.Mask), &columns) != nil {
		columns = nil // any
	}
	_ = json.Unmarshal(c.value(t.Context), &context) // a text, or null
	names := make([]string, len(columns))
	for i := range columns {
		names[i] = columns[i].Name
	}
	slices.Sort(names) // else the server's plan would decide
	return change.NewWritten(names, context)
}

// Deleted is the delete of a key of which nothing is recorded but that its row is gone; version stands for that.
func Deleted(p *plan.Plan, cfg *plan.Config, key, version []byte, at time.Time) (change.Event, error) {
	order, err := p.OrderKeyOf(key)
	if err != nil {
		return change.Event{}, fmt.Errorf("%w: %w", poller.ErrNormalize, err)
	}
	e := change.Event{Op: change.Delete, Key: key, OrderKey: order, Row: key, Shape: p.KeyShape,
		Cursor: p.AppendCursor(nil, [][]byte{version}, key), Time: at, Undated: true}
	content := e.Row
	if p.UniqueCursor {
		content = nil
	}
	e.ID = change.EventID(cfg.Poller, e.Op, e.Key, e.Cursor, content)
	return e, nil
}
