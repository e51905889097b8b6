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
// A probe is sent ahead of its place, never ahead of an earlier event of its order key. So it is the first event of its
// order key behind the position. Looks go on behind the last probe, so that a long run of bad rows is no outage for
// ever. What lies between is not looked at again: a trail knows the order keys that may be there.

const (
	// maxTrail bounds the order keys of a trail: beyond it the looks begin anew.
	maxTrail = 10_000
	// maxLooks bounds the looks for one probe. Each costs a query.
	maxLooks = 20
)

// trail is how far the looks for probes went. It outlives its session, as long as the document's frontier stays.
type trail struct {
	begun change.Cursor // the document's frontier when it began
	at    change.Cursor // the last event that a look showed
	// keys are the order keys of all events between the two: those that were avoided, at hand, or shown by a look.
	keys map[string]bool
}

// Other returns one event of another order key, as a probe of the destination. An event of a parked key is none: it has
// to wait for its turn.
func (s *session) Other(ctx context.Context, avoid [][]byte) (poller.Grant, error) {
	event, err := s.witness(ctx, avoid)
	if err != nil {
		return poller.Grant{}, s.feed.cfg.sourceFault("looking for a row of another order key", err)
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

// witness finds an event for a probe: behind the last one, else behind what was fetched.
func (s *session) witness(ctx context.Context, avoid [][]byte) (*change.Event, error) {
	avoid = append(avoid[:len(avoid):len(avoid)], s.parkedKeys()...)
	// The source takes no more. What it shows is held against all of them.
	asked := slices.Clone(avoid[:min(len(avoid), poller.MaxAvoid)])
	t, fresh := s.goOn(avoid), false
	if t == nil {
		t, fresh = s.beginTrail(avoid), true
	}
	for range maxLooks {
		event, err := s.feed.source.Other(ctx, t.at, asked)
		switch {
		case err != nil:
			return nil, err
		case event == nil && fresh:
			return nil, nil //nolint:nilnil // there is no other row
		case event == nil:
			t, fresh = s.beginTrail(avoid), true
			continue
		}
		t.at = event.Position()
		if key := string(event.OrderKey); !t.keys[key] {
			t.keys[key] = true
			return event, nil
		}
		if len(asked) < poller.MaxAvoid {
			asked = append(asked, event.OrderKey)
		}
	}
	return nil, nil //nolint:nilnil // the next look goes on from here
}

// goOn returns the trail of the looks before, with the order keys that no probe may have now; nil where there is none.
func (s *session) goOn(avoid [][]byte) *trail {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.feed.trail
	if t == nil || !t.begun.Equal(s.begun) || len(t.keys) > maxTrail {
		return nil
	}
	s.avoid(t, avoid)
	return t
}

// beginTrail begins a trail behind what was fetched.
func (s *session) beginTrail(avoid [][]byte) *trail {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.feed.trail = &trail{begun: s.begun, at: s.frontier, keys: make(map[string]bool)}
	s.avoid(s.feed.trail, avoid)
	return s.feed.trail
}

// avoid adds the order keys that no probe may have: those that are named, and those of events at hand.
func (s *session) avoid(t *trail, avoid [][]byte) {
	for _, key := range avoid {
		t.keys[string(key)] = true
	}
	for _, about := range s.notes {
		for i := range about.events {
			t.keys[string(about.events[i].OrderKey)] = true
		}
	}
}

// parkedKeys returns the order keys whose events wait behind a parked one.
func (s *session) parkedKeys() [][]byte {
	if s.feed.cfg.Ordering != poller.OrderKey {
		return nil
	}
	p := s.parked.Load()
	keys := make([][]byte, 0, len(p.order))
	for _, key := range p.order {
		keys = append(keys, []byte(key))
	}
	return keys
}
