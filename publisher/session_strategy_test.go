package publisher

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/rows"
)

// TestTwoStrategiesExcludeEachOther is a roll-out that changes source__strategy: while an instance of the old one is
// live, one of the new one does nothing and says why. They do not see each other's claims.
func TestTwoStrategiesExcludeEachOther(t *testing.T) {
	all := []claims.Strategy{claims.Leader, claims.Partitioned, claims.SkipLocked}
	everyEngine(t, func(t *testing.T, b *bench) {
		for _, first := range all {
			for _, second := range all {
				if first == second {
					continue
				}
				t.Run(fmt.Sprintf("%s then %s", first, second), func(t *testing.T) {
					b.exec("DELETE FROM outbox")
					b.exec("DELETE FROM rowrelay_claims")
					b.write("A/1", "A/1")
					x := b.openOn(t, engineConfig(b, first))
					g := x.nextWork()
					b.write("A/1", "B/1")
					y := b.openOn(t, engineConfig(b, second))
					y.fault(poller.LeaseAcquireSkipped, "source__strategy="+string(first), "source__strategy="+string(second), x.owner)
					y.close()
					x.settled(strings.Repeat("a", len(g.Batch.Events)), g)
					x.close()
					y = b.openOn(t, engineConfig(b, second))
					g = y.nextWork()
					y.settled(strings.Repeat("a", len(g.Batch.Events)), g)
					y.close()
				})
			}
		}
	})
}

// TestOnePartitionOfAnotherStrategy: a queue message that names a partition does not start a second strategy.
func TestOnePartitionOfAnotherStrategy(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		db.add("a")
		first := open(t, testConfig(claims.Leader), db.connect())
		first.expect("1")
		table := db.connect()
		second := openFeed(t, newFeed(testConfig(claims.Partitioned), table.open).Partition(0), table)
		second.fault(poller.LeaseAcquireSkipped, "source__strategy=leader", "source__strategy=partitioned", first.owner)
		second.close()
		first.close()
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
				p := newFeed(testConfig(strategy), table.open)
				s := openFeed(t, p, table)
				s.settled("aa", s.expect("1 2"))
				s.close()
				// What waits for a dead letter is looked at every half a minute, by all sessions of a process
				// together.
				db.add("b", "b")
				db.change(event.Pending, event.Waiting)
				db.at(3).state = event.Dead
				table.called()
				for range 12 {
					s = openFeed(t, p, table)
					s.expect("")
					time.Sleep(5 * time.Second)
					s.close()
				}
				if got := table.called(); got != "look×12 mend figures×4" {
					t.Errorf("a minute with a dead letter calls %s", got)
				}
				// An operator deletes it by hand while a session is idle.
				s = openFeed(t, p, table)
				db.at(3).state = event.Published
				begun := time.Now()
				for g := s.next(); len(g.Batch.Events) == 0; g = s.next() {
					time.Sleep(time.Second)
					if time.Since(begun) > mendEvery+5*time.Second {
						t.Fatal("it waits for ever")
					}
				}
				s.close()
			})
		})
	}
}

// TestManyFollowers: more events wait behind one than a transaction lets go. They come in their order.
func TestManyFollowers(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		followers := 30_000
		if b.conn.Engine == "sqlite" {
			followers = 6_000 // written in Go, it is slow under the race detector: more than one part is enough
		}
		b.fillOf(followers+1, 1, event.Waiting)
		seqs := b.seqs()
		b.exec(fmt.Sprint("UPDATE outbox SET state = 'FAILED', next_attempt_at = ", b.db.Now(), " WHERE ", b.texts.rows.Seq(),
			" = ", seqs[0]))
		cfg := engineConfig(b, claims.Leader)
		cfg.ClaimTTL = time.Minute // what is shown is the order, not the speed
		s := b.openOn(t, cfg)
		s.settled("a", s.nextWork())
		for seqs = seqs[1:]; len(seqs) > 0; {
			g, err := s.Next(t.Context(), poller.Limit{Rows: 5000, Bytes: 1 << 24})
			b.must(err)
			for i := range g.Batch.Events {
				if got := seqOf(t, &g.Batch.Events[i]); got != seqs[0] || g.Batch.Events[i].Waits {
					t.Fatalf("event %d comes (waits: %v), want %d", got, g.Batch.Events[i].Waits, seqs[0])
				}
				seqs = seqs[1:]
			}
			s.settled(strings.Repeat("a", len(g.Batch.Events)), g)
		}
		s.close()
	})
}

// TestCrashWhileFollowersAreLetGo: what a crash left WAITING comes behind what was let go before, and before what was
// written since.
func TestCrashWhileFollowersAreLetGo(t *testing.T) {
	defer func(n int) { rows.GoAtOnce = n }(rows.GoAtOnce)
	for _, strategy := range []claims.Strategy{claims.Leader, claims.Partitioned, claims.SkipLocked} {
		t.Run(string(strategy), func(t *testing.T) {
			everyEngine(t, func(t *testing.T, b *bench) {
				const followers = 100
				rows.GoAtOnce = 30
				b.fillOf(followers, 1, event.Waiting)
				n, rest, err := b.rows.LetGo(t.Context(), b.db.Pool, []event.Aggregate{{Type: "O", ID: "0"}})
				if err != nil || n != 30 || len(rest) != 1 {
					t.Fatalf("%d events go on, %v have more, %v", n, rest, err)
				}
				b.write("O/0")
				cfg := engineConfig(b, strategy)
				cfg.ClaimTTL = time.Minute
				s := b.openOn(t, cfg)
				s.shared.mended = time.Now() // it would mend at once
				for seqs := b.seqs(); len(seqs) > 0; {
					g := s.nextWork()
					outcomes := ""
					for i := range g.Batch.Events {
						e := &g.Batch.Events[i]
						if e.Waits {
							outcomes += "w"
							continue
						}
						outcomes += "a"
						if got := seqOf(t, e); got != seqs[0] {
							t.Fatalf("event %d comes, want %d", got, seqs[0])
						}
						seqs = seqs[1:]
					}
					s.settled(outcomes, g)
					if strings.Contains(outcomes, "w") {
						s.shared.mended, s.looked = time.Time{}, time.Time{} // half a minute later
					}
				}
				s.close()
			})
		})
	}
}

// seqs are all rows', in order.
func (b *bench) seqs() []int64 {
	b.tb.Helper()
	s := b.db.Statement()
	list, err := s.Add("SELECT ", b.texts.rows.Seq(), " FROM ", b.outbox.String(), " ORDER BY ",
		b.texts.rows.Seq()).Ints(context.Background(), b.raw)
	b.must(err)
	return list
}
