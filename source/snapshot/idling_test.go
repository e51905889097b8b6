package snapshot

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// TestIdling: the position of an idle table moves once a minute, and only to where the server was when it was first
// found empty: what the server gave since may not be on its disk. Each output has a position of its own.
func TestIdling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := Idling{Every: IdleEvery}
		seen, now := Snapshot{XMin: 5, XMax: 9}, Snapshot{XMin: 9, XMax: 20}
		later := Snapshot{XMin: 12, XMax: 500_000, XIP: []uint64{12, 30}}
		at, other := After(seen), change.Cursor(`{"kind":"other"}`)
		if i.Due(at, seen, seen) != nil || i.Due(at, seen, now) != nil || i.Due(other, seen, now) != nil {
			t.Error("it moves at once")
		}
		time.Sleep(IdleEvery - time.Nanosecond)
		if i.Due(at, seen, later) != nil || i.Due(at, seen, seen) != nil {
			t.Error("it moves before a minute")
		}
		time.Sleep(time.Nanosecond)
		if i.Due(at, seen, seen) != nil {
			t.Error("it moves to where it is")
		}
		if to := i.Due(at, seen, later); string(to) != `{"kind":"snapshot+pk","s1":"12:20:12"}` {
			t.Errorf("after a minute it moves to %s", to)
		}
		if to := i.Due(other, seen, now); !to.Equal(After(now)) {
			t.Errorf("after a minute the other moves to %s", to)
		}
		if i.Due(at, seen, later) != nil {
			t.Error("it moves again at once")
		}
		// A server that has come to less than it had has crashed: the minute begins anew.
		time.Sleep(IdleEvery)
		if i.Due(at, seen, now) != nil {
			t.Error("it moves although the server gives ids again")
		}
		time.Sleep(IdleEvery)
		if to := i.Due(at, seen, later); string(to) != `{"kind":"snapshot+pk","s1":"12:20:12"}` {
			t.Errorf("a minute after the crash it moves to %s", to)
		}
	})
}
