package sourcetest

import (
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source/plan"
)

// proxy stands between a source and its server. It counts round trips: a message of the client after one of the server
// begins one. And it can cut every connection.
type proxy struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	trips int
	conns map[net.Conn]struct{}
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target, conns: map[net.Conn]struct{}{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		wg.Wait()
	})
	return p
}

func (p *proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = client.Close()
		return
	}
	p.mu.Lock()
	p.conns[client], p.conns[server] = struct{}{}, struct{}{}
	p.mu.Unlock()
	answered := true // the server spoke last
	pass := func(dst, src net.Conn, fromClient bool) {
		buf := make([]byte, 64<<10)
		for {
			n, err := src.Read(buf)
			p.mu.Lock()
			if fromClient && answered && n > 0 {
				p.trips++
			}
			if n > 0 {
				answered = !fromClient
			}
			p.mu.Unlock()
			if n > 0 {
				if _, werr := dst.Write(buf[:n]); werr != nil {
					err = io.EOF
				}
			}
			if err != nil {
				_ = src.Close()
				_ = dst.Close()
				return
			}
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { pass(server, client, true) })
	pass(client, server, false)
	wg.Wait()
	p.mu.Lock()
	delete(p.conns, client)
	delete(p.conns, server)
	p.mu.Unlock()
}

// cut closes every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// count returns how many round trips happened since the last count.
func (p *proxy) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.trips
	p.trips = 0
	return n
}

// through returns the engine's URL by way of a proxy.
func (f fixture) through() (string, *proxy) {
	f.Helper()
	u, err := url.Parse(f.e.URL)
	if err != nil {
		f.Fatal("the engine's URL does not parse")
	}
	p := newProxy(f.T, u.Host)
	u.Host = p.listener.Addr().String()
	return u.String(), p
}

// roundTrips counts what an idle fetch costs.
func roundTrips(f fixture) {
	if !f.e.Network {
		return
	}
	name := f.table("id " + f.e.BigInt + " NOT NULL PRIMARY KEY, v " + f.e.BigInt + " NOT NULL")
	f.exec("INSERT INTO " + name + " (id, v) VALUES (1, 1), (2, 2)")
	via, p := f.through()
	src := f.openURL(via, plan.Config{Table: name, Cursor: []string{"v"}})
	f.describe(src)
	all := f.drain(src, nil, 1)
	p.count()
	for range 5 {
		f.describe(src)
		if page := f.page(src, all[1].Cursor, poller.Limit{Rows: 1, Bytes: plenty}); len(page.Events) > 0 {
			f.Fatalf("not idle: %s", keys(page.Events))
		}
	}
	if n := p.count(); n != 5 {
		f.Errorf("five idle fetches cost %d round trips", n)
	}
}

// cut breaks the kept connection: the next fetch does not notice.
func cut(f fixture) {
	if !f.e.Network {
		return
	}
	name := orders(f)
	via, p := f.through()
	src := f.openURL(via, plan.Config{Table: name, Cursor: []string{"v"}})
	page := f.page(src, nil, poller.Limit{Rows: 1, Bytes: plenty})
	for range 3 {
		p.cut()
		again := f.page(src, page.Events[0].Cursor, poller.Limit{Rows: 10, Bytes: plenty})
		f.same("after the cut", keys(again.Events), ids(3, 4))
		if again.Incarnation != page.Incarnation {
			f.Errorf("the incarnation was %q and is %q", page.Incarnation, again.Incarnation)
		}
	}
	_ = p.listener.Close()
	p.cut()
	_, err := src.Fetch(f.ctx(), change.Range{After: nil}, poller.Limit{Rows: 1, Bytes: plenty})
	if err == nil || strings.Contains(err.Error(), password(f.e.URL)) {
		f.Errorf("without a server: %v", err)
	}
}

// login expects a wrong password to be named as such, without being shown.
func login(f fixture) {
	if !f.e.Network {
		return
	}
	u, err := url.Parse(f.e.URL)
	if err != nil {
		f.Fatal("the engine's URL does not parse")
	}
	u.User = url.UserPassword(u.User.Username(), "planted-secret")
	_, err = f.openURL(u.String(), plan.Config{Table: "orders", Cursor: []string{"v"}}).Describe(f.ctx())
	f.isFault(err, poller.ErrConfig, "refused the login", "source__connection")
	if err != nil && strings.Contains(err.Error(), "planted-secret") {
		f.Error("the error shows the password")
	}
}

func password(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	p, _ := u.User.Password()
	return p
}
