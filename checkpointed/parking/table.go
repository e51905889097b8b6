package parking

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// table is what a document holds of parked events. Once it is shown to others it never changes: an Update makes the
// next one.
type table struct {
	entries map[string]*parkedKey // by order key
	order   []string              // the order keys as they were parked
	count   int                   // entries and followers
	last    uint64                // the last attempt that was numbered
	object  string                // the side object that it was read from, or stored as
}

// parkedKey is an entry, and what only this process knows of it.
type parkedKey struct {
	Entry
	// attempt is the number of the attempt that comes next. It changes whenever another attempt at the head is worth
	// making, and not with the followers: so an attempt that was handed out is not handed out again.
	attempt uint64
	size    int // of the head's row when it was last seen, in bytes; 0: it is not known
}

func newTable(entries []Entry, object string) *table {
	t := &table{entries: make(map[string]*parkedKey, len(entries)), count: Rows(entries), object: object}
	for _, e := range entries {
		t.last++
		t.entries[string(e.OrderKey)] = &parkedKey{Entry: e, attempt: t.last}
		t.order = append(t.order, string(e.OrderKey))
	}
	return t
}

// list returns the entries in the order in which they were parked.
func (t *table) list() []Entry {
	list := make([]Entry, 0, len(t.order))
	for _, key := range t.order {
		list = append(list, t.entries[key].Entry)
	}
	return list
}

func (t *table) full(policy *poller.Policy) bool { return t.count >= policy.MaxParked }

func fullFault(policy *poller.Policy, address string) error {
	return &poller.Fault{Event: poller.HandlerFailed,
		Err: fmt.Errorf("max_parked: %d rejected rows, and rows after them, "+
			"wait already, and another one would have to: nothing is dropped, so the position stays here. Repair the destination, "+
			"raise max_parked, replay dead letters that block their order key (`rowrelay deadletter replay %[2]s`), or give up what is "+
			"useless (`rowrelay deadletter purge %[2]s --parked`)", policy.MaxParked, address)}
}

// wrongClock is how far in the future an attempt must have been made to show that the clock of whoever made it was
// wrong. Its due time is wrong too, and is not waited for.
const wrongClock = time.Minute

// due reports whether the next attempt may be made.
func (e *parkedKey) due(now time.Time) bool {
	return !e.Blocked && (!e.Next.After(now) || e.Attempts == 0 || e.Last.After(now.Add(wrongClock)))
}

// due returns the entries whose next attempt is due, the longest waiting first.
func (t *table) due(now time.Time) []*parkedKey {
	var due []*parkedKey
	for _, key := range t.order {
		if e := t.entries[key]; e.due(now) {
			due = append(due, e)
		}
	}
	slices.SortStableFunc(due, func(a, b *parkedKey) int { return a.Next.Compare(b.Next) })
	return due
}

// recall gives an event that was fetched again the attempts that its entry counts.
func (e *parkedKey) recall(event *change.Event) {
	event.Attempts, event.Refused = e.Attempts, e.Cause == poller.Refused.String()
}

// follower returns the place of a row among the followers; -1 when it is none of them.
func (e *parkedKey) follower(rowKey []byte) int {
	return slices.IndexFunc(e.Followers, func(f json.RawMessage) bool { return bytes.Equal(f, rowKey) })
}

// Update is the next table, while a settlement works on it.
type Update struct {
	// Stop says why the settlement had to stop; nil where it did not, or where an event was deferred.
	Stop error
	// Later is the first fault that others need not wait for: the tick fails with it at its end.
	Later error

	table
	lot     *Lot
	own     map[string]bool // entries that are copies already
	changed bool
	gone    int // rows that are gone
}

// Changed reports whether there is something to be stored.
func (u *Update) Changed() bool { return u.changed }

// Put saves the entries with put (Lease.PutObject), and returns what the commit has to name: nil where nothing changed.
func (u *Update) Put(ctx context.Context, put func(ctx context.Context, kind string, data []byte) (string, error),
) (*state.ObjectRef, error) {
	if !u.changed {
		return nil, nil //nolint:nilnil // nothing to be named
	}
	ref, err := Save(ctx, u.list(), put)
	if err == nil {
		u.object = ref.Object
	}
	return ref, err
}

// change prepares for a change. Until the first there is no copy.
func (u *Update) change() {
	if u.changed {
		return
	}
	u.changed, u.own = true, map[string]bool{}
	u.entries, u.order = maps.Clone(u.entries), slices.Clone(u.order)
}

// number returns the number of a new attempt.
func (u *Update) number() uint64 {
	u.last++
	return u.last
}

// edit returns an entry to be written into; nil where there is none.
func (u *Update) edit(orderKey string) *parkedKey {
	if u.entries[orderKey] == nil {
		return nil
	}
	u.change()
	if !u.own[orderKey] {
		e := *u.entries[orderKey]
		e.Followers = slices.Clone(e.Followers)
		u.entries[orderKey] = &e
		u.own[orderKey] = true
	}
	return u.entries[orderKey]
}

// park adds an entry for an event: one that was rejected, or one that found its key's entry gone when it was settled,
// which is then due at once.
func (u *Update) park(orderKey []byte, event *change.Event) *parkedKey {
	u.change()
	u.count++
	e := &parkedKey{attempt: u.number(), size: event.Size(), Entry: Entry{
		// Copies: the batch, with all of its rows, must not be kept in memory by its keys.
		OrderKey: bytes.Clone(orderKey), Key: bytes.Clone(event.Key), Cursor: bytes.Clone(event.Cursor), ID: event.ID,
	}}
	u.entries[string(orderKey)] = e
	u.order = append(u.order, string(orderKey))
	u.own[string(orderKey)] = true
	return e
}

// fail counts a failed attempt of an event against its entry. An event with another id than the entry's is a corrected
// row: counting begins again. It reports whether that was the last attempt.
func (u *Update) fail(e *parkedKey, event *change.Event, why poller.Rejection) (last bool) {
	if e.ID != event.ID {
		e.ID, e.Cursor, e.Attempts, e.First = event.ID, bytes.Clone(event.Cursor), 0, time.Time{}
		e.Key, e.Blocked = bytes.Clone(event.Key), false
	}
	e.size = event.Size()
	var wait time.Duration
	e.Attempts, wait, last = u.lot.Policy.Failed(e.Attempts, why)
	if e.First.IsZero() {
		e.First = why.At
	}
	e.Last = why.At
	e.Cause, e.Status, e.Reason = why.Cause.String(), why.Status, Clip(why.Reason)
	e.Next = why.At.Add(wait)
	e.attempt = u.number()
	return last
}

// follow lets a row wait for the head of an entry, after the rows that wait already. It waits once, at the place of its
// last event, because its newest state will be read. A backfill repeats an event, which keeps its place: those after it
// would otherwise be sent before it. The head needs no place: its retry reads its newest state too. It reports false
// when there is no room.
func (u *Update) follow(orderKey string, rowKey []byte, kind change.Kind) bool {
	e := u.entries[orderKey]
	if bytes.Equal(e.Key, rowKey) && !e.Blocked { // a blocked one is given up: what it became since is not
		return true
	}
	at := e.follower(rowKey)
	switch {
	case at >= 0 && kind == change.Backfill:
		return true
	case at < 0 && u.full(&u.lot.Policy):
		return false
	}
	u.append(orderKey, rowKey, at)
	return true
}

// append makes a row, which waits at a place (-1: nowhere), the last one to wait.
func (u *Update) append(orderKey string, rowKey []byte, at int) {
	e := u.entries[orderKey]
	switch {
	case at < 0:
		u.count++
	case at == len(e.Followers)-1:
		return
	}
	e = u.edit(orderKey)
	if at >= 0 {
		e.Followers = slices.Delete(e.Followers, at, at+1)
	}
	e.Followers = append(e.Followers, bytes.Clone(rowKey))
}

// enter parks a row that has left the entry of another order key. That made room for it: it becomes the last follower
// under its new key, or the head, which is due at once.
func (u *Update) enter(event *change.Event, now time.Time) {
	orderKey := string(event.OrderKey)
	switch e := u.entries[orderKey]; {
	case e == nil:
		u.park(event.OrderKey, event).Next = now
	case e.Blocked || !bytes.Equal(e.Key, event.Key): // else it is the head there: its retry reads its newest state
		u.append(orderKey, event.Key, e.follower(event.Key))
	}
}

// drop removes rows from the followers of a head, and returns how many they were.
func (u *Update) drop(orderKey string, rowKeys [][]byte) int {
	if len(rowKeys) == 0 {
		return 0
	}
	e := u.edit(orderKey)
	before := len(e.Followers)
	e.Followers = slices.DeleteFunc(e.Followers, func(f json.RawMessage) bool { return contains(rowKeys, f) })
	dropped := before - len(e.Followers)
	u.count -= dropped
	return dropped
}

// leave ends the attempts at the head of an entry. The first follower takes its place, and is due at once. Without one
// the key is free.
func (u *Update) leave(orderKey string, now time.Time) {
	e := u.edit(orderKey)
	u.count--
	if len(e.Followers) == 0 {
		delete(u.entries, orderKey)
		delete(u.own, orderKey)
		u.order = slices.DeleteFunc(u.order, func(key string) bool { return key == orderKey })
		return
	}
	*e = parkedKey{attempt: u.number(), Entry: Entry{
		OrderKey: e.OrderKey, Key: e.Followers[0], Next: now, Followers: e.Followers[1:],
	}}
}

// Lot is the parked events of a feed. Wait, Retry and Full belong to one goroutine at a time, Update and Stored to
// another. The other methods may be called by both.
type Lot struct {
	Config
	origin poller.Origin
	coarse bool // several rows share an order key

	// table is what the document names. An Update is shown to others only once it is stored.
	table atomic.Pointer[table]

	writer poller.DeadLetterWriter // of this session

	mu       sync.Mutex
	handed   map[uint64]bool // attempts that this session has handed out
	warned   bool            // this session said what the poller waits for
	warnings []string
	letters  []poller.DeadLetter // that this session wrote
	gone     int                 // rows that this session found gone
}

// Config says what a Lot reads again, when, and where it writes what is given up.
type Config struct {
	// App, Poller and Output name the feed in dead letters. Address is how commands name the feed's document.
	App, Poller, Output, Address string
	// Source reads rows again: see checkpointed.Source.
	Source interface {
		Reread(ctx context.Context, keys [][]byte) ([]change.Event, error)
	}
	Ordering    poller.Ordering
	Policy      poller.Policy
	DeadLetters poller.DeadLetters
	// MaxRowBytes is what a row of unknown size counts as when it is read again. 0 counts nothing.
	MaxRowBytes int
}
