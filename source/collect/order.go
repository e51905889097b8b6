package collect

import (
	"bytes"
	"fmt"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/plan"
)

// KeyOf writes the key, as Event.Key is, of a row that holds the key's columns only, in key order.
func KeyOf(p *plan.Plan, r engine.Row) ([]byte, error) {
	key := make([]engine.Column, len(p.Key))
	at := make([]int, len(p.Key))
	for n, i := range p.Key {
		key[n], at[n] = p.Sel.Columns[i], n
	}
	c := Collector{Plan: &plan.Plan{Sel: keyset.Selection{Columns: key}}}
	if err := c.encode(r); err != nil {
		return nil, fmt.Errorf("%w: %w", poller.ErrNormalize, err)
	}
	return c.object(nil, p.KeyNames, at), nil
}

// CursorOf writes the position of a row that holds the order columns only.
func CursorOf(p *plan.Plan, r engine.Row) (change.Cursor, error) {
	c := Collector{Plan: &plan.Plan{Sel: keyset.Selection{Columns: p.Sel.Order}}} // without names: the values alone
	if err := c.encode(r); err != nil {
		return nil, fmt.Errorf("%w: %w", poller.ErrNormalize, err)
	}
	at := map[string]int{}
	for i, col := range p.Sel.Order {
		at[col.Name] = i
	}
	var key []int
	for _, i := range p.Key {
		key = append(key, at[p.Sel.Columns[i].Name])
	}
	object := c.object(nil, p.KeyNames, key)
	for _, i := range key {
		if bytes.Equal(c.value(i), keyset.Null) {
			return nil, fmt.Errorf("%w: %w", poller.ErrNormalize, errNullKey(object))
		}
	}
	var values [][]byte
	for i := range p.Sel.Cursors {
		if err := p.CheckCursorValue(&p.Sel.Order[i], c.value(i)); err != nil {
			return nil, fmt.Errorf("%w: %w (the row with key %s)", poller.ErrNormalize, err, object)
		}
		values = append(values, c.value(i))
	}
	return p.AppendCursor(nil, values, object), nil
}
