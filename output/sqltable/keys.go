package sqltable

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/rowrelay/rowrelay/engine"
	"github.com/rowrelay/rowrelay/engine/scalar"
)

// plainText are the texts that no common collation holds equal to another of them.
var plainText = regexp.MustCompile(`^[-a-z0-9_.:/]*$`)

// common are the collations without the rules of a language, and those of SQLite and PostgreSQL's citext.
var common = regexp.MustCompile(`(?i)^(nocase|rtrim|citext|(sql_)?latin1_general_.*|latin1_swedish_(nopad_)?ci|` +
	`(utf8|utf8mb3|utf8mb4|latin1)_((uca1400|unicode|unicode_520|0900|general|general_mysql500)_)?(nopad_)?` +
	`(bin|ci|(ai|as)_(ci|cs)))$`)

// plainID are the texts that no collation holds equal to another of them: UUIDs and whole numbers. There are languages
// in which i is y, or u is v (utf8mb4_lithuanian_ci, utf8mb4_roman_ci), and collations that pass over punctuation.
var plainID = regexp.MustCompile(`^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|0|[1-9][0-9]*)$`)

// wholeKey is the JSON of a key in a column of whole numbers: in another form several texts are one number.
var wholeKey = regexp.MustCompile(`^("(0|-?[1-9][0-9]*)"|[^"].*)$`)

var (
	errWhole = errors.New("a key in a column of whole numbers has to be written as one, without a sign + and zeros before " +
		"it: other keys could be the same number")
	errCut = errors.New("the column holds fewer digits of a second than the key has: other keys would be the same time; give " +
		"the column more digits")
	errFilled = errors.New("the key is shorter than the column, which adds zero bytes to it: other keys could be the same " +
		"bytes; give the column a type of varying length")
)

// ofBytes is the type of columns that fill up what is shorter.
var ofBytes = regexp.MustCompile(`^binary\(([0-9]+)\)`)

// keeps refuses a part of a key of which the column would make what other keys become as well. arg is what the driver
// is given for it.
func (o *Output) keeps(c *engine.Column, v json.RawMessage, arg any) error {
	if c.Value.Kind == engine.KindInteger && !wholeKey.Match(v) {
		return errWhole
	}
	if from, to := o.beyond(c, v); strings.Trim(string(v[from:to]), ".0") != "" {
		return errCut
	}
	if text, ok := arg.(string); ok && o.ticks && c.Value.Kind == engine.KindDateTime &&
		secondsOf(v) != secondsOf([]byte(strconv.Quote(text))) {
		return errCut
	}
	if n, fixed := sizeOf(ofBytes, typeOf(c)); fixed && !o.anyTime {
		data, _ := scalar.Binary(v) // value has read it
		if b, ok := data.([]byte); ok && len(b) < n {
			return errFilled
		}
	}
	return nil
}

// secondsOf are the seconds of a time with nine digits after the point; no zone is so odd that it changes them.
func secondsOf(v json.RawMessage) string {
	m, err := scalar.ParseMoment(v)
	if err != nil {
		return "" // value has said so
	}
	return m.Join("T", 9)[len("2006-01-02T15:04:"):]
}

// distinct sees to it that the texts of a key are no other row's: the table would make one row of two.
func (o *Output) distinct(t *engine.Table, r *row) error {
	for i := range t.Columns {
		c := &t.Columns[i]
		for j, name := range r.names {
			text, ok := r.values[j].(string)
			if !ok || name != c.Name {
				continue
			}
			if o.pads(c) && strings.HasSuffix(text, " ") {
				return rowFault{fmt.Errorf("column %s: the key ends with a blank, which a column of type %s does not "+
					"tell from the key without it", c.Name, c.Type)}
			}
			plain := plainID
			if common.MatchString(c.Collation) {
				plain = plainText
			}
			if c.Collation != "" && !plain.MatchString(text) {
				o.mu.Lock()
				o.merging = c.Name
				o.mu.Unlock()
				return o.merges(c)
			}
		}
	}
	return nil
}

// stopped is the [Lack] of an earlier key, until the column has another collation. If other keys were written
// meanwhile, the tick would take that for evidence against the event.
func (o *Output) stopped(t *engine.Table) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Name == o.merging && c.Collation != "" {
			return o.merges(c)
		}
	}
	o.merging = ""
	return nil
}

func (o *Output) merges(c *engine.Column) error {
	return Lack(fmt.Sprintf("the key's column %s of %s, or a unique index on it, has the collation %s, for which different "+
		"texts may be equal, such as A and a: several rows would become one. Drop such an index, and give the column a "+
		"collation that compares byte by byte: %s",
		c.Name, o.table, c.Collation, o.alter(o.table.String(), o.syntax.Quote(c.Name), c.Type)))
}

// pads reports whether a column does not keep, or compare, blanks at the end of a text.
func (o *Output) pads(c *engine.Column) bool {
	typ := typeOf(c)
	fixed := strings.HasPrefix(typ, "char") && !strings.HasPrefix(typ, "character varying")
	return o.padded || fixed && !o.anyTime
}
