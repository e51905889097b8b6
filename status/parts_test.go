package status

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state/memstore"
)

// part observes a tick of one partition; -1 is the timer's, which found work.
func (p *process) part(n int, event poller.Event, work ...int) {
	r := &poller.Report{Poller: "orders", Event: event, Started: time.Now(), Ended: time.Now(), Drained: true,
		Share: &poller.Share{Partition: n, Work: work}}
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
		cfg.Outputs = []Subject{{Base: Output{Poller: "orders", Mode: mode.Outbox},
			Parts: partOf(func(context.Context) (func(*Output), error) { return func(*Output) {}, nil })}}
		if o := newBoard(cfg).Report(t.Context()).Outputs[0]; o.Health != want || !strings.Contains(o.Says, says) {
			t.Errorf("%s shows %s: %s; want %s: %s", name, o.Health, o.Says, want, says)
		}
	}
}

// TestAPartitionThatFailsIsSeen: the partition that ends last does not hide it, on whichever instance; its own next
// success does end it.
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
		pass(rereadEvery)
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
	quick.Skip(t)
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

// TestTheErrorIsOfAPartitionThatFails: not of another that has failed since, and recovered.
func TestTheErrorIsOfAPartitionThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		a, b := newProcess(t, "a", store), newProcess(t, "b", store)
		defer a.Close()
		defer b.Close()
		fail := func(p *process, n int, text string) {
			p.Observe(&poller.Report{Poller: "orders", Event: poller.HandlerFailed, Err: errors.New(text), Started: time.Now(),
				Ended: time.Now(),
				Share: &poller.Share{Partition: n}}, "mend "+text)
			pass(time.Second)
		}
		shown := func(says, mend string) {
			t.Helper()
			pass(noteEvery)
			fanned(t, store, Failing, says, a, b)
			o := newBoard(BoardConfig{App: "shop", Store: store, Bound: time.Second,
				Outputs: []Subject{{Base: Output{Poller: "orders"}}}}).Report(t.Context()).Outputs[0]
			if o.LastError == nil || o.LastError.Mend != mend {
				t.Errorf("%+v; want the mend %q", o.LastError, mend)
			}
		}
		a.part(-1, poller.TickComplete, 3, 5)
		fail(a, 3, "erp refuses")
		fail(b, 5, "a timeout")
		shown("Failing partitions: 3, 5. A tick failed (handler_failed) at", "mend a timeout")
		b.part(5, poller.TickComplete)
		shown("partition 3: erp refuses", "mend erp refuses")
		fail(b, 5, "another timeout")
		a.part(3, poller.TickComplete)
		shown("partition 5: another timeout", "mend another timeout")
	})
}

// TestANoteKeepsTheErrorsOfSomePartitions: of those that failed last, so that it can be read back; of the others it
// says where to look.
func TestANoteKeepsTheErrorsOfSomePartitions(t *testing.T) {
	n := Note{}
	for i := range maxErrors + 2 {
		r := tick(poller.HandlerFailed, time.Duration(i)*time.Second)
		r.Share, r.Err = &poller.Share{Partition: i}, errors.New(strings.Repeat("e", maxText))
		n, _ = n.after(r, strings.Repeat("m", maxText), "one")
	}
	kept := 0
	for _, p := range n.Parts {
		if p.Error != nil {
			kept++
			if len(p.Error.Text) > maxPartText || len(p.Error.Mend) > maxPartText {
				t.Errorf("%d and %d bytes", len(p.Error.Text), len(p.Error.Mend))
			}
		}
	}
	if kept != maxErrors || n.Parts["0"].Error != nil || n.problem() != n.LastError {
		t.Errorf("%d errors are kept; %+v", kept, n.problem())
	}
	for i := 2; i < maxErrors+2; i++ {
		r := tick(poller.TickComplete, time.Minute)
		r.Share = &poller.Share{Partition: i}
		n, _ = n.after(r, "", "one")
	}
	if e := n.problem(); e == nil || e.Text != "partition 1: the note does not say why, the log does" ||
		e.Event != "handler_failed" || e.At == nil {
		t.Errorf("%+v", e)
	}
}
