package poller

// turn runs f, begins what can go on after it, and returns a request that the caller's goroutine shall make, if there
// is one. Nothing else of the tick runs meanwhile, so that the order of turns is one order. It waits for nothing.
//
// A goroutine that brings an answer so takes the next request itself. To wake another one for it takes as long as a
// near receiver needs to answer.
func (t *tick) turn(f func()) *request {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil
	}
	t.panicked = Guard(func() error {
		f()
		t.send()
		t.settle()
		t.fetch()
		return nil
	})
	if t.over = t.panicked != nil || !t.busy(); t.over {
		close(t.done)
		return nil
	}
	q := t.mine
	t.mine = nil
	return q
}

// post runs a turn for a goroutine that has to end.
func (t *tick) post(f func()) {
	if q := t.turn(f); q != nil {
		go t.work(q)
	}
}

// work makes requests while there are any.
func (t *tick) work(q *request) {
	for q != nil {
		err := Guard(func() error { return q.run(t.stop) })
		q = t.turn(func() { t.answered(q, err) })
	}
}
