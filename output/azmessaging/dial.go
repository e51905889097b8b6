package azmessaging

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
)

// errOutcome ends a connection on which the service settled a message with an outcome that is neither accepted nor
// rejected.
var errOutcome = errors.New("the service settled a message without accepting it (released or modified)")

// Dial connects to the namespace, over TLS unless it is an emulator, and watches what comes back: the SDKs take every
// outcome but `rejected` for `accepted`, so that a message which the service releases would count as delivered (go-amqp
// 1.4, Sender.Send). On such an outcome the connection ends, and with it everything that is under way on it: the tick
// sends that again.
//
// Both SDKs take a connection by a hook that is meant for web sockets; what they do with it is the same.
func (c *Connection) Dial(ctx context.Context) (net.Conn, error) {
	host, port, err := net.SplitHostPort(c.Namespace)
	if err != nil {
		host, port = c.Namespace, "5671"
		if c.Emulator {
			port = "5672"
		}
	}
	address := net.JoinHostPort(host, port)
	var conn net.Conn
	if c.Emulator {
		conn, err = new(net.Dialer).DialContext(ctx, "tcp", address)
	} else {
		dialer := tls.Dialer{Config: &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}}
		conn, err = dialer.DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return nil, err
	}
	return &watched{Conn: conn}, nil
}

// watched is a connection whose incoming frames are looked at. One goroutine reads it.
type watched struct {
	net.Conn
	frames watcher
	ended  bool
}

// Read reads, and fails where a frame has an outcome that the SDK would misread: before it can, because what came with
// the outcome is withheld.
func (w *watched) Read(p []byte) (int, error) {
	if w.ended {
		return 0, errOutcome
	}
	n, err := w.Conn.Read(p)
	if w.frames.look(p[:n]) {
		w.ended = true // whoever reads closes it over this, and tells this as the reason
		return 0, errOutcome
	}
	return n, err
}
