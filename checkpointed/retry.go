package checkpointed

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// sourceKey is the order key of the one entry that ordering=source has: the event that the poller waits at. It is no
// event's own, because an event's is an object of one column at least.
const sourceKey = "[]"

// maxRetries bounds the rows that one fetch reads again by their keys.
const maxRetries = 100

// waiting reports, under ordering=source, whether the event at the head has to wait for its next attempt.
func (s *session) waiting() (bool, error) {
	if s.feed.cfg.Ordering != poller.OrderSource {
		return false, nil
	}
	e := s.parked.Load().entries[sourceKey]
	switch {
	case e == nil:
		return false, nil
	case e.Blocked:
		return true, &poller.Fault{Event: poller.HandlerFailed,
			Err: fmt.Errorf("the poller is blocked (ordering=source, after_dead_letter=block) at key %s, "+
				"event %s, which was dead-lettered after %d attempts: `rowrelay deadletter` replays or purges it", e.Key, e.ID,
				e.Attempts)}
	case !e.Next.After(time.Now()):
		return false, nil
	}
	if !s.waits {
		s.waits = true
		s.warn(fmt.Sprintf("ordering=source: nothing is sent before %s, when attempt %d of %d of key %s, event %s, is due (%s)",
			e.Next.UTC().Format(time.RFC3339), e.Attempts+1, s.feed.cfg.Policy.MaxAttempts, e.Key, e.ID, e.Reason))
	}
	return true, nil
}

// retry reads the rows again whose next attempt is due, each once in a session unless its entry's head changes, and
// tells which of them are gone.
//
// What is fetched later than this is settled later than this: so an event that is absorbed before the retry is settled
// was either fetched before it, and what was read here is newer; or it waits for the entry that Settle makes of it.
func (s *session) retry(ctx context.Context, limit poller.Limit) (change.Batch, note, error) {
	p := s.parked.Load()
	if p.count == 0 {
		return change.Batch{}, note{}, nil
	}
	due := s.turns(p, min(limit.Rows, maxRetries))
	if len(due) == 0 {
		return change.Batch{}, note{}, nil
	}
	begun := time.Now()
	rows := map[string]*change.Event{}
	read, total := 0, 0
	for read < len(due) && (read == 0 || total < limit.Bytes) {
		portion := s.portion(due[read:], limit.Bytes-total)
		for _, e := range portion {
			s.handed[e.turn] = true // also when they cannot be read: once in a session
		}
		size, err := s.reread(ctx, keysOf(portion), rows)
		if err != nil {
			return change.Batch{}, note{}, err
		}
		read, total = read+len(portion), total+size
	}
	due = due[:read] // the others come with the next batch
	batch := change.Batch{Kind: change.Retry, From: s.frontier, More: true, Fetched: time.Now()}
	batch.FetchTime = batch.Fetched.Sub(begun)
	var about note
	for _, e := range due {
		attempt := turn{string(e.OrderKey), e.turn}
		event := rows[string(e.Key)]
		if event == nil {
			about.gone = append(about.gone, gone{turn: attempt})
			about.behind = about.behind || len(e.Followers) > 0
			continue
		}
		if s.feed.cfg.Ordering == poller.OrderKey && !bytes.Equal(event.OrderKey, e.OrderKey) {
			about.moved = append(about.moved, moved{attempt, event})
			about.behind = true // itself, in its new place
			continue
		}
		if s.feed.cfg.Ordering == poller.OrderSource && string(e.OrderKey) == sourceKey {
			continue // it comes at its place; it was only to be known whether it is gone
		}
		if event.ID == e.ID {
			event.Attempts, event.Refused = e.Attempts, e.Cause == poller.Refused.String()
		}
		batch.Events = append(batch.Events, *event)
		about.retries = append(about.retries, attempt)
		about.behind = about.behind || len(e.Followers) > 0
	}
	return batch, about, s.followers(ctx, p, about.gone, limit.Bytes)
}

// portion is how many of the entries one re-read may bring: their rows count as what they were when they were last
// seen, or as the largest there can be. One row at least.
func (s *session) portion(due []*parkedRow, room int) []*parkedRow {
	n := 0
	for n < len(due) {
		size := due[n].size
		if size == 0 {
			size = s.feed.cfg.MaxRowBytes
		}
		if room -= size; room < 0 && n > 0 {
			break
		}
		n++
	}
	return due[:n]
}

func keysOf(entries []*parkedRow) [][]byte {
	keys := make([][]byte, len(entries))
	for i, e := range entries {
		keys[i] = e.Key
	}
	return keys
}

// followers finds out which of the rows behind heads that are gone are gone as well, maxRetries at once: the rows of a
// tenant that was deleted need not be found out about one by one. One re-read has room for so many bytes.
func (s *session) followers(ctx context.Context, p *parking, heads []gone, room int) error {
	var asked []*parkedRow
	seen := map[string]bool{}
	for i := range heads {
		for _, key := range p.entries[heads[i].orderKey].Followers {
			if len(asked) < maxRetries && !seen[string(key)] {
				seen[string(key)] = true
				asked = append(asked, &parkedRow{ParkedEntry: ParkedEntry{Key: key}})
			}
		}
	}
	missing := map[string]bool{}
	for len(asked) > 0 {
		portion := s.portion(asked, room)
		rows := map[string]*change.Event{} // not kept: it is only to be known whether they are there
		if _, err := s.reread(ctx, keysOf(portion), rows); err != nil {
			return err
		}
		for _, e := range portion {
			missing[string(e.Key)] = rows[string(e.Key)] == nil
		}
		asked = asked[len(portion):]
	}
	for i := range heads {
		for _, key := range p.entries[heads[i].orderKey].Followers {
			if missing[string(key)] {
				heads[i].followers = append(heads[i].followers, key)
			}
		}
	}
	return nil
}

// queued reports whether a retry is on its way behind which rows wait: the next of them is due as soon as it is
// settled.
func (s *session) queued() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.behind > 0
}

// await waits for a settlement, a moment at most.
func (s *session) await(ctx context.Context) {
	timer := time.NewTimer(turnWait)
	defer timer.Stop()
	select {
	case <-s.landed:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// turns returns the entries that are to be tried now, each row once.
func (s *session) turns(p *parking, limit int) []*parkedRow {
	due, _ := p.due(time.Now())
	rows := map[string]bool{}
	due = slices.DeleteFunc(due, func(e *parkedRow) bool {
		if s.handed[e.turn] || rows[string(e.Key)] {
			return true
		}
		rows[string(e.Key)] = true
		return false
	})
	return due[:min(len(due), limit)]
}

// reread adds the newest events of rows by key to found, and returns their bytes. A key that the database takes for
// equal to one that is spelled otherwise (a collation without case) comes back in the row's spelling: such a row is
// read once more, alone, to know whose it is.
func (s *session) reread(
	ctx context.Context, keys [][]byte, found map[string]*change.Event,
) (size int, err error) {
	events, err := s.feed.source.Reread(ctx, keys)
	if err != nil {
		return 0, s.feed.cfg.sourceFault("reading parked rows again", err)
	}
	strange := false
	for i := range events {
		if !contains(keys, events[i].Key) {
			strange = true
			continue
		}
		found[string(events[i].Key)] = &events[i]
		size += events[i].Size()
	}
	if !strange {
		return size, nil
	}
	for _, key := range keys {
		if found[string(key)] != nil {
			continue
		}
		one, err := s.feed.source.Reread(ctx, [][]byte{key})
		if err != nil {
			return 0, s.feed.cfg.sourceFault("reading a parked row again", err)
		}
		if len(one) > 0 {
			found[string(key)] = &one[0]
			size += one[0].Size()
		}
	}
	return size, nil
}

func contains(keys [][]byte, key []byte) bool {
	return slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, key) })
}
