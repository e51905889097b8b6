package source

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/testenv"
)

// Writers of the test below, and what each does. Pauses are the database's, inside of transactions.
const (
	snapshotWriters      = 12
	snapshotTransactions = 40
	hotRows              = 3
)

// TestPostgresSnapshotWriters reads while writers insert, update and roll back in transactions that overlap, also on
// the same rows, and one transaction stays open from before the start to the end. The reader crashes at times, and goes
// on from a position that it could have stored. Every committed row arrives, each in its last state, and the states of
// a row in their order.
func TestPostgresSnapshotWriters(t *testing.T) {
	t.Parallel()
	url, db := snapshotTable(t)
	db.SetMaxOpenConns(snapshotWriters + 2)
	old := testenv.Begin(t, db, "INSERT INTO o VALUES (-1)")
	var rows atomic.Int64
	rows.Store(1000)
	var writers sync.WaitGroup
	done := make(chan struct{})
	for n := range snapshotWriters {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(n)))
			for range snapshotTransactions {
				if err := writeOnce(t, db, random, &rows); err != nil {
					t.Errorf("a writer: %v", err)
					return
				}
			}
		})
	}
	go func() {
		writers.Wait()
		close(done)
	}()

	src := snapshotSource(t, url, nil)
	r := (&reader{t: t, src: src}).start() // a scan, among the writers
	random := rand.New(rand.NewPCG(2, 2))
	crashes := 0
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		r.page(1 + random.IntN(20))
		if random.IntN(10) == 0 {
			i := len(r.stored) - 1 - random.IntN(min(30, len(r.stored)))
			s := r.stored[i]
			r.stored, r.events = r.stored[:i], r.events[:s.read]
			r.move(s.at)
			crashes++
		}
	}
	r.drain(7)
	testenv.Commit(t, old)
	r.want("the oldest, at last", 7, -1)
	t.Logf("%d events, %d crashes", len(r.events), crashes)
	checkDelivered(t, db, r)
}

// writeOnce is one transaction: an insert, or an update of a hot row beside one, and a rollback now and then.
func writeOnce(t *testing.T, db *sql.DB, random *rand.Rand, rows *atomic.Int64) error {
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	statements := []string{fmt.Sprintf("INSERT INTO o VALUES (%d)", rows.Add(1))}
	if random.IntN(2) == 0 {
		statements = append([]string{fmt.Sprintf("UPDATE o SET v = v + 1 WHERE id = %d", 1+random.IntN(hotRows))},
			statements...)
	}
	for _, s := range append(statements, fmt.Sprintf("SELECT pg_sleep(%d / 1000.0)", random.IntN(30))) {
		if _, err := tx.ExecContext(t.Context(), s); err != nil {
			return err
		}
	}
	if random.IntN(5) == 0 {
		return tx.Rollback()
	}
	return tx.Commit()
}

// checkDelivered holds what was read against the table: every row, the last state of each, and no state after a newer
// one.
func checkDelivered(t *testing.T, db *sql.DB, r *reader) {
	t.Helper()
	last := map[int64]int{}
	for _, e := range r.events {
		var row struct {
			ID int64 `json:"id"`
			V  int   `json:"v"`
		}
		if err := json.Unmarshal(e.Row, &row); err != nil {
			t.Fatal(err)
		}
		if before, known := last[row.ID]; known && row.V <= before {
			t.Errorf("row %d came in state %d after %d", row.ID, row.V, before)
		}
		last[row.ID] = row.V
	}
	all, err := db.QueryContext(t.Context(), "SELECT id, v FROM o")
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close() //nolint:errcheck // all.Err is what tells
	n := 0
	for all.Next() {
		var id int64
		var v int
		if err := all.Scan(&id, &v); err != nil {
			t.Fatal(err)
		}
		if got, known := last[id]; !known || got != v {
			t.Errorf("row %d is in state %d; delivered: %v, state %d", id, v, known, got)
		}
		n++
	}
	if err := all.Err(); err != nil {
		t.Fatal(err)
	}
	if n != len(last) {
		t.Errorf("%d rows, and %d were delivered: what was rolled back is no row", n, len(last))
	}
	if page, err := r.src.Fetch(t.Context(), change.Range{After: r.at}, everything); err != nil || len(page.Events) != 0 {
		t.Errorf("afterwards: %d rows (%v)", len(page.Events), err)
	}
}
