package change_test

import (
	"fmt"
	"testing"

	"github.com/rowrelay/rowrelay/change"
)

// TestBefore: where the source tells the row before a change, every format that has a row says both.
func TestBefore(t *testing.T) {
	for op, before := range map[change.Op]string{
		change.Insert: "null", change.Update: `{"id":7,"status":"new"}`, change.Delete: `{"id":7,"status":"paid"}`,
	} {
		e := event(op, `{"id":7,"rowrelay_change":1796085531421208}`, `{"id":7,"status":"paid"}`,
			`{"kind":"integer+pk","value":1796085531421208,"tiebreaker":{"id":7,"rowrelay_change":1796085531421208}}`)
		size := e.Size()
		e.Before = []byte(before)
		if e.Size() != size+len(before) {
			t.Errorf("%v: the row before is not part of the size", op)
		}
		for _, f := range []change.Format{change.CloudEvents, change.RowChange, change.Row, change.CloudEventsBinary} {
			d := delivery(e)
			got := f.AppendEvent(nil, d, 0)
			if f != change.CloudEventsBinary {
				pinFormat(t, f, fmt.Sprintf("before-%v", op), got)
			}
			if n := f.Bound(d, &e); n < len(got) {
				t.Errorf("%v %v: bound %d is below %d", f, op, n, len(got))
			}
		}
	}
}
