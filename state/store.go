package state

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Store keeps documents under keys ("state/app/poller.json"). It is linearizable per key: a Load that begins after a
// write has returned sees that write. Adapters live in blobstore, filestore and memstore; storetest is their shared
// suite.
type Store interface {
	// Load returns the document, or ErrNotFound.
	Load(ctx context.Context, key string) (Stored, error)
	// Create writes a document that does not exist yet, or returns ErrConflict.
	Create(ctx context.Context, key string, data []byte) (Stamp, error)
	// Replace writes a document whose stored version is still version, or returns ErrConflict, with the zero Version too.
	// Any other error leaves open whether the write landed: the caller reads it back.
	Replace(ctx context.Context, key string, data []byte, version Version) (Stamp, error)
	// List returns the keys that begin with prefix, sorted. It is for operators.
	List(ctx context.Context, prefix string) ([]string, error)
	// Delete removes a document whose stored version is still version, or returns ErrConflict. It is for operators.
	Delete(ctx context.Context, key string, version Version) error
	// Margin is how far the store's clock may be off, as its answers show it: expiry is judged with this margin.
	Margin(ttl time.Duration) time.Duration
}

// Version names one write of one document: an ETag, a counter. No two writes of a store have the same, be their content
// equal or the document made anew. The zero Version is none: nothing is replaced or deleted by it.
type Version string

// Stored is a document as the store holds it.
type Stored struct {
	Data []byte
	Stamp
}

// Stamp is what a store says of a write or a read.
type Stamp struct {
	Version Version
	// Now is the store's own clock at the time of the answer.
	Now time.Time
}

// Errors of a Store. Everything else is a fault of the store: worth a retry, unless it is a [PermanentError].
var (
	ErrNotFound = errors.New("no such document")
	ErrConflict = errors.New("the document was changed by another")
)

// PermanentError is a store's fault that repeating the request will not mend: access denied, a missing container, a
// path that cannot be written. Its text names the setting and the mend.
type PermanentError struct{ Err error }

// Error describes the fault.
func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *PermanentError) Unwrap() error { return e.Err }

// SilentError is a store that did not answer in time. It may still do what it was asked.
type SilentError struct{ After time.Duration }

// Error says where to look.
func (e *SilentError) Error() string {
	return fmt.Sprintf("the state store did not answer within %s: check what state__connection or state__path names, and the way to it",
		max(e.After, 0).Round(time.Millisecond))
}

// UnknownError says that the caller's context ended before the store had answered. The write goes on, and may land.
type UnknownError struct{ Cause error }

// Error says that the outcome is not known.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("the outcome is not known: the state store had not answered when the wait for it ended (%v)",
		e.Cause)
}

// Unwrap returns the cause.
func (e *UnknownError) Unwrap() error { return e.Cause }

// permanent reports whether err says that a repetition is of no use.
func permanent(err error) bool {
	var fault *PermanentError
	var document *DocumentError
	return errors.As(err, &fault) || errors.As(err, &document)
}

// final reports whether err is an answer, and not a fault that may mend itself.
func final(err error) bool {
	return errors.Is(err, ErrNotFound) || errors.Is(err, ErrConflict) || permanent(err)
}
