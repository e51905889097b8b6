package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// Screen draws in place on a terminal, and otherwise writes a line for each view.
type Screen struct {
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

// NewScreen returns a screen: four views a second on a terminal, elsewhere one.
func NewScreen(out io.Writer, json bool) *Screen {
	s := &Screen{out: out, json: json, every: time.Second}
	if f, ok := out.(*os.File); ok && !json && term.IsTerminal(int(f.Fd())) {
		s.terminal, s.every = f, 250*time.Millisecond
	}
	return s
}

// draw shows the demo until ctx or done ends.
func (r *Run) draw(ctx context.Context, done <-chan struct{}) {
	ticker := time.NewTicker(r.Screen.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-done:
			return
		case <-ticker.C:
			r.show(ctx)
		}
	}
}

// show draws one view.
func (r *Run) show(ctx context.Context) {
	v, err := r.view(ctx)
	r.note(ofScreen, err)
	if err == nil {
		r.Screen.show(v)
	}
}

// show draws a view. A screen that cannot be written to does not stop the demo: its end will say so.
func (s *Screen) show(v *View) {
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
func (s *Screen) rates(v *View) {
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
func (s *Screen) end() {
	if s.terminal != nil {
		_, _ = fmt.Fprintln(s.out)
	}
}
