package sqlite

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"github.com/rowrelay/rowrelay/engine"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Classify follows SQLite's result codes; the extended ones carry the primary one in their low byte.
func (Dialect) Classify(err error) engine.Fault {
	var e *sqlite.Error
	switch {
	case errors.Is(err, engine.ErrSchemaChanged):
		return engine.FaultSchema
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EISDIR):
		return engine.FaultMissing
	case errors.Is(err, fs.ErrPermission):
		return engine.FaultDenied
	case !errors.As(err, &e):
		return engine.FaultOther
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return engine.FaultTransient
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOTADB:
		return engine.FaultMissing
	case sqlite3.SQLITE_READONLY:
		return engine.FaultReadOnly
	case sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return engine.FaultDenied
	case sqlite3.SQLITE_INTERRUPT:
		return engine.FaultTimeout
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG:
		return engine.FaultConstraint
	case sqlite3.SQLITE_SCHEMA:
		return engine.FaultSchema
	case sqlite3.SQLITE_ERROR:
		// One code for every fault of a statement: only the text tells them apart.
		if strings.Contains(e.Error(), "no such") {
			return engine.FaultSchema
		}
		return engine.FaultSyntax
	}
	return engine.FaultOther
}
