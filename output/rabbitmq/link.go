package rabbitmq

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/plaintext"
)

// connect returns the connection, or opens one. The attempt does not end with ctx: others may be waiting for it.
func (o *Output) connect(ctx context.Context) (*link, error) {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return nil, errClosed
	}
	if l := o.link; l != nil && !l.closed() {
		o.mu.Unlock()
		return l, nil
	}
	p := o.dialing
	if p == nil {
		p = &dialing{done: make(chan struct{})}
		o.dialing = p
		go o.open(p)
	}
	o.mu.Unlock()
	select {
	case <-p.done:
		return p.link, p.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// ready returns a connection over which nothing of an earlier delivery can reach the broker after what is published
// next.
func (o *Output) ready(ctx context.Context) (*link, error) {
	for {
		l, err := o.connect(ctx)
		if err != nil {
			return nil, err
		}
		if err := l.free(ctx); err != nil {
			return nil, err
		}
		if !l.closed() {
			return l, nil
		}
		// It was reset, because the broker did not answer. A new one waits for nothing.
	}
}

// closed reports whether the connection is of no more use.
func (l *link) closed() bool { return l.conn.IsClosed() || l.pipe.ended() }

// open fills in p.
func (o *Output) open(p *dialing) {
	p.link, p.err = o.newLink()
	o.mu.Lock()
	o.dialing = nil
	if p.err == nil && !o.closed {
		o.link = p.link
	} else if p.err == nil {
		p.link.pipe.abort()
		p.link, p.err = nil, errClosed
	}
	o.mu.Unlock()
	close(p.done)
}

func (o *Output) newLink() (*link, error) {
	l := &link{o: o, proven: map[route]struct{}{}}
	conn, err := amqp.DialConfig(o.cfg.URL, amqp.Config{
		Locale: "en_US",
		Properties: amqp.Table{"product": "Rowrelay", "version": o.cfg.Version, "platform": "Go",
			"connection_name": "rowrelay/" + o.cfg.Version},
		Dial: func(network, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{Timeout: o.dial}).DialContext(context.Background(), network, addr)
			if err != nil {
				return nil, err
			}
			if err := c.SetDeadline(time.Now().Add(o.dial)); err != nil { // for the handshake: the library takes it off
				_ = c.Close()
				return nil, err
			}
			l.pipe = newPipe(c)
			return l.pipe, nil
		},
	})
	if err != nil {
		if l.pipe != nil {
			l.pipe.abort()
		}
		return nil, judgeDial(err)
	}
	l.conn = conn
	go l.watch(conn.NotifyBlocked(make(chan amqp.Blocking)))
	return l, nil
}

// watch notes when the broker blocks publishers, until the connection is closed.
func (l *link) watch(blockings <-chan amqp.Blocking) {
	for b := range blockings {
		l.mu.Lock()
		l.blocked = ""
		if b.Active {
			l.blocked = "it says: " + plaintext.Cut(plaintext.Line(b.Reason), 200)
		}
		l.mu.Unlock()
	}
}

func (l *link) isBlocked() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.blocked != ""
}

// alarm returns an error while the broker blocks publishers; cause is what it wraps.
func (l *link) alarm(cause error) error {
	l.mu.Lock()
	reason := l.blocked
	l.mu.Unlock()
	if reason == "" {
		return nil
	}
	return output.Errorf(cause, "the broker has an alarm and blocks publishers (%s): free memory or disk on it (rabbitmq-diagnostics alarms)", reason)
}

// free returns when no channel of unconfirmed messages is left that is not closed.
func (l *link) free(ctx context.Context) error {
	if err := l.alarm(nil); err != nil {
		return err
	}
	l.mu.Lock()
	clear := l.clear
	l.mu.Unlock()
	if clear == nil {
		return nil
	}
	select {
	case <-clear:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// take returns an idle channel, or opens one.
func (l *link) take(ctx context.Context) (*lane, error) {
	l.mu.Lock()
	for len(l.idle) > 0 {
		n := l.idle[len(l.idle)-1]
		l.idle = l.idle[:len(l.idle)-1]
		if !n.ch.IsClosed() {
			l.mu.Unlock()
			return n, nil
		}
	}
	l.mu.Unlock()
	return within(ctx, l.openLane, l.give)
}

// give puts a channel without unconfirmed messages back.
func (l *link) give(n *lane) {
	l.mu.Lock()
	l.idle = append(l.idle, n)
	l.mu.Unlock()
}

// doubt closes a channel that has unconfirmed messages. Until that is done, nothing is published over this connection.
func (l *link) doubt(n *lane) {
	l.mu.Lock()
	if l.doubts++; l.clear == nil {
		l.clear = make(chan struct{})
	}
	l.mu.Unlock()
	go func() {
		for range n.returns { // nobody else takes them any more; the library closes it
		}
	}()
	go func() {
		var timer *time.Timer
		armed := make(chan struct{})
		timer = time.AfterFunc(closeTimeout, func() {
			<-armed
			if l.isBlocked() { // it answers when the alarm ends
				timer.Reset(closeTimeout)
				return
			}
			l.pipe.abort()
		})
		close(armed)
		_ = n.ch.Close() // an error is one of the connection, which is then gone
		timer.Stop()
		l.mu.Lock()
		if l.doubts--; l.doubts == 0 {
			close(l.clear)
			l.clear = nil
		}
		l.mu.Unlock()
	}()
}

// forget drops what was proven of the routes' exchanges.
func (l *link) forget(routes []route) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for r := range l.proven {
		if slices.ContainsFunc(routes, func(used route) bool { return used.exchange == r.exchange }) {
			delete(l.proven, r)
		}
	}
}

const (
	// avoidTime is how long such a place is left alone: each attempt costs the other events of its delivery their channel.
	avoidTime = 5 * time.Second
	// maxAvoided bounds how many are remembered.
	maxAvoided = 100
)

func (l *link) avoid(reason string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.avoided = slices.DeleteFunc(l.avoided, func(a avoided) bool { return now.After(a.until) })
	if len(l.avoided) < maxAvoided {
		l.avoided = append(l.avoided, avoided{reason, err, now.Add(avoidTime)})
	}
}

// avoids returns why nothing is published to r for now; nil where something is.
func (l *link) avoids(r route) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.avoided) == 0 {
		return nil
	}
	now := time.Now()
	for _, a := range l.avoided {
		if now.Before(a.until) && about(a.reason, r) {
			return a.err
		}
	}
	return nil
}

// within runs f, which cannot be interrupted, and returns when it has ended, or ctx has; late gets what comes after
// that. A broker that does not answer ends f by the heartbeats that it misses.
func within[T any](ctx context.Context, f func() (T, error), late func(T)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	ended := make(chan outcome, 1)
	go func() {
		v, err := f()
		ended <- outcome{v, err}
	}()
	select {
	case o := <-ended:
		return o.value, o.err
	case <-ctx.Done():
		go func() {
			if o := <-ended; o.err == nil {
				late(o.value)
			}
		}()
		var none T
		return none, context.Cause(ctx)
	}
}

func (l *link) openLane() (*lane, error) {
	ch, err := l.conn.Channel()
	if err == nil {
		err = ch.Confirm(false)
	}
	if err != nil {
		return nil, output.Errorf(err, "open a channel: %s", l.reason(err))
	}
	return &lane{
		link: l, ch: ch, headers: amqp.Table{},
		returns: ch.NotifyReturn(make(chan amqp.Return, 16)),
		closes:  ch.NotifyClose(make(chan *amqp.Error, 1)),
	}, nil
}

// judgeDial tells what a failed attempt to connect means. A broker either says why it refuses, or closes the connection
// without a word, as it also does when it is just starting or going down: then the library names the step.
func judgeDial(err error) error {
	var said *amqp.Error
	errors.As(err, &said)
	switch {
	case errors.Is(err, amqp.ErrCredentials), errors.Is(err, amqp.ErrSASL),
		said != nil && said.Server && said.Code == amqp.AccessRefused:
		return output.Errorf(err, "the broker did not let us in: check user and password in the URL that output__connection names (or it is just starting or stopping)")
	case errors.Is(err, amqp.ErrVhost):
		return output.Errorf(err, "the broker did not open the virtual host: check the path of the URL that output__connection names, and the user's permissions (rabbitmqctl list_permissions)")
	case said != nil && said.Server && said.Code == amqp.NotAllowed:
		return output.Errorf(err, "the broker did not open the virtual host (%s): check the path of the URL that output__connection names, and the user's permissions and limits (rabbitmqctl list_permissions)", said.Reason)
	default:
		return output.Errorf(err, "connect: %v", err)
	}
}

// about reports whether the broker's reason for closing a channel names where r goes:
//
//	NOT_FOUND - no exchange 'shop' in vhost '/'
//	ACCESS_REFUSED - write access to exchange 'shop' in vhost '/' refused for user 'rowrelay'
//	ACCESS_REFUSED - write access to topic 'order.events' in exchange 'shop' in vhost '/' refused for user 'rowrelay'
func about(reason string, r route) bool {
	exchange := r.exchange
	if exchange == "" {
		exchange = "amq.default"
	}
	exchange = "exchange '" + exchange + "' in vhost"
	if strings.Contains(reason, "access to topic '") {
		return strings.Contains(reason, "access to topic '"+r.key+"' in ") && strings.Contains(reason, exchange)
	}
	return strings.Contains(reason, exchange)
}
