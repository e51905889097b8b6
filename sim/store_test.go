package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/state"
)

// store is the one state store: linearizable for each key, whatever its answers say.
type store struct {
	w       *world
	entries map[string]*entry // looked up, never ranged over
	keys    []string          // sorted
	writes  int
	offset  time.Duration // of the store's clock against the instances'
	shaky   bool          // its clock jumped or stood still in this run: it may have two owners, and the fence has to hold
	slowest time.Duration // that an answer took
	frozen  time.Time     // its clock stands still at this time, unless zero
	names   int
	alias   map[string]string // random object names, as the trace shows them
}

type entry struct {
	data    []byte
	version state.Version
}

var (
	errStore     = errors.New("503: the simulated store is busy")
	errStoreLost = errors.New("the connection to the simulated store broke")
)

// storeOf is one instance's way to the store.
type storeOf struct{ p *process }

var _ state.Store = storeOf{}

func newStore(w *world) *store {
	return &store{w: w, entries: map[string]*entry{}, alias: map[string]string{},
		offset: w.span(-3*time.Hour, 3*time.Hour)}
}

// now is the store's clock, as one answer shows it.
func (s *store) now() time.Time {
	now := time.Now().Add(s.offset)
	if !s.frozen.IsZero() {
		now = s.frozen
	}
	if m := s.w.pro.Margin; m > 0 {
		now = now.Add(-time.Duration(s.w.rng.Int64N(int64(m))))
	}
	return now
}

// shiftClock makes the store's clock jump, stand still, or go on.
func (s *store) shiftClock() {
	s.shaky = true
	s.w.tally.ClockFaults++
	switch {
	case !s.frozen.IsZero():
		s.frozen = time.Time{}
		s.w.say("~", "the store's clock goes on")
	case s.w.chance(0.3):
		s.frozen = time.Now().Add(s.offset)
		s.w.say("~", "the store's clock stands still")
	default:
		d := s.w.span(-2*s.w.pro.TTL, 2*s.w.pro.TTL)
		s.offset += d
		s.w.say("~", "the store's clock jumps by %s", d)
	}
}

func (s *store) stamp(e *entry) state.Stamp { return state.Stamp{Version: e.version, Now: s.now()} }

// short is a key as the trace shows it: without what was drawn at random.
func (s *store) short(key string) string {
	for _, o := range s.w.outputs {
		if key == o.key {
			return strings.TrimSpace("document " + o.name)
		}
	}
	if !strings.HasPrefix(key, "objects/") {
		return key
	}
	if s.alias[key] == "" {
		s.names++
		base := key[strings.LastIndexByte(key, '/')+1:]
		kind, _, _ := strings.Cut(base, "-")
		s.alias[key] = fmt.Sprintf("%s#%d", kind, s.names)
	}
	return s.alias[key]
}

// put is a write that lands, now or never: it is what a conditional write does when its turn comes.
func (s *store) put(p *process, key string, data []byte, version state.Version) (state.Stamp, error) {
	old := s.entries[key]
	if (old == nil) != (version == "") || old != nil && old.version != version {
		return state.Stamp{}, state.ErrConflict
	}
	s.writes++
	e := &entry{data: bytes.Clone(data), version: state.Version(fmt.Sprint(s.writes))}
	s.entries[key] = e
	if old == nil {
		i, _ := slices.BinarySearch(s.keys, key)
		s.keys = slices.Insert(s.keys, i, key)
	}
	if key == p.out.key {
		s.w.documentWritten(p, old, e)
	}
	return s.stamp(e), nil
}

// fault draws what a call of the store meets besides its answer.
type fault uint8

const (
	none       fault = iota
	failed           // not done, and said so
	lost             // done, and reported as failed
	conflicted       // done, and reported as a conflict: a client library repeated it
	later            // reported as failed, and done later
	slow             // the answer takes its time
	slowToo          // so does its effect
)

func (w *world) storeFault(by *process, write bool) fault {
	p := &w.pro
	f := none
	switch {
	case w.fate(p.StoreFail):
		f = failed
	case write && w.fate(p.StoreLost):
		f = lost
		if w.chance(0.3) {
			f = conflicted
		}
	case write && w.fate(p.StoreLate):
		f = later
	case w.fate(p.StoreSlow):
		f = slow
		if w.chance(0.5) {
			f = slowToo
		}
	}
	by.excused = by.excused || f != none && f != lost && f != conflicted
	switch f {
	case none:
	case later:
		w.tally.StoreLate++
	default:
		w.tally.StoreFaults++
	}
	return f
}

// slowness is how long a slow answer takes: sometimes longer than any patience.
func (w *world) slowness() time.Duration {
	from, to := 100*time.Millisecond, w.pro.TTL/3
	if w.chance(0.3) {
		from, to = to, 2*w.pro.TTL
	}
	took := w.span(from, to)
	w.store.slowest = max(w.store.slowest, took)
	return took
}

// Load implements state.Store.
func (o storeOf) Load(ctx context.Context, key string) (stored state.Stored, err error) {
	s, w := o.p.w.store, o.p.w
	err = over
	o.p.ask(ctx, &call{what: "load", arg: key, resolve: func(c *call) bool {
		if c.gaveUp && !c.effected {
			o.p.excused = true
			err = ctx.Err()
			w.say(o.p.name, "load %s: given up", s.short(key))
			return true
		}
		if !c.effected {
			f := w.storeFault(o.p, false)
			if f == failed {
				err = errStore
				w.say(o.p.name, "load %s: fails", s.short(key))
				return true
			}
			if f == slowToo && c.notBefore.IsZero() {
				w.say(o.p.name, "load %s: waits", s.short(key))
				return c.hold(w.slowness())
			}
			c.effected = true
			if e := s.entries[key]; e != nil {
				stored, err = state.Stored{Data: bytes.Clone(e.data), Stamp: s.stamp(e)}, nil
			} else {
				err = state.ErrNotFound
			}
			if f == slow {
				w.say(o.p.name, "load %s: read, the answer is slow", s.short(key))
				return c.hold(w.slowness())
			}
		}
		if c.gaveUp {
			o.p.excused = true
			stored, err = state.Stored{}, ctx.Err()
		}
		w.say(o.p.name, "load %s: %s", s.short(key), verdict(err))
		return true
	}})
	return stored, err
}

// Create implements state.Store.
func (o storeOf) Create(ctx context.Context, key string, data []byte) (state.Stamp, error) {
	return o.write(ctx, "create", key, data, "")
}

// Replace implements state.Store.
func (o storeOf) Replace(ctx context.Context, key string, data []byte, version state.Version) (state.Stamp, error) {
	return o.write(ctx, "replace", key, data, version)
}

func (o storeOf) write(ctx context.Context, what, key string, data []byte, version state.Version) (stamp state.Stamp,
	err error) {
	s, w := o.p.w.store, o.p.w
	err = over
	land := func() { stamp, err = s.put(o.p, key, data, version) }
	unheard := unheardWrite(o.p, s, key, data, version)
	o.p.ask(ctx, &call{what: what, arg: key, wire: unheard, resolve: func(c *call) bool {
		if c.gaveUp && !c.effected {
			o.p.excused = true
			err = ctx.Err()
			if !c.notBefore.IsZero() && w.chance(0.7) { // it was on its way, and the store may still do it
				w.tally.StoreLate++
				w.later(o.p.name+" "+what+" "+s.short(key), unheard)
				w.say(o.p.name, "%s %s: given up, still on its way", what, s.short(key))
				return true
			}
			w.say(o.p.name, "%s %s: given up", what, s.short(key))
			return true
		}
		if !c.effected {
			f := none
			if c.notBefore.IsZero() {
				f = w.storeFault(o.p, true)
			}
			switch f {
			case failed:
				err = errStore
				w.say(o.p.name, "%s %s: fails, not done", what, s.short(key))
				return true
			case later:
				err = errStoreLost
				w.later(o.p.name+" "+what+" "+s.short(key), unheard)
				w.say(o.p.name, "%s %s: reported as failed, still on its way", what, s.short(key))
				return true
			case slowToo:
				w.say(o.p.name, "%s %s: waits", what, s.short(key))
				return c.hold(w.slowness())
			}
			c.effected = true
			land()
			switch {
			case f == lost && err == nil:
				err = errStoreLost
				w.say(o.p.name, "%s %s: done, reported as failed", what, s.short(key))
				return true
			case f == conflicted && err == nil:
				err = state.ErrConflict
				w.say(o.p.name, "%s %s: done, reported as a conflict", what, s.short(key))
				return true
			case f == slow:
				w.say(o.p.name, "%s %s: %s, the answer is slow", what, s.short(key), verdict(err))
				return c.hold(w.slowness())
			}
		}
		if c.gaveUp {
			o.p.excused = true
			stamp, err = state.Stamp{}, ctx.Err()
		}
		w.say(o.p.name, "%s %s: %s", what, s.short(key), verdict(err))
		return true
	}})
	return stamp, err
}

// unheardWrite is a write whose answer nobody hears.
func unheardWrite(p *process, s *store, key string, data []byte, version state.Version) func() {
	return func() {
		p.excused = true
		if _, err := s.put(p, key, data, version); err != nil {
			s.w.say("~", "it comes too late: %v", err)
		}
	}
}

// List implements state.Store.
func (o storeOf) List(ctx context.Context, prefix string) (keys []string, err error) {
	s, w := o.p.w.store, o.p.w
	err = over
	o.p.ask(ctx, &call{what: "list", arg: prefix, resolve: func(c *call) bool {
		if c.gaveUp {
			err = ctx.Err()
			return true
		}
		if w.storeFault(o.p, false) == failed {
			err = errStore
			w.say(o.p.name, "list %s: fails", prefix)
			return true
		}
		err = nil
		for _, key := range s.keys {
			if strings.HasPrefix(key, prefix) {
				keys = append(keys, key)
			}
		}
		w.say(o.p.name, "list %s: %d", prefix, len(keys))
		return true
	}})
	return keys, err
}

// Delete implements state.Store.
func (o storeOf) Delete(ctx context.Context, key string, version state.Version) (err error) {
	s, w := o.p.w.store, o.p.w
	err = over
	remove := func() error {
		e := s.entries[key]
		if e == nil || e.version != version {
			return state.ErrConflict
		}
		delete(s.entries, key)
		s.keys = slices.DeleteFunc(s.keys, func(k string) bool { return k == key })
		w.removed(o.p, key)
		return nil
	}
	o.p.ask(ctx, &call{what: "delete", arg: key, resolve: func(c *call) bool {
		if c.gaveUp {
			err = ctx.Err()
			return true
		}
		switch w.storeFault(o.p, true) {
		case failed:
			err = errStore
		case lost, conflicted:
			if err = remove(); err == nil {
				err = errStoreLost
			}
		case later:
			err = errStoreLost
			w.later(o.p.name+" delete "+s.short(key), func() {
				if err := remove(); err != nil {
					w.say("~", "it comes too late: %v", err)
				}
			})
		default:
			err = remove()
		}
		w.say(o.p.name, "delete %s: %s", s.short(key), verdict(err))
		return true
	}})
	return err
}

// Margin implements state.Store.
func (o storeOf) Margin(time.Duration) time.Duration { return o.p.w.pro.Margin }

// over ends every loop of the product once a run has ended.
var over error = &state.PermanentError{Err: errOver}

func verdict(err error) string {
	if err == nil {
		return "ok"
	}
	return err.Error()
}
