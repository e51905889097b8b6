package status

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
)

// TestAFirstTickIsNoLoss: a document that is made between the reads of it and of the note is not gone.
func TestAFirstTickIsNoLoss(t *testing.T) {
	for name, c := range map[string]struct {
		absent int  // reads that find no document
		had    bool // that the note's tick had one
		want   Health
		says   string
	}{
		"made meanwhile": {1, true, Healthy, "No failure"},
		"gone":           {2, true, Failing, "state document is gone"},
		"of an outbox":   {2, false, Healthy, "No failure"},
	} {
		t.Run(name, func(t *testing.T) {
			store := memstore.New()
			now := time.Now().UTC().Format(time.RFC3339Nano)
			note := fmt.Sprintf(`{"version":1,"instance":"i","at":%q,"event":"tick_complete","failed":false,"tick_seconds":1,`+
				`"last_success":%[1]q,"document":%[2]t}`, now, c.had)
			if _, err := store.Create(t.Context(), NoteKey("shop", "orders", ""), []byte(note)); err != nil {
				t.Fatal(err)
			}
			reads := 0
			b := newBoard(BoardConfig{App: "shop", Bound: 5 * time.Second, Store: store, Outputs: []Subject{{
				Base: Output{Poller: "orders", Mode: mode.Cursor},
				Parts: partOf(func(context.Context) (func(*Output), error) {
					if reads++; reads <= c.absent {
						return nil, state.ErrNotFound
					}
					return func(o *Output) { o.Token = 7 }, nil
				})}}})
			if o := b.Report(t.Context()).Outputs[0]; o.Health != c.want || !strings.Contains(o.Says, c.says) ||
				c.absent == 1 && o.Token != 7 {
				t.Errorf("%+v", o)
			}
		})
	}
}
