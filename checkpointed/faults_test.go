package checkpointed

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/poller/pollertest"
	"github.com/rowrelay/rowrelay/state/memstore"
)

// TestPanicGivesTheLeaseBack: else its heartbeat would keep every instance out until the process ends.
func TestPanicGivesTheLeaseBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newRows(pollertest.Keys(3, 3)...)
		panics := 1
		one := newInstance(t, memstore.New(), source, pollertest.NewSink(t, nil), func(c *poller.Config) {
			c.Size = func(e *change.Event) int {
				if panics > 0 {
					panics--
					panic("boom")
				}
				return e.Size()
			}
		})
		p := poller.New(one.Relay)
		if r := p.Run(t.Context())[0]; r.Event != poller.HandlerFailed || !strings.Contains(r.Err.Error(), "boom") {
			t.Errorf("with a panic: %+v", r)
		}
		if r := p.Run(t.Context())[0]; r.Event != poller.TickComplete || r.Rows != 3 || r.Token != 2 {
			t.Errorf("after it: %+v", r)
		}
	})
}
