package azmessaging

import "encoding/binary"

// watcher finds, in a stream of AMQP 1.0 frames as it is read, dispositions of a receiver whose state is released or
// modified (AMQP 1.0, part 2, sections 2.3 and 2.7.6). It keeps no more than the beginning of a frame.
type watcher struct {
	head [headSize]byte // the beginning of the frame that is being read
	have int            // of head
	skip uint64         // what is left of the frame after head
}

const (
	frameHeader = 8
	// headSize is what the longest beginning of a disposition takes that matters: the header, the descriptor (10 bytes), a
	// list (9), role (2), first and last (5 each), settled (2), the descriptor of the state (10); and some room for an
	// extended header.
	headSize = frameHeader + 10 + 9 + 2 + 5 + 5 + 2 + 10 + 13
)

// look takes the next bytes and reports whether a message was settled without being accepted or rejected. The first
// such outcome is what matters: nothing is to be read after it.
func (w *watcher) look(p []byte) bool {
	for len(p) > 0 {
		if w.skip > 0 {
			n := min(w.skip, uint64(len(p)))
			w.skip -= n
			p = p[n:]
			continue
		}
		n := copy(w.head[w.have:w.want()], p)
		w.have += n
		p = p[n:]
		if w.have < frameHeader || w.have < w.want() {
			continue
		}
		size := w.size()
		found := !w.isProtocol() && notAccepted(w.head[:w.have])
		w.skip, w.have = size-uint64(w.have), 0
		if found {
			return true
		}
	}
	return false
}

// want is how many bytes of the frame are to be collected, as far as that is known yet.
func (w *watcher) want() int {
	if w.have < frameHeader {
		return frameHeader
	}
	return int(min(w.size(), headSize))
}

// size is the frame's size. A protocol header, which stands between frames, has the same eight bytes that a frame
// begins with.
func (w *watcher) size() uint64 {
	if w.isProtocol() {
		return frameHeader
	}
	// A smaller size than the header's is no frame: the SDK ends the connection over it.
	return max(uint64(binary.BigEndian.Uint32(w.head[:4])), frameHeader)
}

func (w *watcher) isProtocol() bool { return string(w.head[:4]) == "AMQP" }

// Descriptors.
const (
	disposition = 0x15
	released    = 0x26
	modified    = 0x27
)

// notAccepted reads the beginning of a frame. What it cannot read is left to the SDK.
func notAccepted(frame []byte) bool {
	const amqpFrame = 0
	offset := 4 * int(frame[4])
	if frame[5] != amqpFrame || offset < frameHeader || offset > len(frame) {
		return false
	}
	r := reader(frame[offset:])
	if r.descriptor() != disposition || !r.list() {
		return false
	}
	if role := r.boolean(); role != 1 { // not a receiver's: not about what we sent
		return false
	}
	r.number() // first
	r.number() // last
	r.boolean()
	state := r.descriptor()
	return state == released || state == modified
}

// reader takes values off the front of what is left; what is not there, or of another type, is -1 or false, and leaves
// nothing.
type reader []byte

func (r *reader) take(n int) []byte {
	if len(*r) < n {
		*r = nil
		return nil
	}
	taken := (*r)[:n]
	*r = (*r)[n:]
	return taken
}

func (r *reader) code() int {
	if b := r.take(1); b != nil {
		return int(b[0])
	}
	return -1
}

// descriptor reads 0x00 and a ulong.
func (r *reader) descriptor() int {
	if r.code() != 0 {
		*r = nil
		return -1
	}
	switch r.code() {
	case 0x53: // smallulong
		return r.code()
	case 0x80: // ulong
		if b := r.take(8); b != nil && binary.BigEndian.Uint64(b) < 256 {
			return int(b[7])
		}
	}
	*r = nil
	return -1
}

// list reads the beginning of a list.
func (r *reader) list() bool {
	switch r.code() {
	case 0xc0: // list8: size, count
		return r.take(2) != nil
	case 0xd0: // list32
		return r.take(8) != nil
	}
	*r = nil
	return false
}

// boolean reads a boolean: 1, 0, or -1 for null and for what is none.
func (r *reader) boolean() int {
	switch r.code() {
	case 0x41:
		return 1
	case 0x42:
		return 0
	case 0x56:
		return r.code()
	case 0x40:
		return -1
	}
	*r = nil
	return -1
}

// number reads a uint or null.
func (r *reader) number() {
	switch r.code() {
	case 0x40, 0x43: // null, uint0
	case 0x52: // smalluint
		r.take(1)
	case 0x70: // uint
		r.take(4)
	default:
		*r = nil
	}
}
