package publisher

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

func TestDraw(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		var mu sync.Mutex
		var tokens []uint64
		var group sync.WaitGroup
		for range 4 {
			other := b.open()
			group.Go(func() {
				var last uint64
				for range 5 {
					token, err := other.claims.Draw(t.Context())
					if err != nil || token <= last {
						t.Errorf("got the token %d after %d, %v", token, last, err)
					}
					last = token
					mu.Lock()
					tokens = append(tokens, token)
					mu.Unlock()
				}
			})
		}
		group.Wait()
		slices.Sort(tokens)
		if len(slices.Compact(tokens)) != 20 {
			t.Errorf("tokens are not unique: %v", tokens)
		}
	})
}

// TestTakeOver: a claim is its owner's until it expires or is given back, and nobody's marks count after that but the
// next one's.
func TestTakeOver(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		b.write("O/1", "O/2")
		rows := b.all()
		take := func(owner string, token uint64, ttl time.Duration, units ...string) []string {
			t.Helper()
			got, err := b.claims.Take(ctx, owner, token, units, ttl)
			b.must(err)
			return got
		}
		b.must(b.claims.Join(ctx, "old", time.Minute))
		if got := take("old", 1, time.Minute, "p0", "p1", "p2"); !slices.Equal(got, []string{"p0", "p1", "p2"}) {
			t.Fatalf("old got %v", got)
		}
		if got := take("new", 2, time.Minute, "p0", "p3"); !slices.Equal(got, []string{"p3"}) {
			t.Errorf("new got %v, want p3: the other is held", got)
		}
		if got := take("old", 3, time.Minute, "p0"); len(got) != 0 {
			t.Errorf("old got %v again", got)
		}
		b.must(b.claims.Release(ctx, "old", []string{"p1"}))
		if got := take("new", 2, time.Minute, "p0", "p1"); !slices.Equal(got, []string{"p1"}) {
			t.Errorf("new got %v, want p1: it was given back", got)
		}
		if held, err := b.claims.Renew(ctx, "old", 100*time.Millisecond); err != nil || held != 2 {
			t.Errorf("old holds %d, %v; want 2", held, err)
		}
		// It freezes. The other waits until the claims have expired, and the membership, which was renewed after them.
		programtest.Until(t, "the claims expire", func() bool { return len(take("new", 2, time.Minute, "p0")) == 1 })
		programtest.Until(t, "the membership lapses", func() bool {
			owners, err := b.claims.Owners(ctx)
			b.must(err)
			return !slices.ContainsFunc(owners, func(o claims.Owner) bool { return o.Name == "old" })
		})
		// Every way to mark is refused, and changes nothing.
		one := []event.Marked{markedRow(&rows[0])}
		for name, m := range map[string]event.Marks{
			"published": {Published: []event.Ref{rows[0].Ref, rows[1].Ref}}, "retried": {Retried: one},
			"waiting":  {Waiting: one},
			"failed":   {Failed: []event.Failure{{Marked: one[0], Attempts: 1, Dead: true}}},
			"returned": {Returned: []event.Ref{rows[0].Ref}},
		} {
			if err := b.rows.Settle(ctx, "old", 2, m); !errors.Is(err, claims.ErrLost) {
				t.Errorf("%s: settle of a lost owner returned %v, want errLost", name, err)
			}
		}
		b.wantStates(event.Pending, event.Pending)
		if held, err := b.claims.Renew(ctx, "old", time.Minute); !errors.Is(err, claims.ErrLost) || held != 0 {
			t.Errorf("old holds %d, %v: what expired is not renewed", held, err)
		}
		b.must(b.rows.Settle(ctx, "new", 3, event.Marks{Published: []event.Ref{rows[0].Ref}}))
		b.wantStates(event.Published, event.Pending)
		// Everything is given back.
		b.must(b.claims.Release(ctx, "new", nil))
		if got := take("third", 3, time.Minute, "p0", "p1", "p2", "p3"); len(got) != 4 {
			t.Errorf("third got %v, want all four", got)
		}
	})
}

// TestSurvey: strategy and partition count change only where nobody else lives.
func TestSurvey(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		want := func(owner string, want int, partitions int, members []string, held map[int]string) {
			t.Helper()
			s, err := b.claims.Survey(ctx, owner, claims.Force{Strategy: claims.Partitioned, Partitions: want})
			b.must(err)
			if diff := cmp.Diff(claims.Survey{Force: claims.Force{Strategy: claims.Partitioned, Partitions: partitions},
				Leader: "", Members: members, Held: held}, s, cmp.AllowUnexported(claims.Survey{})); diff != "" {
				t.Errorf("survey (-want +got):\n%s", diff)
			}
		}
		none := map[int]string{}
		b.must(b.claims.Join(ctx, "a", time.Minute))
		want("a", 64, 64, []string{"a"}, none)
		want("a", 32, 32, []string{"a"}, none) // alone, with nothing held
		b.must(b.claims.Join(ctx, "b", time.Minute))
		want("b", 16, 32, []string{"a", "b"}, none)
		got, err := b.claims.Take(ctx, "a", 1, []string{"p3", "p31"}, time.Minute)
		if err != nil || len(got) != 2 {
			t.Fatalf("a got %v, %v", got, err)
		}
		b.must(b.claims.Release(ctx, "b", nil))
		want("a", 16, 32, []string{"a"}, map[int]string{3: "a", 31: "a"})
		g, err := b.rows.Look(ctx)
		if err != nil || g.Partitions != 32 || g.Paused {
			t.Errorf("look: %+v, %v", g, err)
		}
		b.must(b.claims.Release(ctx, "a", nil))
		b.must(b.claims.Join(ctx, "b", time.Minute))
		want("b", 16, 16, []string{"b"}, none)
		if token, err := b.claims.Draw(ctx); err != nil || token == 0 {
			t.Errorf("draw: %d, %v", token, err)
		}
		want("b", 16, 16, []string{"b"}, none)
	})
}

// TestStrategyInForce: a strategy is in force until no other member, and no claim of any kind, is live.
func TestStrategyInForce(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		in := func(owner string, mine, want claims.Strategy, leader string) {
			t.Helper()
			s, err := b.claims.Survey(ctx, owner,
				claims.Force{Strategy: mine, Partitions: map[claims.Strategy]int{claims.Partitioned: 8}[mine]})
			b.must(err)
			if s.Strategy != want || s.Leader != leader {
				t.Errorf("%s with %s: %s is in force, led by %q; want %s, %q", owner, mine, s.Strategy, s.Leader, want, leader)
			}
		}
		b.must(b.claims.Join(ctx, "a", time.Minute))
		in("a", claims.Leader, claims.Leader, "")
		b.must(b.claims.Join(ctx, "b", time.Minute))
		in("b", claims.Partitioned, claims.Leader, "") // a is live, although it has claimed nothing yet
		in("b", claims.SkipLocked, claims.Leader, "")
		b.lead("a", time.Minute)
		in("a", claims.SkipLocked, claims.Leader, "a")
		b.must(b.claims.Release(ctx, "b", nil))
		in("a", claims.SkipLocked, claims.Leader, "a") // its own claim
		b.exec("DELETE FROM rowrelay_claims WHERE unit = 'i:a'")
		in("c", claims.Partitioned, claims.Leader, "a") // a claim that lives longer than its member
		b.must(b.claims.Release(ctx, "a", nil))
		in("c", claims.SkipLocked, claims.SkipLocked, "")
		// A crash under skip_locked leaves events PUBLISHING, and a claim that has to expire.
		b.must(b.claims.Join(ctx, "c", time.Minute))
		b.write("A/1", "A/1", "B/1")
		rows, _, err := b.rows.Pick(ctx, claims.Claim{Owner: "c", Token: 9, TTL: time.Hour}, poller.Limit{Rows: 2})
		if err != nil || len(rows) != 2 {
			t.Fatalf("picked %d rows, %v", len(rows), err)
		}
		b.lapse("c")
		in("d", claims.Leader, claims.SkipLocked, "")
		b.exec("UPDATE rowrelay_claims SET expires_at = " + b.db.Earlier("1000") + " WHERE unit LIKE 'a:%'")
		in("d", claims.Leader, claims.Leader, "")
		b.wantStates(event.Pending, event.Pending, event.Pending)
	}, func(c *Config) { c.Strategy = claims.SkipLocked })
}

func TestPause(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		b.must(b.claims.Pause(t.Context(), "ann at noon: maintenance"))
		b.must(b.claims.Pause(t.Context(), "bob"))
		if g, err := b.rows.Look(t.Context()); err != nil || !g.Paused || g.By != "bob" {
			t.Errorf("look: %+v, %v", g, err)
		}
		b.must(b.claims.Resume(t.Context()))
		if g, err := b.rows.Look(t.Context()); err != nil || g.Paused {
			t.Errorf("look: %+v, %v", g, err)
		}
	})
}

// TestUnits: Go and the database name an aggregate's unit alike.
func TestUnits(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		for _, a := range []event.Aggregate{{Type: "Order", ID: "1"}, {Type: "O", ID: ""}, {Type: "ünï", ID: "🚀"},
			{Type: "a:b", ID: "c"}, {Type: "a", ID: "b:c"}, {Type: strings.Repeat("x", 255), ID: strings.Repeat("y", 255)}} {
			b.insert(b.raw, a, "{}")
		}
		b.must(b.claims.Join(t.Context(), "me", time.Minute))
		rows, _, err := b.rows.Pick(t.Context(), claims.Claim{Owner: "me", Token: 1, TTL: time.Minute},
			poller.Limit{Rows: 100})
		if err != nil || len(rows) != 6 {
			t.Fatalf("picked %d rows, %v", len(rows), err)
		}
		if again, _, err := b.rows.Pick(t.Context(), claims.Claim{Owner: "me", Token: 1, TTL: time.Minute},
			poller.Limit{Rows: 100}); err != nil || len(again) != 0 {
			t.Errorf("picked %d rows that are in flight, %v", len(again), err)
		}
		b.wantStates(event.Publishing, event.Publishing, event.Publishing, event.Publishing, event.Publishing,
			event.Publishing)
		var m event.Marks
		for i := range rows {
			m.Returned = append(m.Returned, rows[i].Ref)
			m.Freed = append(m.Freed, markedRow(&rows[i]).Aggregate)
		}
		b.must(b.rows.Settle(t.Context(), "me", 6, m))
		b.wantStates(event.Pending, event.Pending, event.Pending, event.Pending, event.Pending, event.Pending)
		if held, err := b.claims.Renew(t.Context(), "me", time.Minute); err != nil || held != 0 {
			t.Errorf("%d claims are left, %v", held, err)
		}
		// What is given up without a settlement is pending again.
		if rows, _, err = b.rows.Pick(t.Context(), claims.Claim{Owner: "me", Token: 1, TTL: time.Minute},
			poller.Limit{Rows: 100}); err != nil || len(rows) != 6 {
			t.Fatalf("picked %d rows, %v", len(rows), err)
		}
		b.must(b.claims.Release(t.Context(), "me", nil))
		b.wantStates(event.Pending, event.Pending, event.Pending, event.Pending, event.Pending, event.Pending)
	}, func(c *Config) { c.Strategy = claims.SkipLocked })
}
