package state_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/state/storetest"
)

// TestProperties lets instances contend for one document while their stores fail in all three ways, lose their network
// and crash, and holds the history of what landed to the promises: no commit that was reported done is lost, no two
// leases are valid at one time (but for one that an operator broke), the token only grows, the cursor moves only from
// where a batch was fetched, no operator's change is lost, and no object goes that a document names.
func TestProperties(t *testing.T) {
	seeds := quick.Runs(40, 3)
	total := 0
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			w := &arena{T: t, history: storetest.NewHistory(memstore.New()), seed: uint64(seed)}
			w.run()
			total += w.reported()
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if total < seeds*10 {
		t.Errorf("only %d commits were reported done in %d runs: the test tests nothing", total, seeds)
	}
}

const arenaTTL = 6 * time.Second

// arena is where they contend.
type arena struct {
	*testing.T
	history *storetest.History
	seed    uint64

	mu     sync.Mutex
	leases []*state.Lease
	done   []state.Commit // reported done
	broken uint64         // tokens up to here may have been broken
	paused []string       // by whom, as reported done
}

func (w *arena) reported() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.done)
}

func (w *arena) run() {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	defer stop()
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			for life := 0; ctx.Err() == nil; life++ {
				w.live(ctx, rand.New(rand.NewPCG(w.seed, uint64(i*1000+life))), fmt.Sprintf("shop/%d.%d", i, life))
			}
		})
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			w.atMostOne()
			time.Sleep(70 * time.Millisecond)
		}
	})
	wg.Go(func() { w.operate(ctx) })
	wg.Wait()
	// an owner whose lease has ended may be in the pause before it sees that: the bubble ends after it
	time.Sleep(arenaTTL)
	w.judge()
}

// operate is an operator, whose store fails like the others', and who breaks a lease now and then. Meanwhile it looks
// whether the parked object is where the document says.
func (w *arena) operate(ctx context.Context) {
	r := rand.New(rand.NewPCG(w.seed, 99))
	store := storetest.NewFaulty(w.history)
	store.Plan(func(storetest.Op) (storetest.Fault, int) {
		if r.IntN(4) > 0 {
			return storetest.None, 0
		}
		return storetest.Fault(1 + r.IntN(3)), 1 + r.IntN(4)
	})
	config := state.Config{Store: store, Key: key, Poller: "orders", Owner: "cli", TTL: arenaTTL}
	k, err := state.New(config)
	if err != nil {
		w.Error(err)
		return
	}
	config.Store = w.history
	plain, err := state.New(config)
	if err != nil {
		w.Error(err)
		return
	}
	for n := 0; ctx.Err() == nil; n++ {
		time.Sleep(time.Duration(r.Int64N(int64(10 * time.Second))))
		w.named(ctx, plain)
		if r.IntN(4) > 0 {
			by := fmt.Sprint("ann-", n)
			_, err := k.Amend(ctx, func(doc *state.Document) error {
				doc.Paused = &state.Paused{By: by}
				doc.Skips = append(doc.Skips[min(len(doc.Skips), 1):len(doc.Skips):len(doc.Skips)], state.Skip{By: by})
				return nil
			})
			if err == nil {
				w.mu.Lock()
				w.paused = append(w.paused, by)
				w.mu.Unlock()
			}
			continue
		}
		s, err := k.Load(ctx)
		if err != nil {
			continue
		}
		w.mu.Lock()
		w.broken = max(w.broken, s.Doc.Lease.FencingToken)
		w.mu.Unlock()
		if s, err = k.BreakLease(ctx, s); err == nil && s.Doc.Lease.FencingToken < w.broken+1 {
			w.Errorf("a broken lease has token %d, before it was %d", s.Doc.Lease.FencingToken, w.broken)
		}
	}
	store.Crash()
}

// named reports an object that the document names and that is gone.
func (w *arena) named(ctx context.Context, k *state.Keeper) {
	s, err := k.Load(ctx)
	if err != nil || s.Doc.Parked.Object == "" {
		return
	}
	if _, err := k.Object(ctx, s.Doc.Parked.Object); !errors.Is(err, state.ErrNotFound) {
		return
	}
	if again, err := k.Load(ctx); err == nil && again.Doc.Parked == s.Doc.Parked {
		w.Errorf("the document names %s, which is gone", s.Doc.Parked.Object)
	}
}

// live is one life of an instance, until it crashes or the run ends.
func (w *arena) live(ctx context.Context, r *rand.Rand, owner string) {
	store := storetest.NewFaulty(w.history)
	var mu sync.Mutex // the lease's goroutine asks too
	store.Plan(func(storetest.Op) (storetest.Fault, int) {
		mu.Lock()
		defer mu.Unlock()
		if r.IntN(4) > 0 {
			return storetest.None, 0
		}
		return storetest.Fault(1 + r.IntN(3)), 1 + r.IntN(4)
	})
	chance := func(n int) bool {
		mu.Lock()
		defer mu.Unlock()
		return r.IntN(n) == 0
	}
	pause := func(most time.Duration) {
		mu.Lock()
		d := time.Duration(r.Int64N(int64(most)))
		mu.Unlock()
		time.Sleep(d)
	}
	k, err := state.New(state.Config{Store: store, Key: key, Poller: "orders", Owner: owner, TTL: arenaTTL})
	if err != nil {
		w.Error(err)
		return
	}
	var last *state.Lease
	for ctx.Err() == nil {
		pause(2 * time.Second)
		s, err := k.Load(ctx)
		if errors.Is(err, state.ErrNotFound) {
			s, err = k.Create(ctx, "sha256:f", "", nil)
		}
		if err != nil || s.Held() != nil {
			continue
		}
		pause(time.Second) // the fetch
		l, err := k.Acquire(ctx, s)
		if err != nil {
			continue
		}
		last = l
		w.mu.Lock()
		w.leases = append(w.leases, l)
		w.mu.Unlock()
		w.atMostOne()
		from := s.Doc.Checkpoint.Cursor
		for range 4 {
			pause(3 * time.Second) // the delivery
			switch {
			case chance(12):
				store.Crash()
				store.Land() // what was on its way
				<-l.Context().Done()
				return
			case chance(12):
				store.Cut(true)
				time.AfterFunc(8*time.Second, func() { store.Cut(false) })
			}
			if chance(3) {
				if !w.park(ctx, k, l, from) {
					break
				}
				continue
			}
			if !w.commit(l, from, owner, chance(3)) {
				break
			}
			from = after(from)
		}
		if err := l.Release(ctx); err == nil && l.Check() == nil {
			w.Errorf("%s: released, and still valid", owner)
		}
	}
	if last != nil {
		store.Crash()
		<-last.Context().Done()
	}
}

// commit moves the cursor by one and writes down what was reported.
func (w *arena) commit(l *state.Lease, from change.Cursor, owner string, release bool) bool {
	var n int
	if !from.IsStart() {
		if _, err := fmt.Sscanf(string(from), `{"kind":"int","value":%d}`, &n); err != nil {
			w.Errorf("cursor %s: %v", from, err)
		}
	}
	c := state.Commit{From: from, To: at(n + 1), BatchID: fmt.Sprintf("%s-%d-%d", owner, l.Token(), n), Rows: 1,
		Release: release}
	err := l.Commit(context.Background(), c)
	if err == nil {
		w.mu.Lock()
		w.done = append(w.done, c)
		w.mu.Unlock()
	}
	return err == nil && !release
}

// park replaces the parked object in a commit that moves nothing, and collects what is left over.
func (w *arena) park(ctx context.Context, k *state.Keeper, l *state.Lease, at change.Cursor) bool {
	name, err := l.PutObject(ctx, "parked", []byte("x"))
	if err != nil {
		return false
	}
	c := state.Commit{From: at, To: at, Parked: &state.ObjectRef{Object: name}}
	if err := l.Commit(context.Background(), c); err != nil {
		return false
	}
	w.mu.Lock()
	w.done = append(w.done, c)
	w.mu.Unlock()
	_ = l.Collect(ctx, name) // what it does not reach, the next one does
	return true
}

func (w *arena) atMostOne() {
	w.mu.Lock()
	defer w.mu.Unlock()
	var valid []uint64
	w.leases = slices.DeleteFunc(w.leases, func(l *state.Lease) bool { return l.Check() != nil })
	for _, l := range w.leases {
		if l.Token() > w.broken {
			valid = append(valid, l.Token())
		}
	}
	if len(valid) > 1 {
		w.Errorf("leases with tokens %v are valid at one time", valid)
	}
}

func (w *arena) judge() {
	var before state.Document
	landed := map[string]change.Cursor{}
	parked, paused := map[string]bool{}, map[string]bool{}
	breaks := 0
	for i, write := range w.history.Landed() {
		doc := write.Doc
		parked[doc.Parked.Object] = true
		if doc.Paused != nil {
			paused[doc.Paused.By] = true
		}
		if doc.Paused == nil && before.Paused != nil || len(doc.Skips) < len(before.Skips) {
			w.Errorf("write %d: an operator's change is gone", i)
		}
		switch token := doc.Lease.FencingToken; {
		case doc.Lease.LeaseID == before.Lease.LeaseID && token == before.Lease.FencingToken+1 && doc.Lease.OwnerID == "" &&
			doc.Lease.WriteSeq == before.Lease.WriteSeq:
			breaks++
		case doc.Lease.LeaseID == before.Lease.LeaseID && token != before.Lease.FencingToken,
			doc.Lease.LeaseID != before.Lease.LeaseID && token != before.Lease.FencingToken+1:
			w.Errorf("write %d: token %d after %d", i, token, before.Lease.FencingToken)
		}
		if from, to := before.Checkpoint, doc.Checkpoint; !to.Cursor.Equal(from.Cursor) {
			landed[to.LastBatchID] = to.Cursor
			if doc.Lease.LeaseID != before.Lease.LeaseID {
				w.Errorf("write %d: an acquisition moved the cursor", i)
			}
			if !to.Cursor.Equal(after(from.Cursor)) {
				w.Errorf("write %d: the cursor went from %s to %s", i, from.Cursor, to.Cursor)
			}
		}
		before = doc
	}
	for i, by := range w.paused {
		if !paused[by] {
			w.Errorf("the operator's change %d by %s was reported done, and is nowhere", i, by)
		}
	}
	if before.Paused == nil || breaks == 0 || len(parked) < 2 {
		w.Logf("seed %d: paused %v, %d breaks, %d parked objects", w.seed, before.Paused, breaks, len(parked)-1)
	}
	for _, c := range w.done {
		if c.Parked != nil {
			if !parked[c.Parked.Object] {
				w.Errorf("the commit of %s was reported done, and is nowhere", c.Parked.Object)
			}
			continue
		}
		if !landed[c.BatchID].Equal(c.To) {
			w.Errorf("commit %s to %s was reported done, and is nowhere", c.BatchID, c.To)
		}
	}
}

func after(c change.Cursor) change.Cursor {
	var n int
	if _, err := fmt.Sscanf(string(c), `{"kind":"int","value":%d}`, &n); err != nil && !c.IsStart() {
		return nil
	}
	return at(n + 1)
}
