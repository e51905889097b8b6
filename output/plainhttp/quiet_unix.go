//go:build unix

package plainhttp

import (
	"errors"
	"syscall"
)

// tellsQuiet: a system that does not tell whether a connection was closed leaves everything to net/http, which finds
// out by reading all the time.
const tellsQuiet = true

// quiet reports whether nothing has come on a connection that rests: neither its end, nor what nobody asked for.
func (c *conn) quiet() bool {
	if c.raw == nil {
		return false
	}
	var read error
	err := c.raw.Read(func(fd uintptr) bool {
		_, read = syscall.Read(int(fd), c.probe[:])
		return true
	})
	return err == nil && (errors.Is(read, syscall.EAGAIN) || errors.Is(read, syscall.EWOULDBLOCK))
}
