package publisher

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/alive"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// TestTokens: every take has a token of its own, larger than those before, even if it claims nothing.
func TestTokens(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		var mu sync.Mutex
		var tokens []uint64
		var group sync.WaitGroup
		for range 4 {
			other := b.open()
			group.Go(func() {
				var last uint64
				for range 5 {
					got, err := other.claims.Take(t.Context(), "me", time.Minute, false, just())
					if err != nil || got.Token <= last {
						t.Errorf("got the token %d after %d, %v", got.Token, last, err)
					}
					last = got.Token
					mu.Lock()
					tokens = append(tokens, got.Token)
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

// just chooses partitions whatever the survey says.
func just(partitions ...int) func(*claims.Survey) []int {
	return func(*claims.Survey) []int { return partitions }
}

// take claims partitions.
func (b *bench) take(owner string, ttl time.Duration, partitions ...int) claims.Taken {
	b.tb.Helper()
	got, err := b.claims.Take(context.Background(), owner, ttl, true, just(partitions...))
	b.must(err)
	return got
}

// TestTakeOver: a claim is its owner's until it expires or is given back, and nobody's marks count after that but the
// next one's.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		b.write("O/1", "O/2")
		rows := b.all()
		wants := func(got claims.Taken, want ...int) {
			t.Helper()
			if !slices.Equal(got.Partitions, want) {
				t.Errorf("got %v, want %v", got.Partitions, want)
			}
		}
		first := b.take("old", time.Minute, 0, 2, 1)
		wants(first, 0, 1, 2)
		second := b.take("new", time.Minute, 0, 3)
		wants(second, 3)
		if second.Token <= first.Token {
			t.Errorf("tokens %d, %d", first.Token, second.Token)
		}
		wants(b.take("old", time.Minute, 0, 1, 3), 0, 1) // its own, by an answer that was lost
		b.must(b.claims.Release(ctx, "old", []int{1, 3}))
		wants(b.take("new", time.Minute, 0, 1), 1)
		if n, err := b.claims.Renew(ctx, "old", []int{0, 1, 2, 3}, 100*time.Millisecond); err != nil || n != 3 {
			t.Errorf("old has renewed %d, %v; want two partitions and its membership", n, err)
		}
		// It freezes. The other waits until the claims have expired.
		programtest.Until(t, "the claims expire", func() bool { return len(b.take("new", time.Minute, 0).Partitions) == 1 })
		// Every way to mark is refused, and changes nothing.
		one := []event.Marked{markedRow(&rows[0])}
		for name, m := range map[string]event.Marks{
			"published": {Published: []event.Ref{rows[0].Ref, rows[1].Ref}}, "retried": {Retried: one},
			"waiting": {Waiting: one},
			"failed":  {Failed: []event.Failure{{Marked: one[0], Attempts: 1, Dead: true}}},
		} {
			if err := b.rows.Settle(ctx, "old", 2, m); !errors.Is(err, claims.ErrLost) {
				t.Errorf("%s: settle of a lost owner returned %v, want errLost", name, err)
			}
		}
		b.wantStates(event.Pending, event.Pending)
		if n, err := b.claims.Renew(ctx, "old", []int{0, 2}, time.Minute); err != nil || n != 0 {
			t.Errorf("old has renewed %d, %v: what expired is not renewed", n, err)
		}
		b.must(b.rows.Settle(ctx, "new", 3, event.Marks{Published: []event.Ref{rows[0].Ref}}))
		b.wantStates(event.Published, event.Pending)
		// Everything is given back.
		b.must(b.claims.Release(ctx, "new", nil))
		wants(b.take("third", time.Minute, 0, 1, 2, 3), 0, 1, 2, 3)
	})
}

// dead are marks of which those in the map have died, so long ago.
type dead map[string]time.Duration

func (d dead) Own() string { return "" }

func (d dead) Died(mark string) (time.Duration, bool) { ago, died := d[mark]; return ago, died }

// TestTakeOverFromTheDead: the claims of an owner that is known to have died are free after a grace, long before they
// expire; those of others, and of one that has just died, are not.
func TestTakeOverFromTheDead(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		b.take("shop/a#OLD.1", time.Hour, 0)
		b.take("shop/a#JUST.1", time.Hour, 1)
		b.take("shop/a#LIVES.1", time.Hour, 2)
		token := b.take("shop/a#NONE", time.Hour, 3).Token
		want := func(got claims.Survey, members ...string) {
			t.Helper()
			if _, held := got.Held[0]; held || len(got.Held) != 3 || !slices.Equal(got.Members, members) {
				t.Errorf("it sees %+v", got)
			}
		}
		next := b.open(func(cfg *Config) {
			cfg.Alive = dead{"OLD": alive.Grace, "JUST": alive.Grace - time.Millisecond}
		})
		found, err := next.claims.Survey(t.Context())
		b.must(err)
		others := []string{"shop/a#JUST.1", "shop/a#LIVES.1", "shop/a#NONE"}
		want(found, others...)
		got, err := next.claims.Take(t.Context(), "shop/b#NEW.1", time.Hour, true, just(0, 1, 2, 3))
		b.must(err)
		want(got.Survey, others...)
		if !slices.Equal(got.Partitions, []int{0}) || got.Token <= token {
			t.Errorf("it took %v under %d, after %d", got.Partitions, got.Token, token)
		}
		if n, err := b.claims.Renew(t.Context(), "shop/a#OLD.1", []int{0}, time.Hour); err != nil || n != 0 {
			t.Errorf("the dead one has renewed %d, %v", n, err)
		}
	})
}

// TestSurvey: the number of partitions changes only where nothing is live.
func TestSurvey(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		want := func(who *instance, want claims.Survey) {
			t.Helper()
			s, err := who.claims.Survey(ctx)
			b.must(err)
			if diff := cmp.Diff(want, s); diff != "" {
				t.Errorf("survey (-want +got):\n%s", diff)
			}
		}
		none := map[int]string{}
		other := b.open(func(c *Config) { c.Partitions = 32 })
		want(b.instance, claims.Survey{Partitions: 4, Held: none})
		want(other, claims.Survey{Partitions: 32, Held: none})
		b.take("a", time.Minute)
		want(other, claims.Survey{Partitions: 4, Held: none, Members: []string{"a"}, Owners: []string{"a"}})
		b.take("a", time.Minute, 1, 3)
		got, err := other.claims.Take(ctx, "b", time.Minute, false, func(s *claims.Survey) []int { return s.Free("b", nil) })
		if err != nil || got.Survey.Partitions != 4 || !slices.Equal(got.Partitions, []int{0, 2}) {
			t.Fatalf("b got %+v, %v", got, err)
		}
		want(b.instance, claims.Survey{Partitions: 4, Held: map[int]string{0: "b", 1: "a", 2: "b", 3: "a"},
			Members: []string{"a"}, Owners: []string{"a", "b"}})
		b.must(b.claims.Release(ctx, "a", nil))
		b.must(b.claims.Release(ctx, "b", nil))
		if got, err = other.claims.Take(ctx, "b", time.Minute, false, just(31)); err != nil || len(got.Partitions) != 1 {
			t.Errorf("b got %+v, %v", got, err)
		}
		want(b.instance, claims.Survey{Partitions: 32, Held: map[int]string{31: "b"}, Owners: []string{"b"}})
		g, err := b.rows.Look(ctx)
		if err != nil || g.Partitions != 32 || g.Paused {
			t.Errorf("look: %+v, %v", g, err)
		}
	}, func(c *Config) { c.Partitions = 4 })
}

func TestPause(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		b.must(b.claims.Pause(t.Context(), "ann at noon: maintenance"))
		b.must(b.claims.Pause(t.Context(), "bob"))
		if g, err := b.rows.Look(t.Context()); err != nil || !g.Paused || g.By != "bob" {
			t.Errorf("look: %+v, %v", g, err)
		}
		if s, err := b.claims.Survey(t.Context()); err != nil || len(s.Owners) > 0 {
			t.Errorf("a pause is a claim: %+v, %v", s, err)
		}
		b.must(b.claims.Resume(t.Context()))
		if g, err := b.rows.Look(t.Context()); err != nil || g.Paused {
			t.Errorf("look: %+v, %v", g, err)
		}
	})
}

// TestTakeTogether has owners take partitions, renew them, give them back and at times vanish, all at once. No
// partition is held by two.
func TestTakeTogether(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, b *bench) {
		const owners, rounds = 4, 12
		var mu sync.Mutex
		held := map[int]string{}
		var group sync.WaitGroup
		work := func(table *instance, owner string, random *rand.Rand) (vanished bool) {
			ttl := time.Minute
			if vanished = random.IntN(8) == 0; vanished {
				ttl = 300 * time.Millisecond
			}
			got, err := table.claims.Take(t.Context(), owner, ttl, true, func(s *claims.Survey) []int {
				free := s.Free(owner, nil)
				random.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
				return free[:min(len(free), 1+random.IntN(6))]
			})
			if err != nil {
				t.Errorf("%s: %v", owner, err)
				return true
			}
			mu.Lock()
			for _, i := range got.Partitions {
				if by := held[i]; by != "" {
					t.Errorf("%s and %s hold partition %d", by, owner, i)
				}
				if !vanished {
					held[i] = owner
				}
			}
			mu.Unlock()
			if vanished {
				return true
			}
			if n, err := table.claims.Renew(t.Context(), owner, got.Partitions, time.Minute); err != nil ||
				n != len(got.Partitions)+1 {
				t.Errorf("%s has renewed %d of %d, %v", owner, n, len(got.Partitions), err)
			}
			_ = clock.Sleep(t.Context(), time.Duration(random.IntN(10))*time.Millisecond) // the pace of a batch
			mu.Lock()
			for _, i := range got.Partitions {
				delete(held, i)
			}
			mu.Unlock()
			if err := table.claims.Release(t.Context(), owner, got.Partitions); err != nil {
				t.Errorf("%s: %v", owner, err)
			}
			return false
		}
		for o := range owners {
			table, random := b.open(), rand.New(rand.NewPCG(8, uint64(o)))
			group.Go(func() {
				for round, life := 0, 0; round < rounds && !t.Failed(); round++ {
					if work(table, fmt.Sprintf("owner-%d-%d", o, life), random) {
						life++
					}
				}
			})
		}
		group.Wait()
	}, func(c *Config) { c.Partitions, c.Connections = 16, 2 })
}
