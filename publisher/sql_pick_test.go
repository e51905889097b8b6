package publisher

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/engine/statement"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// TestPickTogether has eight owners pick from one outbox while four writers, which lock the aggregate first, write to
// it and roll some of it back. Owners publish a part of what they got, give some back, let some fail, and at times
// vanish. No aggregate is held by two, and the events of each are published by seq.
func TestPickTogether(t *testing.T) {
	everyEngine(t, func(t *testing.T, b *bench) {
		const owners, writers, aggregates, perWriter = 8, 4, 12, 40
		b.exec("CREATE TABLE aggregates (id integer PRIMARY KEY, n integer)")
		for i := range aggregates {
			b.exec(fmt.Sprintf("INSERT INTO aggregates VALUES (%d, 0)", i))
		}
		r := &record{tb: t, held: map[event.Aggregate]string{}, last: map[event.Aggregate]int64{}}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
		defer cancel()
		var writing, picking sync.WaitGroup
		for w := range writers {
			writing.Go(func() {
				random := rand.New(rand.NewPCG(7, uint64(w)))
				for range perWriter {
					b.writeLocked(ctx, random.IntN(aggregates), random.IntN(5) == 0)
				}
			})
		}
		var done atomic.Bool
		for o := range owners {
			table := b.open()
			random := rand.New(rand.NewPCG(8, uint64(o)))
			picking.Go(func() {
				for life := 0; !done.Load() && ctx.Err() == nil; life++ {
					r.work(ctx, table, fmt.Sprintf("owner-%d-%d", o, life), random, &done)
				}
			})
		}
		writing.Wait()
		for ctx.Err() == nil {
			if _, err := b.rows.Mend(ctx); err != nil {
				t.Error(err)
			}
			left := 0
			for _, s := range b.states() {
				if s != event.Published {
					left++
				}
			}
			if left == 0 {
				break
			}
			wait(ctx, 50*time.Millisecond)
		}
		done.Store(true)
		picking.Wait()
		if ctx.Err() != nil {
			t.Fatalf("not all was published in time: %v", b.states())
		}
		if n := int64(len(b.states())); r.published.Load() < n || n == 0 {
			t.Errorf("published %d events of %d", r.published.Load(), n)
		}
		t.Logf("%d events, %d publications, %d failures, %d vanished owners", len(b.states()), r.published.Load(),
			r.failed.Load(), r.vanished.Load())
	}, func(c *Config) { c.Strategy = claims.SkipLocked; c.Connections = 2 })
}

// writeLocked is an application's transaction: it locks the aggregate, writes an event, and commits or not.
func (b *bench) writeLocked(ctx context.Context, id int, rollback bool) {
	err := b.db.Tx(ctx, "write", func(ctx context.Context, q statement.Querier) error {
		if _, err := q.ExecContext(ctx, fmt.Sprintf("UPDATE aggregates SET n = n + 1 WHERE id = %d", id)); err != nil {
			return err
		}
		b.insert(q, event.Aggregate{Type: "A", ID: fmt.Sprint(id)}, "{}")
		if rollback {
			return errRollback
		}
		return nil
	})
	if err != nil && !rollback {
		b.tb.Error(err)
	}
}

var errRollback = fmt.Errorf("rolled back")

// record checks what owners do.
type record struct {
	tb                          testing.TB
	mu                          sync.Mutex
	held                        map[event.Aggregate]string
	last                        map[event.Aggregate]int64 // the last seq that was published
	published, failed, vanished atomic.Int64
}

// work is one life of an owner: it ends when all is done, or when the owner vanishes with what it holds.
func (r *record) work(ctx context.Context, table *instance, owner string, random *rand.Rand, done *atomic.Bool) {
	token, err := table.claims.Draw(ctx)
	if err == nil {
		err = table.claims.Join(ctx, owner, time.Minute)
	}
	if err != nil {
		if ctx.Err() == nil {
			r.tb.Error(err)
		}
		return
	}
	for !done.Load() && ctx.Err() == nil {
		vanishes := random.IntN(15) == 0
		ttl := time.Minute
		if vanishes {
			ttl = 300 * time.Millisecond
		}
		rows, _, err := table.rows.Pick(ctx, claims.Claim{Owner: owner, Token: token, TTL: ttl},
			poller.Limit{Rows: 1 + random.IntN(12)})
		if err == nil && len(rows) == 0 {
			rows, _, err = table.rows.Due(ctx, nil, poller.Limit{Rows: 5}, claims.Claim{Owner: owner, Token: token, TTL: ttl})
		}
		if err != nil {
			if ctx.Err() == nil {
				r.tb.Errorf("%s: %v", owner, err)
			}
			return
		}
		if len(rows) == 0 {
			wait(ctx, 20*time.Millisecond)
			continue
		}
		if vanishes {
			r.vanished.Add(1)
			return // without a word: its claims expire
		}
		if m := r.handle(owner, rows, random); r.settle(ctx, table, owner, m) != nil {
			return
		}
	}
}

func (r *record) settle(ctx context.Context, table *instance, owner string, m event.Marks) error {
	r.mu.Lock()
	for _, a := range m.Freed { // before the settlement, after which another may have them
		delete(r.held, a)
	}
	r.mu.Unlock()
	err := table.rows.Settle(ctx, owner, len(m.Freed), m)
	if err != nil && ctx.Err() == nil {
		r.tb.Errorf("%s: %v", owner, err)
	}
	return err
}

// handle checks rows that were handed out and decides what becomes of them.
func (r *record) handle(owner string, rows []event.Row, random *rand.Rand) (m event.Marks) {
	r.mu.Lock()
	defer r.mu.Unlock()
	stopped := map[event.Aggregate]bool{} // an earlier event of it was not published
	seen := map[event.Aggregate]int64{}
	for i := range rows {
		a := markedRow(&rows[i]).Aggregate
		if seen[a] == 0 {
			if other, ok := r.held[a]; ok {
				r.tb.Errorf("%s and %s hold %v at once", other, owner, a)
			}
			r.held[a] = owner
			m.Freed = append(m.Freed, a)
		}
		if rows[i].Ref.Seq <= seen[a] {
			r.tb.Errorf("%v: seq %d was handed out after %d", a, rows[i].Ref.Seq, seen[a])
		}
		seen[a] = rows[i].Ref.Seq
		switch dice := random.IntN(10); {
		case rows[i].Waits:
			m.Waiting = append(m.Waiting, markedRow(&rows[i]))
			stopped[a] = true
		case stopped[a] && len(m.Failed) > 0:
			m.Waiting = append(m.Waiting, markedRow(&rows[i]))
		case stopped[a], dice == 0:
			m.Returned = append(m.Returned, rows[i].Ref)
			stopped[a] = true
		case dice == 1 && rows[i].Attempts < 3:
			m.Failed = append(m.Failed, event.Failure{Marked: markedRow(&rows[i]), Attempts: rows[i].Attempts + 1,
				Delay: time.Duration(random.IntN(50)) * time.Millisecond})
			stopped[a] = true
			r.failed.Add(1)
		default:
			if rows[i].Ref.Seq <= r.last[a] {
				r.tb.Errorf("%v: seq %d is published after %d", a, rows[i].Ref.Seq, r.last[a])
			}
			r.last[a] = rows[i].Ref.Seq
			r.published.Add(1)
			if rows[i].Attempts > 0 {
				m.Retried = append(m.Retried, markedRow(&rows[i]))
			} else {
				m.Published = append(m.Published, rows[i].Ref)
			}
		}
	}
	return m
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
