package sqltable

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/scalar"
)

var (
	scaled   = regexp.MustCompile(`^(?:numeric|decimal|float|double|real)[a-z ]*\([0-9]+,(-?[0-9]+)\)`)
	timed    = regexp.MustCompile(`^(?:time|datetime|interval)[a-z0-9 ]*\(([0-9])\)`)
	sized    = regexp.MustCompile(`^(?:n?varchar|character varying)\(([0-9]+)\)`)
	fraction = regexp.MustCompile(`([0-9])\.([0-9]+)`)
)

var errBlanks = errors.New("the text is longer than the column, which would drop blanks at its end")

// precise is for what databases fit into a column without a word. It cuts fractions of seconds, which they would round,
// and refuses numbers that they would round, and texts at whose end they would drop blanks.
func (o *Output) precise(c *engine.Column, v json.RawMessage) (json.RawMessage, error) {
	kind, typ := c.Value.Kind, typeOf(c)
	switch kind {
	case engine.KindDecimal, engine.KindFloat:
		scale, ok := sizeOf(scaled, typ)
		if typ == "money" && o.cfg.Connection.Engine == "postgres" {
			scale, ok = 2, true
		}
		text, _ := scalar.Text(v) // "" where it has none: who reads it says so
		if !ok || !readAsNumber.MatchString(text) {
			return v, nil
		}
		if digits, power := digitsOf(text); strings.Trim(digits, "-") != "" && power < -scale {
			return nil, errDigits
		}
	case engine.KindText:
		if n, ok := sizeOf(sized, typ); ok && len(v) > n {
			if text, err := scalar.Text(v); err == nil && strings.HasSuffix(text, " ") && utf8.RuneCountInString(text) > n {
				return nil, errBlanks
			}
		}
	}
	if from, to := o.beyond(c, v); from < to {
		return append(v[:from:from], v[to:]...), nil
	}
	return v, nil
}

// beyond is the range of v with the digits of a second that the column does not hold; empty where it holds all.
func (o *Output) beyond(c *engine.Column, v json.RawMessage) (from, to int) {
	kind, typ := c.Value.Kind, typeOf(c)
	seconds := kind == engine.KindTime || kind.IsTime() && kind != engine.KindDate || strings.HasPrefix(typ, "interval")
	at := fraction.FindSubmatchIndex(v)
	if !seconds || at == nil || o.anyTime {
		return 0, 0
	}
	n, ok := sizeOf(timed, typ)
	if !ok {
		n = o.fraction
	}
	if n == 0 {
		return at[3], at[5] // the point goes too
	}
	return min(at[4]+n, at[5]), at[5]
}

func sizeOf(form *regexp.Regexp, typ string) (int, bool) {
	found := form.FindStringSubmatch(typ)
	if found == nil {
		return 0, false
	}
	n, err := strconv.Atoi(found[1])
	return n, err == nil
}
