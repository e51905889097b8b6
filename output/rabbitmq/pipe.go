package rabbitmq

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// pipe is a connection whose Write never waits for the network: a goroutine writes what has gathered.
//
// The library flushes after each message, which would be a system call for each, and it writes under locks, where a
// broker that does not read (an alarm) would hold a delivery beyond the end of its context. What gathers is bounded by
// the deliveries under way: the next one starts only when earlier ones are confirmed, or their channel is closed
// (link.free).
type pipe struct {
	net.Conn
	wake    chan struct{} // holds one when the writer has something to do
	done    chan struct{} // closed when the writer has ended
	mu      sync.Mutex
	gather  []byte
	taken   int64 // bytes that Write took, ever
	sent    int64 // bytes of them that the kernel has
	holds   int   // deliveries that are being composed: the writer is not woken for their parts
	closing bool
	err     error // of the writer, or because of abort: nothing more is written
	stops   []stop
}

// stop is a delivery whose right has ended, which waits for the writer to say that the kernel has all of it.
type stop struct {
	position int64
	over     chan struct{}
}

const (
	// enough wakes the writer although more is to come.
	enough = 64 << 10
	// keep is the largest buffer that is kept for the next write.
	keep = 1 << 20
	// chunk is the most that is written between two looks at how far it is.
	chunk = 256 << 10
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
	p.taken += int64(len(b))
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

// position is the end of what Write has taken so far.
func (p *pipe) position() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

// stop resets the connection unless the kernel has everything up to position: when it returns, nothing leaves any more
// of what the kernel did not have. It waits for nothing but a system call that is under way.
func (p *pipe) stop(position int64) {
	s := stop{position, make(chan struct{})}
	p.mu.Lock()
	if p.err != nil || p.sent >= position {
		p.mu.Unlock()
		return
	}
	p.stops = append(p.stops, s)
	_ = p.SetWriteDeadline(time.Unix(1, 0)) // ends a write that waits; fails on a closed connection only
	p.mu.Unlock()
	p.signal()
	select {
	case <-s.over:
	case <-p.done:
	}
}

// ended reports whether nothing more is written. The library learns it a moment later, from its reader.
func (p *pipe) ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err != nil
}

// look answers those who called stop, and reports whether there were any, and whether the writer goes on.
func (p *pipe) look() (asked, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return false, false
	}
	for _, s := range p.stops {
		if p.sent < s.position {
			p.err, p.gather = net.ErrClosed, nil
			p.forgo()
			return true, false
		}
	}
	for _, s := range p.stops {
		close(s.over)
	}
	asked, p.stops = len(p.stops) > 0, nil
	if asked && !p.closing {
		_ = p.SetWriteDeadline(time.Time{}) // fails on a closed connection only
	}
	return asked, true
}

// write is the writer.
func (p *pipe) write() {
	defer close(p.done)
	defer func() { _ = p.Conn.Close() }() // the reader learns it; the connection is lost either way
	var spare []byte
	for range p.wake {
		if _, more := p.look(); !more {
			return
		}
		p.mu.Lock()
		out, closing := p.gather, p.closing
		p.gather = spare[:0]
		p.mu.Unlock()
		if !p.pass(out) || closing {
			return
		}
		if spare = out; cap(spare) > keep {
			spare = nil
		}
	}
}

// pass hands bytes to the kernel and reports whether the writer goes on.
func (p *pipe) pass(out []byte) bool {
	for len(out) > 0 {
		n, err := p.Conn.Write(out[:min(len(out), chunk)])
		out = out[n:]
		p.mu.Lock()
		p.sent += int64(n)
		p.mu.Unlock()
		asked, more := p.look()
		if !more {
			return false
		}
		if err != nil && (!asked || !errors.Is(err, os.ErrDeadlineExceeded)) {
			p.fail(err)
			return false
		}
	}
	return true
}

// fail ends the taking of bytes, and drops those that wait. The first reason stays.
func (p *pipe) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
	p.gather = nil
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

// abort resets the connection. When it returns, nothing is written any more.
func (p *pipe) abort() {
	p.fail(net.ErrClosed)
	p.forgo()
	_ = p.Conn.Close() // ends a write that waits
	p.signal()         // and a writer that waits for something to write
	<-p.done
}

// forgo lets the connection's end be a reset: what the broker has not read yet, it never will (TCP's RST discards it on
// both sides).
func (p *pipe) forgo() {
	if c, ok := p.Conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0) // fails on a closed connection only
	}
}
