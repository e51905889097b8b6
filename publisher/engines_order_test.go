package publisher

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/feed"
	"github.com/rowrelay/rowrelay/publisher/feed/feedtest"
	"github.com/rowrelay/rowrelay/publisher/rows"
)

// TestTwoStrategiesExcludeEachOther is a roll-out that changes source__strategy: what an instance of the old one has
// claimed, one of the new one leaves alone.
func TestTwoStrategiesExcludeEachOther(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
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
					owners, err := b.claims.Owners(t.Context())
					b.must(err)
					b.write("A/1")
					y := b.openOn(t, engineConfig(b, second))
					y.refusedOrNothing(owners[0].Name)
					y.End()
					x.Settled(strings.Repeat("a", len(g.Batch.Events)), g)
					x.End()
					y = b.openOn(t, engineConfig(b, second))
					g = y.nextWork()
					y.Settled(strings.Repeat("a", len(g.Batch.Events)), g)
					y.End()
				})
			}
		}
	})
}

// refusedOrNothing wants no events: a member waits for its share, and whoever wants all is told who has them.
func (d *engineSession) refusedOrNothing(owner string) {
	d.T.Helper()
	g, err := d.Next(d.T.Context(), poller.Limit{Rows: 10, Bytes: 1 << 20})
	if err != nil {
		feedtest.WantFault(d.T, err, poller.LeaseAcquireSkipped, owner)
	} else if len(g.Batch.Events) > 0 {
		d.T.Errorf("Next brings %s", feedtest.Shape(g))
	}
}

// TestManyFollowers: more events wait behind one than a transaction lets go. They come in their order.
func TestManyFollowers(t *testing.T) {
	quick.Skip(t)
	// Not beside other tests, whose it is too.
	defer func(n int) { rows.GoAtOnce = n }(rows.GoAtOnce)
	rows.GoAtOnce = 20
	everyEngine(t, func(t *testing.T, b *bench) {
		const followers = 150 // eight parts, the last of which is smaller
		b.fillOf(followers+1, 1, event.Waiting)
		seqs := b.seqs()
		b.exec(fmt.Sprint("UPDATE outbox SET state = 'FAILED', next_attempt_at = ", b.db.Now(), " WHERE ", b.texts.rows.Seq(),
			" = ", seqs[0]))
		s := b.openOn(t, engineConfig(b, claims.Leader))
		s.Settled("a", s.nextWork())
		for seqs = seqs[1:]; len(seqs) > 0; {
			g := s.nextWork()
			for i := range g.Batch.Events {
				if got := feedtest.SeqOf(t, &g.Batch.Events[i]); got != seqs[0] || g.Batch.Events[i].Waits {
					t.Fatalf("event %d comes (waits: %v), want %d", got, g.Batch.Events[i].Waits, seqs[0])
				}
				seqs = seqs[1:]
			}
			s.Settled(strings.Repeat("a", len(g.Batch.Events)), g)
		}
		s.End()
	})
}

// unmended are the events of an outbox whose process has just mended it.
type unmended struct{ feed.Events }

func (unmended) Mend(context.Context) (int, error) { return 0, nil }

// TestCrashWhileFollowersAreLetGo: what a crash left WAITING comes behind what was let go before, and before what was
// written since.
func TestCrashWhileFollowersAreLetGo(t *testing.T) {
	quick.Skip(t)
	// Not beside other tests, whose it is too.
	defer func(n int) { rows.GoAtOnce = n }(rows.GoAtOnce)
	rows.GoAtOnce = 30
	everyEngineAndStrategy(t, func(t *testing.T, b *bench, strategy claims.Strategy) {
		const followers = 100
		b.fillOf(followers, 1, event.Waiting)
		n, rest, err := b.rows.LetGo(t.Context(), b.db.Pool, []event.Aggregate{{Type: "O", ID: "0"}})
		if err != nil || n != 30 || len(rest) != 1 {
			t.Fatalf("%d events go on, %v have more, %v", n, rest, err)
		}
		b.write("O/0")
		cfg := engineConfig(b, strategy)
		s := b.openChanged(t, cfg, func(o *feed.Outbox) { o.Events = unmended{o.Events} })
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
				if got := feedtest.SeqOf(t, e); got != seqs[0] {
					t.Fatalf("event %d comes, want %d", got, seqs[0])
				}
				seqs = seqs[1:]
			}
			s.Settled(outcomes, g)
			if strings.Contains(outcomes, "w") {
				s.End()
				s = b.openOn(t, cfg) // half a minute later
			}
		}
		s.End()
	})
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
