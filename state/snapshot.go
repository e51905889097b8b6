package state

import (
	"errors"
	"time"

	"github.com/rowrelay/rowrelay/alive"
)

// Snapshot is the document as it was loaded, with what is needed to replace that very version.
type Snapshot struct {
	Doc     Document
	version Version
	clock   storeClock
	alive   alive.Marker
}

// Now is the earliest that the store's clock can show by now: ages of what the document says are judged by it.
func (s *Snapshot) Now() time.Time { return s.clock.atLeast(time.Now()) }

// Paused is the pause that is in force, judged by the store's clock as it must be by now; nil when there is none.
func (s *Snapshot) Paused() *Paused {
	if p := s.Doc.Paused; p != nil && !p.Over(s.Now()) {
		return p
	}
	return nil
}

// MovedError says that the document is no longer the one that was loaded, and that nobody holds the lease: an operator
// changed it, or another instance came and went. The caller drops the rows that it fetched and fetches again from
// Snapshot.
type MovedError struct{ Snapshot *Snapshot }

// Error describes the situation.
func (e *MovedError) Error() string {
	return "the state document was changed since it was loaded; its position is now " +
		e.Snapshot.Doc.Checkpoint.Cursor.String()
}

// The ends of a lease, as causes of its context and as errors of its methods.
var (
	// ErrLost: the document proves that the lease is not ours any more.
	ErrLost = errors.New("the lease was lost")
	// ErrExpired: the right ended before the lease could be renewed; nobody may have taken it yet.
	ErrExpired = errors.New("the lease expired before it could be renewed: the state store could not be reached in time, or this process was suspended")
	// ErrReleased: we gave it back.
	ErrReleased = errors.New("the lease was released")
	// ErrNotFrom: the commit was refused, because the stored position is not the one that its batch was fetched from.
	ErrNotFrom = errors.New("the stored position is not the one that the batch was fetched from")
)
