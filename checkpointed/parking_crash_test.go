package checkpointed

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/state/storetest"
)

// TestDueTimesOutliveTheProcess: another instance takes them up from the document.
func TestDueTimesOutliveTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 1)
		store := memstore.New()
		one := newProcess(t, store, s, nil)
		one.verdict = poison(1)
		one.tick()
		time.Sleep(time.Second)
		one.tick() // the next attempt is due in 5 s
		two := newProcess(t, store, s, nil)
		time.Sleep(4 * time.Second)
		if two.tick(); len(two.sent) != 0 {
			t.Errorf("before its time: %+v", two.sent)
		}
		time.Sleep(time.Second)
		if two.tick(); !slices.Equal(two.got(poller.Accepted), []int{1}) || len(two.parked()) != 0 {
			t.Errorf("%+v", two.sent)
		}
		if r := one.tick(); r.Failed() || r.Parked != 0 {
			t.Errorf("the first instance: %+v", r)
		}
	})
}

// TestCrashesAroundTheCommit kills an instance at each write of a tick that parks a row, and of one that dead-letters
// it: the next instance loses nothing, writes the dead letter under the same id, and leaves no object.
func TestCrashesAroundTheCommit(t *testing.T) {
	quick.Skip(t)
	faults := []storetest.Fault{storetest.NotDone, storetest.DoneButFailed, storetest.DoneLater}
	for _, fault := range faults {
		for at := 1; at <= 8; at++ {
			t.Run(fmt.Sprintf("%s at write %d", fault, at), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newShop()
					s.fill(1, 5)
					store := memstore.New()
					one := newProcess(t, store, s, func(c *Config) { c.Policy.MaxAttempts = 2 })
					one.verdict = poison(3)
					newProcess(t, store, newShop(), nil).tick() // the document exists
					writes := 0
					one.store.Plan(func(op storetest.Op) (storetest.Fault, int) {
						if op == storetest.Load {
							return storetest.None, 0
						}
						if writes++; writes != at {
							return storetest.None, 0
						}
						go one.store.Crash() // with this very write
						return fault, 1
					})
					for range 3 {
						one.tick()
						synctest.Wait()
						time.Sleep(time.Second)
					}
					one.store.Land()
					two := newProcess(t, store, s, func(c *Config) { c.Policy.MaxAttempts = 2 })
					two.verdict = poison(3)
					for range 100 {
						time.Sleep(time.Second)
						two.tick()
					}
					letters := slices.Concat(one.deadLetters.letters, two.deadLetters.letters)
					if len(letters) == 0 {
						t.Fatal("no dead letter")
					}
					for _, d := range letters {
						if d.Event.ID != letters[0].Event.ID || idOf(&d.Event) != 3 {
							t.Errorf("dead letter of %s", d.Event.Key)
						}
					}
					accepted := slices.Concat(one.got(poller.Accepted), two.got(poller.Accepted))
					slices.Sort(accepted)
					if !slices.Equal(slices.Compact(accepted), []int{1, 2, 4, 5}) {
						t.Errorf("accepted %v", accepted)
					}
					// An object that the dead instance wrote and never named goes with the next one that is parked.
					s.put(3, "t3", "bad again")
					for range 10 {
						time.Sleep(time.Second)
						two.tick()
					}
					if len(two.parked()) != 0 || len(two.objects()) != 0 {
						t.Errorf("left over: %+v, objects %q", two.parked(), two.objects())
					}
				})
			})
		}
	}
}

// TestCrashBetweenDeadLetterAndCommit: the letter is written again under the same id, and reported by whoever commits
// it.
func TestCrashBetweenDeadLetterAndCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 2)
		store := memstore.New()
		policy := func(c *Config) { c.Policy.MaxAttempts = 1 }
		one := newProcess(t, store, s, policy)
		one.verdict = poison(1)
		one.deadLetters.put = func(poller.DeadLetter) error { one.store.Crash(); return nil }
		if r := one.tick(); !r.Failed() || len(one.deadLetters.letters) != 1 || !one.doc().Checkpoint.Cursor.IsStart() {
			t.Errorf("%+v, position %s", r, one.doc().Checkpoint.Cursor)
		}
		time.Sleep(2 * time.Minute)
		two := newProcess(t, store, s, policy)
		two.verdict = poison(1)
		if r := two.tick(); r.Failed() || len(r.DeadLettered) != 1 ||
			two.deadLetters.letters[0].Event.ID != one.deadLetters.letters[0].Event.ID {
			t.Errorf("%+v", r)
		}
	})
}

// TestStaleOwnerParksNothing: an instance whose lease another has taken meanwhile cannot settle.
func TestStaleOwnerParksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 4)
		store := memstore.New()
		one := newProcess(t, store, s, nil)
		one.verdict = poison(1, 2)
		session := one.open()
		settled := one.judge(session, one.next(session))
		one.store.Cut(true)
		time.Sleep(70 * time.Second)
		two := newProcess(t, store, s, nil)
		two.verdict = poison(2)
		if r := two.tick(); r.Failed() || r.Parked != 1 {
			t.Fatalf("%+v", r)
		}
		one.store.Cut(false)
		n, err := session.Settle(t.Context(), poller.Settlement{Batches: []poller.Settled{settled}})
		if r := (poller.Report{}); n != 0 || err == nil {
			t.Errorf("settled %d: %v", n, err)
		} else if fail(&r, err, poller.CommitFailed); r.Event != poller.LostLease {
			t.Errorf("%s: %v", r.Event, err)
		}
		if err := session.Close(t.Context(), &poller.Report{}); err != nil {
			t.Error(err)
		}
		if e := two.parked(); len(e) != 1 || string(e[0].Key) != `{"id":2}` {
			t.Errorf("%+v", e)
		}
	})
}
