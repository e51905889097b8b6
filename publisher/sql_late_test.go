package publisher

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// A roll-out changes source__strategy from skip_locked to leader while an instance of the old one, called late, is
// frozen: what it has asked the database for takes effect when its membership has lapsed. Leaders pass PUBLISHING
// events over.

func skipLocked(c *Config) { c.Strategy, c.Connections = claims.SkipLocked, 2 }

// lapse ends somebody's membership by the database's clock.
func (b *bench) lapse(owner string) {
	b.tb.Helper()
	b.exec("UPDATE rowrelay_claims SET expires_at = " + b.db.Earlier("1000") + " WHERE unit = 'i:" + owner + "'")
}

// live counts live rows of the claims table.
func (b *bench) live(units string) (n int) {
	b.tb.Helper()
	s := b.db.Statement()
	b.must(s.Add("SELECT COUNT(*) FROM rowrelay_claims WHERE unit LIKE ", s.Arg(units), " AND expires_at > ",
		b.db.Now()).Row(context.Background(), b.raw, &n))
	return n
}

// rollOut has a leader look whether its strategy may come into force.
func (b *bench) rollOut(ctx context.Context) (claims.Strategy, error) {
	if err := b.claims.Join(ctx, "new", time.Minute); err != nil {
		return "", err
	}
	s, err := b.claims.Survey(ctx, "new", claims.Force{Strategy: claims.Leader, Partitions: 0})
	return s.Strategy, err
}

func (b *bench) wantRollOut(want claims.Strategy) {
	b.tb.Helper()
	if got, err := b.rollOut(b.tb.Context()); err != nil || got != want {
		b.tb.Errorf("%q is in force, %v; want %q", got, err, want)
	}
}

// startLate makes "late" a member of skip_locked.
func (b *bench) startLate(ttl time.Duration) {
	b.tb.Helper()
	b.must(b.claims.Join(b.tb.Context(), "late", ttl))
	if s, err := b.claims.Survey(b.tb.Context(), "late",
		claims.Force{Strategy: claims.SkipLocked, Partitions: 0}); err != nil || s.Strategy != claims.SkipLocked {
		b.tb.Fatalf("%q is in force, %v", s.Strategy, err)
	}
}

// TestLate: whose membership has lapsed, or was given back, claims nothing, and does not become a member again.
func TestLate(t *testing.T) {
	for name, end := range map[string]func(b *bench){
		"lapsed":   func(b *bench) { b.lapse("late") },
		"replaced": func(b *bench) { b.lapse("late"); b.wantRollOut(claims.Leader) },
		"released": func(b *bench) { b.must(b.claims.Release(b.tb.Context(), "late", nil)); b.wantRollOut(claims.Leader) },
	} {
		t.Run(name, func(t *testing.T) {
			everyEngine(t, func(t *testing.T, b *bench) {
				ctx := t.Context()
				b.write("A/1", "A/1", "B/1", "C/1")
				b.exec("UPDATE outbox SET state = 'FAILED', next_attempt_at = " + b.db.Now() + " WHERE aggregate_type = 'B'")
				b.exec("UPDATE outbox SET state = 'PUBLISHING' WHERE aggregate_type = 'C'") // an older crash
				b.startLate(time.Minute)
				end(b)
				if rows, _, err := b.rows.Pick(ctx, claims.Claim{Owner: "late", Token: 7, TTL: time.Minute},
					poller.Limit{Rows: 10}); !errors.Is(err, claims.ErrLost) || len(rows) > 0 {
					t.Errorf("pick: %d rows, %v; want errLost", len(rows), err)
				}
				if rows, _, err := b.rows.Due(ctx, nil, poller.Limit{Rows: 10},
					claims.Claim{Owner: "late", Token: 7, TTL: time.Minute}); !errors.Is(err, claims.ErrLost) || len(rows) > 0 {
					t.Errorf("due: %d rows, %v; want errLost", len(rows), err)
				}
				if _, err := b.claims.Renew(ctx, "late", time.Minute); !errors.Is(err, claims.ErrLost) {
					t.Errorf("renew: %v, want errLost", err)
				}
				if n := b.live("a:%") + b.live("i:late"); n > 0 {
					t.Errorf("late has %d rows", n)
				}
				b.wantRollOut(claims.Leader)
				b.wantStates(event.Pending, event.Pending, event.Failed, event.Pending)
			}, skipLocked)
		})
	}
}

type picked struct {
	rows []event.Row
	err  error
}

// pickLate picks beside the test.
func (b *bench) pickLate(ttl time.Duration) <-chan picked {
	late, done := b.open(), make(chan picked, 1)
	go func() {
		rows, _, err := late.rows.Pick(b.tb.Context(), claims.Claim{Owner: "late", Token: 7, TTL: ttl},
			poller.Limit{Rows: 10})
		done <- picked{rows, err}
	}()
	return done
}

// TestPickStallsAtItsClaims: the membership lapses, and another strategy comes into force, while a pick waits for a
// claim.
func TestPickStallsAtItsClaims(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		if b.conn.Engine == "sqlite" {
			return // whose one writer would keep everybody waiting
		}
		b.write("A/1", "A/1")
		b.startLate(time.Minute)
		stall, err := b.raw.BeginTx(t.Context(), nil)
		b.must(err)
		defer stall.Rollback() //nolint:errcheck // it was, where all is well
		if _, err = b.claims.TakeIn(t.Context(), stall, claims.Claim{Owner: "another", Token: 6, TTL: time.Minute},
			claims.Named([]string{b.texts.rows.ShardOf("A", "1")}), ""); err != nil {
			t.Fatal(err)
		}
		late := b.pickLate(time.Minute)
		b.lapse("late")
		b.wantRollOut(claims.Leader)
		b.must(stall.Rollback())
		if p := <-late; !errors.Is(p.err, claims.ErrLost) {
			t.Errorf("the late pick brought %d rows, %v; want errLost", len(p.rows), p.err)
		}
		b.wantStates(event.Pending, event.Pending)
		if n := b.live("a:%"); n > 0 {
			t.Errorf("%d aggregates are claimed", n)
		}
	}, skipLocked)
}

// pickInTime starts a pick that has locked its owner's row before the membership lapses, soon after. One that was too
// slow for that is begun again, with a membership that is longer.
func (b *bench) pickInTime(ttl time.Duration) (late <-chan picked) {
	b.tb.Helper()
	hint, suffix := b.db.Lock(true)
	for membership := 2 * time.Second; ; membership *= 2 {
		b.startLate(membership)
		late, refused := b.pickLate(ttl), false
		programtest.Until(b.tb, "the pick locks its owner's row, or is too late for it", func() bool {
			select {
			case p := <-late:
				if !errors.Is(p.err, claims.ErrLost) {
					b.tb.Fatalf("the pick brought %d rows, %v", len(p.rows), p.err)
				}
				refused = true
				return true
			default:
			}
			units, err := b.db.Statement().Add("SELECT unit FROM rowrelay_claims", hint, " WHERE unit = 'i:late'",
				suffix).Texts(b.tb.Context(), b.raw)
			return err == nil && len(units) == 0
		})
		if !refused {
			return late
		}
	}
}

// TestPickStallsAtItsMarks: a pick has found its owner alive and waits for an event's row, while the membership
// lapses. Another strategy waits for its end, and sees what it has done.
func TestPickStallsAtItsMarks(t *testing.T) {
	for _, c := range []struct {
		claims time.Duration // how long the claims last
		want   claims.Strategy
		states []event.State
	}{{time.Minute, claims.SkipLocked, []event.State{event.Publishing, event.Publishing}},
		{100 * time.Millisecond, claims.Leader, []event.State{event.Pending, event.Pending}}} {
		t.Run(fmt.Sprint(c.claims), func(t *testing.T) {
			everyEngine(t, func(t *testing.T, b *bench) {
				if b.conn.Engine == "sqlite" {
					return // as above
				}
				b.write("A/1", "A/1")
				stall, err := b.raw.BeginTx(t.Context(), nil)
				b.must(err)
				defer stall.Rollback() //nolint:errcheck // it was, where all is well
				hint, suffix := b.db.Lock(false)
				s := b.db.Statement()
				if seqs, err := s.Add("SELECT ", b.texts.rows.Seq(), " FROM outbox", hint, suffix).Ints(t.Context(),
					stall); err != nil || len(seqs) != 2 {
					t.Fatalf("locked %v, %v", seqs, err)
				}
				late := b.pickInTime(c.claims)
				programtest.Until(t, "the membership lapses", func() bool { return b.live("i:late") == 0 })
				inForce := make(chan claims.Strategy, 1)
				go func() {
					s, err := b.rollOut(t.Context())
					if err != nil {
						t.Error(err)
					}
					inForce <- s
				}()
				select {
				case s := <-inForce:
					t.Fatalf("%s is in force while a pick is under way", s)
				case <-time.After(300 * time.Millisecond):
				}
				b.must(stall.Rollback())
				if p := <-late; p.err != nil || len(p.rows) != 2 {
					t.Errorf("the pick brought %d rows, %v", len(p.rows), p.err)
				}
				if s := <-inForce; s != c.want {
					t.Errorf("%s is in force, want %s", s, c.want)
				}
				b.wantStates(c.states...)
				b.exec("UPDATE rowrelay_claims SET expires_at = " + b.db.Earlier("1000") + " WHERE unit LIKE 'a:%'")
				b.wantRollOut(claims.Leader)
				b.wantStates(event.Pending, event.Pending)
			}, skipLocked)
		})
	}
}

// BenchmarkPickAndSettle is the database's part of batches of 100 events of ten aggregates under skip_locked.
func BenchmarkPickAndSettle(bm *testing.B) {
	for _, e := range realEngines {
		if e.name == "sqlserver" {
			continue // there is none here
		}
		bm.Run(e.name, func(bm *testing.B) {
			const batch = 100
			b := newBench(bm, e.url, skipLocked)
			b.must(b.claims.Join(bm.Context(), "me", time.Hour))
			b.fill(batch * (bm.N + 1))
			bm.ResetTimer()
			for range bm.N {
				rows, _, err := b.rows.Pick(bm.Context(), claims.Claim{Owner: "me", Token: 1, TTL: time.Hour},
					poller.Limit{Rows: batch})
				if err != nil || len(rows) == 0 {
					bm.Fatal(len(rows), err)
				}
				var m event.Marks
				seen := map[event.Aggregate]bool{}
				for i := range rows {
					m.Published = append(m.Published, rows[i].Ref)
					if a := markedRow(&rows[i]).Aggregate; !seen[a] {
						seen[a], m.Freed = true, append(m.Freed, a)
					}
				}
				b.must(b.rows.Settle(bm.Context(), "me", len(m.Freed), m))
			}
		})
	}
}
