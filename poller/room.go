package poller

import (
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// maxUnsettled bounds the batches that are fetched and not settled, and their rows, in batches of the usual size. A
// crash repeats no more of them than was delivered since the last commit began.
const maxUnsettled = 8

// room reports whether another batch may be fetched. At most two are not delivered. Where the output is faster than the
// state store, delivered ones wait for the commit in flight, to share the next one. All together they hold no more
// memory than two of the largest. Where further batches bring other order keys, they are fetched while lanes are idle.
func (t *tick) room() bool {
	undelivered, bytes, rows := 0, 0, 0
	for _, p := range t.line {
		if p.open > 0 {
			undelivered++
		}
		bytes += p.bytes
		rows += len(p.outcomes)
	}
	switch {
	case len(t.line) < 2:
		return true
	case bytes > t.cfg.Fetch.Bytes:
		return false
	}
	return undelivered < 2 && len(t.line) < maxUnsettled && rows < maxUnsettled*t.cfg.Fetch.Rows || t.hungry()
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

// atOnce is how long a batch takes that was delivered at once. What a crash repeats is then what was delivered in about
// twice that time, however large batches have become.
const atOnce = 50 * time.Millisecond

// adapt lets the next batches grow while full ones of live rows are delivered at once: each batch costs a round trip to
// the source and a commit. They shrink again when the destination becomes slower.
func (t *tick) adapt(p *inFlight) {
	batch := &p.grant.Batch
	if batch.Kind != change.Live || t.cfg.MaxBatches > 0 || p.begun.IsZero() {
		return
	}
	switch took := p.ended.Sub(p.begun); {
	case took > 4*atOnce:
		t.limit.Rows = max(t.limit.Rows/2, t.cfg.Fetch.Rows)
	case took <= atOnce && len(batch.Events) >= t.limit.Rows:
		t.limit.Rows = max(t.limit.Rows, min(2*t.limit.Rows, t.cfg.FetchMost))
	}
}

// interval is the wait before a drained source is asked again. While there is work, rounds of fetches begin
// PollInterval apart, so that neither delivering and settling nor what a feed reads beside live rows delays a change.
// After an empty round the wait is a whole PollInterval, so that a source that answers slowly is not asked without a
// pause. It doubles with every further empty one, up to PollIntervalMax.
func (t *tick) interval() time.Duration {
	if t.idle == 0 {
		return t.cfg.PollInterval - time.Since(t.round)
	}
	wait := t.cfg.PollInterval
	for range t.idle {
		if wait >= t.cfg.PollIntervalMax {
			break
		}
		wait = min(2*wait, t.cfg.PollIntervalMax)
	}
	return wait
}
