// Package shaping makes of an event what an output sends of it: which columns, under which names, masked how, with
// which constants (output__columns, output__mask__<column>, output__constants__<name>), and last what a jq program
// gives (output__jq). The tick does it once, when an event was fetched; formats then encode it like any other.
//
// Rows of a table are shaped as rows. Of an outbox's event it is the payload. Key, id, cursor and order stay: what is
// masked must be none of them.
package shaping

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rowrelay/rowrelay/change"
)

// Fault is what is wrong with a setting, "columns" for output__columns.
type Fault struct {
	Setting string
	Err     error
}

// Error describes the fault.
func (f *Fault) Error() string { return "output__" + f.Setting + ": " + f.Err.Error() }

// Unwrap returns Err.
func (f *Fault) Unwrap() error { return f.Err }

// New returns a shaper, nil where the rules change nothing. Errors are a *Fault.
func New(rules Rules) (*Shaper, error) {
	s := &Shaper{rules: rules}
	if err := s.parse(); err != nil {
		return nil, &Fault{"columns", err}
	}
	for _, name := range slices.Sorted(maps.Keys(rules.Constants)) {
		s.tail = append(change.AppendString(append(s.tail, ','), name), ':')
		s.tail = change.AppendString(s.tail, rules.Constants[name])
	}
	if rules.JQ != "" {
		var err error
		if s.program, err = compile(rules.JQ); err != nil {
			return nil, &Fault{"jq", err}
		}
	}
	if !s.plain() || s.program != nil {
		return s, nil
	}
	return nil, nil //nolint:nilnil // nothing to do
}

// parse reads the list of columns.
func (s *Shaper) parse() error {
	for _, text := range s.rules.Columns {
		c := column{name: text, as: text}
		if name, ok := strings.CutPrefix(text, "-"); ok {
			c.name, c.out = strings.TrimSpace(name), true
		} else if fields := strings.Fields(text); len(fields) == 3 && strings.EqualFold(fields[1], "as") {
			c.name, c.as = fields[0], fields[2]
		}
		switch {
		case text == "*":
			s.others = true
			continue
		case c.name == "":
			return errors.New("- has no column after it")
		case slices.ContainsFunc(s.columns, func(other column) bool { return strings.EqualFold(other.name, c.name) }):
			return fmt.Errorf("names %s twice", c.name)
		}
		s.others = s.others || c.out // to leave one out says that others are sent
		s.columns = append(s.columns, c)
	}
	s.others = s.others || len(s.columns) == 0
	return nil
}

// plain reports whether rows keep their members as they are.
func (s *Shaper) plain() bool {
	return len(s.rules.Columns)+len(s.rules.Masks)+len(s.rules.Constants) == 0
}

// Shape returns what is sent of an event: see poller.Config.Shape. Its errors are the settings' fault.
func (s *Shaper) Shape(e *change.Event) (change.Event, error) {
	sent := *e
	if e.Broken != nil {
		return sent, nil //nolint:nilerr // it stays Broken
	}
	if !s.plain() {
		if err := s.shape(&sent); err != nil {
			return sent, err
		}
	}
	if s.program != nil && sent.Broken == nil {
		s.run(&sent)
	}
	return sent, nil
}

// shape applies all rules but the program.
func (s *Shaper) shape(e *change.Event) error {
	object := e.Row
	if e.Outbox != nil {
		var b bytes.Buffer
		if object = nil; json.Compact(&b, e.Outbox.Payload) == nil {
			object = b.Bytes()
		}
	}
	if len(object) == 0 || object[0] != '{' {
		e.Broken = errors.New("it is no JSON object, whose members output__columns, output__mask and output__constants are about")
		return nil
	}
	if len(e.Before) > 0 && e.Before[0] == '{' {
		at, err := s.layout(e.Before, e)
		if err != nil {
			return err
		}
		e.Before = s.write(e.Before, at)
	}
	at, err := s.layout(object, e)
	if err != nil {
		return err
	}
	e.Shape = at.shape
	s.put(e, s.write(object, at))
	return nil
}

// layout decides about the members of an object, as for the last one where it has the same.
func (s *Shaper) layout(object []byte, e *change.Event) (*layout, error) {
	at := s.last.Load()
	if at == nil || !at.fits(object, e.Shape) {
		var err error
		if at, err = s.layoutOf(object, e); err != nil {
			return nil, err
		}
		if e.Outbox == nil { // payloads differ
			s.last.Store(at)
		}
	}
	return at, nil
}

// write is an object as it is sent.
func (s *Shaper) write(object []byte, at *layout) []byte {
	row := make([]byte, 1, len(object)+len(s.tail)+len(at.members))
	row[0] = '{'
	i := 0
	for _, value := range change.Members(object) {
		m := &at.members[i]
		if i++; m.as == nil {
			continue
		}
		if len(row) > 1 {
			row = append(row, ',')
		}
		row = append(append(row, m.as...), ':')
		row = s.appendMasked(row, value, m.mask)
	}
	tail := s.tail
	if len(row) == 1 && len(tail) > 0 {
		tail = tail[1:] // its comma
	}
	return append(append(row, tail...), '}')
}

// fits reports whether the object has these members, and no others.
func (l *layout) fits(object []byte, from *change.Shape) bool {
	i := 0
	for name := range change.Members(object) {
		if i == len(l.members) || !bytes.Equal(name, l.members[i].name) {
			return false
		}
		i++
	}
	return i == len(l.members) && l.from == from
}

// layoutOf decides about each member of an event's object. Its errors are the settings' fault.
func (s *Shaper) layoutOf(object []byte, e *change.Event) (*layout, error) {
	l := &layout{from: e.Shape}
	var forms []change.Member
	if e.Shape != nil {
		l.shape, forms = &change.Shape{Key: e.Shape.Key}, e.Shape.Row
	}
	found := map[string]bool{} // columns of the rules, in lower case
	taken := map[string]bool{}
	for name := range s.rules.Constants {
		taken[name] = true
	}
	for name := range change.Members(object) {
		var text string
		if err := json.Unmarshal(name, &text); err != nil {
			return nil, err
		}
		m := member{name: bytes.Clone(name)}
		as, lower := s.nameOf(text, found), strings.ToLower(text)
		for _, masked := range []string{inSettings(lower), lower} {
			if how, ok := s.rules.Masks[masked]; ok {
				m.mask, found[masked] = how, true
			}
		}
		if as != "" {
			if taken[as] {
				return nil, &Fault{"columns", fmt.Errorf("%w: two members of what is sent would be called %s", change.ErrConfig,
					as)}
			}
			taken[as] = true
			m.as = change.AppendString(nil, as)
			if l.shape != nil && len(l.members) < len(forms) {
				form := change.Member{Name: string(m.as) + ":"}
				if m.mask == "" {
					form.Form = forms[len(l.members)].Form
				}
				l.shape.Row = append(l.shape.Row, form)
			}
		}
		if m.mask != "" && e.Outbox == nil && s.carried(lower, e) {
			return nil, &Fault{"mask", fmt.Errorf("%w: %s is a column of the key, the order key or the cursor, whose values every event carries", change.ErrConfig, text)}
		}
		l.members = append(l.members, m)
	}
	return l, s.missing(found, e)
}

// nameOf is the name that a column is sent under; "" where it is not sent.
func (s *Shaper) nameOf(name string, found map[string]bool) string {
	for i := range s.columns {
		if c := &s.columns[i]; strings.EqualFold(c.name, name) {
			found[strings.ToLower(c.name)] = true
			switch {
			case c.out:
				return ""
			case c.as != c.name:
				return c.as
			}
			return name
		}
	}
	if s.others {
		return name
	}
	return ""
}

// inSettings is a column as the name of a setting can hold it, where _ stands for whatever is no letter and no digit.
func inSettings(lower string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, lower)
}

// carried reports whether the values of a column stand in an event beside its row.
func (s *Shaper) carried(lower string, e *change.Event) bool {
	for _, key := range [][]byte{e.Key, e.OrderKey} {
		for name := range change.Members(key) {
			if strings.EqualFold(strings.Trim(string(name), `"`), lower) {
				return true
			}
		}
	}
	return slices.ContainsFunc(s.rules.Cursor, func(c string) bool { return strings.EqualFold(c, lower) })
}

// missing says which columns of the rules a row has not: a mask that masks nothing would go unseen. A delete may have
// its key only, but one that has more is as good as another row; and payloads differ.
func (s *Shaper) missing(found map[string]bool, e *change.Event) error {
	if e.Op == change.Delete && bytes.Equal(e.Row, e.Key) || e.Outbox != nil {
		return nil
	}
	for _, c := range s.columns {
		if !found[strings.ToLower(c.name)] {
			return &Fault{"columns", fmt.Errorf("%w: the rows have no column %s", change.ErrConfig, c.name)}
		}
	}
	for _, masked := range slices.Sorted(maps.Keys(s.rules.Masks)) {
		if !found[masked] {
			return &Fault{"mask__" + masked, fmt.Errorf("%w: the rows have no column of this name", change.ErrConfig)}
		}
	}
	return nil
}
