package plan

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
	"github.com/rowrelay/rowrelay/source/keyset"
	"github.com/rowrelay/rowrelay/source/timeform"
)

// StartAt is the position that source__start names: after every row whose cursor is not above the value. A composite
// cursor is given as a JSON array.
func (p *Plan) StartAt(cfg *Config) (change.Cursor, error) {
	values, err := p.CursorValues("source__start (which may be earliest, latest or a value)", cfg.Start, cfg)
	if err != nil {
		return nil, err
	}
	return p.AppendCursor(nil, values, nil), nil
}

// CursorValues reads the values of the cursor's columns as a person types them: one value, or a JSON array for a
// composite cursor. what names them in the error.
func (p *Plan) CursorValues(what, typed string, cfg *Config) ([][]byte, error) {
	texts := []string{typed}
	if p.Sel.Cursors > 1 {
		texts = nil
		var members []json.RawMessage
		if err := json.Unmarshal([]byte(typed), &members); err != nil || len(members) != p.Sel.Cursors {
			return nil, fmt.Errorf("%w: %s is %q, and must be a JSON array with %d members, one for each column of source__cursor: %s",
				poller.ErrConfig, what, typed, p.Sel.Cursors, strings.Join(keyset.ColumnNames(p.Sel.Order[:p.Sel.Cursors]), ", "))
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
		v, err := p.typed(what, &p.Sel.Order[i], text, cfg)
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
		if _, ok := timeform.Parse(quoted, zone); !ok {
			return nil, ErrNoForm
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
	at, ok := timeform.Parse(quoted, zone)
	if !ok {
		return nil, ErrNoForm
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

// typed writes a value that a person typed as the JSON that a row would have, and proves that the engine takes it; what
// names it in the error.
func (p *Plan) typed(what string, col *engine.Column, text string, cfg *Config) ([]byte, error) {
	text = strings.TrimSpace(text)
	stored, err := startScalar(col, text, cfg.TimeZone, p.StoredTimes)
	switch {
	case col.Value.Kind == engine.KindBool && (strings.EqualFold(text, "true") || strings.EqualFold(text, "false")):
		stored = bytes.ToLower([]byte(text))
	case col.Value.Kind == engine.KindUUID && !p.StoredTimes:
		stored = bytes.ToLower(stored)
	case col.Value.Kind == engine.KindRowVersion:
		if data, ok := p.rowVersion(col, stored); ok {
			stored = change.AppendBinary(nil, data) // as a row's own stands in its position, not as 0x…
		}
	case col.Value.Untyped && scalar.IsDecimal(text, false):
		stored = change.AppendIntegerText(nil, text)
	}
	if err == nil {
		_, err = p.Dialect.Arg(col, stored)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s is %q, which is no value of column %q of type %s: %w", poller.ErrConfig, what, text,
			col.Name, col.Type, err)
	}
	return stored, nil
}

// rowVersion is what a rowversion's scalar says.
func (p *Plan) rowVersion(col *engine.Column, stored []byte) ([]byte, bool) {
	arg, err := p.Dialect.Arg(col, stored)
	if err != nil {
		return nil, false
	}
	data, ok := arg.([]byte)
	return data, ok
}

// ErrNoForm says how a time is to be written.
var ErrNoForm = errors.New("write a date (2026-04-07) or a time (2026-04-07T01:23:45.123, with Z or +02:00 for an instant)")
