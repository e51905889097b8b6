package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
)

const (
	FaultOther      Fault = iota
	FaultTransient        // worth repeating at once: connection lost, deadlock, throttled, shutting down, busy
	FaultTimeout          // the statement's timeout: not repeated inside the fetch
	FaultLocked           // a lock was not granted within the timeout: as faultTimeout
	FaultVersions         // this session may not read row versions here: another reads with locks
	FaultSchema           // no such table, column or type: the catalog changed, or the settings are wrong
	FaultSyntax           // the statement does not parse: where or query is wrong
	FaultLogin            // user, password or database refused
	FaultParameter        // a parameter of the connection string that the server does not know, or not this value of it
	FaultPooler           // a pooler before the server takes no transactions
	FaultDenied           // no permission for the table
	FaultReadOnly         // the server, its database or the file takes no writes now
	FaultMissing          // the file is not there, or cannot be opened
	FaultUnresolved       // the server's name has no address now: the network, or the name
	FaultConnect          // no connection within the timeout
	FaultBusy             // every connection that source__connections allows was in use until the timeout
	FaultData             // a value is none of its type, or cannot be computed with
	FaultConstraint       // a row that was to be written breaks a constraint, or does not fit its column
)

// Errors that dialects return by name.
var (
	// ErrNoTable: the catalog has no such table or view.
	ErrNoTable = errors.New("no such table or view")
	// ErrSchemaChanged is how a dialect reports that a result no longer has the types that its columns had.
	ErrSchemaChanged = errors.New("the columns' types changed since they were read from the catalog")
	// ErrSilent: a server did not say in time what opens a connection.
	ErrSilent = errors.New("the server does not answer")
)

// AskPooler is what to do about FaultPooler.
const AskPooler = "the pooler before the database takes no transactions: set its pool_mode to transaction or session for " +
	"the database that source__connection names"

// AskWritable is what to do about FaultReadOnly. The setting that names the connection follows it.
const AskWritable = "no writes are taken by a standby, a replica, a database that was made read-only, or a file that " +
	"this process may not write: name the primary (of several PostgreSQL hosts target_session_attrs=read-write finds " +
	"it) in the setting that"

// AskFile is what to do about FaultMissing.
const AskFile = "the file cannot be opened: correct the path in the setting that source__connection names, and let this " +
	"process read the file, and in WAL mode write in its directory, where SQLite makes two more"

// Transient reports whether an error of a dialect's driver is worth a repetition at once: a connection that was lost, a
// deadlock, a server that is busy or starting. What the statement had done until then is not known.
func Transient(d Dialect, err error) bool {
	switch kind := faultOf(d, err); {
	case kind == FaultTransient:
		return true
	case kind != FaultOther, notFound(err):
		return false
	}
	return lost(err)
}

// Misconfigured reports whether an error says that a person has to act: a table or column is not there, the user may
// not, the login is refused, the file is not found.
func Misconfigured(d Dialect, err error) bool {
	switch faultOf(d, err) {
	case FaultSchema, FaultDenied, FaultLogin, FaultParameter, FaultPooler, FaultMissing:
		return true
	default:
		return false
	}
}

func faultOf(d Dialect, err error) Fault {
	if err == nil || d == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return FaultOther
	}
	return d.Classify(err)
}

// Classify asks a dialect what an error means, and knows what every engine's answer is.
func Classify(d Dialect, err error) Fault {
	if kind := d.Classify(err); kind != FaultOther {
		return kind
	}
	switch {
	case notFound(err):
		return FaultUnresolved
	case errors.Is(err, ErrSilent):
		return FaultConnect
	case lost(err):
		return FaultTransient
	}
	return FaultOther
}

// notFound reports a host that has no address.
func notFound(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

// lost reports a connection that is gone.
func lost(err error) bool {
	var op *net.OpError
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &op)
}
