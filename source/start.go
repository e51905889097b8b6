package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/scalar"
	"github.com/rowrelay/rowrelay/poller"
)

// cursorOf writes the position of a row that holds the order columns only.
func (p *plan) cursorOf(r engine.Row) (change.Cursor, error) {
	c := collector{plan: &plan{sel: selection{columns: p.sel.order}}} // without names: the values alone
	if err := c.encode(r); err != nil {
		return nil, fmt.Errorf("%w: %w", poller.ErrNormalize, err)
	}
	at := map[string]int{}
	for i, col := range p.sel.order {
		at[col.Name] = i
	}
	var key []int
	for _, i := range p.key {
		key = append(key, at[p.sel.columns[i].Name])
	}
	object := c.object(nil, p.keyNames, key)
	for _, i := range key {
		if bytes.Equal(c.value(i), null) {
			return nil, fmt.Errorf("%w: %w", poller.ErrNormalize, errNullKey(object))
		}
	}
	var values [][]byte
	for i := range p.sel.cursors {
		if err := p.checkCursorValue(&p.sel.order[i], c.value(i)); err != nil {
			return nil, fmt.Errorf("%w: %w (the row with key %s)", poller.ErrNormalize, err, object)
		}
		values = append(values, c.value(i))
	}
	return p.appendCursor(nil, values, object), nil
}

// startAt is the position that source__start names: after every row whose cursor is not above the value. A composite
// cursor is given as a JSON array.
func (p *plan) startAt(cfg *Config) (change.Cursor, error) {
	values, err := p.cursorValues("source__start (which may be earliest, latest or a value)", cfg.Start, cfg)
	if err != nil {
		return nil, err
	}
	return p.appendCursor(nil, values, nil), nil
}

// cursorValues reads the values of the cursor's columns as a person types them: one value, or a JSON array for a composite
// cursor. what names them in the error.
func (p *plan) cursorValues(what, typed string, cfg *Config) ([][]byte, error) {
	texts := []string{typed}
	if p.sel.cursors > 1 {
		texts = nil
		var members []json.RawMessage
		if err := json.Unmarshal([]byte(typed), &members); err != nil || len(members) != p.sel.cursors {
			return nil, fmt.Errorf("%w: %s is %q, and must be a JSON array with %d members, one for each column of source__cursor: %s",
				poller.ErrConfig, what, typed, p.sel.cursors, strings.Join(columnNames(p.sel.order[:p.sel.cursors]), ", "))
		}
		for _, m := range members {
			text := string(m)
			if unquoted, err := strconv.Unquote(text); err == nil {
				text = unquoted
			}
			texts = append(texts, text)
		}
	}
	values := make([][]byte, len(texts))
	for i, text := range texts {
		v, err := p.typed(what, &p.sel.order[i], text, cfg)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}

// startScalar writes a value that a person typed as the JSON that a row would have.
func startScalar(c *engine.Column, text string, zone *time.Location, storedTimes bool) ([]byte, error) {
	quoted := change.AppendString(nil, text)
	switch k := c.Value.Kind; {
	case k == engine.KindInteger:
		if !scalar.IsDecimal(text, false) {
			return nil, errors.New("write an integer")
		}
		return change.AppendIntegerText(nil, text), nil
	case k == engine.KindDecimal:
		if !scalar.IsDecimal(text, true) {
			return nil, errors.New("write a number such as 12.50")
		}
		return quoted, nil
	case k.IsTime() && storedTimes:
		if scalar.IsDecimal(text, false) {
			return change.AppendIntegerText(nil, text), nil
		}
		if n, err := strconv.ParseFloat(text, 64); err == nil && scalar.IsDecimal(text, true) {
			return change.AppendFloat(nil, n, 64), nil // a Julian day
		}
		if _, ok := parseTime(quoted, zone); !ok {
			return nil, errNoForm
		}
		return quoted, nil
	case k.IsTime():
		return startTime(c, quoted, zone)
	default:
		return quoted, nil
	}
}

// startTime reads a time that a person typed. With a zone it is that instant; without, the wall clock of
// source__time_zone.
func startTime(c *engine.Column, quoted []byte, zone *time.Location) ([]byte, error) {
	at, ok := parseTime(quoted, zone)
	if !ok {
		return nil, errNoForm
	}
	switch c.Value.Kind {
	case engine.KindDate:
		return change.AppendDate(nil, at.In(zone)), nil
	case engine.KindDateTime:
		if c.Value.Zoned {
			zone = time.UTC
		}
		return change.AppendDateTime(nil, at.In(zone)), nil
	case engine.KindOffsetTime:
		return change.AppendOffsetTime(nil, at), nil
	default:
		return change.AppendInstant(nil, at), nil
	}
}
