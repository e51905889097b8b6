package e2e

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	_ "github.com/jackc/pgx/v5/stdlib" // database/sql driver "pgx"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// postgresShop makes a table lines(order_id, line_no, changed_at, version, status) with a composite key, whose
// changed_at has many ties, and returns settings that keep the state in Azurite.
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

// unanswered is how a tick, and the log, tell of messages that a queue has left without an answer.
var unanswered = regexp.MustCompile(`\d+ of \d+ events failed: no answer within`)

// TestPostgresToQueueAndHTTP: several pages of rows with ties and composite keys, to each of two outputs; exactly once,
// but where the emulator left a request without an answer, as it has done: then it is told, and what was open comes
// again.
func TestPostgresToQueueAndHTTP(t *testing.T) {
	t.Parallel()
	const rows = 800 // in pages of 100: the emulator takes milliseconds for each message, and everybody needs it
	to := newSink(t)
	s, _ := postgresShop(t, rows)
	queue := unique("lines")
	s = s.with(settings{
		// The emulator is one slow process: the session that keeps it busy needs time for its own heartbeat.
		"pollers__lines__lease_ttl": "60s", "pollers__lines__batch_size": "100",
		"pollers__lines__outputs__audit__timeout": "30s",
		"pollers__lines__output__kind":            "http", "pollers__lines__output__url": to.URL,
		"pollers__lines__outputs__audit__kind": "queue", "pollers__lines__outputs__audit__connection": "AzureWebJobsStorage",
		"pollers__lines__outputs__audit__queue": queue,
	})
	host := startHost(t, functionApp(t, s), s)
	messages := readQueue(t, s["AzureWebJobsStorage"], queue)
	t.Cleanup(func() {
		if n, _ := to.count(); t.Failed() {
			t.Logf("of %d rows %d have arrived by HTTP and %d on the queue; the host:\n%s", rows, n, messages.count(),
				transcript(host))
		}
	})
	// The emulator takes milliseconds for a message, and others use it too: the queue's session may need several ticks.
	tick := func() {
		if r := host.Invoke(t.Context(), "lines"); !r.Succeeded && !unanswered.MatchString(fmt.Sprint(r)) {
			t.Fatalf("%+v", r)
		}
	}
	programtest.UntilWithin(t, 6*time.Minute, "all rows to arrive at both outputs", func() bool {
		tick()
		n, _ := to.count()
		return n == rows && messages.count() == rows
	})
	tick()
	messages.stop()
	// The messages of which nobody knows whether the queue has them: a silence is told once, and eight are on their way.
	open := 8 * len(unanswered.FindAllString(transcript(host), -1))
	versions, twice := to.column("version"), 0
	for i := range rows {
		twice += messages.seen[i] - 1
		if versions[fmt.Sprint(i)] != 1 || messages.seen[i] == 0 || twice > open {
			t.Fatalf("row %d arrived %d times by HTTP and %d times on the queue, where %d may be there twice", i,
				versions[fmt.Sprint(i)], messages.seen[i], open)
		}
	}
	if n, repeated := to.count(); n != rows || repeated != 0 {
		t.Errorf("HTTP: %d events, %d repeated", n, repeated)
	}
}

// queueReader reads a queue as a Functions queue trigger does: base64 of JSON. It reads while messages come, and
// deletes them, because the emulator slows down with every message that it keeps.
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
					programtest.Pause(t.Context())
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
	page, err := client.DequeueMessages(ctx,
		&azqueue.DequeueMessagesOptions{NumberOfMessages: &most, VisibilityTimeout: &hidden})
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
	until(t, "the start position to be logged", func() bool {
		return strings.Contains(transcript(host), "there was no state document")
	})
}

// TestTwoInstancesOnOneDocument: one works, the other answers 200 and does nothing; when the first dies, the second
// takes over with the next token, and the first one's commit is refused.
func TestTwoInstancesOnOneDocument(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, _ := postgresShop(t, 20)
	s = s.with(settings{"pollers__lines__output__kind": "http", "pollers__lines__output__url": to.URL,
		"log__level": "debug"})
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
	out := stdout(t, root, s, "state", "show", "lines", "--json")
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
