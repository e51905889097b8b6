package deadletter

import "github.com/rowrelay/rowrelay/state"

// Bound gives a store another bound for records than state.MaxObject, which it has to have before.
func (s *Store) Bound(most int) {
	if s.most != state.MaxObject {
		panic("a record is not bounded by what a store takes")
	}
	s.most = most
}
