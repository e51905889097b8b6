package feedtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/claims"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// World is a broker and some instances of one feed, and what is to be known of them in the end.
type World struct {
	T        *testing.T
	Seed     uint64
	Strategy claims.Strategy
	Ordering poller.Ordering
	Mixed    bool // instances have strategies of their own
	// From is when an event may be sent; nil: at once.
	From func(seq int64) time.Time
	// Tick is the longest budget of a tick; 0: 22 s.
	Tick time.Duration

	mu     sync.Mutex // guards what follows
	rnd    *rand.Rand
	faults Faults

	inFlight map[string]string // aggregate → who sends an event of it
	accepted map[int64]int
	batches  map[string]bool           // instance, batch and event, of what was accepted
	newest   map[event.Aggregate]int64 // the newest event that was accepted for the first time
	excuse   map[string]int

	notes   sync.Mutex
	history []string
}

// Faults are what goes wrong at the broker.
type Faults struct {
	Poison map[int64]int // seq → how many more times it is refused
	Down   bool
	Calm   bool // nothing hangs any more
	Lossy  int  // of 1000 requests, how many answers are lost
	Hang   int  // of 1000 requests, how many hang
}

// NewWorld returns a world whose chance is rnd, which is its own from now on.
func NewWorld(t *testing.T, seed uint64, rnd *rand.Rand, faults Faults) *World {
	return &World{T: t, Seed: seed, rnd: rnd, faults: faults, inFlight: map[string]string{},
		accepted: map[int64]int{}, batches: map[string]bool{}, newest: map[event.Aggregate]int64{},
		excuse: map[string]int{}}
}

// Change changes what goes wrong.
func (w *World) Change(change func(*Faults)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.faults)
}

// Excuse counts something that may lead to duplicates. It returns how often there was something of the kind.
func (w *World) Excuse(why string, n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > 0 {
		w.excuse[why] += n
	}
	return w.excuse[why]
}

// Excuses are all of them.
func (w *World) Excuses() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.excuse)
}

// Accepted is how often an event was accepted.
func (w *World) Accepted(seq int64) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.accepted[seq]
}

// LogHistory shows what happened, where the test has failed.
func (w *World) LogHistory() {
	if !w.T.Failed() {
		return
	}
	w.notes.Lock()
	defer w.notes.Unlock()
	for _, line := range w.history {
		w.T.Log(line)
	}
}

// Roll draws a number below n.
func (w *World) Roll(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rnd.IntN(n)
}

// Note keeps a line of the history.
func (w *World) Note(format string, args ...any) {
	w.notes.Lock()
	defer w.notes.Unlock()
	w.history = append(w.history, fmt.Sprintf("%s ", time.Now().Format("05.000"))+fmt.Sprintf(format, args...))
}

// Noted counts the lines of the history that hold a text.
func (w *World) Noted(text string) (n int) {
	w.notes.Lock()
	defer w.notes.Unlock()
	for _, line := range w.history {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// broker is the output as one instance sees it.
type broker struct {
	w    *World
	name string
	dead chan struct{}
}

func (b *broker) Deliver(ctx context.Context, d change.Delivery) error {
	w := b.w
	var marked []string // one for each event: more than one of an order key may be sent together
	w.mu.Lock()
	for i, e := range d.Events {
		// An accepted event that the tick repeats, while its batch is settled, is evidence against another event only.
		if !w.batches[fmt.Sprint(b.name, d.BatchID, SeqOf(w.T, &d.Events[i]))] {
			if by := w.inFlight[string(e.OrderKey)]; by != "" && w.Ordering != poller.OrderNone &&
				!slices.Contains(marked, string(e.OrderKey)) {
				w.T.Errorf("seed %d: %s sends %s of %s while %s sends another", w.Seed, b.name, e.Key, e.OrderKey, by)
			}
			w.inFlight[string(e.OrderKey)] = b.name
			marked = append(marked, string(e.OrderKey))
		}
		if strings.HasPrefix(d.BatchID, "probe") {
			w.excuse["probe"]++
		}
		w.Note("%s sends %s of %s (%s, token %d)", b.name, e.Key, e.OrderKey, d.BatchID, d.Token)
		if w.From != nil && time.Now().Before(w.From(SeqOf(w.T, &d.Events[i]))) {
			w.T.Errorf("seed %d: %s sends %s before its time", w.Seed, b.name, e.Key)
		}
	}
	lost, hangs := w.rnd.IntN(1000) < w.faults.Lossy, !w.faults.Calm && w.rnd.IntN(1000) < w.faults.Hang
	down, wait := w.faults.Down,
		time.Duration(w.rnd.IntN(200))*time.Millisecond
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, key := range marked {
			delete(w.inFlight, key)
		}
	}()
	if hangs {
		wait = time.Hour
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.dead: // what was on its way arrives, or not
		if w.Roll(2) == 0 {
			_ = w.accept(b.name, d, down)
		}
		return errors.New("the process is gone")
	case <-ctx.Done():
		if lost {
			_ = w.accept(b.name, d, down)
		}
		return context.Cause(ctx)
	}
	err := w.accept(b.name, d, down)
	if lost {
		w.mu.Lock()
		w.excuse["lost answer"]++
		w.mu.Unlock()
		return errors.New("the answer was lost")
	}
	return err
}

func (w *World) accept(by string, d change.Delivery, down bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if down {
		return poller.FailAll(len(d.Events), poller.Unavailable, 503, errors.New("down"))
	}
	var failed []poller.FailedEvent
	for i := range d.Events {
		seq := SeqOf(w.T, &d.Events[i])
		a := event.Aggregate{Type: d.Events[i].Outbox.AggregateType, ID: d.Events[i].Outbox.AggregateID}
		if w.Ordering != poller.OrderNone && slices.ContainsFunc(failed, func(f poller.FailedEvent) bool {
			return string(d.Events[f.Index].OrderKey) == string(d.Events[i].OrderKey)
		}) {
			failed = append(failed, poller.FailedEvent{Index: i})
			continue
		}
		if w.faults.Poison[seq] > 0 {
			w.faults.Poison[seq]--
			failed = append(failed, poller.FailedEvent{Index: i, Cause: poller.Refused, Status: 422, Named: true})
			continue
		}
		once := fmt.Sprint(by, d.BatchID, seq)
		if w.batches[once] {
			continue // the tick repeats what was accepted, as a witness against another event
		}
		w.batches[once] = true
		w.accepted[seq]++
		if w.accepted[seq] > 1 {
			continue
		}
		if w.newest[a] > seq && w.Ordering != poller.OrderNone {
			w.T.Errorf("seed %d: event %d of %v was first accepted after %d", w.Seed, seq, a, w.newest[a])
		}
		w.newest[a] = max(w.newest[a], seq)
	}
	if len(failed) > 0 {
		return &poller.DeliveryError{Failed: failed, Err: errors.New("refused")}
	}
	return nil
}

// SeqOf is the seq of an event.
func SeqOf(t *testing.T, e *change.Event) int64 {
	t.Helper()
	seq, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(string(e.Key), `{"seq":`), "}"), 10, 64)
	if err != nil {
		t.Error(err)
	}
	return seq
}

// Instance ticks over a feed until it is dead, or stop is closed. faults counts what went wrong at its database.
func (w *World) Instance(name string, feedOf func(claims.Strategy) poller.Feed, dead chan struct{},
	faults func() int, stop chan struct{}) {
	strategy, longest := w.Strategy, cmp.Or(w.Tick, 22*time.Second)
	if w.Mixed {
		strategy = []claims.Strategy{claims.Leader, claims.Partitioned, claims.SkipLocked}[w.Roll(3)]
	}
	cfg := poller.Config{
		App: "app", Poller: "outbox", Feed: feedOf(strategy), To: &broker{w, name, dead}, Ordering: w.Ordering,
		Concurrency: 1 + w.Roll(4), KeyEvents: 1 + w.Roll(3),
		Fetch: poller.Limit{Rows: 1 + w.Roll(40), Bytes: 1 << 20}, RequestEvents: 1 + w.Roll(5), RequestBytes: 1 << 20,
		Size: func(e *change.Event) int {
			return e.Size()
		}, RejectStatus: []int{422}, Retries: 1 + w.Roll(2), Timeout: 2 * time.Second,
		Budget: longest * time.Duration(2+w.Roll(21)) / 22, PollInterval: 100 * time.Millisecond,
		PollIntervalMax: time.Second,
	}
	relay, err := poller.NewRelay(cfg)
	if err != nil {
		w.T.Error(err)
		return
	}
	for {
		select {
		case <-stop:
			return
		case <-dead:
			return
		default:
		}
		report := relay.Tick(w.T.Context())
		w.mu.Lock()
		w.Note("%s ends as %s: %v %v", name, report.Event, report.Err, report.Warnings)
		crashed := false
		select {
		case <-dead:
			crashed = true
		default:
		}
		if report.Event == poller.LostLease && !crashed {
			w.excuse["lost lease"]++
		}
		switch {
		case faults() > 0:
			w.excuse["fault"]++
		case crashed || w.excuse["stall"] > 0:
		case report.Event == poller.CommitFailed, report.Event == poller.FetchFailed, report.Event == poller.ConfigInvalid,
			report.Event == poller.LeaseAcquireFailed:
			w.T.Errorf("seed %d: %s ended as %s: %v", w.Seed, name, report.Event, report.Err)
		}
		w.mu.Unlock()
		time.Sleep(time.Duration(w.Roll(500)) * time.Millisecond)
	}
}
