package checkpointed

import (
	"sync"
	"time"
)

// Seen says when a process last had each of its state documents. Feeds that follow one another in a process share one:
// a document that vanished under the first is not begun anew by the next. The zero value has seen none. It may be used
// by several goroutines.
type Seen struct{ at sync.Map } // by the document's address

// last is when there was a document; the zero time where none was seen.
func (s *Seen) last(address string) time.Time {
	at, _ := s.at.Load(address)
	t, _ := at.(time.Time)
	return t
}

// now records that there is a document.
func (s *Seen) now(address string) { s.at.Store(address, time.Now()) }
