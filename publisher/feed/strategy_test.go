package feed

import (
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// TestOnePartitionOfAnotherStrategy: a queue message that names a partition does not start a second strategy.
func TestOnePartitionOfAnotherStrategy(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a")
		first := open(t, testConfig(claims.Leader), db.connect())
		first.Expect("1")
		table := db.connect()
		second := openFeed(t, New(testConfig(claims.Partitioned), table.open).Partition(0), table)
		second.ExpectFault(poller.LeaseAcquireSkipped, first.owner)
		second.End()
		first.End()
	})
}

// TestWaitingForNothing: events that a crash or an operator left WAITING in a table where nothing else happens go
// out.
func TestWaitingForNothing(t *testing.T) {
	for _, strategy := range []claims.Strategy{claims.Leader, claims.Partitioned, claims.SkipLocked} {
		t.Run(string(strategy), func(t *testing.T) {
			in(t, func(t *testing.T, db *fakeDB) {
				db.add("a", "a")
				db.change(event.Pending, event.Waiting)
				table := db.connect()
				p := New(testConfig(strategy), table.open)
				s := openFeed(t, p, table)
				s.Settled("aa", s.Expect("1 2"))
				s.End()
				// What waits for a dead letter is looked at every half a minute, by all sessions of a process
				// together.
				db.add("b", "b")
				db.change(event.Pending, event.Waiting)
				db.at(3).state = event.Dead
				table.called()
				for range 12 {
					s = openFeed(t, p, table)
					s.Expect("")
					time.Sleep(5 * time.Second)
					s.End()
				}
				if got := table.called(); got != "look×12 mend figures×4" {
					t.Errorf("a minute with a dead letter calls %s", got)
				}
				// An operator deletes it by hand while a session is idle.
				s = openFeed(t, p, table)
				db.at(3).state = event.Published
				begun := time.Now()
				for g := s.Fetch(); len(g.Batch.Events) == 0; g = s.Fetch() {
					time.Sleep(time.Second)
					if time.Since(begun) > mendEvery+5*time.Second {
						t.Fatal("it waits for ever")
					}
				}
				s.End()
			})
		})
	}
}
