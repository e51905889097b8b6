package poller

// maxUnsettled bounds the batches that are fetched and not settled. A crash repeats no more of them than was delivered
// since the last commit began.
const maxUnsettled = 8

// room reports whether another batch may be fetched. At most two are not delivered. Where the output is faster than the
// state store, delivered ones wait for the commit in flight, to share the next one. All together they hold no more
// memory than two of the largest. Where further batches bring other order keys, they are fetched while lanes are idle.
func (t *tick) room() bool {
	undelivered, bytes := 0, 0
	for _, p := range t.line {
		if p.open > 0 {
			undelivered++
		}
		bytes += p.bytes
	}
	switch {
	case len(t.line) < 2:
		return true
	case bytes > t.cfg.Fetch.Bytes:
		return false
	}
	return undelivered < 2 && len(t.line) < maxUnsettled || t.hungry()
}

// hungry reports whether lanes are idle while events are in flight, so that a further batch would be of use where it
// brings other order keys. While settlements are slower than deliveries, it is not.
func (t *tick) hungry() bool {
	if !t.line[0].grant.Bounded || t.requests == t.cfg.Concurrency || t.exclusive || len(t.lanes.queue()) > 0 ||
		t.unresolved() > 0 {
		return false
	}
	delivered := 0
	for _, p := range t.line {
		delivered += p.left - p.open
	}
	return delivered <= t.cfg.Fetch.Rows
}

// byRow reports whether the batches in flight are settled event by event.
func (t *tick) byRow() bool { return len(t.line) > 0 && t.line[0].grant.ByRow }
