package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/outbox"
)

// outboxCase is an engine with a strategy.
type outboxCase struct {
	engine   string
	open     func(*testing.T) (*sql.DB, string)
	dialect  outbox.Engine
	strategy string
	long     bool // only `make outbox`
}

func outboxCases() []outboxCase {
	var cases []outboxCase
	for _, strategy := range []string{"leader", "partitioned", "skip_locked"} {
		cases = append(cases,
			outboxCase{"PostgreSQL", openPostgres, outbox.Postgres, strategy, false},
			outboxCase{"MariaDB", openMySQL, outbox.MySQL, strategy, strategy != "skip_locked"},
			outboxCase{"SQLite", openSQLite, outbox.SQLite, strategy, strategy != "partitioned"},
			outboxCase{"SQL Server", openSQLServer, outbox.SQLServer, strategy, false},
		)
	}
	return cases
}

// outboxProof is how much of it is done.
type outboxProof struct {
	events, writers, aggregates, instances int
	restarts                               int // of RabbitMQ
}

// TestOutbox counts what is LOST, INVERTED per aggregate and DUPLICATED between the transactions of writers and a queue
// of RabbitMQ, while one of several instances is killed every second. LOST and INVERTED are 0; every DUPLICATED one
// comes from a kill or a restart: its confirmation, or the mark that followed, was lost.
//
// ROWRELAY_OUTBOX_EVENTS=100000 (`make outbox`) says how many events, and does all cases, with two restarts of the
// broker.
func TestOutbox(t *testing.T) {
	proof := outboxProof{events: 2000, writers: 8, aggregates: 50, instances: 3}
	long := false
	if text := os.Getenv("ROWRELAY_OUTBOX_EVENTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("ROWRELAY_OUTBOX_EVENTS: %v", err)
		}
		proof, long = outboxProof{events: n, writers: 20, aggregates: 200, instances: 4, restarts: 2}, true
	}
	if !long { // with a broker of its own, and minutes each, one after the other
		t.Parallel()
	}
	// The engines side by side, an engine's cases one after the other: together they would take too many of the server's
	// connections.
	for _, engine := range []string{"PostgreSQL", "MariaDB", "SQLite", "SQL Server"} {
		t.Run(engine, func(t *testing.T) {
			if !long {
				t.Parallel()
			}
			for _, c := range outboxCases() {
				if c.engine == engine && (long || !c.long) {
					t.Run(c.strategy, func(t *testing.T) { c.run(t, proof) })
				}
			}
		})
	}
}

func (c *outboxCase) run(t *testing.T, proof outboxProof) {
	stage := &chaos{t: t}
	if proof.restarts > 0 {
		stage.ownServices()
	}
	db, url := c.open(t)
	rabbit, kind := testenv.RabbitMQ(t)
	queue := declareQueue(t, rabbit, kind+".events")
	stage.settings = settings{
		"state__kind": "memory", "state__app_name": "proof", "status__listen": "127.0.0.1:0",
		"OUTBOX_DB": url, "BROKER": rabbit, "pollers__orders__source__connection": "OUTBOX_DB",
		"pollers__orders__source__mode":  "outbox",
		"pollers__orders__source__table": "outbox", "pollers__orders__source__strategy": c.strategy,
		"pollers__orders__source__partitions": "16",
		"pollers__orders__source__claim_ttl":  "3s", "pollers__orders__output__kind": "rabbitmq",
		"pollers__orders__output__connection": "BROKER",
		"pollers__orders__tick_budget":        "5s", "pollers__orders__poll_interval": "50ms",
		"pollers__orders__output__timeout": "5s",
	}
	writers := c.newWriters(t, db, kind, proof)
	if stdout, stderr, err := command(t, t.TempDir(), stage.settings, "outbox", "init", "orders", "--apply"); err != nil {
		t.Fatalf("outbox init: %v\n%s\n%s", err, stdout, stderr)
	}

	begun := time.Now()
	for range proof.instances {
		in := &instance{dir: t.TempDir()}
		stage.instances = append(stage.instances, in)
		stage.start(in)
	}
	var done context.CancelFunc
	stage.ctx, done = context.WithTimeout(t.Context(), 15*time.Minute)
	defer done()
	var writing sync.WaitGroup
	for n := range proof.writers {
		writing.Go(func() { writers.write(n) })
	}
	written := make(chan struct{})
	go func() { writing.Wait(); close(written) }()

	restarts := make(chan int, 1)
	go func() {
		n := 0
		defer func() { restarts <- n }() // also where it fails
		stage.restartBroker(proof, writers, &n)
	}()
	kills := 0
	for open := true; open && stage.ctx.Err() == nil; {
		stage.killOne()
		kills++
		wait(stage.ctx, time.Second)
		select {
		case <-written:
			open = len(restarts) == 0 || unpublished(t, db) > 0
		default:
		}
	}
	broken := <-restarts
	writing.Wait()
	took := time.Since(begun)

	got := queue.drain(t, rabbit)
	lost, inverted, duplicated := writers.compare(got)
	t.Logf("OUTBOX %-10s %-11s events %6d in %4.0fs, kills %3d, restarts of the broker %d, LOST %d, INVERTED %d, DUPLICATED %d",
		c.engine, c.strategy, writers.written.Load(), took.Seconds(), kills, broken, lost, inverted, duplicated)
	if writers.written.Load() == 0 || kills == 0 || broken < proof.restarts {
		t.Error("nothing happened")
	}
	if left := unpublished(t, db); lost != 0 || inverted != 0 || left != 0 {
		for _, in := range stage.instances {
			t.Logf("an instance said:\n%s", in.tail())
		}
		t.Errorf("events were lost or inverted; %d are not published", left)
	}
}

// restartBroker restarts RabbitMQ while events are written: politely (SIGTERM) and by a crash (SIGKILL), in turns.
func (c *chaos) restartBroker(proof outboxProof, writers *outboxWriters, restarts *int) {
	for ; *restarts < proof.restarts && c.ctx.Err() == nil; *restarts++ {
		for c.ctx.Err() == nil && int(writers.written.Load()) < proof.events*(*restarts+1)/(proof.restarts+2) {
			wait(c.ctx, 100*time.Millisecond)
		}
		c.restart("rabbitmq", []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}[*restarts%2])
	}
}

func unpublished(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(),
		`SELECT COUNT(*) FROM outbox WHERE state <> 'PUBLISHED'`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// outboxWriters change aggregates and write an event of each change, in one transaction. An event carries the version
// that its aggregate had: within an aggregate they are to arrive as 1, 2, 3, ….
type outboxWriters struct {
	t       *testing.T
	db      *sql.DB
	writer  *outbox.Writer
	kind    string
	proof   outboxProof
	written atomic.Int64

	mu       sync.Mutex
	versions map[string]int // committed, by aggregate
}

func (c *outboxCase) newWriters(t *testing.T, db *sql.DB, kind string, proof outboxProof) *outboxWriters {
	t.Helper()
	writer, err := outbox.NewWriter(c.dialect, "outbox")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(proof.writers + 2)
	execute(t, db, `CREATE TABLE aggregates (id varchar(40) NOT NULL PRIMARY KEY, version int NOT NULL)`)
	for n := range proof.aggregates {
		execute(t, db, fmt.Sprintf(`INSERT INTO aggregates VALUES ('%s', 0)`, aggregateName(n)))
	}
	return &outboxWriters{t: t, db: db, writer: writer, kind: kind, proof: proof, versions: make(map[string]int)}
}

func aggregateName(n int) string { return fmt.Sprintf("a-%d", n) }

// write is one writer's share. Half of its transactions write two events, some roll back.
func (w *outboxWriters) write(seed int) {
	random := rand.New(rand.NewPCG(uint64(seed), 1)) //nolint:gosec // a test's
	for w.written.Load() < int64(w.proof.events) && w.t.Context().Err() == nil {
		id := aggregateName(random.IntN(w.proof.aggregates))
		n := 1 + random.IntN(2)
		if random.IntN(20) == 0 {
			w.transaction(id, n, true)
			continue
		}
		if version, ok := w.transaction(id, n, false); ok {
			w.written.Add(int64(n))
			w.mu.Lock()
			w.versions[id] = max(w.versions[id], version)
			w.mu.Unlock()
		}
	}
}

// transaction writes n events; a deadlock or a busy database makes it roll back, which is no event at all.
func (w *outboxWriters) transaction(id string, n int, rollback bool) (version int, ok bool) {
	tx, err := w.db.BeginTx(w.t.Context(), nil)
	if err != nil {
		return 0, false
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it is done
	for range n {
		if _, err := tx.ExecContext(w.t.Context(),
			`UPDATE aggregates SET version = version + 1 WHERE id = '`+id+`'`); err != nil {
			return 0, false
		}
		if err := tx.QueryRowContext(w.t.Context(),
			`SELECT version FROM aggregates WHERE id = '`+id+`'`).Scan(&version); err != nil {
			return 0, false
		}
		err := w.writer.Write(w.t.Context(), tx, outbox.Event{
			AggregateType: w.kind, AggregateID: id, Type: "Changed", IdempotencyKey: fmt.Sprintf("%s-%d", id, version),
			Payload: fmt.Appendf(nil, `{"id":%q,"version":%d}`, id, version),
		})
		if err != nil {
			return 0, false
		}
	}
	if rollback {
		return 0, false
	}
	return version, tx.Commit() == nil
}

// message is one, as it lies in the queue.
type message struct {
	ID      string `json:"id"`
	Version int    `json:"version"`
	key     string
}

// compare counts events that did not arrive, that first arrived after a later one of their aggregate, and that arrived
// again.
func (w *outboxWriters) compare(got []message) (lost, inverted, duplicated int) {
	seen, newest := make(map[string]bool), make(map[string]int)
	for _, a := range got {
		if a.key != fmt.Sprintf("%s-%d", a.ID, a.Version) {
			w.t.Errorf("the message of %s, version %d, has the idempotency key %q", a.ID, a.Version, a.key)
		}
		switch {
		case seen[a.key]:
			duplicated++
			continue
		case a.Version < newest[a.ID]:
			inverted++
		}
		seen[a.key] = true
		newest[a.ID] = max(newest[a.ID], a.Version)
	}
	for id, last := range w.versions {
		for version := 1; version <= last; version++ {
			if !seen[fmt.Sprintf("%s-%d", id, version)] {
				lost++
			}
		}
	}
	return lost, inverted, duplicated
}

// testQueue is a durable queue that nobody reads until the end: the order in it is the order of acceptance.
type testQueue string

func declareQueue(t *testing.T, url, name string) testQueue {
	t.Helper()
	withChannel(t, url, func(ch *amqp.Channel) {
		if _, err := ch.QueueDeclare(name, true, false, false, false, nil); err != nil {
			t.Fatal(err)
		}
	})
	t.Cleanup(func() {
		withChannel(t, url, func(ch *amqp.Channel) {
			if _, err := ch.QueueDelete(name, false, false, false); err != nil {
				t.Error(err)
			}
		})
	})
	return testQueue(name)
}

func withChannel(t *testing.T, url string, use func(*amqp.Channel)) {
	t.Helper()
	conn, err := amqp.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // done with
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	use(ch)
}

// drain reads all that the queue holds.
func (q testQueue) drain(t *testing.T, url string) []message {
	t.Helper()
	var all []message
	withChannel(t, url, func(ch *amqp.Channel) {
		state, err := ch.QueueInspect(string(q)) //nolint:staticcheck // the count is what is wanted
		if err != nil {
			t.Fatal(err)
		}
		messages, err := ch.Consume(string(q), "", true, true, false, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range state.Messages {
			m := <-messages
			var a message
			if err := json.Unmarshal(m.Body, &a); err != nil {
				t.Fatalf("a message is not the payload that was written: %v\n%s", err, m.Body)
			}
			a.key, _ = m.Headers["idempotency_key"].(string)
			all = append(all, a)
		}
	})
	return all
}
