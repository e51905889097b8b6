package poller

// tails are the last events of order keys that are not done with, by hash. Every event enters and leaves, so this is an
// open-addressing table with linear probing over hashes that are already uniform: a Go map took a twelfth of the
// relay's processor time.
type tails struct {
	places []tail // a power of two, at most three quarters of them taken
	taken  int
}

type tail struct {
	key  uint64
	last *item // nil: an empty place
}

func newTails() tails { return tails{places: make([]tail, 64)} }

// place is where a key is, or the empty place where it belongs.
func (t *tails) place(key uint64) int {
	mask := len(t.places) - 1
	i := int(key) & mask //nolint:gosec // only the low bits count
	for t.places[i].last != nil && t.places[i].key != key {
		i = (i + 1) & mask
	}
	return i
}

// of returns the last event of an order key; nil where there is none.
func (t *tails) of(key uint64) *item { return t.places[t.place(key)].last }

// put makes an event the last of its order key, and returns the one that was.
func (t *tails) put(it *item) *item {
	i := t.place(it.key)
	before := t.places[i].last
	t.places[i] = tail{it.key, it}
	if before != nil {
		return before
	}
	if t.taken++; 4*t.taken > 3*len(t.places) {
		t.grow()
	}
	return nil
}

func (t *tails) grow() {
	old := t.places
	t.places = make([]tail, 2*len(old))
	for _, p := range old {
		if p.last != nil {
			t.places[t.place(p.key)] = p
		}
	}
}

// drop takes an order key out whose last event this is.
func (t *tails) drop(it *item) {
	free := t.place(it.key)
	if t.places[free].last != it {
		return
	}
	mask := len(t.places) - 1
	for i := (free + 1) & mask; t.places[i].last != nil; i = (i + 1) & mask {
		// One that was put after the free place, because its own was taken, moves up: it would not be found any more.
		if from := int(t.places[i].key) & mask; (i-from)&mask >= (i-free)&mask { //nolint:gosec // only the low bits count
			t.places[free] = t.places[i]
			free = i
		}
	}
	t.places[free] = tail{}
	t.taken--
}
