// Package stdout writes events as JSON lines: one event for each line, in the single form of output__format, or for a
// payload the form that it has in a batch (output__kind=stdout). It is for trying out and for pipes:
//
//	rowrelay run | jq .data
//
// Lines are whole: concurrent deliveries never mix. An event is accepted when the writer took all of its line; what the
// operating system does with it afterwards (a pipe whose reader dies) is not seen here. A reader that stands still
// holds the write, and with it every delivery, until it reads on: a write cannot be cancelled.
package stdout

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
)

// Output implements poller.Output. It is safe for concurrent use.
type Output struct {
	format change.Format
	mu     sync.Mutex // guards what follows and the order of lines
	w      io.Writer
	buf    []byte
	torn   bool // the last write ended inside a line
}

// New returns an output that writes to w.
func New(w io.Writer, format change.Format) *Output { return &Output{format: format, w: w} }

// maxKept keeps one huge batch from staying in memory for ever.
const maxKept = 4 << 20

// Deliver writes the events of d as one write. A write that fails half way accepts the events whose lines are out; the
// others are unavailable, and the next delivery begins on a new line.
func (o *Output) Deliver(ctx context.Context, d change.Delivery) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ctx.Err() != nil {
		return poller.FailAll(len(d.Events), poller.Unavailable, 0, fmt.Errorf("writing to stdout: %w", context.Cause(ctx)))
	}
	buf := o.buf[:0]
	if o.torn {
		buf = append(buf, '\n')
	}
	for i := range d.Events {
		buf = o.format.AppendLine(buf, &d, i)
		buf = append(buf, '\n')
	}
	if cap(buf) <= maxKept {
		o.buf = buf
	}
	n, err := o.w.Write(buf)
	if n > 0 {
		o.torn = buf[n-1] != '\n'
	}
	if err == nil {
		return nil
	}
	lines := bytes.Count(buf[:n], []byte{'\n'})
	if buf[0] == '\n' && n > 0 {
		lines-- // that one ended the torn line
	}
	failed := make([]poller.FailedEvent, 0, len(d.Events)-lines)
	for i := lines; i < len(d.Events); i++ {
		failed = append(failed, poller.FailedEvent{Index: i, Cause: poller.Unavailable})
	}
	return &poller.DeliveryError{Failed: failed, Err: fmt.Errorf("writing to stdout: %w", err)}
}
