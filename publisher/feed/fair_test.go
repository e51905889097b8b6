package feed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
	"github.com/rowrelay/rowrelay/publisher/feed/feedtest"
)

// queue is a receiver that takes 50 ms. It counts the events of the busy aggregate that it accepts.
type queue struct {
	mu       sync.Mutex
	busy     int
	accepted map[string]int // idempotency key → busy events that were accepted before
	order    map[string][]string
}

func (q *queue) Deliver(ctx context.Context, d change.Delivery) error {
	if err := clock.Sleep(ctx, 50*time.Millisecond); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range d.Events {
		if _, again := q.accepted[e.Outbox.IdempotencyKey]; !again {
			q.accepted[e.Outbox.IdempotencyKey] = q.busy
			q.order[e.Outbox.AggregateID] = append(q.order[e.Outbox.AggregateID], e.Outbox.IdempotencyKey)
		}
		if e.Outbox.AggregateID == "busy" {
			q.busy++
		}
	}
	return nil
}

func (q *queue) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.busy
}

func (db *fakeDB) backlog(n int) {
	for range n {
		db.add("busy")
	}
}

// TestBusyAggregateBesideOthers: while an aggregate has a backlog, an event of another one is accepted before five more
// of the busy one are. That is a quarter of a second: a poll, and a request.
func TestBusyAggregateBesideOthers(t *testing.T) {
	for name, cfg := range map[string]Config{
		"leader": testConfig(claims.Leader), "partitioned": testConfig(claims.Partitioned),
		"skip_locked": testConfig(claims.SkipLocked), "mapped": testConfig(claims.Leader),
	} {
		for _, backlog := range []int{70, 500, 3000}[:quick.Runs(3, 2)] { // a burst that one page has room for, and more
			t.Run(fmt.Sprintf("%s %d", name, backlog), func(t *testing.T) {
				in(t, func(t *testing.T, db *fakeDB) {
					db.mapped = name == "mapped"
					db.backlog(backlog)
					others := make([]string, 17)
					for i := range others {
						others[i] = fmt.Sprintf("other-%d", i)
					}
					others[5] = neighbour(db.at(1).bucket)
					table, to := db.connect(), &queue{accepted: map[string]int{}, order: map[string][]string{}}
					relay, err := poller.NewRelay(poller.Config{
						App: "shop", Poller: "outbox", Feed: New(cfg, table.open), To: to, Ordering: cfg.Ordering, Concurrency: 8,
						Fetch: poller.Limit{Rows: 500, Bytes: 1 << 20}, RequestEvents: 1, RequestBytes: 1 << 20,
						Size: (*change.Event).Size, Retries: 3, Timeout: 5 * time.Second, Budget: 5 * time.Second,
						PollInterval: 100 * time.Millisecond, PollIntervalMax: 100 * time.Millisecond,
					})
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithCancel(t.Context())
					ended := make(chan struct{})
					go func() {
						defer close(ended)
						for ctx.Err() == nil {
							relay.Tick(ctx)
						}
					}()
					written := map[string]int{}
					for i := range min(backlog/3, 60) {
						time.Sleep(101 * time.Millisecond)
						seq, commit := db.insert(others[i%17])
						written[fmt.Sprintf("key-%d", seq)] = to.count()
						commit()
					}
					time.Sleep(time.Second)
					cancel()
					<-ended
					for key, before := range written {
						after, ok := to.accepted[key]
						if !ok {
							t.Errorf("%s was not accepted", key)
						} else if after > before+5 {
							t.Errorf("%s was accepted after %d more of the busy aggregate", key, after-before)
						}
					}
					for id, keys := range to.order {
						if !slices.IsSortedFunc(keys, compareKeys) {
							t.Errorf("%s was accepted in the order %v", id, keys)
						}
					}
				})
			})
		}
	}
}

// neighbour is an aggregate of a bucket.
func neighbour(bucket int) string {
	db := newFakeDB()
	for n := int64(1); ; n++ {
		id := fmt.Sprintf("neighbour-%d", n)
		if db.add(id); db.at(n).bucket == bucket {
			return id
		}
	}
}

func compareKeys(a, b string) int {
	var x, y int
	_, _ = fmt.Sscanf(a, "key-%d", &x)
	_, _ = fmt.Sscanf(b, "key-%d", &y)
	return x - y
}

// TestBusyAggregateOfAnotherInstance: an instance whose only bucket is busy reads nothing else for its lanes, least of
// all what another instance has claimed.
func TestBusyAggregateOfAnotherInstance(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		cfg := testConfig(claims.Partitioned)
		cfg.Partitions = claims.Buckets
		db.backlog(300)
		for i := range 100 {
			db.add(fmt.Sprintf("other-%d", i))
		}
		table := db.connect()
		table.partitions = cfg.Partitions
		own := db.at(1).bucket
		s := openFeed(t, New(cfg, table.open).Partition(own), table)
		handedOut := 0
		for range 20 {
			g, err := s.Next(t.Context(), poller.Limit{Rows: 100, Bytes: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range g.Batch.Events {
				if handedOut++; e.Outbox.AggregateID != "busy" {
					t.Fatalf("an event of %s is read, whose bucket is not claimed", e.Outbox.AggregateID)
				}
			}
		}
		if handedOut != 50 {
			t.Errorf("%d events of one aggregate are in flight", handedOut)
		}
		s.End()
	})
}

// TestPartitionWithABusyAggregateMoves: the old owner reads nothing more of it, and the new one nothing before the old
// one has settled what it has in flight.
func TestPartitionWithABusyAggregateMoves(t *testing.T) {
	in(t, func(t *testing.T, db *fakeDB) {
		id := neighbour(claims.Buckets / 2) // of the half that the second instance gets
		for range 300 {
			db.add(id)
		}
		first, second := open(t, testConfig(claims.Partitioned), db.connect()),
			open(t, testConfig(claims.Partitioned), db.connect())
		fetch := func(d *driver) poller.Grant {
			t.Helper()
			g, err := d.Next(t.Context(), poller.Limit{Rows: 100, Bytes: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		g := fetch(first)
		if len(g.Batch.Events) != 50 {
			t.Fatalf("the first instance has %d in flight", len(g.Batch.Events))
		}
		second.Expect("") // it becomes a member
		time.Sleep(first.cfg.ClaimTTL / 3)
		for range 3 {
			if a, b := fetch(first), fetch(second); len(a.Batch.Events)+len(b.Batch.Events) > 0 {
				t.Fatalf("%d and %d events are fetched of a partition that moves", len(a.Batch.Events), len(b.Batch.Events))
			}
			time.Sleep(surveyIdle)
		}
		first.Settled(strings.Repeat("a", 50), g)
		if h := fetch(first); len(h.Batch.Events) != 0 {
			t.Fatalf("the first instance fetches %d of what it hands over", len(h.Batch.Events))
		}
		if h := fetch(second); len(h.Batch.Events) != 50 || feedtest.SeqOf(t, &h.Batch.Events[0]) != 51 {
			t.Errorf("the second instance fetches %d", len(h.Batch.Events))
		}
		first.End()
		second.End()
	})
}

// TestRowsReadBesideABacklog: a page reads about as many rows as it hands out, however long the backlog is.
func TestRowsReadBesideABacklog(t *testing.T) {
	quick.Skip(t)
	for _, strategy := range []claims.Strategy{claims.Leader, claims.Partitioned, claims.SkipLocked} {
		t.Run(string(strategy), func(t *testing.T) {
			in(t, func(t *testing.T, db *fakeDB) {
				db.backlog(5000)
				table := db.connect()
				s := open(t, testConfig(strategy), table)
				var all []poller.Grant
				for range 100 {
					db.add("a", "b")
					g, err := s.Next(t.Context(), poller.Limit{Rows: 500, Bytes: 1 << 20})
					if err != nil {
						t.Fatal(err)
					}
					if all = append(all, g); len(all) == 3 { // what is in flight is read again
						for _, g := range all {
							if n := len(g.Batch.Events); n > 0 {
								s.Settled(strings.Repeat("a", n), g)
							}
						}
						all = nil
					}
				}
				published := 0
				for _, state := range db.states() {
					if state == event.Published {
						published++
					}
				}
				if published < 198+33*maxOfOne/2 {
					t.Errorf("%d are published", published)
				}
				if table.read > 5*published {
					t.Errorf("%d rows are read, and %d published", table.read, published)
				}
				s.End()
			})
		})
	}
}

// TestAPageKeepsToItsLimit: a fetch is asked for more than a page takes, by what is in flight. What that was not needed
// for comes with a later page, and no page is larger than the memory that was left for it.
func TestAPageKeepsToItsLimit(t *testing.T) {
	all := make([]event.Row, 6)
	for i := range all {
		all[i] = event.Row{Ref: event.Ref{Seq: int64(i)}, Outbox: change.Outbox{Payload: []byte("four")}}
	}
	s := &session{shared: &shared{}}
	s.inFlight.events = map[event.Ref]sent{{Seq: 0}: {bytes: 4}, {Seq: 2}: {bytes: 4}}
	for name, c := range map[string]struct {
		limit poller.Limit
		want  []int64
		more  bool
	}{
		"by bytes":               {poller.Limit{Rows: 9, Bytes: 8}, []int64{1, 3}, true},
		"by rows":                {poller.Limit{Rows: 3, Bytes: 99}, []int64{1, 3, 4}, true},
		"the first is too large": {poller.Limit{Rows: 9, Bytes: 3}, []int64{1}, true},
		"without a bound":        {poller.Limit{Rows: 9}, []int64{1, 3, 4, 5}, false},
	} {
		got, more := s.fresh(slices.Clone(all), c.limit, false)
		var seqs []int64
		for _, r := range got {
			seqs = append(seqs, r.Ref.Seq)
		}
		if !slices.Equal(seqs, c.want) || more != c.more {
			t.Errorf("%s: %v, more %v", name, seqs, more)
		}
	}
}
