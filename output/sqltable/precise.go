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

// typeOf is a column's type in lower case, that of its values where it is a domain.
func typeOf(c *engine.Column) string {
	if c.Base != "" {
		return strings.ToLower(c.Base)
	}
	return strings.ToLower(c.Type)
}

// precise is for what databases fit into a column without a word. It cuts fractions of seconds, which they would round,
// and refuses numbers that they would round, and texts at whose end they would drop blanks.
func (o *Output) precise(c *engine.Column, v json.RawMessage) (json.RawMessage, error) {
	kind, typ := c.Value.Kind, typeOf(c)
	switch {
	case kind == engine.KindDecimal || kind == engine.KindFloat:
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
	case kind == engine.KindTime, kind.IsTime() && kind != engine.KindDate, strings.HasPrefix(typ, "interval"):
		n, ok := sizeOf(timed, typ)
		if !ok {
			n = o.fraction
		}
		if at := fraction.FindSubmatchIndex(v); at != nil && at[5]-at[4] > n {
			end := at[4] + n
			if n == 0 {
				end = at[3] // the point goes too
			}
			return append(v[:end:end], v[at[5]:]...), nil
		}
	case kind == engine.KindText:
		if n, ok := sizeOf(sized, typ); ok && len(v) > n {
			if text, err := scalar.Text(v); err == nil && strings.HasSuffix(text, " ") && utf8.RuneCountInString(text) > n {
				return nil, errBlanks
			}
		}
	}
	return v, nil
}

func sizeOf(form *regexp.Regexp, typ string) (int, bool) {
	found := form.FindStringSubmatch(typ)
	if found == nil {
		return 0, false
	}
	n, err := strconv.Atoi(found[1])
	return n, err == nil
}
