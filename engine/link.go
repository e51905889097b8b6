package engine

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
)

// Link says what protects the way between this process and a server.
type Link string

// The links, from the safest on.
const (
	LinkLocal      Link = "local"      // it does not leave this machine: a file, a socket, the loopback interface
	LinkVerified   Link = "verified"   // encrypted, and the server has proved its name
	LinkUnverified Link = "unverified" // encrypted, if at all, to whoever answers
	LinkPlain      Link = "plain"      // not encrypted
)

// refusedTLS are the drivers' words for a server without TLS; they have no common type. Both end the connection by
// themselves.
var refusedTLS = []string{
	"server refused TLS connection",             // pgconn
	"TLS requested but server does not support", // go-sql-driver
}

// Verified opens connections to a server that must prove its name, and says what to write where it cannot.
type Verified struct {
	driver.Connector
	Unverified, Plain string // what asks for less
}

// Connect opens a connection.
func (c Verified) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err == nil {
		return conn, nil
	}
	for _, words := range refusedTLS {
		if strings.Contains(err.Error(), words) {
			return nil, fmt.Errorf("the server has no TLS, and a connection to another machine is encrypted and verified unless the connection string "+
				"asks for less: turn TLS on there, or write %s if what is sent may be read and changed on the way: %w", c.Plain,
				err)
		}
	}
	if Untrusted(err) {
		return nil, fmt.Errorf("the server's certificate is not trusted: have the connection string name the authority that signed it, "+
			"or ask there for a connection that is not verified, with %s: %w", c.Unverified, err)
	}
	return nil, err
}

// Untrusted reports a certificate that could not be verified. The drivers do not all keep the error's type.
func Untrusted(err error) bool { return strings.Contains(err.Error(), "x509:") }
