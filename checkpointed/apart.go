package checkpointed

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// This file keeps the backlog of one order key from holding up the others.
//
// At most maxOfOne events of an order key are fetched and not settled. Where a page of live rows has more, the key is
// read apart: live rows leave it out, and the position passes them. The document says up to where the key is delivered
// (state.Apart): its rows between there and the position are read from the source again, a few at a time, beside the
// live rows. When none is left, live rows bring it again.
//
// Nothing overtakes: a row of the key is handed out by the reading apart, in the order of positions, until that has
// reached the position of the live rows. A batch of live rows is settled together with the key that it left out. A
// session that ends early goes on from the document.
//
// It needs rows that can be read again up to a position, below which none appears later: see aparts.alone.

const (
	// maxOfOne bounds the events of one order key that are fetched and not settled, together with half of batch_size and
	// an eighth of batch_bytes. More are read apart when half are settled.
	maxOfOne = 64
	// maxApartPages bounds the pages that are looked through at once for rows of a key that is read apart.
	maxApartPages = 4
	// apartRows bounds such a page: most of its rows are others', however large the pages of live rows have become.
	apartRows = 500
	// apartWait is how long live rows are not asked for where they are drained, and all that is read apart is in flight.
	apartWait = 90 * time.Millisecond
)

// load is what an order key has in flight.
type load struct{ events, bytes int }

func (l load) with(e *change.Event) load { return load{l.events + 1, l.bytes + e.Size()} }

// room reports whether another event may be in flight: one always may.
func (l load) room(most poller.Limit) bool {
	return l.events == 0 || l.events < most.Rows && l.bytes < most.Bytes
}

// ofOne is what one order key may have in flight.
func ofOne(limit poller.Limit) poller.Limit {
	return poller.Limit{Rows: min(maxOfOne, max(limit.Rows/2, 1)), Bytes: limit.Bytes / 8}
}

// loads are what order keys have in flight.
func (s *session) loads() map[string]load {
	loads := map[string]load{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, about := range s.inFlight {
		for i := range about.events {
			key := string(about.events[i].OrderKey)
			loads[key] = loads[key].with(&about.events[i])
		}
	}
	return loads
}

// bounds reports whether order keys with a backlog are read apart. Where positions are times, or rows appear below the
// position, the one who reads apart would not see what appears below his own.
func (s *session) bounds() bool {
	d := &s.source
	return s.feed.cfg.Ordering == poller.OrderKey && d.Coarse && d.Ranges && d.Dates == nil &&
		(d.Late == late.Exact || d.Late == late.None)
}

// adoptApart begins with the keys that the document names. Under settings that know no such keys live rows wait until
// these are at an end.
func (s *session) adoptApart(doc *state.Document) {
	s.apart = aparts{alone: !s.bounds()}
	for _, a := range doc.Apart {
		s.apart.keys = append(s.apart.keys, &apartKey{a.OrderKey, a.At, a.At})
	}
}

func (a *aparts) has(orderKey []byte) bool {
	return slices.ContainsFunc(a.keys, func(k *apartKey) bool { return bytes.Equal(k.orderKey, orderKey) })
}

// avoid returns the order keys of which no live row is the first.
func (a *aparts) avoid() [][]byte {
	keys := make([][]byte, len(a.keys))
	for i, k := range a.keys {
		keys[i] = k.orderKey
	}
	return keys
}

// leaves is late.Step.Leave.
func (s *session) leaves(step *late.Step, limit poller.Limit) func(*change.Event) bool {
	switch {
	case !s.bounds():
		return nil
	case step.Kind != change.Live:
		return func(e *change.Event) bool { return s.apart.has(e.OrderKey) }
	}
	loads, most, kept, before := s.loads(), ofOne(limit), 0, step.Range.After
	return func(e *change.Event) bool {
		at := before
		before = e.Position()
		if s.apart.has(e.OrderKey) {
			return true
		}
		key := string(e.OrderKey)
		// The batch that names the key needs an event: so its first one is never left out.
		if kept > 0 && !loads[key].room(most) && len(s.apart.keys) < state.MaxApart && fits(e.OrderKey, at) {
			a := state.Apart{OrderKey: bytes.Clone(e.OrderKey), At: at}
			s.apart.keys = append(s.apart.keys, &apartKey{a.OrderKey, at, at})
			s.apart.begun = append(s.apart.begun, begun{a, kept})
			return true
		}
		loads[key] = loads[key].with(e)
		kept++
		return false
	}
}

// fits reports whether the document may hold a key with a position. One that has become too large stays where it was:
// what comes after it comes again.
func fits(orderKey []byte, at change.Cursor) bool {
	return len(orderKey)+len(at) <= state.MaxApartBytes
}

// fetchApart reads the next rows of a key that is read apart and has room, one key after the other.
func (s *session) fetchApart(ctx context.Context, limit poller.Limit) (change.Batch, details, error) {
	if len(s.apart.keys) == 0 {
		return change.Batch{}, details{}, nil
	}
	loads, most := s.loads(), ofOne(limit)
	for range len(s.apart.keys) {
		a := s.apart.keys[0]
		s.apart.keys = append(s.apart.keys[1:], a)
		l := loads[string(a.orderKey)]
		if l.events > most.Rows/2 || l.bytes > most.Bytes/2 || s.waits(a) {
			continue
		}
		batch, about, err := s.fetchKey(ctx, a, l, limit)
		if err != nil || len(batch.Events) > 0 || about.mustStore() {
			return batch, about, err
		}
	}
	return change.Batch{}, details{}, nil
}

// waits reports whether a key is parked: its other rows need no place among the parked ones, unless all else waits for
// them.
func (s *session) waits(a *apartKey) bool { return !s.apart.alone && s.feed.parking.Parked(a.orderKey) }

// readsApart reports whether more is to be read apart soon.
func (s *session) readsApart() bool {
	return slices.ContainsFunc(s.apart.keys, func(a *apartKey) bool { return !s.waits(a) })
}

// fetchKey reads what a key may have in flight besides l.
func (s *session) fetchKey(ctx context.Context, a *apartKey, l load, limit poller.Limit) (change.Batch, details,
	error) {
	batch := change.Batch{Kind: change.Apart, From: s.frontier, More: true}
	begun, end, most := time.Now(), s.feed.late.Position(), ofOne(limit)
	limit.Rows = min(limit.Rows, apartRows)
	for range maxApartPages {
		page, err := s.read(ctx, change.Range{After: a.at, UpTo: end}, limit)
		if err != nil {
			return change.Batch{}, details{}, err
		}
		all := len(page.Events) > 0 && !sameColumns(a.orderKey, page.Events[0].OrderKey)
		s.apart.alone = s.apart.alone || all // source__order_key is another one since
		whole := true
		for i := range page.Events {
			e := &page.Events[i]
			if all || bytes.Equal(e.OrderKey, a.orderKey) {
				if whole = l.room(most); !whole {
					break
				}
				l = l.with(e)
				batch.Events = append(batch.Events, *e)
			}
			a.at = e.Position()
		}
		switch {
		case !whole:
		case page.To != nil:
			a.at = page.To
		case !page.More:
			a.at = end
		}
		final := whole && !page.More && a.at.Equal(end)
		if len(batch.Events) > 0 || final {
			batch.Fetched = time.Now()
			batch.FetchTime = batch.Fetched.Sub(begun)
			c := chunk{a.orderKey, a.stored, a.at, final}
			if a.stored = a.at; final {
				s.apart.keys = slices.DeleteFunc(s.apart.keys, func(k *apartKey) bool { return k == a })
			}
			return batch, details{chunks: []chunk{c}}, nil
		}
		if !page.More {
			break
		}
	}
	return change.Batch{}, details{}, nil
}

// sameColumns reports whether two order keys have the same columns.
func sameColumns(a, b []byte) bool {
	var of [2]map[string]json.RawMessage
	if json.Unmarshal(a, &of[0]) != nil || json.Unmarshal(b, &of[1]) != nil {
		return bytes.Equal(a, b)
	}
	return maps.EqualFunc(of[0], of[1], func(json.RawMessage, json.RawMessage) bool { return true })
}

// settleApart takes what k settled events of a batch mean for the keys that are read apart.
func (c *pendingCommit) settleApart(b *change.Batch, k int, about *details) {
	for i := range about.chunks {
		n := &about.chunks[i]
		at := c.apartAt(n.orderKey)
		if at < 0 || !c.keys()[at].At.Equal(n.from) {
			continue // an earlier chunk was not settled
		}
		to := n.to
		if b.Kind == change.Apart && i == len(about.chunks)-1 && k < len(b.Events) {
			if to, n.final = n.from, false; k > 0 {
				to = b.Events[k-1].Position()
			}
		}
		switch {
		case n.final:
			c.apart = slices.Delete(c.keys(), at, at+1)
		case fits(n.orderKey, to):
			c.keys()[at].At = to
		}
	}
	for i := range about.begun {
		if n := &about.begun[i]; k >= n.events && c.apartAt(n.OrderKey) < 0 {
			c.apart = append(c.keys(), n.Apart)
		}
	}
}

// keys are the keys that are read apart, as this commit will store them.
func (c *pendingCommit) keys() []state.Apart {
	if c.apart == nil {
		c.apart = append([]state.Apart{}, c.lease.Known().Apart...)
	}
	return c.apart
}

// apartAt is the place of a key among them; -1 for none.
func (c *pendingCommit) apartAt(orderKey []byte) int {
	all := c.apart
	if all == nil {
		all = c.lease.Known().Apart
	}
	return slices.IndexFunc(all, func(a state.Apart) bool { return bytes.Equal(a.OrderKey, orderKey) })
}
