package e2e

import (
	"encoding/binary"
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
)

// storageCounter stands before Azurite's blob endpoint and counts reads and writes. Requests for the notes of the status page
// (status/…) are counted apart: they are made beside the ticks, not in them, so that none of them belongs to the tick under count.
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
