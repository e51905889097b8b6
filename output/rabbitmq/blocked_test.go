package rabbitmq_test

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/output/rabbitmq"
	"github.com/rowrelay/rowrelay/poller"
)

func blockedFrame(reason string) []byte {
	payload := append([]byte{0, 10, 0, 60, byte(len(reason))}, reason...)
	frame := binary.BigEndian.AppendUint32([]byte{1, 0, 0}, uint32(len(payload)))
	return append(append(frame, payload...), 0xce)
}

func TestABlockedConnection(t *testing.T) {
	b, p, o := behindProxy(t, rabbitmq.Config{})
	deliver(t, o, rows(0, 2))
	b.ids(t)

	// The alarm comes while a delivery waits for its confirms.
	arrived := p.hush()
	why := errors.New("the right to deliver ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- o.Deliver(ctx, rows(10, 2)) }()
	<-arrived
	p.inject(t, blockedFrame("low on memory"))
	var refused error
	programtest.Until(t, "the next delivery is refused at once", func() bool {
		short, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer stop()
		refused = o.Deliver(short, rows(20, 2))
		return refused != nil && strings.Contains(refused.Error(), "low on memory")
	})
	general(t, refused, true)
	cancel(why)
	err := <-ended
	general(t, err, true)
	failed(t, err, poller.Unavailable, []int{0, 1}, "low on memory", "blocks publishers")
	if !errors.Is(err, why) {
		t.Errorf("%v does not wrap the cause", err)
	}
	// It ends.
	p.inject(t, []byte{1, 0, 0, 0, 0, 0, 4, 0, 10, 0, 61, 0xce})
	p.speak()
	programtest.Until(t, "deliveries go on", func() bool { return o.Deliver(t.Context(), rows(30, 2)) == nil })
	if n := p.dialled(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestABlockedConnectionIsClosed(t *testing.T) {
	_, p, o := behindProxy(t, rabbitmq.Config{})
	deliver(t, o, rows(0, 2))
	p.inject(t, blockedFrame("low on disk"))
	programtest.Until(t, "deliveries are refused", func() bool {
		err := o.Deliver(t.Context(), rows(20, 2))
		return err != nil && strings.Contains(err.Error(), "low on disk")
	})
	heard := p.hush()
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	programtest.Until(t, "the connection ends", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.ended > 0
	})
	select {
	case <-heard:
		t.Error("Close says goodbye to a broker that reads nothing, and waits for its answer")
	default:
	}
}
