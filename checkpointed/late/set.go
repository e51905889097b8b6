package late

// hashSet is a set of 64-bit hashes, each with a stamp that says when it was last seen. It is an open-addressing table
// with linear probing over hashes that are already uniform: 9 bytes for each place, of which at most three quarters are
// taken (12 to 24 bytes for each hash; a Go map takes 22 to 44). What was added since the last question stands in a
// list: a backlog adds a million hashes before anybody asks for one, and each place costs a miss of the cache.
type hashSet struct {
	places []uint64 // 0 is an empty place
	stamps []uint8
	n      int

	added       []uint64 // not placed yet, in their order
	addedStamps []uint8

	forgotten int // dropped in all
}

// minPlaces is the least size of the table; sizes are powers of two.
const minPlaces = 64

func newHashSet() *hashSet {
	return &hashSet{places: make([]uint64, minPlaces), stamps: make([]uint8, minPlaces)}
}

// len is the number of hashes; one that was added twice since the last question counts twice until the next.
func (s *hashSet) len() int { return s.n + len(s.added) }

// place returns where h is, or the empty place where it belongs. h is not 0.
func (s *hashSet) place(h uint64) int {
	if len(s.added) > 0 {
		s.settle()
	}
	return s.find(h)
}

func (s *hashSet) find(h uint64) int {
	mask := len(s.places) - 1
	for i := int(h) & mask; ; i = (i + 1) & mask { //nolint:gosec // only the low bits count
		if s.places[i] == h || s.places[i] == 0 {
			return i
		}
	}
}

// see stamps h if it is in the set, and reports whether it is.
func (s *hashSet) see(h uint64, stamp uint8) bool {
	i := s.place(h)
	if s.places[i] == 0 {
		return false
	}
	s.stamps[i] = stamp
	return true
}

// has reports whether h is in the set.
func (s *hashSet) has(h uint64) bool { return s.places[s.place(h)] != 0 }

// add puts h into the set, or stamps it where it is already there.
func (s *hashSet) add(h uint64, stamp uint8) {
	s.added, s.addedStamps = append(s.added, h), append(s.addedStamps, stamp)
}

// settle places what was added.
func (s *hashSet) settle() {
	size := len(s.places)
	for 4*s.len() > 3*size {
		size *= 2
	}
	if size > len(s.places) {
		s.rebuild(size, func(uint8) bool { return true })
	}
	for k, h := range s.added {
		i := s.find(h)
		if s.places[i] == 0 {
			s.n++
		}
		s.places[i], s.stamps[i] = h, s.addedStamps[k]
	}
	if len(s.added) > addedMost { // it is a backlog's
		s.added, s.addedStamps = nil, nil
	}
	s.added, s.addedStamps = s.added[:0], s.addedStamps[:0]
}

// addedMost is how large a list is that is kept for what is added next.
const addedMost = 1 << 14

// drop takes h out of the set, and returns its stamp; 0 where it is not there.
func (s *hashSet) drop(h uint64) uint8 {
	free := s.place(h)
	if s.places[free] == 0 {
		return 0
	}
	stamp, mask := s.stamps[free], len(s.places)-1
	for i := (free + 1) & mask; s.places[i] != 0; i = (i + 1) & mask {
		// One that was put after the free place, because its own was taken, moves up: it would not be found any more.
		if from := int(s.places[i]) & mask; (i-from)&mask >= (i-free)&mask { //nolint:gosec // only the low bits count
			s.places[free], s.stamps[free] = s.places[i], s.stamps[i]
			free = i
		}
	}
	s.places[free] = 0
	s.n--
	return stamp
}

// restamp gives all hashes a stamp.
func (s *hashSet) restamp(stamp uint8) {
	s.settle()
	for i, h := range s.places {
		if h != 0 {
			s.stamps[i] = stamp
		}
	}
}

// keep drops the hashes whose stamp does not meet keep, and returns how many that were.
func (s *hashSet) keep(keep func(stamp uint8) bool) int {
	s.settle()
	stay := 0
	for i, h := range s.places {
		if h != 0 && keep(s.stamps[i]) {
			stay++
		}
	}
	dropped := s.n - stay
	if s.forgotten += dropped; dropped > 0 {
		s.rebuild(placesFor(stay), keep)
	}
	return dropped
}

// placesFor is the size of a table for n hashes, with room for a third more at least.
func placesFor(n int) int {
	size := minPlaces
	for 3*size < 5*n { // at most 60 % taken
		size *= 2
	}
	return size
}

func (s *hashSet) rebuild(size int, keep func(uint8) bool) {
	places, stamps := s.places, s.stamps
	s.places, s.stamps, s.n = make([]uint64, size), make([]uint8, size), 0
	for i, h := range places {
		if h != 0 && keep(stamps[i]) {
			j := s.find(h)
			s.places[j], s.stamps[j] = h, stamps[i]
			s.n++
		}
	}
}

// hashes returns a copy of the hashes in no order. One that was added since the last question may stand there twice.
func (s *hashSet) hashes() []uint64 {
	all := make([]uint64, 0, s.len())
	for _, h := range s.places {
		if h != 0 {
			all = append(all, h)
		}
	}
	return append(all, s.added...)
}
