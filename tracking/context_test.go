package tracking_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/tracking"
)

const own = "0x52454c59"

// ownWrites makes a rig whose change table records the writes of others.
func ownWrites(t *testing.T, engine string) *rig {
	t.Helper()
	r := newRig(t, engine)
	r.reinstall(tracking.Writes{Ignored: own})
	return r
}

// as does statements in one transaction, each under the context that stands before it, or under none.
func (r *rig) as(engine string, statements ...string) {
	r.Helper()
	conn, err := r.db.Conn(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	run := func(text string) {
		r.Helper()
		if _, err := conn.ExecContext(r.Context(), text); err != nil {
			r.Fatalf("%s: %v", text, err)
		}
	}
	run("BEGIN")
	for _, text := range statements {
		who, what, said := strings.Cut(text, ": ")
		if !said {
			who, what = "", text
		}
		run(says(engine, strings.Replace(who, "own", own, 1)))
		run(what)
	}
	run("COMMIT")
	if engine == "mysql" { // else it ends with the transaction
		run("SET @rowrelay_context = NULL")
	}
}

// says is how a writer says who it is.
func says(engine, who string) string {
	if engine == "mysql" {
		return "SET @rowrelay_context = '" + strings.ToUpper(who) + "'"
	}
	return "SET LOCAL rowrelay.context = '" + who + "'"
}

// TestOnesOwnWritesAreLeftOut: what was written under the context alone is left out, whatever it was; what others wrote
// is told, also where one's own write came after it.
func TestOnesOwnWritesAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"postgres", "mysql"} {
		t.Run(engine, func(t *testing.T) {
			r := ownWrites(t, engine)
			s := usual
			s.ignored = own
			i := r.instance(s)
			shortly := "" // after a write of others that may have been passed, one's own is told as well
			if engine == "mysql" {
				shortly = "update 1=2, delete 2, delete 3"
			}
			for _, step := range []struct {
				name, want string
				does       []string
			}{
				{"others", "insert 1=1, insert 2=1, insert 3=1", []string{"INSERT INTO orders VALUES (1, 1), (2, 1), (3, 1)"}},
				{"one's own", shortly, []string{"own: UPDATE orders SET v = 2 WHERE id = 1",
					"own: INSERT INTO orders VALUES (4, 1)", "own: UPDATE orders SET v = 2 WHERE id = 4",
					"own: DELETE FROM orders WHERE id = 3", "own: UPDATE orders SET id = 12 WHERE id = 2"}},
				{"another's, then one's own", "update 1=4", []string{"UPDATE orders SET v = 3 WHERE id = 1",
					"own: UPDATE orders SET v = 4 WHERE id = 1"}},
				{"one's own, then another's", "update 1=6", []string{"own: UPDATE orders SET v = 5 WHERE id = 1",
					"UPDATE orders SET v = 6 WHERE id = 1"}},
				{"another's insert, then one's own", "insert 5=2", []string{"INSERT INTO orders VALUES (5, 1)",
					"own: UPDATE orders SET v = 2 WHERE id = 5"}},
				{"another's update, and one's own delete", "delete 5", []string{"UPDATE orders SET v = 3 WHERE id = 5",
					"own: DELETE FROM orders WHERE id = 5"}},
				{"another's delete, and one's own insert", "insert 4=9", []string{"DELETE FROM orders WHERE id = 4",
					"own: INSERT INTO orders VALUES (4, 9)"}},
				{"one's own key change after another's write", "delete 12, insert 22=4", []string{
					"UPDATE orders SET v = 3 WHERE id = 12", "own: UPDATE orders SET id = 22 WHERE id = 12",
					"UPDATE orders SET v = 4 WHERE id = 22"}},
			} {
				r.as(engine, step.does...)
				if step.want == "" {
					for range 3 {
						i.Tick(t.Context())
					}
					if told := r.to.take(); told != "" {
						t.Errorf("%s: told %q", step.name, told)
					}
					continue
				}
				r.until(i, step.want)
			}
			for _, other := range []string{"0x52", "0x52454c5900", "0", "x"} { // another context is another writer
				r.as(engine, other+": UPDATE orders SET v = v + 1 WHERE id = 1")
				i.Tick(t.Context())
			}
			if told := r.to.take(); strings.Count(told, "update 1=") != 4 {
				t.Errorf("of other contexts: told %q", told)
			}
		})
	}
}

// TestOnesOwnWriteHidesNoRefusedOne: another's change that the destination refused comes at its retry, with the newest
// row, also where one's own write came meanwhile.
func TestOnesOwnWriteHidesNoRefusedOne(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"postgres", "mysql"} {
		t.Run(engine, func(t *testing.T) {
			r := ownWrites(t, engine)
			s := usual
			s.ignored, s.maxAttempts = own, 10_000
			i := r.instance(s)
			r.insert(1, 2)
			r.until(i, inserts(1, 2))
			r.to.refuseKey("1")
			r.as(engine, "UPDATE orders SET v = 2")
			r.until(i, "update 2=2")
			r.as(engine, "own: UPDATE orders SET v = 3 WHERE id = 1")
			for range 3 {
				i.Tick(t.Context())
			}
			r.to.set(nil, false)
			r.until(i, "update 1=3")
		})
	}
}

// TestContextNeedsItsRecord: a change table that does not record it is refused with what to do; SQLite has no way for a
// writer to say who it is.
func TestContextNeedsItsRecord(t *testing.T) {
	t.Parallel()
	for _, engine := range everyEngine {
		r := newRig(t, engine)
		_, err := tracking.Install(t.Context(), r.conn, "orders", "", "orders", tracking.Writes{Ignored: own})
		want := "source__ignore_context"
		if engine != "sqlite" {
			want = "rowrelay track uninstall orders"
		}
		if !errors.Is(err, poller.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", engine, err)
		}
	}
}

// TestContextSiege: others and oneself write the same keys at the same time, and some transactions roll back. Of every
// key the last version that another committed arrives, or a later one.
func TestContextSiege(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"postgres", "mysql"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			r := ownWrites(t, engine)
			ctx, end := context.WithTimeout(t.Context(), 2*time.Second)
			defer end()
			var mu sync.Mutex
			foreign := map[int]int64{} // the last version of a key that another committed
			var writers sync.WaitGroup
			for n := range 6 {
				random := rand.New(rand.NewPCG(uint64(n), 11))
				writers.Go(func() {
					for ctx.Err() == nil {
						r.writeAs(ctx, engine, random, n%2 == 0, func(id int, v int64) {
							mu.Lock()
							defer mu.Unlock()
							foreign[id] = max(foreign[id], v)
						})
					}
				})
			}
			s := settings{ttl: 10 * time.Second, delay: 10 * time.Millisecond, maxAttempts: 1000, batch: 3, ignored: own}
			i := r.instance(s)
			for ctx.Err() == nil {
				i.Tick(t.Context())
			}
			writers.Wait()
			var lost []string
			for until := time.Now().Add(programtest.Patience); time.Now().Before(until); {
				i.Tick(t.Context())
				lost = lost[:0]
				r.to.mu.Lock()
				for id, v := range foreign {
					if is := r.to.rows[fmt.Sprint(id)]; is.v < v {
						lost = append(lost, fmt.Sprintf("%d=%d, and the receiver has %+v", id, v, is))
					}
				}
				r.to.mu.Unlock()
				if len(lost) == 0 {
					break
				}
			}
			if len(lost) > 0 || len(r.to.inverted) > 0 || len(foreign) == 0 {
				t.Errorf("LOST %d of %d: %v; INVERTED %v", len(lost), len(foreign), lost[:min(5, len(lost))], r.to.inverted)
			}
		})
	}
}

// writeAs writes a row or two in a transaction, of one key always a higher version, and notes what another committed.
func (r *rig) writeAs(ctx context.Context, engine string, random *rand.Rand, mine bool, note func(int, int64)) {
	tx, err := r.db.BeginTx(ctx, nil)
	if err != nil {
		return
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	who := ""
	if mine {
		who = own
	}
	if _, err := tx.ExecContext(ctx, says(engine, who)); err != nil {
		return
	}
	wrote := map[int]int64{}
	for range 1 + random.IntN(2) {
		id := random.IntN(30)
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("UPDATE orders SET v = v + 1 WHERE id = %d", id)); err != nil {
			return
		}
		var v int64
		switch err := tx.QueryRowContext(ctx, fmt.Sprintf("SELECT v FROM orders WHERE id = %d", id)).Scan(&v); {
		case errors.Is(err, sql.ErrNoRows):
			v = 1
			if _, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO orders VALUES (%d, 1)", id)); err != nil {
				return
			}
		case err != nil:
			return
		}
		wrote[id] = v
	}
	if random.IntN(8) == 0 || tx.Commit() != nil || mine {
		return
	}
	for id, v := range wrote {
		note(id, v)
	}
}
