package collect

import (
	"bytes"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
)

// tracked is what happened to the row in scratch since the page's position, and keeps what it tells of the change
// table. A row that was inserted and deleted since then is deleted.
func (c *Collector) tracked(t *plan.Tracked) change.Op {
	c.Floor = append(c.Floor[:0], c.value(t.Floor)...)
	c.Head = append(c.Head[:0], c.value(t.Head)...)
	created := c.value(t.Created)
	switch {
	case bytes.Equal(c.value(t.Present), keyset.Null):
		return change.Delete
	case bytes.Equal(created, c.value(t.Version)), c.Since != nil && c.Since(created):
		return change.Insert
	}
	return change.Update
}
