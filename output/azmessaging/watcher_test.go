package azmessaging

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// frame wraps a body in a frame of a type, on a channel.
func frame(kind byte, body ...byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	return append(append(b, 2, kind, 0, 1), body...)
}

// settle is a disposition as Qpid Proton and Azure write it: role, first, last, settled, and a state.
func settle(role byte, state ...byte) []byte {
	body := []byte{0x00, 0x53, 0x15, 0xc0, byte(1 + 1 + 1 + 1 + 1 + len(state)), 5, role, 0x43, 0x40, 0x41}
	return frame(0, append(body, state...)...)
}

func TestWatcher(t *testing.T) {
	header := []byte("AMQP\x03\x01\x00\x00")
	transfer := frame(0, append([]byte{0x00, 0x53, 0x14, 0xc0, 3, 1, 0x43},
		bytes.Repeat([]byte{0x00, 0x53, 0x26}, 400)...)...)
	wide := frame(0, 0x00, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x15, 0xd0, 0, 0, 0, 40, 0, 0, 0, 5, 0x56, 1, 0x70, 0, 0, 1, 0, 0x70,
		0, 0, 1, 2, 0x56, 1,
		0x00, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x27, 0x45)
	rejected := settle(0x41, append([]byte{0x00, 0x53, 0x25, 0xc0, 200, 1}, bytes.Repeat([]byte{0x26}, 199)...)...)
	for name, c := range map[string]struct {
		stream [][]byte
		want   bool
	}{
		"nothing":  {[][]byte{header, header}, false},
		"accepted": {[][]byte{header, settle(0x41, 0x00, 0x53, 0x24, 0x45)}, false},
		"rejected": {[][]byte{rejected, settle(0x41, 0x00, 0x53, 0x24, 0x45)}, false},
		"released": {[][]byte{header, settle(0x41, 0x00, 0x53, 0x24, 0x45),
			settle(0x41, 0x00, 0x53, 0x26, 0x45)}, true},
		"modified":                 {[][]byte{settle(0x41, 0x00, 0x53, 0x27, 0xc0, 2, 1, 0x41)}, true},
		"written widely":           {[][]byte{wide}, true},
		"behind a transfer":        {[][]byte{transfer, settle(0x41, 0x00, 0x53, 0x26, 0x45)}, true},
		"within a transfer":        {[][]byte{transfer}, false},
		"behind a rejected one":    {[][]byte{rejected, settle(0x41, 0x00, 0x53, 0x26, 0x45)}, true},
		"of a sender":              {[][]byte{settle(0x42, 0x00, 0x53, 0x26, 0x45)}, false},
		"without a state":          {[][]byte{settle(0x41, 0x40)}, false},
		"a heartbeat before":       {[][]byte{frame(0), settle(0x41, 0x00, 0x53, 0x26, 0x45)}, true},
		"in a frame of SASL":       {[][]byte{frame(1, settle(0x41, 0x00, 0x53, 0x26, 0x45)[8:]...)}, false},
		"no frame":                 {[][]byte{{0, 0, 0, 1, 0, 0, 0, 0}, settle(0x41, 0x00, 0x53, 0x26, 0x45)}, true},
		"a header that is too far": {[][]byte{{0, 0, 0, 12, 255, 0, 0, 0, 0, 0, 0, 0}}, false},
	} {
		stream := bytes.Join(c.stream, nil)
		for piece := 1; piece <= len(stream); piece++ { // however it is cut into reads
			if got := watch(stream, piece); got != c.want {
				t.Fatalf("%s, %d bytes at a time: %t, want %t", name, piece, got, c.want)
			}
		}
	}
}

func watch(stream []byte, piece int) bool {
	var w watcher
	for len(stream) > 0 {
		n := min(piece, len(stream))
		if w.look(stream[:n]) {
			return true
		}
		stream = stream[n:]
	}
	return false
}

// No stream disturbs it, and where it is cut makes no difference.
func FuzzWatcher(f *testing.F) {
	f.Add(settle(0x41, 0x00, 0x53, 0x26, 0x45), uint8(3))
	f.Add([]byte("AMQP\x03\x01\x00\x00"), uint8(1))
	f.Fuzz(func(t *testing.T, stream []byte, piece uint8) {
		if whole, pieces := watch(stream, max(len(stream), 1)), watch(stream, int(piece)+1); whole != pieces {
			t.Errorf("%x: %t at once, %t in pieces of %d", stream, whole, pieces, int(piece)+1)
		}
	})
}
