package state_test

import (
	"testing"
	"testing/synctest"

	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/storetest"
)

// TestWhatBecameOfACommit: a write fails unheard, an operator breaks the lease, others take it or not, and only then
// the old holder can read again. It is told what is true, by the document alone.
func TestWhatBecameOfACommit(t *testing.T) {
	t.Parallel()
	object := &state.ObjectRef{Object: "objects/shop/orders/parked-1", Count: 1}
	other := &state.ObjectRef{Object: "objects/shop/orders/parked-2", Count: 1}
	stay := state.Commit{From: at(1), To: at(1), Parked: object}
	marks := state.Commit{From: at(1), To: at(1), Late: &state.Late{Mode: "overlap", Frontier: at(5)}}
	lowEdge := state.Commit{From: at(1), To: at(2), Late: &state.Late{Mode: "overlap"}}
	again := step(1) // another instance may give its batch the same name, and end it at the same row
	for name, c := range map[string]struct {
		commit state.Commit
		fault  storetest.Fault
		broken bool
		then   [][]state.Commit // what each later holder commits
		landed bool
	}{
		"it landed, nobody came":       {stay, storetest.DoneButFailed, false, nil, true},
		"it did not, nobody came":      {stay, storetest.NotDone, false, nil, true}, // written again
		"it landed and was broken":     {stay, storetest.DoneButFailed, true, nil, true},
		"it did not and was broken":    {stay, storetest.NotDone, true, nil, false},
		"marks landed and were broken": {marks, storetest.DoneButFailed, true, nil, true},
		"it landed, another took over": {stay, storetest.DoneButFailed, true, [][]state.Commit{{}},
			true},
		"it did not, another took over": {stay, storetest.NotDone, true, [][]state.Commit{{}}, false},
		"marks landed, another took over": {marks, storetest.DoneButFailed, true, [][]state.Commit{{}},
			true},
		"marks did not, another took over": {marks, storetest.NotDone, true, [][]state.Commit{{}}, false},
		"a low edge landed, another went on": {lowEdge, storetest.DoneButFailed, true,
			[][]state.Commit{{step(2)}}, true},
		"a low edge did not land, another moved to it": {lowEdge, storetest.NotDone, true,
			[][]state.Commit{{lowEdge}}, false},
		"it landed, another replaced it": {stay, storetest.DoneButFailed, true,
			[][]state.Commit{{{From: at(1), To: at(1), Parked: other}}}, true},
		"a batch did not land, another committed its like": {again, storetest.NotDone, true, [][]state.Commit{{again}},
			false},
		"two took over, its object is named": {stay, storetest.DoneButFailed, true,
			[][]state.Commit{{}, {}}, true},
		"two took over, its batch is the last": {again, storetest.DoneButFailed, true,
			[][]state.Commit{{}, {}}, true},
		"two took over, nothing of it is seen": {stay, storetest.NotDone, true, [][]state.Commit{{}, {}},
			false},
		"two took over, marks cannot be proved, so not landed": {marks, storetest.DoneButFailed, true,
			[][]state.Commit{{}, {}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(f *fixture) {
				l := f.acquire(f.keeper(f.store, ttl))
				f.must(l.Commit(f.Context(), step(0)))
				wrote := false
				f.store.Plan(func(op storetest.Op) (storetest.Fault, int) {
					if op == storetest.Replace && !wrote {
						wrote = true
						return c.fault, 0
					}
					return storetest.NotDone, 0
				})
				result := make(chan error, 1)
				go func() { result <- l.Commit(f.Context(), c.commit) }()
				synctest.Wait()
				k := f.keeper(f.mem, ttl)
				if c.broken {
					s, err := k.Load(f.Context())
					f.must(err)
					_, err = k.BreakLease(f.Context(), s)
					f.must(err)
				}
				for _, commits := range c.then {
					next := f.acquire(k)
					for _, commit := range commits {
						f.must(next.Commit(f.Context(), commit))
					}
					f.release(next)
				}
				f.store.Plan(nil)
				err := <-result
				if c.landed {
					f.must(err)
				} else {
					f.wantErr(err, state.ErrLost)
				}
				if (l.Check() == nil) == c.broken {
					f.Errorf("broken is %t, its right: %v", c.broken, l.Check())
				}
				_ = l.Release(f.Context()) // ErrLost where it was broken
			})
		})
	}
}
