package status

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state/memstore"
)

// part observes a tick of one partition; -1 is the timer's, which found work.
func (p *process) part(n int, event poller.Event, work ...int) {
	r := &poller.Report{Poller: "orders", Event: event, Started: time.Now(), Ended: time.Now(), Drained: true, Share: &poller.Share{Partition: n, Work: work}}
	if r.Failed() {
		r.Err = errors.New("denied")
	}
	if event == poller.TickComplete && n >= 0 {
		r.Rows = 1
	}
	p.Observe(r, "mend it")
	synctest.Wait()
}

// fanned is what each of the processes, and one that does not tick, show.
func fanned(t *testing.T, store *memstore.Store, want Health, says string, all ...*process) {
	t.Helper()
	for _, p := range append(all, nil) {
		name, cfg := "one that does not tick", BoardConfig{App: "shop", Store: store, Bound: time.Second}
		if p != nil {
			name, cfg.Seen = p.name, p.Recorder
		}
		cfg.Outputs = []Subject{{Base: Output{Poller: "orders", Mode: outboxMode}, Parts: partOf(func(context.Context) (func(*Output), error) { return func(*Output) {}, nil })}}
		if o := NewBoard(cfg).Report(t.Context()).Outputs[0]; o.Health != want || !strings.Contains(o.Says, says) {
			t.Errorf("%s shows %s: %s; want %s: %s", name, o.Health, o.Says, want, says)
		}
	}
}

// TestAPartitionThatFailsIsSeen: the partition that ends last does not hide it, on whichever instance; its own next success does end it.
func TestAPartitionThatFailsIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := newProcess(t, "a", store), newProcess(t, "b", store)
		defer a.Close()
		defer b.Close()
		a.part(-1, poller.TickComplete, 2, 3, 4)
		a.part(3, poller.HandlerFailed)
		pass(time.Second)
		a.part(2, poller.TickComplete)
		b.part(4, poller.TickComplete)
		pass(noteEvery)
		a.part(-1, poller.TickComplete, 2, 3)
		a.part(2, poller.TickComplete)
		pass(5 * time.Minute)
		b.part(4, poller.TickComplete)
		pass(noteEvery)
		fanned(t, store, Failing, "A tick failed (handler_failed) at 2000-01-01 00:00:00 UTC: partition 3: denied", a, b)
		a.store.counts()
		b.store.counts()
		b.part(4, poller.FetchEmpty)
		pass(4 * time.Minute)
		b.want("nothing new: nobody writes again and again", 0, 0)
		b.part(2, poller.HandlerFailed)
		pass(noteEvery)
		fanned(t, store, Failing, "Failing partitions: 2, 3. A tick failed", a, b)
		b.part(2, poller.FetchEmpty)
		b.part(3, poller.TickComplete) // its next message was another instance's
		pass(noteEvery)
		fanned(t, store, Healthy, "", a, b)
	})
}

// TestAPartitionWithoutWorkFailsNoMore: its event was discarded, or all is paused; no tick of its own will ever say so.
func TestAPartitionWithoutWorkFailsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		timer, p := newProcess(t, "timer", store), newProcess(t, "p", store)
		defer timer.Close()
		defer p.Close()
		p.part(3, poller.HandlerFailed)
		p.part(5, poller.HandlerFailed)
		pass(time.Minute)
		timer.part(-1, poller.TickComplete, 5)
		pass(noteEvery)
		fanned(t, store, Failing, "A tick failed", timer, p)
		pass(lookEvery)
		timer.part(-1, poller.FetchEmpty)
		pass(noteEvery)
		fanned(t, store, Healthy, "", timer, p)
		timer.part(-1, poller.FetchFailed)
		p.part(5, poller.TickComplete)
		pass(noteEvery)
		fanned(t, store, Failing, "fetch_failed", timer, p)
		timer.part(-1, poller.Paused, 1)
		pass(noteEvery)
		fanned(t, store, Healthy, "", timer, p)
	})
}

// TestTheNoteOfManyPartitionsIsRead: as many as there may be, all of which have failed.
func TestTheNoteOfManyPartitionsIsRead(t *testing.T) {
	n := Note{}
	for i := range 1024 {
		r := tick(poller.CheckpointLoadFailed, time.Duration(i)*time.Microsecond)
		r.Share = &poller.Share{Partition: i}
		n, _ = n.after(r, strings.Repeat("m", maxText), "one")
	}
	data, err := n.encode()
	if err != nil || len(data) > maxNote/2 {
		t.Fatalf("%v: %d bytes", err, len(data))
	}
	if _, err := decodeNote(data); err != nil {
		t.Error(err)
	}
}
