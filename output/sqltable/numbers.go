package sqltable

import (
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/scalar"
	"github.com/rowrelay/rowrelay/engine/sqlite"
)

var (
	// plainNumber is a number as databases write it, without what a column of numbers drops: a sign +, zeros before it.
	plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
	// readAsNumber is a text of which SQLite makes a number in a column of numbers.
	readAsNumber = regexp.MustCompile(`^[ \t-\r]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t-\r]*$`)
)

var (
	errDigits = errors.New("the column does not hold all digits of the number")
	errForm   = errors.New("the column would make a number of the text, and drop a part of it")
)

// float is a number as the drivers take it; PostgreSQL also knows NaN and Infinity.
func (o *Output) float(c *engine.Column, v json.RawMessage) (any, error) {
	s, err := scalar.Text(v)
	if err != nil {
		return nil, err
	}
	bits := 64
	if strings.EqualFold(typeOf(c), o.single32) {
		bits = 32
	}
	f, err := strconv.ParseFloat(s, bits)
	switch {
	case err != nil:
		return nil, errors.New("expected a number that the column holds")
	case strings.Trim(s, "+-0123456789.eE") != "": // NaN, Infinity
		if !o.floatText && (!o.anyTime || math.IsNaN(f)) {
			return nil, errors.New("the column holds no NaN, and no Infinity")
		}
	case !sameNumber(s, strconv.FormatFloat(f, 'g', -1, bits)):
		return nil, errDigits
	}
	if o.floatText {
		return s, nil
	}
	return f, nil
}

// sameNumber compares the digits of two numbers, which may have an exponent.
func sameNumber(a, b string) bool {
	x, n := digitsOf(a)
	y, m := digitsOf(b)
	return x == y && (n == m || strings.Trim(x, "-") == "")
}

// digitsOf is a number's sign and digits, without zeros at both ends, and the power of ten of the last digit.
func digitsOf(s string) (digits string, power int) {
	s, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	power, _ = strconv.Atoi(exponent) // 0 where there is none; what is too large was no number for ParseFloat
	whole, fraction, _ := strings.Cut(strings.TrimLeft(s, "+-"), ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	power += len(digits) - len(short) - len(fraction)
	if strings.HasPrefix(s, "-") && short != "" {
		short = "-" + short
	}
	return short, power
}

// inSQLite makes the number that a column of SQLite stores, whose type only says what it prefers: of a text that looks
// like one it makes a number, and a float of one with a fraction.
func inSQLite(t *engine.Table, c *engine.Column, raw json.RawMessage, v any) (any, error) {
	affinity := sqlite.AffinityOf(c.Type)
	text, _ := scalar.Text(raw) // "" where it is an array or an object
	switch v.(type) {
	case nil, []byte:
		return v, nil
	}
	switch {
	case affinity == sqlite.Blob, t.Strict && strings.EqualFold(c.Type, "ANY"):
		return v, nil
	case affinity == sqlite.Text:
		if _, ok := v.(float64); ok {
			return text, nil // SQLite would write 15 digits of it
		}
		return v, nil
	case c.Value.Kind == engine.KindBool && (text == "true" || text == "false"), !readAsNumber.MatchString(text):
		return v, nil
	case raw[0] == '"' && c.Value.Kind == engine.KindJSON:
		return v, nil // with its quotes
	case raw[0] == '"' && !plainNumber.MatchString(text):
		return nil, errForm
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && affinity != sqlite.Real {
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !sameNumber(text, strconv.FormatFloat(f, 'g', -1, 64)) {
		return nil, errDigits
	}
	return f, nil
}
