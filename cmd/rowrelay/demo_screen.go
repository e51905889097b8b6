package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/rowrelay/rowrelay/demo"
	"github.com/rowrelay/rowrelay/state"
)

// greet says what is shown, and from where it goes on.
func (d *demoRun) greet(ctx context.Context, c *console, o demoOptions, url string) error {
	top, _, err := d.shop.Top(ctx)
	if err != nil {
		return err
	}
	snapshot, err := d.keeper.Load(ctx)
	fresh := errors.Is(err, state.ErrNotFound)
	if err != nil && !fresh {
		return fmt.Errorf("reading the state document in %s: %w: remove what is damaged with rowrelay demo --clean%s", o.dir, err, cleanFlags(o))
	}
	var lines []string
	if fresh {
		lines = append(lines, "There is no checkpoint yet: the relay starts at the beginning.")
		if top > 0 {
			lines = append(lines, fmt.Sprintf("The table holds %d versions already, which will all be delivered.", top))
		}
	} else {
		at, text := demo.Position(snapshot.Doc.Checkpoint.Cursor)
		if at > top {
			return fmt.Errorf("the checkpoint in %s is at version %d, but the shop's last version is %d: the table was removed or "+
				"restored, and new orders would not be seen. Start over with rowrelay demo --clean%s", o.dir, at, top, cleanFlags(o))
		}
		waiting, _, err := d.shop.Waiting(ctx, at)
		if err != nil {
			return err
		}
		beyond, err := d.receiver.Beyond(ctx, at)
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("Continuing at %s, fencing token %d. Orders written and not acknowledged yet: %d; of them arrived already: %d.",
			text, snapshot.Doc.Lease.FencingToken, waiting, beyond))
		if held := snapshot.Held(); held != nil {
			lines = append(lines, fmt.Sprintf("The last run was killed, or another one is at work: its lease can be taken in %s.", held.ExpiresIn.Round(100*time.Millisecond)))
		}
	}
	if c.json {
		return nil // machines read the numbers
	}
	_, err = fmt.Fprintf(c.out, `Rowrelay demo: orders written to table %s (%s, %s) become requests to %s.
%s

%s
Kept in %s, with the relay's log. Ctrl-C ends it and compares; kill -9 %d and a new start lose nothing.

`, d.shop.Table(), d.shop.engine, d.shop.place, url, disclosure, strings.Join(lines, "\n"), o.dir, os.Getpid())
	return err
}

// draw shows the demo until ctx or done ends: four times a second on a terminal, elsewhere once a second.
func (d *demoRun) draw(ctx context.Context, done <-chan struct{}) {
	ticker := time.NewTicker(d.screen.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-done:
			return
		case <-ticker.C:
			d.show(ctx)
		}
	}
}

// show draws one look.
func (d *demoRun) show(ctx context.Context) {
	v, err := d.look(ctx)
	if err != nil {
		d.note(ofScreen, err)
		return
	}
	d.note(ofScreen, nil)
	d.screen.show(v)
}

// look reads the counts where they are kept, so that two runs on one directory show the same.
func (d *demoRun) look(ctx context.Context) (*demo.View, error) {
	totals, err := d.receiver.Totals(ctx)
	if err != nil {
		return nil, err
	}
	top, _, err := d.shop.Top(ctx)
	if err != nil {
		return nil, err
	}
	v := &demo.View{Written: top, Received: totals.Kept(), Duplicates: totals.Duplicates, Inverted: totals.Inverted}
	at, text := d.position(ctx)
	v.Position = text
	var oldest time.Time
	if v.Waiting, oldest, err = d.shop.Waiting(ctx, at); err != nil {
		return nil, err
	}
	v.Arrived, v.Lag = d.receiver.Recent()
	if !oldest.IsZero() {
		v.Lag = max(v.Lag, time.Since(oldest))
	}
	d.mu.Lock()
	v.Sent = append([]demo.Order(nil), d.sent...)
	v.Trouble = strings.TrimSpace(strings.Join(d.trouble[:], "  "))
	d.mu.Unlock()
	return v, nil
}

// position reads the checkpoint; where it cannot be read, the beginning: the relay says what is wrong.
func (d *demoRun) position(ctx context.Context) (int64, string) {
	snapshot, err := d.keeper.Load(ctx)
	if err != nil {
		return demo.Position(nil)
	}
	return demo.Position(snapshot.Doc.Checkpoint.Cursor)
}

// demoScreen draws in place on a terminal, and otherwise writes a line for each look.
type demoScreen struct {
	out      io.Writer
	terminal *os.File // nil where there is none
	json     bool
	every    time.Duration
	drawn    int // lines of the block that stands there
	samples  []sample
}

// sample is what rates are taken from.
type sample struct {
	at                time.Time
	written, received int64
}

func newDemoScreen(c *console) *demoScreen {
	s := &demoScreen{out: c.out, json: c.json, every: time.Second}
	if f, ok := c.out.(*os.File); ok && !c.json && term.IsTerminal(int(f.Fd())) {
		s.terminal, s.every = f, 250*time.Millisecond
	}
	return s
}

// show draws a view. A screen that cannot be written to does not stop the demo: its end will say so.
func (s *demoScreen) show(v *demo.View) {
	s.rates(v)
	switch {
	case s.json:
		_, _ = fmt.Fprintln(s.out, v.JSON())
	case s.terminal == nil:
		_, _ = fmt.Fprintln(s.out, time.Now().Format(time.TimeOnly)+"  "+v.Line())
	default:
		width, height, err := term.GetSize(int(s.terminal.Fd()))
		if err != nil || width < 20 {
			width, height = 80, 24
		}
		// The block must fit, or moving up would stop at the upper edge and draw beside the old one.
		lines := v.Block(width, min(8, max(0, height-10)))
		var b strings.Builder
		if s.drawn > 0 {
			fmt.Fprintf(&b, "\x1b[%dA", s.drawn)
		}
		for _, line := range lines {
			b.WriteString("\r" + line + "\x1b[K\n")
		}
		b.WriteString("\x1b[J")
		s.drawn = len(lines)
		_, _ = io.WriteString(s.out, b.String())
	}
}

// rates fills in the rates over the last three seconds.
func (s *demoScreen) rates(v *demo.View) {
	now := sample{time.Now(), v.Written, v.Received}
	for len(s.samples) > 1 && now.at.Sub(s.samples[0].at) > 3*time.Second {
		s.samples = s.samples[1:]
	}
	s.samples = append(s.samples, now)
	if first := s.samples[0]; now.at.After(first.at) {
		seconds := now.at.Sub(first.at).Seconds()
		v.WriteRate = float64(now.written-first.written) / seconds
		v.ReceiveRate = float64(now.received-first.received) / seconds
	}
}

// end leaves the block as it stands, and a line between it and what follows.
func (s *demoScreen) end() {
	if s.terminal != nil {
		_, _ = fmt.Fprintln(s.out)
	}
}
