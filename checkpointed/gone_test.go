package checkpointed

import (
	"testing"
	"testing/synctest"

	"github.com/rowrelay/rowrelay/poller"
)

// TestADocumentThatIsGone: a process that has read it, or made it, begins no other, also where it read it once only and
// found nothing to do, and where another feed of the process follows (a reload). Another process begins.
func TestADocumentThatIsGone(t *testing.T) {
	for name, ticks := range map[string]int{"made by this process": 0, "read by this process": 1} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop()
			seen := &Seen{}
			within := func(cfg *Config) { cfg.Seen = seen }
			first := newProcess(t, nil, s, within)
			first.tick()
			p := first
			for range ticks {
				seen = &Seen{}
				p = newProcess(t, first.memory, s, within)
				p.tick()
			}
			stored, err := p.memory.Load(t.Context(), testKey)
			if err == nil {
				err = p.memory.Delete(t.Context(), testKey, stored.Version)
			}
			if err != nil {
				t.Fatal(err)
			}
			s.fill(1, 3)
			for i := range 4 {
				if i == 2 {
					p = newProcess(t, first.memory, s, within)
				}
				if r := p.tick(); r.Event != poller.StateGone || r.Rows != 0 {
					t.Errorf("%s: %s, %d rows: %v", name, r.Event, r.Rows, r.Err)
				}
			}
			if r := newProcess(t, first.memory, s, nil).tick(); r.Event != poller.TickComplete || r.Rows != 3 {
				t.Errorf("%s: another process: %s, %d rows: %v", name, r.Event, r.Rows, r.Err)
			}
		})
	}
}
