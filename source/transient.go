package source

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
)

// Transient reports whether an error of an engine's driver is worth a repetition at once: a connection that was lost, a
// deadlock, a server that is busy or starting. What the statement had done until then is not known.
func Transient(engine string, err error) bool {
	var dns *net.DNSError
	var op *net.OpError
	switch kind := faultOf(engine, err); {
	case kind == faultTransient:
		return true
	case kind != faultOther, errors.As(err, &dns) && dns.IsNotFound:
		return false
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &op)
}

// Misconfigured reports whether an error says that a person has to act: a table or column is not there, the user may not,
// the login is refused, the server or file is not found.
func Misconfigured(engine string, err error) bool {
	switch faultOf(engine, err) {
	case faultSchema, faultDenied, faultLogin, faultMissing:
		return true
	default:
		return false
	}
}

func faultOf(engine string, err error) fault {
	d, unknown := dialectFor(engine)
	if err == nil || unknown != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return faultOther
	}
	return d.classify(err)
}
