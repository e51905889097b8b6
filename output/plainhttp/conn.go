package plainhttp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"syscall"
	"time"
)

// conn is a connection. One goroutine uses it at a time.
type conn struct {
	net.Conn

	to      *Transport
	address string
	raw     syscall.RawConn
	probe   [1]byte
	reader  *bufio.Reader
	writer  *bufio.Writer
	left    int64     // bytes that may still be read of the answer's head, and of those that announce it (103)
	since   time.Time // when it began to rest
}

// dial returns a new connection. It goes on when ctx has ended, for a later request: of several addresses the dialer
// may need longer than one request has, to come from one that is dead to one that is not.
func (t *Transport) dial(ctx context.Context, address string) (*conn, error) {
	var c *conn
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err = t.open(context.WithoutCancel(ctx), address)
	}()
	select {
	case <-done:
		return c, err
	case <-ctx.Done():
		go func() {
			if <-done; err == nil {
				t.rest(c)
			}
		}()
		return nil, context.Cause(ctx)
	}
}

func (t *Transport) open(ctx context.Context, address string) (*conn, error) {
	plain, err := t.next.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: plain, to: t, address: address}
	c.reader, c.writer = bufio.NewReader(c), bufio.NewWriterSize(plain, maxBody)
	if s, ok := plain.(syscall.Conn); ok {
		c.raw, _ = s.SyscallConn() // without it the connection is used once
	}
	return c, nil
}

// Read implements io.Reader.
func (c *conn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, fmt.Errorf("the head of the answer is longer than %d bytes", c.to.next.MaxResponseHeaderBytes)
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

// exchange sends a request, and returns its answer as soon as that has begun.
func (c *conn) exchange(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	resp, err := c.send(req)
	if err != nil {
		stop()
		_ = c.Close()
		return nil, why(ctx, err)
	}
	b := &body{ReadCloser: resp.Body, ctx: ctx, conn: c, stop: stop,
		last: resp.Close || resp.StatusCode < http.StatusOK} // as net/http
	if resp.Body == http.NoBody {
		b.end(true)
	} else {
		resp.Body = b
	}
	return resp, nil
}

func (c *conn) send(req *http.Request) (*http.Response, error) {
	err := req.Write(c.writer)
	if err == nil {
		err = c.writer.Flush()
	}
	if trace := httptrace.ContextClientTrace(req.Context()); trace != nil && trace.WroteRequest != nil {
		trace.WroteRequest(httptrace.WroteRequestInfo{Err: err})
	}
	if err != nil {
		return nil, err
	}
	c.left = c.to.next.MaxResponseHeaderBytes
	if _, err := c.reader.Peek(1); err != nil {
		return nil, err // io.EOF where there is no answer, and not that it is cut
	}
	for {
		resp, err := http.ReadResponse(c.reader, req)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode/100 != 1 || resp.StatusCode == http.StatusSwitchingProtocols {
			c.left = math.MaxInt64
			return resp, nil
		}
	}
}

// why is the context's error where that ended a request, else err.
func why(ctx context.Context, err error) error {
	if ended := context.Cause(ctx); ended != nil {
		return ended
	}
	return err
}

// body is an answer's. Its connection can be used again when it has been read to its end.
type body struct {
	io.ReadCloser

	ctx   context.Context
	conn  *conn
	stop  func() bool
	last  bool // there is no further answer on this connection
	ended bool
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		b.end(true)
	case err != nil:
		b.end(false)
		err = why(b.ctx, err)
	}
	return n, err
}

// Close implements io.Closer. It reads nothing more, where http.ReadResponse's would wait for the end.
func (b *body) Close() error {
	b.end(false)
	return nil
}

func (b *body) end(whole bool) {
	if b.ended {
		return
	}
	b.ended = true
	if b.stop() && whole && !b.last && b.conn.reader.Buffered() == 0 {
		b.conn.to.rest(b.conn)
		return
	}
	_ = b.conn.Close()
}
