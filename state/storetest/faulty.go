// Package storetest holds what every [state.Store] must pass: [Run] is the contract of the store itself, [RunLease]
// drives keepers and leases over it while its answers fail in three ways.
//
//	func TestStore(t *testing.T) { storetest.Run(t, state.MaxObject, open) }
//	func TestLease(t *testing.T) { storetest.RunLease(t, storetest.Lease{Open: open, TTL: time.Second}) }
package storetest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/state"
)

// Fault is what happens to one call.
type Fault uint8

// The three ways to fail, and None.
const (
	None Fault = iota
	// NotDone: the call fails and has no effect.
	NotDone
	// DoneButFailed: the call has its effect and is reported as failed.
	DoneButFailed
	// DoneLater: the call is reported as failed and has its effect afterwards, if its condition still holds then.
	DoneLater
)

// String names the fault for subtests.
func (f Fault) String() string {
	return [...]string{"none", "not done", "done but failed", "done later"}[f]
}

// ErrInjected is what a call fails with, ErrCrashed what every call after a crash does.
var (
	ErrInjected = errors.New("injected fault")
	ErrCrashed  = errors.New("this instance has crashed")
)

// Op names a method of the store.
type Op string

// The methods that are counted and can fail.
const (
	Load    Op = "load"
	Create  Op = "create"
	Replace Op = "replace"
	List    Op = "list"
	Delete  Op = "delete"
)

// Faulty is one instance's way to a store: it counts the calls, and fails those that it is told to fail.
type Faulty struct {
	state.Store

	mu      sync.Mutex
	plan    func(Op) (fault Fault, after int)
	counts  map[Op]int
	late    []*lateWrite
	crashed bool
	cut     bool
}

type lateWrite struct {
	after int // further calls until it lands; below zero: when told to
	do    func()
}

// NewFaulty returns a Faulty that passes every call on.
func NewFaulty(store state.Store) *Faulty {
	return &Faulty{Store: store, counts: map[Op]int{}}
}

// Plan asks decide about every further call. A write that is done later lands just before the after-th call that
// follows, or, if after is negative, with Land.
func (f *Faulty) Plan(decide func(Op) (fault Fault, after int)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan = decide
}

// FailNext lets the next n calls of op fail with fault; writes that are done later wait for Land.
func (f *Faulty) FailNext(op Op, fault Fault, n int) {
	f.Plan(func(called Op) (Fault, int) {
		if called != op || n == 0 {
			return None, 0
		}
		n--
		return fault, -1
	})
}

// Land lets all late writes happen.
func (f *Faulty) Land() {
	f.mu.Lock()
	late := f.late
	f.late = nil
	f.mu.Unlock()
	for _, w := range late {
		w.do()
	}
}

// Cut makes calls fail without effect until it is undone: the network is away.
func (f *Faulty) Cut(cut bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cut = cut
}

// Crash makes every later call of this instance have no effect, its clean-up included. What is on its way still lands.
func (f *Faulty) Crash() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.crashed = true
}

// Counts returns how often op was called since the last Counts of it.
func (f *Faulty) Counts(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.counts[op]
	f.counts[op] = 0
	return n
}

// Load implements [state.Store]. A read has no effect: it fails in one way only.
func (f *Faulty) Load(ctx context.Context, key string) (state.Stored, error) {
	fault, _, err := f.begin(Load)
	if err != nil {
		return state.Stored{}, err
	}
	if fault != None {
		return state.Stored{}, ErrInjected
	}
	return f.Store.Load(ctx, key)
}

// List implements [state.Store]. It fails like Load.
func (f *Faulty) List(ctx context.Context, prefix string) ([]string, error) {
	fault, _, err := f.begin(List)
	if err != nil {
		return nil, err
	}
	if fault != None {
		return nil, ErrInjected
	}
	return f.Store.List(ctx, prefix)
}

// Delete implements [state.Store].
func (f *Faulty) Delete(ctx context.Context, key string, version state.Version) error {
	_, err := f.write(ctx, Delete, func(ctx context.Context) (state.Stamp, error) {
		return state.Stamp{}, f.Store.Delete(ctx, key, version)
	})
	return err
}

// Create implements [state.Store].
func (f *Faulty) Create(ctx context.Context, key string, data []byte) (state.Stamp, error) {
	return f.write(ctx, Create, func(ctx context.Context) (state.Stamp, error) { return f.Store.Create(ctx, key, data) })
}

// Replace implements [state.Store].
func (f *Faulty) Replace(ctx context.Context, key string, data []byte, version state.Version) (state.Stamp, error) {
	return f.write(ctx, Replace, func(ctx context.Context) (state.Stamp, error) {
		return f.Store.Replace(ctx, key, data, version)
	})
}

func (f *Faulty) write(ctx context.Context, op Op, do func(context.Context) (state.Stamp, error)) (state.Stamp, error) {
	fault, after, err := f.begin(op)
	if err != nil {
		return state.Stamp{}, err
	}
	switch fault {
	case NotDone:
		return state.Stamp{}, ErrInjected
	case DoneButFailed:
		_, err := do(ctx)
		return state.Stamp{}, errors.Join(ErrInjected, maskConflict(err))
	case DoneLater:
		f.mu.Lock()
		f.late = append(f.late, &lateWrite{after: after, do: func() {
			// Nobody hears of it any more: the condition may well fail by now.
			_, _ = do(context.WithoutCancel(ctx))
		}})
		f.mu.Unlock()
		return state.Stamp{}, ErrInjected
	default:
		return do(ctx)
	}
}

// maskConflict drops a conflict's identity: the caller is told of a fault, not of an answer.
func maskConflict(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(err.Error())
}

// begin counts the call, lands what is due, and decides its fate.
func (f *Faulty) begin(op Op) (Fault, int, error) {
	f.mu.Lock()
	if f.crashed || f.cut {
		defer f.mu.Unlock()
		return 0, 0, ErrCrashed
	}
	f.counts[op]++
	var due, open []*lateWrite
	for _, w := range f.late {
		if w.after--; w.after == 0 {
			due = append(due, w)
		} else {
			open = append(open, w)
		}
	}
	f.late = open
	f.mu.Unlock()
	for _, w := range due {
		w.do()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.plan == nil {
		return None, 0, nil
	}
	fault, after := f.plan(op)
	return fault, after, nil
}

// History is a store that remembers every write of a state document that landed, in order. It serialises all writes.
type History struct {
	state.Store

	mu     sync.Mutex
	landed []Landed
}

// Landed is one write that had its effect.
type Landed struct {
	Key string
	Doc state.Document
	At  time.Time
}

// NewHistory returns a History over store. All that write to store must go through it.
func NewHistory(store state.Store) *History { return &History{Store: store} }

// Create implements [state.Store].
func (h *History) Create(ctx context.Context, key string, data []byte) (state.Stamp, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	stamp, err := h.Store.Create(ctx, key, data)
	return stamp, h.keep(key, data, err)
}

// Replace implements [state.Store].
func (h *History) Replace(ctx context.Context, key string, data []byte, version state.Version) (state.Stamp, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	stamp, err := h.Store.Replace(ctx, key, data, version)
	return stamp, h.keep(key, data, err)
}

func (h *History) keep(key string, data []byte, err error) error {
	if err != nil || !strings.HasPrefix(key, "state/") {
		return err
	}
	doc, err := state.Decode(data)
	if err != nil {
		return err
	}
	h.landed = append(h.landed, Landed{Key: key, Doc: doc, At: time.Now()})
	return nil
}

// Landed returns the writes so far.
func (h *History) Landed() []Landed {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Landed(nil), h.landed...)
}
