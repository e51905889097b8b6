package sqltable

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/scalar"
)

// value makes a driver's value of a column from JSON. What the source's engine and the destination's call differently
// is taken as what it means: a boolean as 1 and 0 and back, an instant as the time in UTC where the column has no zone,
// an array or object as its text.
func (o *Output) value(c *engine.Column, v json.RawMessage) (any, error) {
	kind := c.Value.Kind
	if !o.anyTime {
		var err error
		if v, err = o.precise(c, v); err != nil {
			return nil, err
		}
	}
	word := string(v)
	switch {
	case word == "null":
		return nil, nil //nolint:nilnil // NULL
	case kind == engine.KindRowVersion:
		return nil, errors.New("the database itself writes a rowversion: leave it out by output__columns")
	case kind == engine.KindJSON:
		return word, nil
	case kind == engine.KindText && !c.Value.Untyped:
		return textOf(v)
	case kind == engine.KindBinary:
		return scalar.Binary(v)
	case kind == engine.KindFloat:
		return o.float(c, v)
	case c.Value.Refused != "": // after json and float, which only positions refuse
		return nil, fmt.Errorf("its type is one %s", c.Value.Refused)
	case kind == engine.KindInteger && word == "true", kind == engine.KindDecimal && word == "true":
		v = json.RawMessage("1")
	case kind == engine.KindInteger && word == "false", kind == engine.KindDecimal && word == "false":
		v = json.RawMessage("0")
	case kind == engine.KindBool && word == "1":
		v = json.RawMessage("true")
	case kind == engine.KindBool && word == "0":
		v = json.RawMessage("false")
	case kind.IsTime() && !o.anyTime:
		var err error
		if v, err = inZoneOf(kind, v); err != nil {
			return nil, err
		}
	}
	return o.cfg.Connection.Dialect.Arg(c, v)
}

// param is how a value's parameter is written. A cast of a text, of bytes, and on MySQL of anything cuts what is too
// long without a word, where the column refuses it.
func (o *Output) param(c *engine.Column, v any, key bool) string {
	switch c.Value.Kind {
	case engine.KindBinary:
		return o.bytes
	case engine.KindText:
		if o.text != nil {
			return o.text(c, v, key)
		}
		return ""
	case engine.KindJSON, engine.KindFloat:
		return ""
	}
	if o.noCasts {
		return ""
	}
	return c.Value.Param
}

// textOf is a string's text, and every other value's JSON.
func textOf(v json.RawMessage) (any, error) {
	if v[0] != '"' {
		return string(v), nil
	}
	return scalar.Text(v)
}

// inZoneOf writes a time as a column of the kind reads it.
func inZoneOf(kind engine.Kind, v json.RawMessage) (json.RawMessage, error) {
	s, err := scalar.Text(v)
	if err != nil {
		return nil, err
	}
	at, zoned := time.Parse(time.RFC3339Nano, s)
	const local = "2006-01-02T15:04:05.999999999"
	_, plain := time.Parse(local, s)
	switch {
	case kind == engine.KindDateTime && zoned == nil:
		s = at.UTC().Format(local)
	case kind == engine.KindInstant && zoned == nil:
		s = at.UTC().Format(local) + "Z"
	case (kind == engine.KindInstant || kind == engine.KindOffsetTime) && plain == nil:
		s += "Z"
	case kind == engine.KindDate && (zoned == nil || plain == nil):
		day, clock, _ := strings.Cut(s, "T")
		if strings.Trim(clock, "0:.Z") != "" {
			return nil, errors.New("a date does not hold a time of day")
		}
		s = day
	}
	return json.Marshal(s)
}
