// Package loopback knows which hosts are this machine. What is sent to them needs no TLS and no token.
package loopback

import (
	"net"
	"strings"
)

// Is reports whether host is this machine: localhost, a loopback address with or without brackets, or the path of a
// socket. Other names are not resolved.
func Is(host string) bool {
	if strings.EqualFold(host, "localhost") || strings.HasPrefix(host, "/") {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}
