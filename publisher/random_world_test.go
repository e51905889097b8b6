package publisher

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

// world is a database, a broker and some instances, and what is to be known of them in the end.
type world struct {
	t    *testing.T
	db   *fakeDB
	cfg  feedConfig
	seed uint64

	mu       sync.Mutex
	rnd      *rand.Rand
	inFlight map[string]string // aggregate → who sends an event of it
	accepted map[int64]int
	batches  map[string]bool           // instance, batch and event, of what was accepted
	newest   map[event.Aggregate]int64 // the newest event that was accepted for the first time
	poison   map[int64]int             // seq → how many more times it is refused
	down     bool
	calm     bool // nothing goes wrong any more
	mixed    bool // instances have strategies of their own
	lossy    int  // of 1000 requests, how many answers are lost
	hang     int  // of 1000 requests, how many hang
	excuse   map[string]int
	notes    sync.Mutex
	history  []string
}

func (w *world) roll(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rnd.IntN(n)
}

func (w *world) note(format string, args ...any) {
	w.notes.Lock()
	defer w.notes.Unlock()
	w.history = append(w.history, fmt.Sprintf("%s ", time.Now().Format("05.000"))+fmt.Sprintf(format, args...))
}

// noted counts the notes that hold a text.
func (w *world) noted(text string) (n int) {
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
	w    *world
	name string
	dead chan struct{}
}

func (b *broker) Deliver(ctx context.Context, d change.Delivery) error {
	w := b.w
	probe := (w.cfg.Strategy == claims.SkipLocked || w.mixed) && strings.HasPrefix(d.BatchID, "probe")
	var marked []string
	w.mu.Lock()
	for i, e := range d.Events {
		// A witness against another event is evidence only, and not claimed for as long as it is sent: a probe under
		// skip_locked, and an accepted event that the tick repeats while its batch is settled.
		if !probe && !w.batches[fmt.Sprint(b.name, d.BatchID, seqOf(w.t, &d.Events[i]))] {
			if by := w.inFlight[string(e.OrderKey)]; by != "" && w.cfg.Ordering != poller.OrderNone {
				w.t.Errorf("seed %d: %s sends %s of %s while %s sends another", w.seed, b.name, e.Key, e.OrderKey, by)
			}
			w.inFlight[string(e.OrderKey)] = b.name
			marked = append(marked, string(e.OrderKey))
		}
		if strings.HasPrefix(d.BatchID, "probe") {
			w.excuse["probe"]++
		}
		w.note("%s sends %s of %s (%s, token %d)", b.name, e.Key, e.OrderKey, d.BatchID, d.Token)
	}
	lost, hangs, down, wait := w.rnd.IntN(1000) < w.lossy, !w.calm && w.rnd.IntN(1000) < w.hang, w.down,
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
		if w.roll(2) == 0 {
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

func (w *world) accept(by string, d change.Delivery, down bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if down {
		return poller.FailAll(len(d.Events), poller.Unavailable, 503, errors.New("down"))
	}
	var failed []poller.FailedEvent
	for i := range d.Events {
		seq := seqOf(w.t, &d.Events[i])
		if w.poison[seq] > 0 {
			w.poison[seq]--
			failed = append(failed, poller.FailedEvent{Index: i, Cause: poller.Refused, Status: 422, Named: true})
			continue
		}
		a := event.Aggregate{Type: d.Events[i].Outbox.AggregateType, ID: d.Events[i].Outbox.AggregateID}
		once := fmt.Sprint(by, d.BatchID, seq)
		if w.batches[once] {
			continue // the tick repeats what was accepted, as a witness against another event
		}
		w.batches[once] = true
		w.accepted[seq]++
		if w.accepted[seq] > 1 {
			continue
		}
		if w.newest[a] > seq && w.cfg.Ordering != poller.OrderNone {
			w.t.Errorf("seed %d: event %d of %v was first accepted after %d", w.seed, seq, a, w.newest[a])
		}
		w.newest[a] = max(w.newest[a], seq)
	}
	if len(failed) > 0 {
		return &poller.DeliveryError{Failed: failed, Err: errors.New("refused")}
	}
	return nil
}

func seqOf(t *testing.T, e *change.Event) int64 {
	t.Helper()
	seq, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(string(e.Key), `{"seq":`), "}"), 10, 64)
	if err != nil {
		t.Error(err)
	}
	return seq
}

// instance ticks until it crashes or the world ends.
func (w *world) instance(name string, open func(context.Context) (*feedOutbox, error), dead chan struct{},
	faults func() int, stop chan struct{}) {
	own := w.cfg
	if w.mixed {
		own.Strategy = []claims.Strategy{claims.Leader, claims.Partitioned, claims.SkipLocked}[w.roll(3)]
	}
	feed := newFeed(own, open)
	cfg := poller.Config{
		App: "app", Poller: "outbox", Feed: feed, To: &broker{w, name, dead}, Ordering: w.cfg.Ordering,
		Concurrency: 1 + w.roll(4),
		Fetch:       poller.Limit{Rows: 1 + w.roll(40), Bytes: 1 << 20}, RequestEvents: 1 + w.roll(5), RequestBytes: 1 << 20,
		Size: func(e *change.Event) int {
			return e.Size()
		}, RejectStatus: []int{422}, Retries: 1 + w.roll(2), Timeout: 2 * time.Second,
		Budget: time.Duration(2+w.roll(20)) * time.Second, PollInterval: 100 * time.Millisecond, PollIntervalMax: time.Second,
	}
	relay, err := poller.NewRelay(cfg)
	if err != nil {
		w.t.Error(err)
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
		report := relay.Tick(w.t.Context())
		w.mu.Lock()
		w.note("%s ends as %s: %v %v", name, report.Event, report.Err, report.Warnings)
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
			w.t.Errorf("seed %d: %s ended as %s: %v", w.seed, name, report.Event, report.Err)
		}
		w.mu.Unlock()
		time.Sleep(time.Duration(w.roll(500)) * time.Millisecond)
	}
}
