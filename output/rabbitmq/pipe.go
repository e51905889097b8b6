package rabbitmq

import (
	"net"
	"sync"
	"time"
)

// pipe is a connection whose Write never waits for the network: a goroutine writes what has gathered.
//
// The library flushes after each message, which would be a system call for each, and it writes under locks, where a broker
// that does not read (an alarm) would hold a delivery beyond the end of its context. What gathers is bounded by the
// deliveries under way: the next one starts only when earlier ones are confirmed, or their channel is closed (link.free).
type pipe struct {
	net.Conn
	wake    chan struct{} // holds one when the writer has something to do
	done    chan struct{} // closed when the writer has ended
	mu      sync.Mutex
	gather  []byte
	holds   int // deliveries that are being composed: the writer is not woken for their parts
	closing bool
	err     error // of the writer
}

const (
	// enough wakes the writer although more is to come.
	enough = 64 << 10
	// keep is the largest buffer that is kept for the next write.
	keep = 1 << 20
	// lastWrite bounds the writing of what is left at Close.
	lastWrite = time.Second
)

func newPipe(c net.Conn) *pipe {
	p := &pipe{Conn: c, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go p.write()
	return p
}

// Write takes b to be written. An error is one of an earlier write.
func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	if p.err != nil || p.closing {
		err := p.err
		p.mu.Unlock()
		if err == nil {
			err = net.ErrClosed
		}
		return 0, err
	}
	p.gather = append(p.gather, b...)
	now := p.holds == 0 || len(p.gather) >= enough
	p.mu.Unlock()
	if now {
		p.signal()
	}
	return len(b), nil
}

// hold says that a delivery is being composed: what it writes goes out together, at the release at the latest.
func (p *pipe) hold() {
	p.mu.Lock()
	p.holds++
	p.mu.Unlock()
}

func (p *pipe) release() {
	p.mu.Lock()
	p.holds--
	p.mu.Unlock()
	p.signal()
}

func (p *pipe) signal() {
	select {
	case p.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// write is the writer.
func (p *pipe) write() {
	defer close(p.done)
	defer func() { _ = p.Conn.Close() }() // the reader learns it; the connection is lost either way
	var spare []byte
	for range p.wake {
		p.mu.Lock()
		out, closing := p.gather, p.closing
		p.gather = spare[:0]
		p.mu.Unlock()
		if len(out) > 0 {
			if _, err := p.Conn.Write(out); err != nil {
				p.fail(err)
				return
			}
		}
		if spare = out; cap(spare) > keep {
			spare = nil
		}
		if closing {
			return
		}
	}
}

func (p *pipe) fail(err error) {
	p.mu.Lock()
	p.err, p.gather = err, nil
	p.mu.Unlock()
}

// Close writes what is left, for a second at most: the library's goodbye.
func (p *pipe) Close() error {
	p.mu.Lock()
	p.closing = true
	p.mu.Unlock()
	_ = p.SetWriteDeadline(time.Now().Add(lastWrite)) // fails on a closed connection only
	p.signal()
	<-p.done
	return nil
}

// abort resets the connection: what the broker has not read yet, it never will (TCP's RST discards it on both sides).
func (p *pipe) abort() {
	if c, ok := p.Conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0) // fails on a closed connection only
	}
	_ = p.Conn.Close()
	p.signal() // the writer may be waiting; its next write fails
	p.fail(net.ErrClosed)
}
