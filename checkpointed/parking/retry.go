package parking

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// maxRetries bounds the rows that one fetch reads again by their keys.
const maxRetries = 100

// Retries is what reading parked rows again has shown. It is kept until the batch that carries it is settled: see
// Update.Leave and Update.Settle.
type Retries struct {
	attempts []attempt // of the events of the batch
	gone     []gone
	moved    []moved
	more     bool
}

// attempt names an attempt at the head of a parked key.
type attempt struct {
	orderKey string
	number   uint64
}

// gone is the head of a parked key whose row is gone, and those of its followers that are gone too.
type gone struct {
	attempt
	followers [][]byte
}

// moved is the head of a parked key whose row has another order key now.
type moved struct {
	attempt
	event *change.Event
}

// Leaves reports whether heads leave without an attempt: that has to be stored, although there may be no event.
func (r *Retries) Leaves() bool { return len(r.gone)+len(r.moved) > 0 }

// More reports whether rows can be retried as soon as these are settled.
func (r *Retries) More() bool { return r.more }

// After returns r with the heads that left earlier, which were not settled.
func (r Retries) After(earlier Retries) Retries {
	r.gone = append(earlier.gone, r.gone...)
	r.moved = append(earlier.moved, r.moved...)
	return r
}

// Retry reads the rows again whose next attempt is due, each once in a session unless its entry's head changes, and
// tells which of them are gone. It sets all of the batch but From. The error is the source's.
//
// What is fetched later than this is settled later than this. So an event that is absorbed before the retry is settled
// was either fetched before it, and what was read here is newer; or it waits for the entry that Settle makes of it.
func (l *Lot) Retry(ctx context.Context, limit poller.Limit) (change.Batch, Retries, error) {
	t := l.table.Load()
	due := l.due(t, min(limit.Rows, maxRetries))
	if len(due) == 0 {
		return change.Batch{}, Retries{}, nil
	}
	begun := time.Now()
	rows := map[string]*change.Event{}
	read, total := 0, 0
	for read < len(due) && (read == 0 || total < limit.Bytes) {
		portion := l.portion(due[read:], limit.Bytes-total)
		l.handOut(portion)
		size, err := l.reread(ctx, keysOf(portion), rows)
		if err != nil {
			return change.Batch{}, Retries{}, err
		}
		read, total = read+len(portion), total+size
	}
	due = due[:read] // the others come with the next batch
	batch := change.Batch{Kind: change.Retry, More: true, Fetched: time.Now()}
	batch.FetchTime = batch.Fetched.Sub(begun)
	var retries Retries
	for _, e := range due {
		next := attempt{string(e.OrderKey), e.attempt}
		event := rows[string(e.Key)]
		if event == nil {
			retries.gone = append(retries.gone, gone{attempt: next})
			retries.more = retries.more || len(e.Followers) > 0
			continue
		}
		if l.Ordering == poller.OrderKey && !bytes.Equal(event.OrderKey, e.OrderKey) {
			retries.moved = append(retries.moved, moved{next, event})
			retries.more = true // itself, in its new place
			continue
		}
		if l.Ordering == poller.OrderSource && e.Waited() {
			continue // it comes at its place; it was only to be known whether it is gone
		}
		if event.ID == e.ID {
			e.recall(event)
		}
		batch.Events = append(batch.Events, *event)
		retries.attempts = append(retries.attempts, next)
		retries.more = retries.more || len(e.Followers) > 0
	}
	return batch, retries, l.followers(ctx, t, retries.gone, limit.Bytes)
}

// due returns the entries that are to be tried now, each row once.
func (l *Lot) due(t *table, limit int) []*parkedKey {
	if t.count == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	rows := map[string]bool{}
	due := slices.DeleteFunc(t.due(time.Now()), func(e *parkedKey) bool {
		if l.handed[e.attempt] || rows[string(e.Key)] {
			return true
		}
		rows[string(e.Key)] = true
		return false
	})
	return due[:min(len(due), limit)]
}

// handOut notes the attempts at entries as made, even where their rows cannot be read: once in a session.
func (l *Lot) handOut(entries []*parkedKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range entries {
		l.handed[e.attempt] = true
	}
}

// portion is how many of the entries one read may bring. Their rows count as what they were when they were last seen,
// or as the largest there can be. One row at least.
func (l *Lot) portion(entries []*parkedKey, room int) []*parkedKey {
	n := 0
	for n < len(entries) {
		size := entries[n].size
		if size == 0 {
			size = l.MaxRowBytes
		}
		if room -= size; room < 0 && n > 0 {
			break
		}
		n++
	}
	return entries[:n]
}

func keysOf(entries []*parkedKey) [][]byte {
	keys := make([][]byte, len(entries))
	for i, e := range entries {
		keys[i] = e.Key
	}
	return keys
}

// followers adds to heads that are gone which of their followers are gone too. It asks for maxRetries rows at most: the
// rows of a tenant that was deleted need not be found out about one by one. One read has room for so many bytes.
func (l *Lot) followers(ctx context.Context, t *table, heads []gone, room int) error {
	var asked []*parkedKey
	missing := map[string]bool{}
	for i := range heads {
		for _, key := range t.entries[heads[i].orderKey].Followers {
			if _, seen := missing[string(key)]; !seen && len(asked) < maxRetries {
				missing[string(key)] = false
				asked = append(asked, &parkedKey{Entry: Entry{Key: key}})
			}
		}
	}
	for len(asked) > 0 {
		portion := l.portion(asked, room)
		rows := map[string]*change.Event{} // not kept: only whether they are there counts
		if _, err := l.reread(ctx, keysOf(portion), rows); err != nil {
			return err
		}
		for _, e := range portion {
			missing[string(e.Key)] = rows[string(e.Key)] == nil
		}
		asked = asked[len(portion):]
	}
	for i := range heads {
		for _, key := range t.entries[heads[i].orderKey].Followers {
			if missing[string(key)] {
				heads[i].followers = append(heads[i].followers, key)
			}
		}
	}
	return nil
}

// reread adds the newest events of rows by key to found, and returns their bytes. A key that the database takes for
// equal to one that is spelled otherwise (a collation without case) comes back in the row's spelling. Such a row is
// read once more, alone, to know whose it is.
func (l *Lot) reread(ctx context.Context, keys [][]byte, found map[string]*change.Event) (size int, err error) {
	events, err := l.Source.Reread(ctx, keys)
	if err != nil {
		return 0, err
	}
	respelled := false
	for i := range events {
		if !contains(keys, events[i].Key) {
			respelled = true
			continue
		}
		found[string(events[i].Key)] = &events[i]
		size += events[i].Size()
	}
	if !respelled {
		return size, nil
	}
	for _, key := range keys {
		if found[string(key)] != nil {
			continue
		}
		one, err := l.Source.Reread(ctx, [][]byte{key})
		if err != nil {
			return 0, err
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
