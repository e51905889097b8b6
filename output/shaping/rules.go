package shaping

import (
	"sync/atomic"

	"github.com/rowrelay/rowrelay/change"
)

// Shaper shapes events by rules. It is safe for concurrent use.
type Shaper struct {
	rules   Rules
	columns []column
	others  bool // columns that are not named are sent too
	tail    []byte
	program *program
	last    atomic.Pointer[layout] // rows of one table have one layout
}

// column is what is to become of a column.
type column struct {
	name, as string
	out      bool
}

// layout is what becomes of the members of rows that have the same ones.
type layout struct {
	from    *change.Shape
	shape   *change.Shape
	members []member
}

// Rules are the settings of an output. The zero value changes nothing.
type Rules struct {
	// Columns are names, "name as other", "-name", and "*" for the others, which a "-" means as well.
	// Empty: all, as they are.
	Columns []string
	// Masks (redact, hash or last4) are by column in lower case, Secret keys those hashes. Constants are texts, by name.
	Masks     map[string]string
	Secret    string
	Constants map[string]string
	JQ        string
	// Cursor are columns whose values every event carries, as it does those of its keys.
	Cursor []string
	// Format is what the output writes; MaxBytes bounds what is made of an event.
	Format   change.Format
	MaxBytes int
}

// put replaces what the event is about.
func (s *Shaper) put(e *change.Event, data []byte) {
	if e.Outbox == nil {
		e.Row = data
		return
	}
	o := *e.Outbox
	row := append(make([]byte, 0, len(e.Row)+len(data)), '{')
	for name, value := range change.Members(e.Row) {
		switch string(name) {
		case `"payload_encoding"`:
			continue
		case `"payload"`:
			value = data
		}
		if len(row) > 1 {
			row = append(row, ',')
		}
		row = append(append(append(row, name...), ':'), value...)
	}
	o.Payload, o.JSON, e.Row, e.Outbox = data, true, append(row, '}'), &o
}

type member struct {
	name []byte // as JSON
	as   []byte // likewise; nil: it is left out
	mask string
}
