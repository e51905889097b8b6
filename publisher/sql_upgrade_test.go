package publisher

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/feed/feedtest"
)

// An earlier version claimed the whole outbox (a row "leader"), partitions ("p3"), or aggregates ("a:…", strategy
// skip_locked), whose events it marked PUBLISHING. What was in force stood in the counter's info. An instance was a
// member ("i:…") while it published, and locked that row while it claimed aggregates.

// earlier writes a row of an earlier version's claims table.
func (b *bench) earlier(unit, owner, info string, live bool) {
	b.tb.Helper()
	expires := b.db.Earlier("1000")
	if live {
		expires = b.db.Later("60000")
	}
	b.exec("DELETE FROM rowrelay_claims WHERE unit = '" + unit + "'")
	b.exec(fmt.Sprintf("INSERT INTO rowrelay_claims (outbox, unit, owner, token, expires_at, info) VALUES ('%s', '%s', '%s', 41, %s, '%s')",
		b.claims.Place.Outbox, unit, owner, expires, info))
}

// TestUpgrade: an outbox that an earlier version has left, or is publishing still, with events in every state.
func TestUpgrade(t *testing.T) {
	for name, c := range map[string]struct {
		strategy string
		live     []string // units of the earlier instance
		dead     []string
		shares   bool // it may publish beside
	}{
		"a leader lives":        {"leader", []string{"leader", "i:old"}, nil, false},
		"a leader has joined":   {"leader", []string{"i:old"}, []string{"leader"}, false},
		"a leader has died":     {"leader", nil, []string{"leader", "i:old"}, false},
		"partitions are shared": {"partitioned", []string{"p0", "p1", "i:old"}, []string{"i:older"}, true},
		"partitions are left":   {"partitioned", nil, []string{"p0", "p1", "p40", "i:old"}, true},
		"aggregates are held":   {"skip_locked", []string{"a:0123", "i:old"}, []string{"a:4567"}, false},
		"aggregates are left":   {"skip_locked", nil, []string{"a:0123", "a:4567", "i:old"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			everyEngine(t, func(t *testing.T, b *bench) {
				b.write("A/1", "A/1", "B/1", "B/1", "C/1", "D/1", "D/1", "E/1", "F/1")
				states := []event.State{event.Published, event.Pending, event.Publishing, event.Pending, event.Publishing,
					event.Failed, event.Waiting, event.Dead, event.Discarded}
				if c.strategy != "skip_locked" {
					states[2], states[4] = event.Pending, event.Pending
				}
				for i, seq := range b.seqs() {
					b.exec(fmt.Sprintf("UPDATE outbox SET state = '%s', next_attempt_at = %s WHERE %s = %d", states[i],
						map[bool]string{true: b.db.Now(), false: "NULL"}[states[i] == event.Failed], b.texts.rows.Seq(), seq))
				}
				b.earlier("*", "", `{"strategy":"`+c.strategy+`","partitions":4}`, false)
				for _, unit := range c.live {
					b.earlier(unit, "shop/old#1", "", true)
				}
				for _, unit := range c.dead {
					b.earlier(unit, "shop/dead#1", "", false)
				}
				if len(c.live) > 0 {
					b.upgradedBeside(t, c.shares)
					b.wantStates(states...)
					b.exec("UPDATE rowrelay_claims SET expires_at = " + b.db.Earlier("1000") + " WHERE owner = 'shop/old#1'")
				}
				b.publishAll(t)
				b.wantStates(event.Published, event.Published, event.Published, event.Published, event.Published,
					event.Published, event.Published, event.Dead, event.Discarded)
				s := b.db.Statement("SELECT unit FROM rowrelay_claims WHERE unit LIKE 'i:%' OR unit LIKE 'a:%' OR unit = 'leader'")
				if left, err := s.Texts(t.Context(), b.raw); err != nil || len(left) > 0 {
					t.Errorf("left in the claims table: %v, %v", left, err)
				}
				if token := b.take("next", time.Minute).Token; token <= 41 {
					t.Errorf("token %d after 41", token)
				}
			}, func(c *Config) { c.Partitions = 4 })
		})
	}
}

// TestUpgradeOfMarkedEventsAlone: nothing is to be published but what an earlier version's instance had marked as being
// published when it died.
func TestUpgradeOfMarkedEventsAlone(t *testing.T) {
	for _, strategy := range []claims.Strategy{claims.Leader, claims.Partitioned, claims.SkipLocked} {
		t.Run(string(strategy), func(t *testing.T) {
			everyEngine(t, func(t *testing.T, b *bench) {
				b.write("A/1", "B/1")
				b.exec("UPDATE outbox SET state = 'PUBLISHING'")
				b.earlier("*", "", `{"strategy":"skip_locked","partitions":4}`, false)
				b.earlier("i:old", "shop/old#1", "", false)
				b.earlier("a:0123", "shop/old#1", "", false)
				s := b.openOn(t, engineConfig(b, strategy))
				for published := 0; published < 2; {
					g := s.nextWork()
					published += len(g.Batch.Events)
					s.Settled("aa"[:len(g.Batch.Events)], g)
				}
				b.wantStates(event.Published, event.Published)
				if g, err := b.rows.Look(t.Context()); err != nil || g.Work {
					t.Errorf("still work: %+v, %v", g, err)
				}
				s.End()
			}, func(c *Config) { c.Partitions = 4 })
		})
	}
}

// upgradedBeside opens sessions of each strategy beside a live instance of the earlier version.
func (b *bench) upgradedBeside(t *testing.T, shares bool) {
	t.Helper()
	for _, strategy := range []claims.Strategy{claims.Leader, claims.Partitioned, claims.SkipLocked} {
		s := b.openOn(t, engineConfig(b, strategy))
		g, err := s.Next(t.Context(), poller.Limit{Rows: 10, Bytes: 1 << 20})
		if !shares || strategy == claims.Leader {
			feedtest.WantFault(t, err, poller.LeaseAcquireSkipped, "shop/old#1")
		} else if err != nil {
			t.Errorf("%s beside partitions: %v", strategy, err)
		}
		found, err := b.claims.Survey(t.Context())
		if err != nil || found.Held[0] != map[bool]string{true: "shop/old#1"}[shares] {
			t.Errorf("%s: %+v, %v (%s)", strategy, found, err, feedtest.Shape(g))
		}
		s.End()
	}
}

// publishAll publishes everything that can be, in the order of each aggregate.
func (b *bench) publishAll(t *testing.T) {
	t.Helper()
	s := b.openOn(t, engineConfig(b, claims.Partitioned))
	last := map[string]int64{}
	open := func(s event.State) bool {
		return s != event.Published && s != event.Dead && s != event.Discarded
	}
	for slices.ContainsFunc(b.states(), open) {
		g := s.nextWork()
		outcomes := ""
		for i := range g.Batch.Events {
			e := &g.Batch.Events[i]
			if outcomes += map[bool]string{true: "w", false: "a"}[e.Waits]; e.Waits {
				continue
			}
			if seq := feedtest.SeqOf(t, e); seq <= last[string(e.OrderKey)] {
				t.Errorf("%d of %s comes after %d", seq, e.OrderKey, last[string(e.OrderKey)])
			} else {
				last[string(e.OrderKey)] = seq
			}
		}
		s.Settled(outcomes, g)
	}
	s.End()
}

// TestUpgradeBesideALatePick: an instance of an earlier version was frozen while it claimed aggregates. Its transaction
// holds its member's row, which has lapsed: the next one waits for its end, and sees what it has done.
func TestUpgradeBesideALatePick(t *testing.T) {
	for name, live := range map[string]bool{"its claims live": true, "its claims have expired": false} {
		t.Run(name, func(t *testing.T) {
			everyEngine(t, func(t *testing.T, b *bench) {
				if b.conn.Engine == "sqlite" {
					return // whose one writer would keep everybody waiting
				}
				b.write("A/1", "A/1")
				b.earlier("*", "", `{"strategy":"skip_locked","partitions":4}`, false)
				b.earlier("i:old", "old", "", false)
				b.earlier("a:0123", "old", "", false)
				pick, err := b.raw.BeginTx(t.Context(), nil)
				b.must(err)
				defer pick.Rollback() //nolint:errcheck // it was committed, where all is well
				for _, text := range []string{
					"UPDATE rowrelay_claims SET info = 'picks' WHERE unit = 'i:old'",
					"UPDATE outbox SET state = 'PUBLISHING'",
				} {
					if _, err := pick.ExecContext(t.Context(), text); err != nil {
						t.Fatal(err)
					}
				}
				if live {
					if _, err := pick.ExecContext(t.Context(), "UPDATE rowrelay_claims SET expires_at = "+b.db.Later("60000")+
						" WHERE unit = 'a:0123'"); err != nil {
						t.Fatal(err)
					}
				}
				got := make(chan claims.Taken, 1)
				go func() {
					taken, err := b.claims.Take(t.Context(), "new", time.Minute, true, just(0, 1))
					if err != nil {
						t.Error(err)
					}
					got <- taken
				}()
				b.waitsForTake(t)
				b.must(pick.Commit())
				switch taken := <-got; {
				case live && (taken.Survey.Partitions != 0 || len(taken.Partitions) > 0):
					t.Errorf("beside live claims: %+v", taken)
				case live:
					b.wantStates(event.Publishing, event.Publishing)
				case len(taken.Partitions) != 2:
					t.Errorf("took %+v", taken)
				default:
					b.wantStates(event.Pending, event.Pending)
				}
			}, func(c *Config) { c.Partitions = 4 })
		})
	}
}

// waitsForTake waits until a take has locked the counter: its next statements come to the rows that it removes.
func (b *bench) waitsForTake(t *testing.T) {
	t.Helper()
	hint, suffix := b.db.Lock(true)
	programtest.Until(t, "the take locks the counter", func() bool {
		units, err := b.db.Statement("SELECT unit FROM rowrelay_claims", hint, " WHERE unit = '*'", suffix).Texts(t.Context(),
			b.raw)
		return err == nil && len(units) == 0
	})
}

// TestEarlierVersionsRefuse: what an earlier version reads as in force is the strategy partitioned, so that an instance
// of another strategy does not publish beside live claims.
func TestEarlierVersionsRefuse(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		b.take("me", time.Minute, 0)
		s := b.db.Statement("SELECT info FROM rowrelay_claims WHERE unit = '*'")
		info, err := s.Texts(t.Context(), b.raw)
		if err != nil || strings.Join(info, "") != `{"strategy":"partitioned","partitions":4}` {
			t.Errorf("the counter says %v, %v", info, err)
		}
	}, func(c *Config) { c.Partitions = 4 })
}
