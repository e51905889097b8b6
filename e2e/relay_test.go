package e2e

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	_ "github.com/jackc/pgx/v5/stdlib" // database/sql driver "pgx"

	"github.com/rowrelay/rowrelay/e2e/fakehost"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// postgresShop makes a table lines(order_id, line_no, changed_at, version, status) with a composite key, whose changed_at has
// many ties, and returns settings that keep the state in Azurite.
func postgresShop(t *testing.T, rows int) (settings, *sql.DB) {
	t.Helper()
	url := testenv.Postgres(t)
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	execute(t, db, `CREATE TABLE lines (order_id bigint, line_no int, changed_at timestamptz NOT NULL, version int NOT NULL,
		status text NOT NULL, PRIMARY KEY (order_id, line_no))`)
	execute(t, db, `CREATE INDEX lines_changed ON lines (changed_at, order_id, line_no)`)
	insertLines(t, db, 0, rows)
	return settings{
		"AzureWebJobsStorage": testenv.Azurite(t), "state__kind": "blob", "state__container": unique("state"),
		"state__create": "true", "state__app_name": "shop",
		"SHOP_DB": url, "pollers__lines__source__connection": "SHOP_DB", "pollers__lines__source__table": "lines",
		"pollers__lines__source__cursor": "changed_at", "pollers__lines__lease_ttl": "10s",
	}, db
}

// insertLines adds rows [from, to): 7 lines to an order, 250 rows to a moment, so that ties cross every page.
func insertLines(t *testing.T, db *sql.DB, from, to int) {
	t.Helper()
	execute(t, db, fmt.Sprintf(`INSERT INTO lines SELECT i / 7, i %% 7, timestamptz '2026-01-01 00:00:00.123456+00' + (i / 250) * interval '1 ms', i, 'new'
		FROM generate_series(%d, %d) i`, from, to-1))
}

// TestPostgresToQueueAndHTTP: 10,000 rows with ties and composite keys, exactly once to each of two outputs.
func TestPostgresToQueueAndHTTP(t *testing.T) {
	t.Parallel()
	const rows = 10_000
	to := newSink(t)
	s, _ := postgresShop(t, rows)
	queue := unique("lines")
	s = s.with(settings{
		// The emulator is one slow process: the session that keeps it busy needs time for its own heartbeat.
		"pollers__lines__lease_ttl": "60s",
		// An answer that takes longer than the timeout is a message that comes twice.
		"pollers__lines__outputs__audit__timeout": "2m",
		"pollers__lines__output__kind":            "http", "pollers__lines__output__url": to.URL,
		"pollers__lines__outputs__audit__kind": "queue", "pollers__lines__outputs__audit__connection": "AzureWebJobsStorage",
		"pollers__lines__outputs__audit__queue": queue,
	})
	host := startHost(t, functionApp(t, s), s)
	messages := readQueue(t, s["AzureWebJobsStorage"], queue)
	// The emulator takes milliseconds for a message, and others use it too: the queue's session may need several ticks.
	untilWithin(t, 6*time.Minute, "all rows to arrive at both outputs", func() bool {
		must(t, host, "lines")
		n, _ := to.count()
		return n == rows && messages.count() == rows
	})
	must(t, host, "lines")
	messages.stop()
	versions := to.column("version")
	for i := range rows {
		if versions[fmt.Sprint(i)] != 1 || messages.seen[i] != 1 {
			t.Fatalf("row %d arrived %d times by HTTP and %d times on the queue", i, versions[fmt.Sprint(i)], messages.seen[i])
		}
	}
	if n, repeated := to.count(); n != rows || repeated != 0 {
		t.Errorf("HTTP: %d events, %d repeated", n, repeated)
	}
}

// queueReader reads a queue as a Functions queue trigger does: base64 of JSON. It reads while messages come, and deletes
// them, because the emulator slows down with every message that it keeps.
type queueReader struct {
	stop func() // reads what is left

	mu   sync.Mutex
	seen map[int]int // by version
}

func readQueue(t *testing.T, connection, name string) *queueReader {
	t.Helper()
	client, err := azqueue.NewQueueClientFromConnectionString(connection, name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	q := &queueReader{seen: map[int]int{}}
	stopping := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				n, err := q.read(t.Context(), client)
				if err != nil {
					t.Errorf("reading the queue: %v", err)
					return
				}
				if n > 0 {
					continue
				}
				select {
				case <-stopping:
					return
				default:
					pause(t.Context())
				}
			}
		})
	}
	q.stop = func() {
		close(stopping)
		readers.Wait()
	}
	return q
}

// read takes some messages, and returns how many.
func (q *queueReader) read(ctx context.Context, client *azqueue.QueueClient) (int, error) {
	most, hidden := int32(32), int32(3600)
	page, err := client.DequeueMessages(ctx, &azqueue.DequeueMessagesOptions{NumberOfMessages: &most, VisibilityTimeout: &hidden})
	if err != nil {
		return 0, err
	}
	for _, m := range page.Messages {
		text, err := base64.StdEncoding.DecodeString(*m.MessageText)
		if err != nil {
			return 0, fmt.Errorf("not base64: %w", err)
		}
		var e struct {
			Data struct{ Version int } `json:"data"`
		}
		if err := json.Unmarshal(text, &e); err != nil {
			return 0, fmt.Errorf("%w: %s", err, text)
		}
		q.mu.Lock()
		q.seen[e.Data.Version]++
		q.mu.Unlock()
		if _, err := client.DeleteMessage(ctx, *m.MessageID, *m.PopReceipt, nil); err != nil {
			return 0, err
		}
	}
	return len(page.Messages), nil
}

func (q *queueReader) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.seen)
}

// TestIdleAndOneBatchTicksAreCounted: an idle tick is one read of the document and one round trip to the database, and
// writes nothing; a tick with one batch adds two writes, the acquisition and the commit that carries the release. The notes for
// the status page are counted apart, over the whole test: one look by the first tick, and one write at most for each tick that
// delivered something. However many ticks find nothing, they add none.
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

// TestOverlapIsCounted: with overlap, a batch costs one more write, of the memory of what was delivered; and an idle tick whose
// window is closed costs what it costs without: one read, no write, one round trip.
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
	// The acquisition, the memory, the commit that names it and carries the release; an old memory's removal may come with it.
	if got := c.tick(5); got.writes < 3 || got.writes > 4 || got.trips > 3 {
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
	c.settings = s.with(settings{"pollers__lines__output__kind": "http", "pollers__lines__output__url": c.to.URL}).with(more)
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
	out, errs, err := command(c.t.Context(), c.root, c.settings, "state", "show", "lines", "--json")
	if err != nil {
		c.t.Fatalf("%v\n%s", err, errs)
	}
	var v position
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
	return v
}

// TestStartLatest: old rows are not delivered, idle ticks do not move the start, and what comes then is delivered.
func TestStartLatest(t *testing.T) {
	to := newSink(t)
	s, db := postgresShop(t, 600)
	s = s.with(settings{
		"pollers__lines__source__start": "latest",
		"pollers__lines__output__kind":  "http", "pollers__lines__output__url": to.URL,
	})
	host := startHost(t, functionApp(t, s), s)
	must(t, host, "lines")
	insertLines(t, db, 600, 605) // some of them share the moment of the newest old row
	must(t, host, "lines")
	must(t, host, "lines")
	versions := to.column("version")
	if len(versions) != 5 || versions["600"] != 1 || versions["604"] != 1 {
		t.Errorf("arrived: %v", versions)
	}
	until(t, "the start position to be logged", func() bool { return strings.Contains(transcript(host), "there was no state document") })
}

// TestTwoInstancesOnOneDocument: one works, the other answers 200 and does nothing; when the first dies, the second takes
// over with the next token, and the first one's commit is refused.
func TestTwoInstancesOnOneDocument(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, _ := postgresShop(t, 20)
	s = s.with(settings{"pollers__lines__output__kind": "http", "pollers__lines__output__url": to.URL, "log__level": "debug"})
	root := functionApp(t, s)
	first, second := startHost(t, root, s), startHost(t, root, s)

	reached, release := make(chan struct{}), make(chan struct{})
	to.decide(holdFirst(to, reached, release))
	done := make(chan bool, 1)
	go func() { done <- first.Invoke(context.WithoutCancel(t.Context()), "lines").Succeeded }()
	<-reached
	if r := second.Invoke(t.Context(), "lines"); !r.Succeeded {
		t.Errorf("the other instance: %+v", r)
	}
	until(t, "the other instance to say that it was skipped", func() bool {
		return strings.Contains(transcript(second), "lease_acquire_skipped")
	})
	if n, _ := to.count(); n != 0 {
		t.Errorf("%d events arrived while the first instance was held", n)
	}
	// The first freezes beyond its lease; the second takes over, and delivers everything.
	stopProcess(t, first.PID())
	until(t, "the second instance to take over", func() bool {
		must(t, second, "lines")
		n, _ := to.count()
		return n == 20
	})
	continueProcess(t, first.PID())
	close(release)
	if <-done {
		t.Error("the first instance's invocation succeeded although it had lost its lease")
	}
	until(t, "the first instance to say that it lost the lease", func() bool {
		return strings.Contains(transcript(first), `"event":"lost_lease"`)
	})
	out, errs, err := command(t.Context(), root, s, "state", "show", "lines", "--json")
	if err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	var doc struct {
		Token string `json:"fencing_token"`
		Owner string `json:"owner"`
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Token != "2" || doc.Owner != "" {
		t.Errorf("token %s, owner %q; want 2 and nobody", doc.Token, doc.Owner)
	}
}

// TestCleanReleaseIsFreeAtOnce: the next tick, of another instance, need not wait for a grace.
func TestCleanReleaseIsFreeAtOnce(t *testing.T) {
	to := newSink(t)
	s, db := postgresShop(t, 5)
	s = s.with(settings{"pollers__lines__output__kind": "http", "pollers__lines__output__url": to.URL})
	root := functionApp(t, s)
	first, second := startHost(t, root, s), startHost(t, root, s)
	must(t, first, "lines")
	insertLines(t, db, 5, 9)
	must(t, second, "lines")
	if n, _ := to.count(); n != 9 {
		t.Errorf("%d events, want 9", n)
	}
}

// TestRunOnceAlone: the same job without the host.
func TestRunOnceAlone(t *testing.T) {
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 1200)
	dir := filepath.Join(t.TempDir())
	for range 2 {
		if out, errs, err := command(t.Context(), dir, s, "run", "--once"); err != nil {
			t.Fatalf("%v\n%s%s", err, out, errs)
		}
	}
	if n, repeated := to.count(); n != 1200 || repeated != 0 {
		t.Errorf("%d events, %d repeated", n, repeated)
	}
}
