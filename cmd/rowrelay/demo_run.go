package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rowrelay/rowrelay/clock"
	"github.com/rowrelay/rowrelay/config"
	"github.com/rowrelay/rowrelay/demo"
	"github.com/rowrelay/rowrelay/handler"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/state"
)

// demoRun is one run of the demo: the parts, and what they last said of trouble.
type demoRun struct {
	shop     *demoShop
	receiver *demo.Receiver
	keeper   *state.Keeper
	relay    *handler.Handler
	screen   *demoScreen
	rate     int

	mu      sync.Mutex
	sent    []demo.Order
	trouble [3]string // by whom it is of
}

// Those who may have trouble.
const (
	ofRelay = iota
	ofWriter
	ofScreen
)

// runDemo is the command. Whatever ends it leaves the directory so that the next run can go on.
func runDemo(ctx context.Context, c *console, o demoOptions) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	if o.clean {
		return cleanDemo(ctx, c, o)
	}
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return fmt.Errorf("the demo's directory: %w: give another one with --dir", err)
	}
	shop, err := o.openShop()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.db.Close()) }()
	if err := shop.Create(ctx); err != nil {
		return err
	}
	receiver, err := demo.OpenReceiver(ctx, filepath.Join(o.dir, "receiver.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, receiver.Close()) }()
	url, stop, err := serveReceiver(ctx, receiver)
	if err != nil {
		return err
	}
	defer stop()
	logFile, err := os.OpenFile(filepath.Join(o.dir, "rowrelay.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("the demo's log: %w", err)
	}
	defer func() { err = errors.Join(err, logFile.Close()) }()

	inner := &console{environ: demoSettings(o, shop, url), out: io.Discard, err: io.Discard}
	cfg, _ := config.Load(inner.environ) // its error is the faults that the App holds
	a := wire(inner, cfg)
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := refuse(cfg, a.pollers); err != nil {
		return err
	}
	lifetime, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	log := slog.New(slog.NewTextHandler(logFile, nil))
	tell(ctx, log, a)
	d := &demoRun{
		shop: shop, receiver: receiver, keeper: a.pollers[0].outputs[0].keeper, rate: o.rate, screen: newDemoScreen(c),
		relay: handler.New(lifetime, handler.Config{Pollers: handlerOf(c, a, nil), Log: log}),
	}
	if err := d.greet(ctx, c, o, url); err != nil {
		return err
	}
	return d.run(ctx, c, o, end)
}

// serveReceiver gives the receiver a port of its own on loopback.
func serveReceiver(ctx context.Context, receiver http.Handler) (url string, stop func(), err error) {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("the demo's receiver cannot listen on 127.0.0.1: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /orders", receiver)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // what it may say is what the relay's failing requests say
	return "http://" + listener.Addr().String() + "/orders", func() { _ = server.Close() }, nil
}

// run writes, relays and draws until ctx or the time ends; then it waits for the rest, and compares.
func (d *demoRun) run(ctx context.Context, c *console, o demoOptions, end context.CancelCauseFunc) error {
	writing, stopWriting := context.WithCancel(ctx)
	defer stopWriting()
	if o.length > 0 {
		defer time.AfterFunc(o.length, stopWriting).Stop()
	}
	// What goes on after Ctrl-C must not be cancelled by it.
	after := context.WithoutCancel(ctx)
	ticking, stopTicking := context.WithCancel(after)
	defer stopTicking()
	var writer, ticks sync.WaitGroup
	writer.Go(func() { d.write(writing) })
	ticks.Go(func() { d.tick(ticking) })

	d.show(after)
	d.draw(after, writing.Done())
	stopWriting()
	writer.Wait()
	top, err := d.drain(after)
	stopTicking()
	end(errStopped)
	ticks.Wait()
	d.show(after)
	d.screen.end()
	if err != nil {
		return err
	}
	return d.conclude(after, c, o, top)
}

// write writes at the rate, in a transaction for what falls due within a twentieth of a second.
func (d *demoRun) write(ctx context.Context) {
	const beat = 50 * time.Millisecond
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	last, due := time.Now(), 0.0
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			due = min(due+now.Sub(last).Seconds()*float64(d.rate), float64(d.rate)) // after a stall, a second's worth
			last = now
		}
		if due < 1 {
			continue
		}
		orders, err := d.shop.Write(ctx, int(due))
		if ctx.Err() != nil {
			return
		}
		d.note(ofWriter, err)
		due -= float64(len(orders))
		d.mu.Lock()
		d.sent = append(d.sent, orders...)
		if n := len(d.sent) - 32; n > 0 {
			d.sent = append([]demo.Order(nil), d.sent[n:]...)
		}
		d.mu.Unlock()
	}
}

// tick gives the poller one tick after the other.
func (d *demoRun) tick(ctx context.Context) {
	for ctx.Err() == nil {
		reports, err := d.relay.Tick(ctx, "orders", handler.Invocation{})
		calm := err == nil
		for i := range reports {
			if r := &reports[i]; r.Failed() || r.Event == poller.LeaseAcquireSkipped {
				err, calm = fmt.Errorf("%s: %w", r.Event, r.Err), false
			}
		}
		d.note(ofRelay, err)
		if !calm {
			_ = clock.Sleep(ctx, 250*time.Millisecond)
		}
	}
}

// note keeps the last failure for the screen, until it is over.
func (d *demoRun) note(who int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trouble[who] = ""
	if err != nil {
		d.trouble[who] = err.Error()
	}
}

// drainPatience bounds the wait for what was written last: longer than a dead run's lease.
const drainPatience = 30 * time.Second

// drain waits until the checkpoint has reached the last version, which it returns: then everything up to there is
// acknowledged, whatever another run on this table goes on writing.
func (d *demoRun) drain(ctx context.Context) (int64, error) {
	top, _, err := d.shop.Top(ctx)
	if err != nil {
		return 0, err
	}
	patience, cancel := context.WithTimeout(ctx, drainPatience)
	defer cancel()
	arrived := make(chan struct{})
	go func() {
		defer close(arrived)
		for {
			if at, _ := d.position(patience); at >= top || clock.Sleep(patience, 50*time.Millisecond) != nil {
				return
			}
		}
	}()
	d.draw(patience, arrived)
	<-arrived
	return top, nil
}

// conclude compares both sides. What is missing after a clean end is a failure of the process.
func (d *demoRun) conclude(ctx context.Context, c *console, o demoOptions, top int64) error {
	totals, err := d.receiver.Totals(ctx)
	if err != nil {
		return err
	}
	result, err := demo.Compare(ctx, d.shop.Shop, d.receiver, top)
	if err != nil {
		return err
	}
	_, position := d.position(ctx)
	if c.json {
		_, err = fmt.Fprintln(c.out, result.JSON(totals, position))
	} else {
		_, err = fmt.Fprintf(c.out, "%s\nThe next run goes on at %s. Remove everything: rowrelay demo --clean%s\n",
			result.Summary(totals), position, cleanFlags(o))
	}
	if result.Missing > 0 {
		return &exitError{fmt.Errorf("%d orders are missing", result.Missing)}
	}
	return err
}

// cleanFlags are what --clean needs to find this demo again, without the connection string.
func cleanFlags(o demoOptions) string {
	switch {
	case o.connection != "":
		return " --dir " + o.dir + " --connection …"
	case o.dir != filepath.Join(".rowrelay", "demo"):
		return " --dir " + o.dir
	default:
		return ""
	}
}
