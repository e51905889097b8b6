package stdout_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/output/outputtest"
	"github.com/rowrelay/rowrelay/output/stdout"
	"github.com/rowrelay/rowrelay/poller"
)

var errBroken = errors.New("broken pipe")

// pipe takes room bytes and then breaks; -1 never does.
type pipe struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	room int
}

func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.room < 0 || len(b) <= p.room {
		return p.buf.Write(b)
	}
	n, _ := p.buf.Write(b[:p.room])
	return n, errBroken
}

func (p *pipe) lines(*testing.T) [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.buf.Len() == 0 {
		return nil
	}
	return bytes.Split(bytes.TrimSuffix(p.buf.Bytes(), []byte("\n")), []byte("\n"))
}

func TestConformance(t *testing.T) {
	outputtest.Run(t, func(*testing.T) outputtest.Fixture {
		p := &pipe{room: -1}
		return outputtest.Fixture{
			Output:      stdout.New(p, change.CloudEvents),
			Received:    p.lines,
			InOrder:     true,
			Unreachable: stdout.New(&pipe{}, change.CloudEvents),
		}
	})
}

// A pipe that breaks at any byte: exactly the events whose lines are out are accepted, and what follows begins on a
// line of its own.
func TestBreaksAtEveryByte(t *testing.T) {
	d := outputtest.Delivery(0, 3)
	var ends []int
	var whole []byte
	for i := range d.Events {
		whole = append(change.Row.AppendEvent(whole, &d, i), '\n')
		ends = append(ends, len(whole))
	}
	for room := range whole {
		p := &pipe{room: room}
		o := stdout.New(p, change.Row)
		err := o.Deliver(t.Context(), d)
		var failure *poller.DeliveryError
		if !errors.As(err, &failure) || !errors.Is(err, errBroken) {
			t.Fatalf("room %d: %v", room, err)
		}
		accepted := 0
		for accepted < len(ends) && ends[accepted] <= room {
			accepted++
		}
		if len(failure.Failed) != 3-accepted || failure.Failed[0].Index != accepted ||
			failure.Failed[0].Cause != poller.Unavailable {
			t.Fatalf("room %d: failed %v, want those from %d on", room, failure.Failed, accepted)
		}
		p.room = -1
		rest := d
		rest.Events = d.Events[accepted:]
		if err := o.Deliver(t.Context(), rest); err != nil {
			t.Fatal(err)
		}
		lines := bytes.Split(bytes.TrimSuffix(p.buf.Bytes(), []byte("\n")), []byte("\n"))
		for i := range d.Events {
			if got := lines[len(lines)-3+i]; i >= accepted && !bytes.Equal(got, d.Events[i].Row) {
				t.Fatalf("room %d: line %q, want %q", room, got, d.Events[i].Row)
			}
		}
	}
}
