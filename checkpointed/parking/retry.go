package parking

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
// tells which of them are gone. It sets all of the batch but From. Rows that cannot be read are left out, and tried
// again in the next session: the error, the source's first, comes beside the others.
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
	rows := newRows()
	read := 0
	var err error
	for err == nil && read < len(due) && (read == 0 || rows.size < limit.Bytes) {
		portion := l.portion(due[read:], limit.Bytes-rows.size)
		l.handOut(portion)
		if err = l.reread(ctx, keysOf(portion), rows); err == nil {
			read += len(portion)
		}
	}
	due = due[:read] // the others come with the next batch
	batch := change.Batch{Kind: change.Retry, More: true, Fetched: time.Now()}
	batch.FetchTime = batch.Fetched.Sub(begun)
	var retries Retries
	for _, e := range due {
		next := attempt{string(e.OrderKey), e.attempt}
		event := rows.found[string(e.Key)]
		if rows.unread[string(e.Key)] {
			continue
		}
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
	if err == nil {
		err = l.followers(ctx, t, retries.gone, limit.Bytes)
	}
	return batch, retries, cmp.Or(rows.err, err)
}

// due returns the entries that are to be tried now, each row once. Where they are more than the limit, chance decides
// with which to begin: a few whose failures prove nothing keep their places, and end each tick before others have come.
func (l *Lot) due(t *table, limit int) []*parkedKey {
	if t.count == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	rows := map[string]bool{}
	now := time.Now()
	due := slices.DeleteFunc(t.due(now), func(e *parkedKey) bool {
		if l.handed[e.attempt] || rows[string(e.Key)] {
			return true
		}
		rows[string(e.Key)] = true
		return false
	})
	if len(due) > limit {
		// The clock's chance: a simulation can repeat it.
		first := rand.New(rand.NewPCG(uint64(now.UnixNano()), 0)).IntN(len(due)) //nolint:gosec // nothing secret
		due = slices.Concat(due[first:], due[:first])[:limit]
	}
	return due
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
// rows of a tenant that was deleted need not be found out about one by one. One read has room for so many bytes. Those
// that cannot be read count as there: they are read again when they are at the head.
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
	var first error
	for len(asked) > 0 {
		portion := l.portion(asked, room)
		rows := newRows() // not kept: only whether they are there counts
		err := l.reread(ctx, keysOf(portion), rows)
		if first = cmp.Or(first, rows.err, err); err != nil {
			break
		}
		for _, e := range portion {
			missing[string(e.Key)] = rows.found[string(e.Key)] == nil && !rows.unread[string(e.Key)]
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
	return first
}

// rows are what reading rows by their keys has shown. What is neither found nor unread is gone.
type rows struct {
	found  map[string]*change.Event // the newest, by key
	size   int                      // of these, in bytes
	unread map[string]bool          // keys of rows that cannot be read
	err    error                    // why the first of them cannot
}

func newRows() *rows { return &rows{found: map[string]*change.Event{}, unread: map[string]bool{}} }

func (r *rows) add(key []byte, event *change.Event) {
	r.found[string(key)] = event
	r.size += event.Size()
}

// reread adds the newest events of rows by key. A key that the database takes for equal to one that is spelled
// otherwise (a collation without case) comes back in the row's spelling. Such a row is read once more, alone, to know
// whose it is. So is each where one row, or one key, is at fault: the others need not wait for it. The error is of all
// of them.
func (l *Lot) reread(ctx context.Context, keys [][]byte, to *rows) error {
	if len(keys) == 1 {
		return l.alone(ctx, keys[0], to)
	}
	events, err := l.Source.Reread(ctx, keys)
	each := ofOneRow(err)
	if err != nil && !each {
		return err
	}
	for i := range events {
		if contains(keys, events[i].Key) {
			to.add(events[i].Key, &events[i])
		} else {
			each = true
		}
	}
	for _, key := range keys {
		if !each || to.found[string(key)] != nil {
			continue
		}
		if err := l.alone(ctx, key, to); err != nil {
			return err
		}
	}
	return nil
}

// alone adds the newest event of one row.
func (l *Lot) alone(ctx context.Context, key []byte, to *rows) error {
	events, err := l.Source.Reread(ctx, [][]byte{key})
	switch {
	case ofOneRow(err):
		to.unread[string(key)] = true
		to.err = cmp.Or(to.err, fmt.Errorf("the parked row %s: %w", key, err))
	case err != nil:
		return err
	case len(events) > 0:
		to.add(key, &events[0])
	}
	return nil
}

// ofOneRow reports whether an error of reading rows may be of one row, or of one key from before source__key was
// changed.
func ofOneRow(err error) bool {
	return errors.Is(err, poller.ErrNormalize) || errors.Is(err, poller.ErrConfig)
}
