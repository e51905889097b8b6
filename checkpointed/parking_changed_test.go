package checkpointed

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state/storetest"
)

// TestCorrectedRowIsDelivered: it supersedes its parked predecessor, and has all of its attempts before it.
func TestCorrectedRowIsDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := refusing(t, nil, 3, 2)
		p.tick()
		time.Sleep(time.Second)
		p.tick()
		if e := p.parked(); len(e) != 1 || e[0].Attempts != 2 {
			t.Fatalf("%+v", e)
		}
		s.put(2, "t2", "still bad")
		if p.tick(); !slices.Equal(p.got(poller.Accepted), []int{1, 3}) || index(p.doc().Checkpoint.Cursor) != 4 {
			t.Errorf("the update waits for the parked row: accepted %v, position %s", p.got(poller.Accepted),
				p.doc().Checkpoint.Cursor)
		}
		time.Sleep(5 * time.Second)
		p.tick()
		if e := p.parked(); len(e) != 1 || e[0].Attempts != 1 || time.Until(e[0].Next) != time.Second {
			t.Errorf("another version begins anew: %+v", e)
		}
		s.put(2, "t2", "good")
		time.Sleep(time.Second)
		p.tick()
		// By its retry, and then as the live row that it also is: that one was fetched after the retry was settled.
		if !slices.Equal(p.got(poller.Accepted), []int{1, 3, 2, 2}) || len(p.parked()) != 0 ||
			len(p.deadLetters.letters) != 0 {
			t.Errorf("accepted %v, parked %+v", p.got(poller.Accepted), p.parked())
		}
	})
}

// TestWhatIsFetchedAfterTheRereadIsNotSwallowed: an event that came after the retry had read the row, and was absorbed
// because the retry was not settled yet, is delivered; one that came before it is superseded by it.
func TestWhatIsFetchedAfterTheRereadIsNotSwallowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := refusing(t, nil, 2, 1)
		p.tick()
		s.put(1, "t1", "good") // not seen as a live row yet
		time.Sleep(time.Second)

		session := p.open()
		retry := p.next(session)
		if retry.Kind != change.Retry || len(retry.Events) != 1 || retry.Events[0].Attempts != 0 ||
			textOf(&retry.Events[0]) != "good" {
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
		if absorbed.Outcomes[0] != poller.Absorbed || late.Outcomes[0] != poller.Absorbed {
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
		if err := session.Close(t.Context(), &poller.Report{}); err != nil {
			t.Fatal(err)
		}
		if last := p.sent[len(p.sent)-1]; last.text != "newest" || len(p.parked()) != 0 {
			t.Errorf("%+v, parked %+v", p.sent, p.parked())
		}
	})
}

// TestKeyIsParkedUntilItsCommitLands: not even while the commit that settles its retry is on its way may a later event
// go.
func TestKeyIsParkedUntilItsCommitLands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p := refusing(t, nil, 1, 1)
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

// TestGoneRow: its entry ends with a warning, also when nothing else is to be done; a row of the same key that comes
// back is a new one.
func TestGoneRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := refusing(t, nil, 3, 2)
		p.tick()
		s.remove(2)
		time.Sleep(time.Second)
		r := p.tick()
		if r.Event != poller.TickComplete || r.Gone != 1 || r.Parked != 0 || len(r.Warnings) != 1 ||
			!strings.Contains(r.Warnings[0], `{"id":2} is gone`) {
			t.Errorf("%+v", r)
		}
		if len(p.parked()) != 0 || p.doc().Lease.OwnerID != "" || len(p.deadLetters.letters) != 0 {
			t.Errorf("parked %+v, owner %q", p.parked(), p.doc().Lease.OwnerID)
		}
		s.put(2, "t2", "good")
		if p.tick(); !slices.Equal(p.got(poller.Accepted), []int{1, 3, 2}) {
			t.Errorf("accepted %v", p.got(poller.Accepted))
		}
	})
}

// TestRowThatComesBackIsNotSwallowedByGone: the row was gone when it was read again, and is there when the next rows
// are fetched, before the end of its entry is stored.
func TestRowThatComesBackIsNotSwallowedByGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := refusing(t, nil, 1, 1)
		p.tick()
		s.remove(1)
		time.Sleep(time.Second)
		session := p.open()
		gone := p.next(session)
		if len(gone.Events) != 0 || gone.To == nil || !gone.More {
			t.Fatalf("%+v", gone)
		}
		s.put(1, "t1", "good")
		live := p.judge(session, p.next(session))
		if live.Outcomes[0] != poller.Absorbed {
			t.Fatal("the key is parked until the commit that ends its entry")
		}
		p.settle(session, poller.Settled{Batch: gone}, live)
		if b := p.next(session); b.Kind != change.Retry {
			t.Fatalf("%+v", b)
		} else {
			p.settle(session, p.judge(session, b))
		}
		if !slices.Equal(p.got(poller.Accepted), []int{1}) || len(p.parked()) != 0 {
			t.Errorf("accepted %v, parked %+v", p.got(poller.Accepted), p.parked())
		}
	})
}
