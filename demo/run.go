package demo

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/clock"
)

// Relay is what stands between the shop and the receiver.
type Relay interface {
	// Tick runs one tick, and returns why it did not do its work.
	Tick(ctx context.Context) error
	// Checkpoint reads how far it has come.
	Checkpoint(ctx context.Context) (Checkpoint, error)
}

// Checkpoint is how far a relay has come.
type Checkpoint struct {
	None   bool // there is none yet
	Cursor []byte
	Token  uint64
	// Held is how long another run may still have the lease; 0: it is free.
	Held time.Duration
}

// Run is one run of the demo: the parts, and what they last said of trouble.
type Run struct {
	Shop     *Shop
	Receiver *Receiver
	Relay    Relay
	Screen   *Screen
	Rate     int           // writes a second
	For      time.Duration // how long it writes; 0 is until it is told to end

	mu      sync.Mutex
	sent    []Order
	trouble [3]string // by whom it is of
}

// Those who may have trouble.
const (
	ofRelay = iota
	ofWriter
	ofScreen
)

// Beginning is where a run goes on.
type Beginning struct {
	Checkpoint
	At, Top  int64  // the checkpoint's version, and the shop's last
	Position string // the checkpoint for people
	Waiting  int64  // orders that are not acknowledged
	Beyond   int64  // those of them that have arrived already
}

// Begin finds out where the run goes on. At is above Top where the checkpoint is another table's.
func (r *Run) Begin(ctx context.Context) (b Beginning, err error) {
	if b.Top, _, err = r.Shop.Top(ctx); err != nil {
		return b, err
	}
	if b.Checkpoint, err = r.Relay.Checkpoint(ctx); err != nil {
		return b, err
	}
	b.At, b.Position = Position(b.Cursor)
	if b.None || b.At > b.Top {
		return b, nil
	}
	if b.Waiting, _, err = r.Shop.Waiting(ctx, b.At); err != nil {
		return b, err
	}
	b.Beyond, err = r.Receiver.Beyond(ctx, b.At)
	return b, err
}

// Ending is what both sides hold in the end.
type Ending struct {
	Comparison
	Totals   Totals
	Position string
}

// Do writes, relays and draws until ctx or the time ends; then it waits for the rest, and compares. stop ends the ticks
// under way.
func (r *Run) Do(ctx context.Context, stop func()) (Ending, error) {
	writing, stopWriting := context.WithCancel(ctx)
	defer stopWriting()
	if r.For > 0 {
		defer time.AfterFunc(r.For, stopWriting).Stop()
	}
	// What goes on after Ctrl-C must not be cancelled by it.
	after := context.WithoutCancel(ctx)
	ticking, stopTicking := context.WithCancel(after)
	defer stopTicking()
	var writer, ticks sync.WaitGroup
	writer.Go(func() { r.write(writing) })
	ticks.Go(func() { r.tick(ticking) })

	r.show(after)
	r.draw(after, writing.Done())
	stopWriting()
	writer.Wait()
	top, err := r.drain(after)
	stopTicking()
	stop()
	ticks.Wait()
	r.show(after)
	r.Screen.end()
	if err != nil {
		return Ending{}, err
	}
	return r.end(after, top)
}

// write writes at the rate, in a transaction for what falls due within a twentieth of a second.
func (r *Run) write(ctx context.Context) {
	const beat = 50 * time.Millisecond
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	last, due := time.Now(), 0.0
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			due = min(due+now.Sub(last).Seconds()*float64(r.Rate), float64(r.Rate)) // after a stall, a second's worth
			last = now
		}
		if due < 1 {
			continue
		}
		orders, err := r.Shop.Write(ctx, int(due))
		if ctx.Err() != nil {
			return
		}
		r.note(ofWriter, err)
		due -= float64(len(orders))
		r.mu.Lock()
		r.sent = append(r.sent, orders...)
		if n := len(r.sent) - remembered; n > 0 {
			r.sent = append([]Order(nil), r.sent[n:]...)
		}
		r.mu.Unlock()
	}
}

// tick gives the relay one tick after the other.
func (r *Run) tick(ctx context.Context) {
	for ctx.Err() == nil {
		err := r.Relay.Tick(ctx)
		r.note(ofRelay, err)
		if err != nil {
			_ = clock.Sleep(ctx, 250*time.Millisecond) // the loop sees that ctx has ended
		}
	}
}

// note keeps the last failure for the screen, until it is over.
func (r *Run) note(who int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trouble[who] = ""
	if err != nil {
		r.trouble[who] = err.Error()
	}
}

// drainPatience bounds the wait for what was written last: longer than a dead run's lease.
const drainPatience = 30 * time.Second

// drain waits until the checkpoint has reached the last version, which it returns: then everything up to there is
// acknowledged, whatever another run on this table goes on writing.
func (r *Run) drain(ctx context.Context) (int64, error) {
	top, _, err := r.Shop.Top(ctx)
	if err != nil {
		return 0, err
	}
	patience, cancel := context.WithTimeout(ctx, drainPatience)
	defer cancel()
	arrived := make(chan struct{})
	go func() {
		defer close(arrived)
		for {
			if at, _ := r.position(patience); at >= top || clock.Sleep(patience, 50*time.Millisecond) != nil {
				return
			}
		}
	}()
	r.draw(patience, arrived)
	<-arrived
	return top, nil
}

// end compares both sides.
func (r *Run) end(ctx context.Context, top int64) (e Ending, err error) {
	if e.Totals, err = r.Receiver.Totals(ctx); err != nil {
		return e, err
	}
	if e.Comparison, err = Compare(ctx, r.Shop, r.Receiver, top); err != nil {
		return e, err
	}
	_, e.Position = r.position(ctx)
	return e, nil
}

// view reads the counts where they are kept, so that two runs on one directory show the same.
func (r *Run) view(ctx context.Context) (*View, error) {
	totals, err := r.Receiver.Totals(ctx)
	if err != nil {
		return nil, err
	}
	top, _, err := r.Shop.Top(ctx)
	if err != nil {
		return nil, err
	}
	v := &View{Written: top, Received: totals.Kept(), Duplicates: totals.Duplicates, Inverted: totals.Inverted}
	at, text := r.position(ctx)
	v.Position = text
	var oldest time.Time
	if v.Waiting, oldest, err = r.Shop.Waiting(ctx, at); err != nil {
		return nil, err
	}
	v.Arrived, v.Lag = r.Receiver.Recent()
	if !oldest.IsZero() {
		v.Lag = max(v.Lag, time.Since(oldest))
	}
	r.mu.Lock()
	v.Sent = append([]Order(nil), r.sent...)
	v.Trouble = strings.TrimSpace(strings.Join(r.trouble[:], "  "))
	r.mu.Unlock()
	return v, nil
}

// position reads the checkpoint; where it cannot be read, the beginning: the relay says what is wrong.
func (r *Run) position(ctx context.Context) (int64, string) {
	c, err := r.Relay.Checkpoint(ctx)
	if err != nil {
		return Position(nil)
	}
	return Position(c.Cursor)
}

// Serve gives the receiver a port of its own on loopback.
func (r *Receiver) Serve(ctx context.Context) (url string, stop func(), err error) {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("the demo's receiver cannot listen on 127.0.0.1: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /orders", r)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // what it may say is what the relay's failing requests say
	return "http://" + listener.Addr().String() + "/orders", func() { _ = server.Close() }, nil
}
