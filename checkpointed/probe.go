package checkpointed

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// This file finds probes: events that the tick sends to see whether the destination accepts anything.
//
// A probe is sent ahead of its place, and never ahead of an earlier event of its order key. So it is the first event of
// its order key after the position. A search goes on after the last probe: so a long run of bad rows is no outage for
// ever. Rows before that are not read again: the search knows the order keys that may be there.

const (
	// maxSearchKeys bounds the order keys of a search: beyond it the search begins anew.
	maxSearchKeys = 10_000
	// maxSearchReads bounds the reads for one probe. Each costs a query.
	maxSearchReads = 20
)

// Other returns one event of another order key, as a probe of the destination. An event of a parked key is no probe: it
// has to wait.
func (s *session) Other(ctx context.Context, avoid [][]byte) (poller.Grant, error) {
	event, err := s.findProbe(ctx, avoid)
	if err != nil {
		return poller.Grant{}, s.feed.cfg.sourceFault(err)
	}
	if event == nil || event.Broken != nil {
		return poller.Grant{}, nil //nolint:nilerr // Broken is about the event, which is no probe
	}
	lease, err := s.acquire(ctx)
	if err != nil {
		return poller.Grant{}, poller.FaultOf(err, poller.LeaseAcquireFailed)
	}
	batch := change.Batch{From: s.frontier, Events: []change.Event{*event}, Fetched: time.Now()}
	s.mu.Lock()
	s.batches++
	batch.ID = fmt.Sprintf("probe_%s_%04d", batch.Fetched.UTC().Format("20060102_150405"), s.batches)
	s.mu.Unlock()
	return s.grant(lease, batch), nil
}

// findProbe finds an event for a probe: after the last probe, else after what was fetched.
func (s *session) findProbe(ctx context.Context, avoid [][]byte) (*change.Event, error) {
	avoid = append(avoid[:len(avoid):len(avoid)], s.feed.parking.Keys()...)
	avoid = append(avoid, s.apart.avoid()...)
	// The source takes no more. What it shows is compared with all of them.
	asked := slices.Clone(avoid[:min(len(avoid), poller.MaxAvoid)])
	search, fresh := s.searching(avoid, false)
	if event, err := s.firstUnpassed(ctx, search); event != nil || err != nil {
		return event, err
	}
	for range maxSearchReads {
		event, err := s.feed.source.Other(ctx, search.at, asked)
		switch {
		case err != nil:
			return nil, err
		case event == nil && fresh:
			return s.firstOfTheRest(ctx, search)
		case event == nil:
			search, fresh = s.searching(avoid, true)
			continue
		}
		search.at = event.Position()
		if key := string(event.OrderKey); !search.keys[key] {
			search.keys[key] = true
			return event, nil
		}
		if len(asked) < poller.MaxAvoid {
			asked = append(asked, event.OrderKey)
		}
	}
	return nil, nil //nolint:nilnil // the next call goes on from here
}

// probePage is how many rows are looked through where the source itself does not look for another order key.
const probePage = 500

// firstUnpassed returns the first event of another order key where the order of late rows is kept, from one page; nil
// where that has none, or any after the position will do.
func (s *session) firstUnpassed(ctx context.Context, search *probeSearch) (*change.Event, error) {
	r, ordered := s.feed.late.Unpassed()
	if !ordered {
		return nil, nil //nolint:nilnil // any will do
	}
	return s.firstOf(ctx, r, search)
}

// firstOfTheRest returns the first event of another order key of what is left of a whole table: where no change came
// after it, the rows that were never sent are all that there is.
func (s *session) firstOfTheRest(ctx context.Context, search *probeSearch) (*change.Event, error) {
	if !s.backfills() || !s.backfill.Whole {
		return nil, nil //nolint:nilnil // there is no other row
	}
	return s.firstOf(ctx, change.Range{After: s.backfill.At, UpTo: s.backfill.To}, search)
}

// firstOf returns the first event of another order key in one page of a range; nil where that has none.
func (s *session) firstOf(ctx context.Context, r change.Range, search *probeSearch) (*change.Event, error) {
	page, err := s.feed.source.Fetch(ctx, r, poller.Limit{Rows: probePage, Bytes: 1 << 20})
	if err != nil {
		return nil, err
	}
	for _, events := range [][]change.Event{page.Again, page.Events} {
		for i := range events {
			if key := string(events[i].OrderKey); !search.keys[key] {
				search.keys[key] = true
				return &events[i], nil
			}
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// searching returns the search of the calls before, with the order keys that no probe may have now: those to avoid, and
// those of events in flight. Where there is no search to go on with, or anew is asked for, it begins one after what was
// fetched, and reports that it is fresh.
func (s *session) searching(avoid [][]byte, anew bool) (search *probeSearch, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	search = s.feed.search
	fresh = anew || search == nil || !search.start.Equal(s.start) || len(search.keys) > maxSearchKeys
	if fresh {
		search = &probeSearch{start: s.start, at: s.frontier, keys: make(map[string]bool)}
		s.feed.search = search
	}
	for _, key := range avoid {
		search.keys[string(key)] = true
	}
	for _, about := range s.inFlight {
		for i := range about.events {
			search.keys[string(about.events[i].OrderKey)] = true
		}
	}
	return search, fresh
}
