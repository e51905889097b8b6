package change_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/change"
)

// written is an update of which the database tells what was written.
func written() change.Event {
	e := event(change.Update, `{"id":12093}`, `{"id":12093,"status":"paid","total":"19.90"}`,
		`{"kind":"integer+pk","value":42,"tiebreaker":{"id":12093}}`)
	e.Written = change.NewWritten([]string{"größe", "status"}, "0x52454C59")
	return e
}

// TestWrittenInTheFormats: cloudevents and rowchange tell it, whatever the form, and no other format has another byte.
func TestWrittenInTheFormats(t *testing.T) {
	e := written()
	plain := e
	plain.Written = nil
	for _, f := range formats {
		got, without := f.AppendEvent(nil, delivery(e), 0), f.AppendEvent(nil, delivery(plain), 0)
		if f == change.CloudEvents || f == change.RowChange {
			pinFormat(t, f, "single-written", got)
			pinFormat(t, f, "message-written", f.AppendMessage(nil, delivery(e), 0))
		} else if string(got) != string(without) {
			t.Errorf("%s: %s, and without it %s", f, got, without)
		}
		checkBound(t, f, delivery(e), true)
		e.Written = change.NewWritten([]string{strings.Repeat("\x01\"ä", 40)}, "0x"+strings.Repeat("AB", 128))
		checkBound(t, f, delivery(e), false)
		e = written()
	}
	var got []string
	for _, a := range delivery(e).Attributes(nil, &e) {
		got = append(got, fmt.Sprint(a))
	}
	for _, want := range []string{`{rowrelay_changed ["gr\u00f6\u00dfe","status"]}`, "{rowrelay_context 0x52454C59}"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing: %v", want, got)
		}
	}
	d, buf := delivery(e), make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() { buf = change.CloudEvents.AppendBatch(buf[:0], d) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestWhatIsNotWritten: without names any column may have been written, and a list that no header holds is none.
func TestWhatIsNotWritten(t *testing.T) {
	many := make([]string, 300)
	for i := range many {
		many[i] = fmt.Sprintf("column_%d", i)
	}
	if w := change.NewWritten(nil, ""); w != nil || w.AnyColumn() != nil {
		t.Error(w)
	}
	if w := change.NewWritten(many, "0x01"); w == nil || w.Columns != "" || w.Context != "0x01" {
		t.Error(w)
	}
	w := change.NewWritten(many[:60], "0x01")
	if w == nil || w.Columns == "" || *w.AnyColumn() != (change.Written{Context: "0x01"}) {
		t.Error(w)
	}
}
