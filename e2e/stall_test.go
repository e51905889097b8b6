package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	_ "github.com/go-sql-driver/mysql" // database/sql driver "mysql"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// stall is a shop of one poller on any engine, with what a test needs to break it and to look at its state.
type stall struct {
	settings
	db     *sql.DB
	poller string
	// add inserts the rows whose versions are in [from, to).
	add func(from, to int)
	// documents are the state documents by key, empty while there is none.
	documents func() map[string]string
	// stored is everything in the store, by key: documents, side objects, dead letters.
	stored func() map[string]string
	// tamper replaces the poller's document.
	tamper func(content string)
	// remove deletes the poller's document.
	remove func()
	// gate stands before the database server; nil where there is none.
	gate *gate
}

// own names a setting of the stall's poller.
func (s *stall) own(name string) string { return "pollers__" + s.poller + "__" + name }

// withOwn adds settings of the poller, and of the application where a name begins with a dot.
func (s *stall) withOwn(more settings) settings {
	full := settings{}
	for name, value := range more {
		if app, ok := strings.CutPrefix(name, "."); ok {
			full[app] = value
		} else {
			full[s.own(name)] = value
		}
	}
	return s.with(full)
}

// sqliteStall keeps its state in files.
func sqliteStall(t *testing.T, url string) *stall {
	t.Helper()
	s, db := sqliteShop(t, url, 0)
	s = s.with(settings{"pollers__orders__output__retries": "1"})
	st := &stall{settings: s, db: db, poller: "orders"}
	st.add = func(from, to int) {
		for v := from; v < to; v++ {
			execute(t, db, `INSERT INTO orders (version, status) VALUES (?, 'new')`, v)
		}
	}
	st.files(t, s["state__path"])
	return st
}

// mysqlStall is on MariaDB and keeps its state in files.
func mysqlStall(t *testing.T, url string) *stall {
	t.Helper()
	source := testenv.MySQL(t)
	db, err := sql.Open("mysql", testenv.MySQLDSN(t, source))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	execute(t, db, `CREATE TABLE orders (id int PRIMARY KEY, version int NOT NULL,
		uid /*!80000 char(36) */ /*M!100700 uuid */ NOT NULL, status varchar(20) NOT NULL, spot point, KEY (version, id))`)
	g, source := gateBefore(t, source)
	st := &stall{db: db, poller: "orders", gate: g, settings: settings{
		"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state"), "state__app_name": "shop",
		"SHOP_DB": source, "pollers__orders__source__connection": "SHOP_DB", "pollers__orders__source__table": "orders",
		"pollers__orders__source__cursor": "version", "pollers__orders__source__columns": "id, version, status",
		"pollers__orders__output__kind": "http", "pollers__orders__output__url": url,
	}}
	st.add = func(from, to int) {
		for v := from; v < to; v++ {
			execute(t, db, `INSERT INTO orders VALUES (?, ?, uuid(), 'new', NULL)`, v, v)
		}
	}
	st.files(t, st.settings["state__path"])
	return st
}

// postgresStall keeps its state in Azurite.
func postgresStall(t *testing.T, url string) *stall {
	t.Helper()
	s, db := postgresShop(t, 0)
	s = s.with(settings{"pollers__lines__output__kind": "http", "pollers__lines__output__url": url,
		"pollers__lines__output__retries": "1"})
	st := &stall{settings: s, db: db, poller: "lines"}
	st.gate, st.settings["SHOP_DB"] = gateBefore(t, s["SHOP_DB"])
	st.add = func(from, to int) { insertLines(t, db, from, to) }
	client, err := container.NewClientFromConnectionString(s["AzureWebJobsStorage"], s["state__container"], nil)
	if err != nil {
		t.Fatal("the storage connection string cannot be read")
	}
	st.stored = func() map[string]string {
		found := map[string]string{}
		for pages := client.NewListBlobsFlatPager(nil); pages.More(); {
			page, err := pages.NextPage(t.Context())
			if bloberror.HasCode(err, bloberror.ContainerNotFound) {
				return found
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range page.Segment.BlobItems {
				found[*item.Name] = download(t, client.NewBlobClient(*item.Name))
			}
		}
		return found
	}
	st.documents = func() map[string]string { return below(st.stored(), "state/") }
	st.tamper = func(content string) {
		body := streamOf(content)
		if _, err := client.NewBlockBlobClient("state/shop/lines.json").Upload(t.Context(), body,
			&blockblob.UploadOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	st.remove = func() {
		if _, err := client.NewBlockBlobClient("state/shop/lines.json").Delete(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	return st
}

func download(t *testing.T, client *blob.Client) string {
	t.Helper()
	got, err := client.DownloadStream(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(got.Body)
	if err := errors.Join(err, got.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// streamOf is what the storage client uploads.
func streamOf(text string) io.ReadSeekCloser { return nopCloser{strings.NewReader(text)} }

type nopCloser struct{ io.ReadSeeker }

func (nopCloser) Close() error { return nil }

// files makes documents and tamper those of a file store.
func (s *stall) files(t *testing.T, dir string) {
	s.stored = func() map[string]string { return filesBelow(t, dir) }
	s.documents = func() map[string]string { return below(s.stored(), filepath.Join(dir, "state")+"/") }
	path := filepath.Join(dir, "state", "shop", s.poller+".json")
	s.tamper = func(content string) {
		testfile.Write(t, path, content)
	}
	s.remove = func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// below are those whose keys begin with prefix.
func below(stored map[string]string, prefix string) map[string]string {
	maps.DeleteFunc(stored, func(key, _ string) bool { return !strings.HasPrefix(key, prefix) })
	return stored
}

// filesBelow are the files of a file store, but its own helpers. A temporary file that was left behind fails the test,
// unless it is a status note's: those are written beside the ticks, so that one may be under way.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || entry.IsDir():
			return err
		case strings.HasSuffix(path, ".tmp") && strings.HasPrefix(path, filepath.Join(dir, "status")+"/"):
			return nil
		case strings.HasSuffix(path, ".tmp"):
			t.Errorf("a temporary file was left behind: %s", path)
			return nil
		case strings.HasPrefix(entry.Name(), "~"): // its locks and counters
			return nil
		}
		data, err := os.ReadFile(path)
		found[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// positions are the documents without what a lease's coming and going changes. An absent document is at the start.
func positions(t *testing.T, documents map[string]string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for key, text := range documents {
		var doc struct {
			Checkpoint struct{ Cursor json.RawMessage }
		}
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		if cursor := string(doc.Checkpoint.Cursor); cursor != "null" {
			found[key] = cursor
		}
	}
	return found
}

// gate stands before a server and can be shut: connections are then refused, and those that were open are cut.
type gate struct {
	t               *testing.T
	address, target string

	listener net.Listener // nil while it is shut
	running  sync.WaitGroup

	mu   sync.Mutex
	open map[net.Conn]bool // nil while it is shut
}

// gateBefore returns a gate before the host of a URL, and the URL that leads through it.
func gateBefore(t *testing.T, address string) (*gate, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal("not a URL") // without the value: it holds a password
	}
	g := &gate{t: t, target: u.Host}
	for tries := 1; ; tries++ {
		g.address = programtest.FreeAddress(t) // which it finds free again: the kernel gives it to no connection
		if err = g.listen(); err == nil {
			break
		}
		if tries == 10 { // other programs look for free ones, too
			t.Fatal(err)
		}
	}
	u.Host = g.address
	t.Cleanup(g.down)
	return g, u.String()
}

// up opens the gate, if it is shut.
func (g *gate) up() {
	g.t.Helper()
	if g.listener != nil {
		return
	}
	if err := g.listen(); err != nil {
		g.t.Fatal(err)
	}
}

func (g *gate) listen() error {
	var listen net.ListenConfig
	listener, err := listen.Listen(context.Background(), "tcp", g.address)
	if err != nil {
		return err
	}
	g.listener = listener
	g.mu.Lock()
	g.open = map[net.Conn]bool{}
	g.mu.Unlock()
	g.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // shut
			}
			g.running.Go(func() { g.relay(client) })
		}
	})
	return nil
}

func (g *gate) relay(client net.Conn) {
	server, err := net.Dial("tcp", g.target)
	if err != nil {
		g.t.Error(err)
		_ = client.Close() // the test has failed
		return
	}
	cut := func() { _ = errors.Join(client.Close(), server.Close()) } // whichever side ended, both do
	defer cut()
	g.mu.Lock()
	shut := g.open == nil // it came in just before
	if !shut {
		g.open[client], g.open[server] = true, true
	}
	g.mu.Unlock()
	if shut {
		return
	}
	g.running.Go(func() {
		_, _ = io.Copy(client, server) // ends when either side does
		cut()
	})
	_, _ = io.Copy(server, client) // as above
}

// down shuts the gate, if it is open.
func (g *gate) down() {
	if g.listener == nil {
		return
	}
	if err := g.listener.Close(); err != nil {
		g.t.Error(err)
	}
	g.listener = nil
	g.mu.Lock()
	for conn := range g.open {
		_ = conn.Close() // it may have ended
	}
	g.open = nil
	g.mu.Unlock()
	g.running.Wait()
}

// errorLine is the line by which a failed tick says why.
type errorLine struct {
	Event, Poller, Error, Next, Reason string
}

func readLine(t *testing.T, line string) errorLine {
	t.Helper()
	var l errorLine
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		t.Fatalf("not JSON: %v: %s", err, line)
	}
	return l
}

// String is what a person reads of it.
func (l errorLine) String() string {
	return fmt.Sprintf("%s: %s\n\tnext: %s", l.Event, l.Error, l.Next)
}
