//go:build !small

package shaping

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/plaintext"
)

// The bounds of one run. Steps are the same wherever a program runs; time and memory, which other work may use up as
// well, are wide, and only for programs whose steps are long. Memory is what the process holds, not what it has
// allocated: other pollers allocate much, and hold little. A step itself (one builtin) is not interrupted.
const (
	maxSteps  = 1_000_000
	maxTime   = 30 * time.Second
	maxMemory = 256 << 20
	maxDepth  = 1000 // of a value: readers of JSON have a bound too
	look      = 8    // steps between two looks at time and memory: few, because each may double a value
)

// refused are the functions whose value is another the next time, or that are not about a value: a repetition has to
// have the same body.
var refused = []string{"now", "localtime", "strflocaltime", "env", "$ENV", "input", "inputs", "debug", "stderr", "halt",
	"halt_error", "input_filename", "input_line_number", "modulemeta", "get_search_list"}

// prelude has text that is a number become just that number: a decimal of a row is text, and may have more digits than
// a float.
const prelude = `def _inexact: tonumber; def tonumber: _exact // _inexact; .`

func compile(text string) (*program, error) {
	query, err := gojq.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("is no jq program: %s", plaintext.Line(err.Error()))
	}
	if name := calls(reflect.ValueOf(query)); name != "" {
		return nil, fmt.Errorf("calls %s, which is not the same each time, or not about the event", name)
	}
	before, err := gojq.Parse(prelude)
	if err != nil {
		return nil, err
	}
	query.FuncDefs = append(before.FuncDefs, query.FuncDefs...)
	code, err := gojq.Compile(query, gojq.WithFunction("_exact", 0, 0, exact))
	if err != nil {
		return nil, fmt.Errorf("cannot be compiled: %s", plaintext.Line(err.Error()))
	}
	return &program{code}, nil
}

// calls returns the refused function that a part of a program calls; "" where it calls none.
func calls(part reflect.Value) string {
	switch part.Kind() {
	case reflect.Pointer:
		if part.IsNil() {
			return ""
		}
		if f, ok := part.Interface().(*gojq.Func); ok && slices.Contains(refused, f.Name) {
			return f.Name
		}
		return calls(part.Elem())
	case reflect.Struct:
		for i := range part.NumField() {
			if name := calls(part.Field(i)); name != "" {
				return name
			}
		}
	case reflect.Slice:
		for i := range part.Len() {
			if name := calls(part.Index(i)); name != "" {
				return name
			}
		}
	default:
	}
	return ""
}

// exact is the number that a text is, digit by digit; nil where it is none in JSON.
func exact(v any, _ []any) any {
	if n, ok := v.(json.Number); ok {
		return n
	}
	text, ok := v.(string)
	if text = strings.TrimSpace(text); !ok || text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') ||
		!json.Valid([]byte(text)) {
		return nil
	}
	return json.Number(text)
}

// run replaces what an event is about by the program's value. Without a value the event is left out. A program that
// fails says something against the event, and nothing about the destination.
func (s *Shaper) run(e *change.Event) {
	value, given, err := s.program.value(s.input(e))
	if err == nil && given {
		left := s.rules.MaxBytes
		err = weigh(value, &left, 0)
	}
	var data []byte
	if err == nil && given {
		data, err = gojq.Marshal(value)
	}
	switch {
	case err != nil:
		e.Broken = fmt.Errorf("output__jq: %w", err)
	case !given:
		e.Aside = true
	default:
		if e.Shape != nil {
			e.Shape = &change.Shape{Key: e.Shape.Key}
		}
		e.Before = nil // the program was given it
		s.put(e, data)
	}
}

// input is the event as the program sees it.
func (s *Shaper) input(e *change.Event) []byte {
	in := append(change.AppendString([]byte(`{"id":`), e.ID), `,"op":`...)
	in = append(append(change.AppendString(in, e.Op.String()), `,"key":`...), e.Key...)
	if !e.Undated && e.Outbox == nil { // where an outbox has no time, it is that of the fetch
		in = change.AppendInstant(append(in, `,"time":`...), e.Time)
	}
	switch {
	case e.Outbox != nil:
		in = append(append(in, `,"event":`...), e.Row...)
	case s.rules.Format == change.SQLTrigger:
		in = e.AppendTriggerRow(append(in, `,"row":`...))
	default:
		in = append(append(in, `,"row":`...), e.Row...)
	}
	if e.Before != nil {
		in = append(append(in, `,"before":`...), e.Before...)
	}
	return append(in, '}')
}

// value runs the program, which may give one value or none.
func (p *program) value(event []byte) (value any, given bool, err error) {
	defer func() {
		if recover() != nil { // its text may hold a part of the row
			err = errors.New("the program cannot be run on this event")
		}
	}()
	decoder := json.NewDecoder(bytes.NewReader(event))
	decoder.UseNumber()
	var in any
	if err := decoder.Decode(&in); err != nil {
		return nil, false, errors.New("the event cannot be read as JSON")
	}
	values := p.code.RunWithContext(&meter{Context: context.Background(), began: time.Now(), memory: held()}, in)
	for {
		next, ok := values.Next()
		if failure, failed := next.(error); failed {
			return nil, false, withoutRow(failure)
		}
		switch {
		case !ok:
			return value, given, nil
		case given:
			return nil, false, errors.New("the program gives more than one value: put them into an array")
		}
		value, given = next, true
	}
}

// withoutRow is an error of a program without parts of the row, which its text quotes after what happened. Only what
// the program says itself by error("…") is kept.
func withoutRow(err error) error {
	var said gojq.ValueError
	if errors.As(err, &said) {
		if text, ok := said.Value().(string); ok {
			return errors.New(plaintext.Cut(plaintext.Line(text), 200))
		}
		return errors.New("the program called error")
	}
	if bound := new(boundError); errors.As(err, &bound) {
		return bound
	}
	text := plaintext.Line(err.Error())
	if i := strings.IndexAny(text, "(\"'`[{0123456789"); i >= 0 {
		text = strings.TrimRight(text[:i], ": ") + " …"
	}
	return errors.New(text)
}

// boundError says which bound a program has reached.
type boundError struct{ bound string }

func (e *boundError) Error() string { return "the program was stopped: it takes more than " + e.bound }

// meter is the context of a run. The interpreter asks it for Done before each step, which is how it counts them.
type meter struct {
	context.Context //nolint:containedctx // it is one

	steps  int
	began  time.Time
	memory uint64 // that was held then
	err    error
}

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Done is closed when a bound is reached.
func (m *meter) Done() <-chan struct{} {
	switch m.steps++; {
	case m.steps > maxSteps:
		m.err = &boundError{fmt.Sprintf("%d steps", maxSteps)}
	case m.steps%look != 0:
	case held() > m.memory+maxMemory:
		m.err = &boundError{"256 MiB of memory"}
	case time.Since(m.began) > maxTime:
		m.err = &boundError{maxTime.String()}
	}
	if m.err != nil {
		return closed
	}
	return nil
}

// Err says which bound was reached.
func (m *meter) Err() error { return m.err }

// held is what this process holds on its heap, in bytes, with what the next collection frees.
func held() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// weigh fails for a value that takes more bytes as JSON than are left, before it is written: parts of it may be the
// same, so that it is small as it lies in memory.
func weigh(v any, left *int, depth int) error {
	switch v := v.(type) {
	case string:
		*left -= len(v) + 2
	case json.Number:
		*left -= len(v)
	case []any:
		for _, element := range v {
			if *left--; weigh(element, left, depth+1) != nil {
				break
			}
		}
	case map[string]any:
		for name, element := range v {
			if *left -= len(name) + 4; weigh(element, left, depth+1) != nil {
				break
			}
		}
	default:
		*left--
	}
	if depth > maxDepth {
		*left = -1
	}
	if *left < 0 {
		return errors.New("the program's value is larger than max_row_bytes, or nested too deeply")
	}
	return nil
}

// program is a compiled jq program.
type program struct{ code *gojq.Code }
