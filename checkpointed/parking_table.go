package checkpointed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// parking is what a document holds of parked events. One that the session shows to others is never written again:
// Settle makes the next one with draft.
type parking struct {
	entries map[string]*parkedRow // by order key
	order   []string              // the order keys as they were parked
	count   int                   // entries and followers
	turns   uint64
}

// parkedRow is an entry with its turn, which changes whenever another attempt at its head is worth making: so that one
// that was handed out is not handed out again, however the followers change meanwhile.
type parkedRow struct {
	ParkedEntry
	turn uint64
	size int // of the head's row when it was last seen, in bytes; 0: it is not known
}

// newParking returns the parking of the entries that a document names.
func newParking(entries []ParkedEntry) *parking {
	p := &parking{entries: make(map[string]*parkedRow, len(entries))}
	for _, e := range entries {
		p.turns++
		p.entries[string(e.OrderKey)] = &parkedRow{ParkedEntry: e, turn: p.turns}
		p.order = append(p.order, string(e.OrderKey))
		p.count += 1 + len(e.Followers)
	}
	return p
}

// list returns the entries in the order in which they were parked.
func (p *parking) list() []ParkedEntry {
	list := make([]ParkedEntry, 0, len(p.order))
	for _, key := range p.order {
		list = append(list, p.entries[key].ParkedEntry)
	}
	return list
}

// has reports whether an order key is parked.
func (p *parking) has(orderKey []byte) bool { return p.entries[string(orderKey)] != nil }

// wrongClock is how far in the future an attempt must have been made to show that the clock of whoever made it was
// wrong: its due time is wrong too, and is not waited for.
const wrongClock = time.Minute

// due returns the entries whose next attempt is due, the longest waiting first, and when the next one will be (zero:
// never).
func (p *parking) due(now time.Time) (due []*parkedRow, next time.Time) {
	for _, key := range p.order {
		e := p.entries[key]
		switch {
		case e.Blocked:
		case !e.Next.After(now), e.Attempts == 0, e.Last.After(now.Add(wrongClock)):
			due = append(due, e)
		case next.IsZero() || e.Next.Before(next):
			next = e.Next
		}
	}
	slices.SortStableFunc(due, func(a, b *parkedRow) int { return a.Next.Compare(b.Next) })
	return due, next
}

// draft is the next parking, while a settlement works on it.
type draft struct {
	parking
	base    *parking
	own     map[string]bool // entries that are copies already
	policy  *poller.Policy
	changed bool
}

func (p *parking) draft(policy *poller.Policy) *draft {
	return &draft{parking: *p, base: p, policy: policy}
}

// change prepares for a change; until the first there is no copy.
func (d *draft) change() {
	if d.changed {
		return
	}
	d.changed = true
	d.own = map[string]bool{}
	entries := make(map[string]*parkedRow, len(d.entries)+1)
	for key, e := range d.entries {
		entries[key] = e
	}
	d.entries = entries
	d.order = slices.Clone(d.order)
}

// edit returns an entry to be written into; nil where there is none.
func (d *draft) edit(orderKey string) *parkedRow {
	if d.entries[orderKey] == nil {
		return nil
	}
	d.change()
	if !d.own[orderKey] {
		e := *d.entries[orderKey]
		e.Followers = slices.Clone(e.Followers)
		d.entries[orderKey] = &e
		d.own[orderKey] = true
	}
	return d.entries[orderKey]
}

// done returns the parking that the draft has become.
func (d *draft) done() *parking {
	if !d.changed {
		return d.base
	}
	p := d.parking
	return &p
}

// parkingFullError says that no more events can be parked.
type parkingFullError struct{ max int }

func (e *parkingFullError) Error() string {
	return fmt.Sprintf("max_parked: %d rejected rows, and rows behind them, wait already, and another one would have to: nothing "+
		"is dropped, so the position stays here. Mend the destination, raise max_parked, or let `rowrelay deadletter` replay or "+
		"purge what is blocked", e.max)
}

func (d *draft) full() bool { return d.count >= d.policy.MaxParked }

// park adds an entry for an event: one that was rejected, or one that found its key's entry gone when it was settled,
// which is then due at once.
func (d *draft) park(orderKey []byte, event *change.Event) *parkedRow {
	d.change()
	d.turns++
	d.count++
	e := &parkedRow{turn: d.turns, size: event.Size(), ParkedEntry: ParkedEntry{
		// Copies: the batch, with all of its rows, must not be kept in memory by its keys.
		OrderKey: bytes.Clone(orderKey), Key: bytes.Clone(event.Key), Cursor: bytes.Clone(event.Cursor), ID: event.ID,
	}}
	d.entries[string(orderKey)] = e
	d.order = append(d.order, string(orderKey))
	d.own[string(orderKey)] = true
	return e
}

// fail counts a failed attempt of an event against its entry. An event with another id than the entry's is a corrected
// row: counting begins again. It reports whether that was the last attempt.
func (d *draft) fail(e *parkedRow, event *change.Event, why poller.Rejection) (last bool) {
	if e.ID != event.ID {
		e.ID, e.Cursor, e.Attempts, e.First = event.ID, bytes.Clone(event.Cursor), 0, time.Time{}
		e.Key, e.Blocked = bytes.Clone(event.Key), false
	}
	e.size = event.Size()
	var wait time.Duration
	e.Attempts, wait, last = d.policy.Failed(e.Attempts, why)
	if e.First.IsZero() {
		e.First = why.At
	}
	e.Last = why.At
	e.Cause, e.Status, e.Reason = why.Cause.String(), why.Status, Clip(why.Reason)
	e.Next = why.At.Add(wait)
	d.turns++
	e.turn = d.turns
	return last
}

// follow lets a row wait behind the head of an entry. What will be read is its newest state, so that it waits once, and
// at the place of its last event. The head needs no place: its retry reads its newest state too. It reports false when
// there is no room.
func (d *draft) follow(orderKey string, rowKey []byte) bool {
	e := d.entries[orderKey]
	if bytes.Equal(e.Key, rowKey) && !e.Blocked { // a blocked one is given up: what it became since is not
		return true
	}
	at := e.follower(rowKey)
	if at < 0 && d.full() {
		return false
	}
	d.append(orderKey, rowKey, at)
	return true
}

// follower returns the place of a row behind the head; -1 when it does not wait there.
func (e *parkedRow) follower(rowKey []byte) int {
	return slices.IndexFunc(e.Followers, func(f json.RawMessage) bool { return bytes.Equal(f, rowKey) })
}

// append makes a row, which waits at a place (-1: nowhere), the last one to wait.
func (d *draft) append(orderKey string, rowKey []byte, at int) {
	e := d.entries[orderKey]
	switch {
	case at < 0:
		d.count++
	case at == len(e.Followers)-1:
		return
	}
	e = d.edit(orderKey)
	if at >= 0 {
		e.Followers = slices.Delete(e.Followers, at, at+1)
	}
	e.Followers = append(e.Followers, bytes.Clone(rowKey))
}

// enter parks a row that has left the entry of another order key, which made room for it: behind what is parked under
// its new one, or as a head that is due at once.
func (d *draft) enter(event *change.Event, now time.Time) {
	orderKey := string(event.OrderKey)
	if e := d.entries[orderKey]; e != nil {
		d.append(orderKey, event.Key, e.follower(event.Key))
		return
	}
	d.park(event.OrderKey, event).Next = now
}

// drop removes rows from those that wait behind a head, and returns how many they were.
func (d *draft) drop(orderKey string, rowKeys [][]byte) int {
	if len(rowKeys) == 0 {
		return 0
	}
	e := d.edit(orderKey)
	before := len(e.Followers)
	e.Followers = slices.DeleteFunc(e.Followers, func(f json.RawMessage) bool { return contains(rowKeys, f) })
	dropped := before - len(e.Followers)
	d.count -= dropped
	return dropped
}

// leave ends the attempts at the head of an entry: the first follower takes its place, and is due at once; without one
// the key is free.
func (d *draft) leave(orderKey string, now time.Time) {
	e := d.edit(orderKey)
	d.count--
	if len(e.Followers) == 0 {
		delete(d.entries, orderKey)
		delete(d.own, orderKey)
		d.order = slices.DeleteFunc(d.order, func(key string) bool { return key == orderKey })
		return
	}
	d.turns++
	*e = parkedRow{turn: d.turns, ParkedEntry: ParkedEntry{
		OrderKey: e.OrderKey, Key: e.Followers[0], Next: now, Followers: e.Followers[1:],
	}}
}
