package feed

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// fakeTable is one instance's connection. It fails in three ways: not done, done but reported failed, done later.
// After a crash no call has an effect.
type fakeTable struct {
	db         *fakeDB
	partitions int // the settings'
	mu         sync.Mutex
	rnd        *rand.Rand // nil: it is quick, and never fails
	slow       time.Duration
	odds       int // of 1000 calls, how many fail
	stall      time.Time
	dead       chan struct{}
	calls      map[string]int
	fail       map[string]error // by method: it is not done
	gate       func(method string)
	bad        int // calls that failed
	read       int // rows that fetches have read
}

func (db *fakeDB) connect() *fakeTable {
	return &fakeTable{db: db, partitions: 4, dead: make(chan struct{}), calls: map[string]int{}, fail: map[string]error{}}
}

var errCut = errors.New("the connection was cut")

func (t *fakeTable) crash() { close(t.dead) }

func (t *fakeTable) crashed() bool {
	select {
	case <-t.dead:
		return true
	default:
		return false
	}
}

func (t *fakeTable) faults() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bad
}

func (t *fakeTable) roll(n int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rnd == nil || n <= 0 {
		return 0
	}
	return t.rnd.IntN(n)
}

func (t *fakeTable) doze(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-t.dead:
		return errCut
	case <-ctx.Done():
		return ctx.Err()
	}
}

// do runs a statement against the database, in the ways that a network allows.
func (t *fakeTable) do(ctx context.Context, method string, work func() error) error {
	_, err := ask(ctx, t, method, func() (struct{}, error) { return struct{}{}, work() })
	return err
}

// ask is do with an answer, which is not heard of where the statement is done later.
func ask[T any](ctx context.Context, t *fakeTable, method string, work func() (T, error)) (answer T, err error) {
	t.mu.Lock()
	t.calls[method]++
	fail, gate, stall, odds := t.fail[method], t.gate, t.stall, t.odds
	t.mu.Unlock()
	if gate != nil {
		gate(method)
	}
	if fail != nil {
		return answer, fail
	}
	if ctx.Err() != nil {
		return answer, ctx.Err()
	}
	apply := func() (answer T, err error) {
		t.db.mu.Lock()
		defer t.db.mu.Unlock()
		if t.crashed() {
			return answer, errCut
		}
		return work()
	}
	if t.rnd == nil {
		return apply()
	}
	if wait := time.Until(stall); wait > 0 {
		if err := t.doze(ctx, wait); err != nil {
			return answer, err
		}
	}
	if err := t.doze(ctx, time.Duration(t.roll(int(t.slow)))); err != nil {
		return answer, err
	}
	if odds > 0 && t.roll(1000) < odds {
		t.mu.Lock()
		t.bad++
		t.mu.Unlock()
		switch t.roll(3) {
		case 0:
		case 1:
			_, _ = apply()
		default:
			if slices.Contains([]string{"take", "release", "settle"}, method) {
				time.AfterFunc(time.Duration(t.roll(int(3*time.Second))), func() { _, _ = apply() })
			}
		}
		return answer, errCut
	}
	if answer, err = apply(); err != nil {
		return answer, err
	}
	return answer, t.doze(ctx, time.Duration(t.roll(int(t.slow))))
}
