package poller

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
	"github.com/rowrelay/rowrelay/state/memstore"
	"github.com/rowrelay/rowrelay/state/storetest"
)

// TestPoisonAmongAHundred: 99 arrive at once, the bad one is tried 1 s, 5 s, 30 s and 2 min after its last failure, and is
// then a dead letter. Nothing of it remains.
func TestPoisonAmongAHundred(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 100)
		p := newProcess(t, nil, s, nil)
		p.verdict = poison(37)
		begun := time.Now()
		r := p.tick()
		if r.Event != TickComplete || r.Rows != 100 || r.Parked != 1 || len(p.got(Accepted)) != 99 || index(p.doc().Checkpoint.Cursor) != 100 {
			t.Fatalf("the first tick: %+v; accepted %d, position %s", r, len(p.got(Accepted)), p.doc().Checkpoint.Cursor)
		}
		var letters []DeadLetter
		for time.Since(begun) < 200*time.Second {
			time.Sleep(time.Second)
			r = p.tick()
			letters = append(letters, r.DeadLettered...)
		}
		var tries []int
		for _, sent := range p.sent {
			if sent.row == 37 {
				tries = append(tries, int(sent.at.Sub(begun).Seconds()))
			}
		}
		if !slices.Equal(tries, []int{0, 1, 6, 36, 156}) {
			t.Errorf("tried after %v s", tries)
		}
		if len(letters) != 1 || len(p.graves.letters) != 1 {
			t.Fatalf("%d dead letters reported, %d written", len(letters), len(p.graves.letters))
		}
		d := letters[0]
		if d.Attempts != 5 || !d.First.Equal(begun) || d.Last.Sub(begun) != 156*time.Second || d.Status != 422 || d.Cause != Refused ||
			idOf(&d.Event) != 37 || d.Reason != "it is bad" || d.Table != "orders" {
			t.Errorf("%+v", d)
		}
		if r.Parked != 0 || len(p.parked()) != 0 || len(p.objects()) != 0 {
			t.Errorf("left over: %d parked, objects %q", r.Parked, p.objects())
		}
	})
}

// TestCorrectedRowIsDelivered: it supersedes its parked predecessor, and has all of its attempts before it.
func TestCorrectedRowIsDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 3)
		p := newProcess(t, nil, s, nil)
		p.verdict = poison(2)
		p.tick()
		time.Sleep(time.Second)
		p.tick()
		if e := p.parked(); len(e) != 1 || e[0].Attempts != 2 {
			t.Fatalf("%+v", e)
		}
		s.put(2, "t2", "still bad")
		if p.tick(); !slices.Equal(p.got(Accepted), []int{1, 3}) || index(p.doc().Checkpoint.Cursor) != 4 {
			t.Errorf("the update waits behind the parked row: accepted %v, position %s", p.got(Accepted), p.doc().Checkpoint.Cursor)
		}
		time.Sleep(5 * time.Second)
		p.tick()
		if e := p.parked(); len(e) != 1 || e[0].Attempts != 1 || e[0].Next.Sub(time.Now()) != time.Second {
			t.Errorf("another version begins anew: %+v", e)
		}
		s.put(2, "t2", "good")
		time.Sleep(time.Second)
		p.tick()
		// By its retry, and then as the live row that it also is: that one was fetched after the retry was settled.
		if !slices.Equal(p.got(Accepted), []int{1, 3, 2, 2}) || len(p.parked()) != 0 || len(p.graves.letters) != 0 {
			t.Errorf("accepted %v, parked %+v", p.got(Accepted), p.parked())
		}
	})
}

// TestWhatIsFetchedAfterTheRereadIsNotSwallowed: an event that came after the retry had read the row, and was absorbed
// because the retry was not settled yet, is delivered; one that came before it is superseded by it.
func TestWhatIsFetchedAfterTheRereadIsNotSwallowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 2)
		p := newProcess(t, nil, s, nil)
		p.verdict = poison(1)
		p.tick()
		s.put(1, "t1", "good") // not seen as a live row yet
		time.Sleep(time.Second)

		session := p.open()
		retry := p.next(session)
		if retry.Kind != change.Retry || len(retry.Events) != 1 || retry.Events[0].Attempts != 0 || textOf(&retry.Events[0]) != "good" {
			t.Fatalf("%+v", retry)
		}
		before := p.next(session) // the same version, as a live row
		s.put(1, "t1", "newest")
		after := p.next(session)
		if len(before.Events) != 1 || len(after.Events) != 1 {
			t.Fatalf("%+v %+v", before, after)
		}
		p.verdict = poison()
		absorbed, late := p.judge(session, before), p.judge(session, after)
		if absorbed.Outcomes[0] != Absorbed || late.Outcomes[0] != Absorbed {
			t.Fatal("the key is parked while its retry is not settled")
		}
		p.settle(session, p.judge(session, retry))
		if session.Parked(rowKey(1)) {
			t.Error("the key is parked after its retry was settled")
		}
		p.settle(session, absorbed, late)
		again := p.next(session)
		if again.Kind != change.Retry || textOf(&again.Events[0]) != "newest" {
			t.Fatalf("%+v", again)
		}
		p.settle(session, p.judge(session, again))
		if err := session.Close(t.Context(), &Report{}); err != nil {
			t.Fatal(err)
		}
		if last := p.sent[len(p.sent)-1]; last.text != "newest" || len(p.parked()) != 0 {
			t.Errorf("%+v, parked %+v", p.sent, p.parked())
		}
	})
}

// TestKeyIsParkedUntilItsCommitLands: not even while the commit that settles its retry is on its way may a later event go.
func TestKeyIsParkedUntilItsCommitLands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 1)
		p := newProcess(t, nil, s, nil)
		p.verdict = poison(1)
		p.tick()
		p.verdict = poison()
		time.Sleep(time.Second)
		session := p.open()
		retry := p.judge(session, p.next(session))
		writes := 0
		p.store.Plan(func(op storetest.Op) (storetest.Fault, int) {
			if op == storetest.Replace && !session.Parked(rowKey(1)) {
				t.Error("the key is free before its commit")
			}
			writes++
			return storetest.None, 0
		})
		p.settle(session, retry)
		if writes == 0 || session.Parked(rowKey(1)) {
			t.Errorf("%d writes, parked %v", writes, session.Parked(rowKey(1)))
		}
		p.store.Plan(nil)
	})
}

// TestGoneRow: its entry ends with a warning, also when nothing else is to be done; a row of the same key that comes back is
// a new one.
func TestGoneRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 3)
		p := newProcess(t, nil, s, nil)
		p.verdict = poison(2)
		p.tick()
		s.remove(2)
		time.Sleep(time.Second)
		r := p.tick()
		if r.Event != TickComplete || r.Gone != 1 || r.Parked != 0 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], `{"id":2} is gone`) {
			t.Errorf("%+v", r)
		}
		if len(p.parked()) != 0 || p.doc().Lease.OwnerID != "" || len(p.graves.letters) != 0 {
			t.Errorf("parked %+v, owner %q", p.parked(), p.doc().Lease.OwnerID)
		}
		s.put(2, "t2", "good")
		if p.tick(); !slices.Equal(p.got(Accepted), []int{1, 3, 2}) {
			t.Errorf("accepted %v", p.got(Accepted))
		}
	})
}

// TestRowThatComesBackIsNotSwallowedByGone: the row was gone when it was read again, and is there when the next rows are
// fetched, before the end of its entry is stored.
func TestRowThatComesBackIsNotSwallowedByGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 1)
		p := newProcess(t, nil, s, nil)
		p.verdict = poison(1)
		p.tick()
		s.remove(1)
		time.Sleep(time.Second)
		session := p.open()
		if b := p.next(session); len(b.Events) != 0 || !b.More {
			t.Fatalf("%+v", b)
		}
		s.put(1, "t1", "good")
		live := p.judge(session, p.next(session))
		if live.Outcomes[0] != Absorbed {
			t.Fatal("the key is parked until the commit that ends its entry")
		}
		p.settle(session, live)
		if b := p.next(session); b.Kind != change.Retry {
			t.Fatalf("%+v", b)
		} else {
			p.settle(session, p.judge(session, b))
		}
		if !slices.Equal(p.got(Accepted), []int{1}) || len(p.parked()) != 0 {
			t.Errorf("accepted %v, parked %+v", p.got(Accepted), p.parked())
		}
	})
}

// TestCoarseOrderKey: one tenant's 2,000 rows with a bad first one wait as keys behind it; other tenants flow; when it is
// given up, the followers are delivered in order, each in its newest state.
func TestCoarseOrderKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.describe.Coarse = true
		for id := 1; id <= 2000; id++ {
			s.put(id, "big", "new")
		}
		for id := 2001; id <= 2010; id++ {
			s.put(id, fmt.Sprint("small", id), "new")
		}
		p := newProcess(t, nil, s, func(c *CheckpointedConfig) { c.Policy.MaxParked = 3000 })
		p.limit = 500
		p.verdict = poison(1)
		if r := p.tick(); r.Event != TickComplete || r.Parked != 2000 || len(p.got(Accepted)) != 10 {
			t.Fatalf("%s, %d parked, accepted %v", r.Event, r.Parked, p.got(Accepted))
		}
		s.put(2, "big", "updated") // its place is now behind 2000
		p.tick()
		if e := p.parked(); len(e) != 1 || len(e[0].Followers) != 1999 || string(e[0].Followers[1998]) != `{"id":2}` || string(e[0].Followers[0]) != `{"id":3}` {
			t.Fatalf("%d entries", len(e))
		}
		for range 160 {
			time.Sleep(time.Second)
			p.tick()
		}
		accepted := p.got(Accepted)[10:]
		if len(p.graves.letters) != 1 || len(accepted) != 1999 || accepted[0] != 3 || accepted[1998] != 2 || !slices.IsSorted(accepted[:1998]) {
			t.Errorf("%d dead letters, accepted %d: %v …", len(p.graves.letters), len(accepted), accepted[:min(len(accepted), 5)])
		}
		if len(p.parked()) != 0 || len(p.objects()) != 0 {
			t.Errorf("left over: %d entries, objects %q", len(p.parked()), p.objects())
		}
	})
}

// TestMaxParked: at the bound the position stays, with a fault that says so, and nothing is dropped; retries go on, and with
// them the poller.
func TestMaxParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 10)
		p := newProcess(t, nil, s, func(c *CheckpointedConfig) { c.Policy.MaxParked = 3 })
		p.verdict = poison(1, 2, 4, 6)
		r := p.tick()
		if r.Event != HandlerFailed || !strings.Contains(fmt.Sprint(r.Err), "max_parked") || r.Rows != 5 || index(p.doc().Checkpoint.Cursor) != 5 {
			t.Errorf("%s: %v, %d rows, position %s", r.Event, r.Err, r.Rows, p.doc().Checkpoint.Cursor)
		}
		fetches := len(s.fetched)
		if r = p.tick(); r.Event != HandlerFailed || len(s.fetched) != fetches {
			t.Errorf("at the bound: %s, %d fetches", r.Event, len(s.fetched)-fetches)
		}
		p.verdict = poison(6)
		time.Sleep(time.Second)
		p.tick()
		if r = p.tick(); r.Event != TickComplete || r.Parked != 1 || index(p.doc().Checkpoint.Cursor) != 10 {
			t.Errorf("%s: %v, position %s", r.Event, r.Err, p.doc().Checkpoint.Cursor)
		}
		rows := p.got(Accepted)
		slices.Sort(rows)
		if rows = slices.Compact(rows); !slices.Equal(rows, []int{1, 2, 3, 4, 5, 7, 8, 9, 10}) {
			t.Errorf("accepted %v", rows)
		}
	})
}

// TestSourceOrderWaits: under ordering=source the poller waits at the bad event, and goes on behind it.
func TestSourceOrderWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 5)
		p := newProcess(t, nil, s, func(c *CheckpointedConfig) { c.Ordering = OrderSource })
		p.verdict = poison(3)
		begun := time.Now()
		r := p.tick()
		if r.Event != HandlerFailed || !strings.Contains(r.Err.Error(), "attempt 1 of 5") || !strings.Contains(r.Err.Error(), "next in 1s") || r.Rows != 2 {
			t.Errorf("%s: %v, %d rows", r.Event, r.Err, r.Rows)
		}
		if r = p.tick(); r.Failed() || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "attempt 2 of 5") || len(p.sent) != 3 {
			t.Errorf("before its time: %+v", r)
		}
		for range 160 {
			time.Sleep(time.Second)
			p.tick()
		}
		var tries []int
		for _, sent := range p.sent {
			if sent.row == 3 {
				tries = append(tries, int(sent.at.Sub(begun).Seconds()))
			}
		}
		if !slices.Equal(tries, []int{0, 1, 6, 36, 156}) || !slices.Equal(p.got(Accepted), []int{1, 2, 4, 5}) || len(p.graves.letters) != 1 {
			t.Errorf("tried after %v s, accepted %v", tries, p.got(Accepted))
		}
		if len(p.parked()) != 0 || len(p.objects()) != 0 {
			t.Errorf("left over: %+v", p.parked())
		}
	})
}

// TestSourceOrderKnowsItsAttempts: the event comes again as a live row, with the attempts that were counted.
func TestSourceOrderKnowsItsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 2)
		p := newProcess(t, nil, s, func(c *CheckpointedConfig) { c.Ordering = OrderSource })
		p.verdict = poison(1)
		p.tick()
		time.Sleep(time.Second)
		b := p.next(p.open())
		if b.Kind != change.Live || b.Events[0].Attempts != 1 || b.Events[1].Attempts != 0 {
			t.Errorf("%+v", b)
		}
	})
}

// TestWithoutOrderNothingWaits: later events of a parked row are sent.
func TestWithoutOrderNothingWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.describe.Coarse = true
		s.put(1, "a", "new")
		s.put(2, "a", "new")
		p := newProcess(t, nil, s, func(c *CheckpointedConfig) { c.Ordering = OrderNone })
		p.verdict = poison(1)
		p.tick()
		s.put(1, "a", "good")
		p.tick()
		if !slices.Equal(p.got(Accepted), []int{2, 1}) || len(p.parked()) != 1 || string(p.parked()[0].OrderKey) != `{"id":1}` {
			t.Errorf("accepted %v, parked %+v", p.got(Accepted), p.parked())
		}
		time.Sleep(time.Second)
		if p.tick(); len(p.parked()) != 0 {
			t.Errorf("%+v", p.parked())
		}
	})
}

// TestDeadLetterThatCannotBeWritten: the tick fails and says so, the event stays parked and is tried again with the next
// tick; others flow meanwhile.
func TestDeadLetterThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 2)
		p := newProcess(t, nil, s, func(c *CheckpointedConfig) { c.Policy.MaxAttempts = 2 })
		p.verdict = poison(1)
		p.tick()
		p.graves.put = func(DeadLetter) error { return fmt.Errorf("the queue is away") }
		time.Sleep(time.Second)
		s.fill(3, 4)
		r := p.tick()
		if r.Event != HandlerFailed || !strings.Contains(r.Err.Error(), "dead letter of key") || len(r.DeadLettered) != 0 || len(p.parked()) != 1 {
			t.Errorf("%s: %v", r.Event, r.Err)
		}
		p.graves.put = nil
		if r = p.tick(); r.Failed() || len(r.DeadLettered) != 1 || len(p.graves.letters) != 1 || len(p.parked()) != 0 {
			t.Errorf("%+v", r)
		}
		if !slices.Equal(p.got(Accepted), []int{2, 3, 4}) {
			t.Errorf("accepted %v", p.got(Accepted))
		}
	})
}

// TestBlockedAfterItsDeadLetter: with after_dead_letter=block the key stays parked until an operator acts.
func TestBlockedAfterItsDeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 2)
		p := newProcess(t, nil, s, func(c *CheckpointedConfig) { c.Policy.MaxAttempts, c.Policy.Block = 1, true })
		p.verdict = poison(1)
		if r := p.tick(); len(r.DeadLettered) != 1 || r.Parked != 1 {
			t.Errorf("%+v", r)
		}
		s.put(1, "t1", "good")
		time.Sleep(time.Hour)
		if p.tick(); !slices.Equal(p.got(Accepted), []int{2}) || len(p.parked()) != 1 || !p.parked()[0].Blocked {
			t.Errorf("accepted %v, parked %+v", p.got(Accepted), p.parked())
		}
	})
}

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
		if two.tick(); !slices.Equal(two.got(Accepted), []int{1}) || len(two.parked()) != 0 {
			t.Errorf("%+v", two.sent)
		}
		if r := one.tick(); r.Failed() || r.Parked != 0 {
			t.Errorf("the first instance: %+v", r)
		}
	})
}

// TestOutageOfHalfAnHour: a destination that answers nothing costs no attempt, however long it lasts.
func TestOutageOfHalfAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		p := newProcess(t, nil, s, nil)
		p.verdict = func(*change.Event, change.Kind) Outcome { return Deferred }
		for id := 1; id <= 1800; id++ {
			s.put(id, "t", "new")
			time.Sleep(time.Second)
			if id%10 == 0 {
				if r := p.tick(); r.Event != HandlerFailed || r.Rows != 0 || r.Parked != 0 {
					t.Fatalf("%+v", r)
				}
			}
		}
		p.sent = nil
		p.verdict = poison()
		r := p.tick()
		if r.Event != TickComplete || r.Rows != 1800 || len(p.got(Accepted)) != 1800 || !slices.IsSorted(p.got(Accepted)) || len(p.graves.letters) != 0 {
			t.Errorf("%s: %d rows", r.Event, r.Rows)
		}
	})
}

// TestCrashesAroundTheCommit kills an instance at each write of a tick that parks a row, and of one that dead-letters it: the
// next instance loses nothing, writes the dead letter under the same id, and leaves no object behind.
func TestCrashesAroundTheCommit(t *testing.T) {
	faults := []storetest.Fault{storetest.NotDone, storetest.DoneButFailed, storetest.DoneLater}
	for _, fault := range faults {
		for at := 1; at <= 8; at++ {
			t.Run(fmt.Sprintf("%s at write %d", fault, at), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newShop()
					s.fill(1, 5)
					store := memstore.New()
					one := newProcess(t, store, s, func(c *CheckpointedConfig) { c.Policy.MaxAttempts = 2 })
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
					two := newProcess(t, store, s, func(c *CheckpointedConfig) { c.Policy.MaxAttempts = 2 })
					two.verdict = poison(3)
					for range 100 {
						time.Sleep(time.Second)
						two.tick()
					}
					letters := slices.Concat(one.graves.letters, two.graves.letters)
					if len(letters) == 0 {
						t.Fatal("no dead letter")
					}
					for _, d := range letters {
						if d.Event.ID != letters[0].Event.ID || idOf(&d.Event) != 3 {
							t.Errorf("dead letter of %s", d.Event.Key)
						}
					}
					accepted := slices.Concat(one.got(Accepted), two.got(Accepted))
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

// TestCrashBetweenDeadLetterAndCommit: the letter is written again under the same id, and reported by whoever commits it.
func TestCrashBetweenDeadLetterAndCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 2)
		store := memstore.New()
		policy := func(c *CheckpointedConfig) { c.Policy.MaxAttempts = 1 }
		one := newProcess(t, store, s, policy)
		one.verdict = poison(1)
		one.graves.put = func(DeadLetter) error { one.store.Crash(); return nil }
		if r := one.tick(); !r.Failed() || len(one.graves.letters) != 1 || !one.doc().Checkpoint.Cursor.IsStart() {
			t.Errorf("%+v, position %s", r, one.doc().Checkpoint.Cursor)
		}
		time.Sleep(2 * time.Minute)
		two := newProcess(t, store, s, policy)
		two.verdict = poison(1)
		if r := two.tick(); r.Failed() || len(r.DeadLettered) != 1 || two.graves.letters[0].Event.ID != one.graves.letters[0].Event.ID {
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
		n, err := session.Settle(t.Context(), Settlement{Batches: []Settled{settled}})
		if r := (Report{}); n != 0 || err == nil {
			t.Errorf("settled %d: %v", n, err)
		} else if r.fail(err, CommitFailed); r.Event != LostLease {
			t.Errorf("%s: %v", r.Event, err)
		}
		if err := session.Close(t.Context(), &Report{}); err != nil {
			t.Error(err)
		}
		if e := two.parked(); len(e) != 1 || string(e[0].Key) != `{"id":2}` {
			t.Errorf("%+v", e)
		}
	})
}

// TestProbeIsOfAKeyThatNothingWaitsFor: the source is asked for another order key than those at hand and those parked, and
// the row comes again at its place.
func TestProbeIsOfAKeyThatNothingWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 1)
		p := newProcess(t, nil, s, nil)
		p.verdict = poison(1)
		p.tick()
		s.fill(2, 2)
		p.limit = 1
		session := p.open()
		b := p.next(session)
		s.put(1, "t1", "bad")
		s.put(2, "t2", "bad")
		s.fill(3, 3)
		grant, err := session.Other(t.Context(), [][]byte{rowKey(2)})
		if err != nil || len(grant.Batch.Events) != 1 || idOf(&grant.Batch.Events[0]) != 3 || grant.Check() != nil || grant.Token == 0 {
			t.Fatalf("%+v, %v", grant.Batch, err)
		}
		p.settle(session, p.judge(session, b))
		if err := session.Close(t.Context(), &Report{}); err != nil {
			t.Fatal(err)
		}
		if p.tick(); !slices.Contains(p.got(Accepted), 3) {
			t.Errorf("accepted %v", p.got(Accepted))
		}
	})
}

func TestParkedObject(t *testing.T) {
	now := time.Date(2026, 4, 7, 1, 23, 46, 123456789, time.UTC)
	entries := []ParkedEntry{
		{OrderKey: []byte(`{"tenant":"<a> & \u2028"}`), Key: []byte(`{"id":1}`), Cursor: position(7), ID: "x", Attempts: 2, First: now,
			Last: now.Add(time.Second), Next: now.Add(time.Minute), Cause: "refused", Status: 422, Reason: "no \"such\" <thing>",
			Followers: []json.RawMessage{[]byte(`{"id":2}`), []byte(`{"id":3}`)}},
		{OrderKey: []byte(`{"tenant":"b"}`), Key: []byte(`{"id":9}`), Next: now},
		{OrderKey: []byte(`[]`), Key: []byte(`{"id":10}`), Cursor: position(1), ID: "y", Attempts: 5, Blocked: true},
	}
	data, err := EncodeParked(entries)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeParked(data)
	if err != nil || !reflect.DeepEqual(got, entries) {
		t.Errorf("%v: %+v, want %+v", err, got, entries)
	}
	for name, bad := range map[string]string{
		"empty":             ``,
		"another version":   `{"version":2,"entries":[]}`,
		"no version":        `{"entries":[]}`,
		"unknown member":    `{"version":1,"entries":[],"more":1}`,
		"trailing":          `{"version":1,"entries":[]}{}`,
		"no key":            `{"version":1,"entries":[{"order_key":1,"cursor":null,"id":"","attempts":0}]}`,
		"attempts, no id":   `{"version":1,"entries":[{"order_key":1,"key":1,"cursor":null,"id":"","attempts":1}]}`,
		"below zero":        `{"version":1,"entries":[{"order_key":1,"key":1,"cursor":null,"id":"","attempts":-1}]}`,
		"twice":             `{"version":1,"entries":[{"order_key":1,"key":1,"cursor":null,"id":"","attempts":0},{"order_key":1,"key":2,"cursor":null,"id":"","attempts":0}]}`,
		"null follower":     `{"version":1,"entries":[{"order_key":1,"key":1,"cursor":null,"id":"","attempts":0,"followers":[null]}]}`,
		"cursor of no kind": `{"version":1,"entries":[{"order_key":1,"key":1,"cursor":{},"id":"","attempts":0}]}`,
	} {
		if _, err := DecodeParked([]byte(bad)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzDecodeParked(f *testing.F) {
	f.Add([]byte(`{"version":1,"entries":[{"order_key":{"t":1},"key":{"id":1},"cursor":{"kind":"a"},"id":"x","attempts":1,"first":"2026-01-01T00:00:00Z","followers":[{"id":2}]}]}`))
	f.Add([]byte(`{"version":1,"entries":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := DecodeParked(data)
		if err != nil {
			return
		}
		again, err := EncodeParked(entries)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodeParked(again); err != nil || !reflect.DeepEqual(newParking(got).list(), newParking(entries).list()) {
			t.Errorf("%v: %s", err, again)
		}
	})
}

// TestParkedObjectThatIsGone: nothing is delivered, because rejected rows would be forgotten.
func TestParkedObjectThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.fill(1, 1)
		p := newProcess(t, nil, s, nil)
		p.verdict = poison(1)
		p.tick()
		p.edit(func(d *state.Document) { d.Parked.Object += "x" })
		if r := p.tick(); r.Event != CheckpointLoadFailed || !strings.Contains(r.Err.Error(), "state reset orders") {
			t.Errorf("%s: %v", r.Event, r.Err)
		}
	})
}
