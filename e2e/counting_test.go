package e2e

import (
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rowrelay/rowrelay/e2e/fakehost"
)

// storageCounter stands before Azurite's blob endpoint and counts reads and writes. Requests for the notes of the
// status page (status/…) are counted apart: they are made beside the ticks, not in them, so that none of them belongs
// to the tick under count.
type storageCounter struct {
	reads, writes atomic.Int64
	notes         atomic.Int64
	// broken makes it answer this status instead of passing requests on, when not 0.
	broken atomic.Int64
}

// countStorage returns the connection string that leads through the counter.
func countStorage(t *testing.T, connection string) (*storageCounter, string) {
	t.Helper()
	endpoint := storageMember(t, connection, "BlobEndpoint")
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	c := &storageCounter{}
	// The account's name stands in the path, which is part of what is signed; the host is not.
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/status/"):
			c.notes.Add(1)
		case r.Method == http.MethodGet, r.Method == http.MethodHead:
			c.reads.Add(1)
		default:
			c.writes.Add(1)
		}
		if status := int(c.broken.Load()); status != 0 {
			w.Header().Set("x-ms-error-code", "AuthorizationPermissionMismatch")
			w.WriteHeader(status)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return c, strings.Replace(connection, endpoint, server.URL+target.Path, 1)
}

func storageMember(t *testing.T, connection, name string) string {
	t.Helper()
	for part := range strings.SplitSeq(connection, ";") {
		if k, v, ok := strings.Cut(part, "="); ok && k == name {
			return v
		}
	}
	t.Fatalf("the storage connection string has no %s", name)
	return ""
}

// reset forgets the counts and returns what they were; the notes are counted on.
func (c *storageCounter) reset() (reads, writes int64) { return c.reads.Swap(0), c.writes.Swap(0) }

// postgresCounter stands before PostgreSQL and counts round trips: each Sync and each simple Query that a client sends
// is answered by one ReadyForQuery.
type postgresCounter struct{ trips atomic.Int64 }

// countPostgres returns the URL that leads through the counter.
func countPostgres(t *testing.T, database string) (*postgresCounter, string) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal("the database's URL is not one") // without the value: it holds a password
	}
	server := u.Host
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &postgresCounter{}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() { c.relay(t, client, server) })
		}
	})
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
		open.Wait()
	})
	u.Host = listener.Addr().String()
	return c, u.String()
}

func (c *postgresCounter) relay(t *testing.T, client net.Conn, address string) {
	defer client.Close() //nolint:errcheck // a proxied connection
	server, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	defer server.Close() //nolint:errcheck // a proxied connection
	go func() {
		_, _ = io.Copy(client, server) // ends when either side closes
		_ = client.Close()
	}()
	// The startup message has no type byte.
	if !passMessage(client, server) {
		return
	}
	head := make([]byte, 1)
	for {
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		if head[0] == 'S' || head[0] == 'Q' {
			c.trips.Add(1)
		}
		if _, err := server.Write(head); err != nil || !passMessage(client, server) {
			return
		}
	}
}

func passMessage(from, to net.Conn) bool {
	size := make([]byte, 4)
	if _, err := io.ReadFull(from, size); err != nil {
		return false
	}
	if _, err := to.Write(size); err != nil {
		return false
	}
	_, err := io.CopyN(to, from, int64(binary.BigEndian.Uint32(size))-4)
	return err == nil
}

// TestIdleAndOneBatchTicksAreCounted: an idle tick is one read of the document and one round trip to the database, and
// writes nothing; a tick with one batch adds two writes, the acquisition and the commit that carries the release. The
// notes for the status page are counted apart, over the whole test: one look by the first tick, and one write at most
// for each tick that delivered something. However many ticks find nothing, they add none.
func TestIdleAndOneBatchTicksAreCounted(t *testing.T) {
	// With overlap, ticks also sweep and remember: see TestOverlapIsCounted.
	c := newCounted(t, settings{"pollers__lines__source__late_commits": "none"})
	must(t, c.host, "lines") // connects, reads the catalog, creates the document, reads the first page
	must(t, c.host, "lines") // prepares the statement of all later pages
	for _, want := range []struct {
		what string
		add  int
		costs
	}{
		{"idle", 0, costs{1, 0, 1}},
		{"one batch", 5, costs{1, 2, 1}},
		{"idle after a release", 0, costs{1, 0, 1}},
	} {
		if got := c.tick(want.add); got != want.costs {
			t.Errorf("%s: %+v; want %+v", want.what, got, want.costs)
		}
	}
	until(t, "the first tick to be noted", func() bool { return c.storage.notes.Load() >= 2 })
	for range 50 {
		must(t, c.host, "lines")
	}
	if notes := c.storage.notes.Load(); notes > 3 {
		t.Errorf("%d requests for notes; two ticks delivered something: want one look and two writes at most", notes)
	}
}

// TestOverlapIsCounted: with overlap, a batch costs at most one more write, of the memory of what was delivered, and
// two round trips for late rows; and an idle tick whose window is closed costs what it costs without: one read, no
// write, one round trip.
func TestOverlapIsCounted(t *testing.T) {
	t.Parallel() // most of it waits for the window
	c := newCounted(t, settings{"pollers__lines__source__late_window": "1s"})
	must(t, c.host, "lines")
	if mode := c.state(); mode.Late.Mode != "overlap" {
		t.Fatalf("auto is %q here: this test would count something else", mode.Late.Mode)
	}
	closed := func(what string) {
		t.Helper()
		until(t, what+": the window to close", func() bool {
			must(t, c.host, "lines")
			v := c.state()
			return string(v.Position) == string(v.Late.Frontier)
		})
		for range 3 {
			if got := c.tick(0); got != (costs{1, 0, 1}) {
				t.Errorf("%s: an idle tick with a closed window: %+v", what, got)
			}
		}
	}
	closed("at first")
	// The acquisition, the memory where the document does not take it, the commit that carries the release; an old
	// memory's removal may come with it. The page, the look at open transactions, what they may have written late; and the
	// last two again, where a transaction of somebody else was open, or a sweep was due in a tick that took a second.
	if got := c.tick(5); got.writes < 2 || got.writes > 4 || got.trips > 5 {
		t.Errorf("one batch: %+v", got)
	}
	closed("after a batch")
	if n, repeated := c.to.count(); n != 15 || repeated != 0 {
		t.Errorf("%d events, %d repeated", n, repeated)
	}
}

// costs are what one tick asks of others.
type costs struct {
	reads, writes, trips int64 // of the state store; round trips to PostgreSQL
}

// counted is a shop of 10 rows whose ticks are counted.
type counted struct {
	t        *testing.T
	to       *sink
	db       *sql.DB
	host     *fakehost.Host
	storage  *storageCounter
	database *postgresCounter
	settings settings // that are not counted
	root     string
}

func newCounted(t *testing.T, more settings) *counted {
	t.Helper()
	c := &counted{t: t, to: newSink(t)}
	var s settings
	s, c.db = postgresShop(t, 10)
	c.settings = s.with(settings{"pollers__lines__output__kind": "http", "pollers__lines__output__url": c.to.URL,
		"pollers__lines__lease_ttl": "10m"}).with(more) // a tick that takes long would write a heartbeat
	var storage, url string
	c.storage, storage = countStorage(t, s["AzureWebJobsStorage"])
	c.database, url = countPostgres(t, s["SHOP_DB"])
	s = c.settings.with(settings{"AzureWebJobsStorage": storage, "SHOP_DB": url})
	c.root = functionApp(t, s)
	c.host = startHost(t, c.root, s)
	return c
}

// tick counts one tick, that has rows to deliver.
func (c *counted) tick(rows int) costs {
	c.t.Helper()
	n, _ := c.to.count()
	insertLines(c.t, c.db, n, n+rows)
	c.storage.reset()
	c.database.trips.Store(0)
	must(c.t, c.host, "lines")
	reads, writes := c.storage.reset()
	if now, _ := c.to.count(); now != n+rows {
		c.t.Errorf("%d events, want %d", now, n+rows)
	}
	return costs{reads, writes, c.database.trips.Load()}
}

// position is as much of `state show --json` as tells whether a window is open.
type position struct {
	Position json.RawMessage
	Late     struct {
		Mode     string
		Frontier json.RawMessage
	} `json:"late_commits"`
}

func (c *counted) state() position {
	c.t.Helper()
	out, errs, err := command(c.t, c.root, c.settings, "state", "show", "lines", "--json")
	if err != nil {
		c.t.Fatalf("%v\n%s", err, errs)
	}
	var v position
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
	return v
}
