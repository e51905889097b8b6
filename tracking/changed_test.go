package tracking_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/programtest"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/source"
	"github.com/rowrelay/rowrelay/source/plan"
	"github.com/rowrelay/rowrelay/tracking"
)

// watching is a rig whose table has a second column, and whose change table records when some columns were written.
func watching(t *testing.T, name string, changed ...string) *rig {
	t.Helper()
	r := newRig(t, name, "ALTER TABLE orders ADD COLUMN note varchar(20) DEFAULT 'a'")
	r.reinstall(tracking.Writes{Changed: changed})
	return r
}

// reinstall makes the change table anew.
func (r *rig) reinstall(writes tracking.Writes) {
	r.Helper()
	r.uninstall(tracking.Writes{})
	w, err := tracking.Install(r.Context(), r.conn, "orders", "", "orders", writes)
	if err == nil {
		err = w.Apply(r.Context(), r.db)
	}
	if err != nil {
		r.Fatal(err)
	}
}

// openChanged is a source of source__changed.
func (r *rig) openChanged(changed ...string) *source.Cursor {
	r.Helper()
	src, err := source.New(plan.Config{Poller: "orders", Table: "orders", Tracked: true, Start: "latest",
		Changed: changed}, r.conn)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = src.Close() })
	return src
}

func toldOf(events []change.Event) string {
	var told []string
	for i := range events {
		told = append(told, events[i].Op.String()+" "+keyOf(&events[i]))
	}
	return strings.Join(told, ", ")
}

// TestChanged: an update is told where one of the columns was written since the position, by whichever write; inserts
// and deletes are told all the same; what is left out moves the position.
func TestChanged(t *testing.T) {
	t.Parallel()
	for _, name := range everyEngine {
		t.Run(name, func(t *testing.T) {
			r := watching(t, name, "V", "v")
			src := r.openChanged("v")
			at, _, err := src.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range []struct{ name, sql, want string }{
				{"inserts", "INSERT INTO orders VALUES (1, 1, 'a'), (2, 1, 'a'), (3, 1, 'a'), (4, 1, 'a')",
					"insert 1, insert 2, insert 3, insert 4"},
				{"another column", "UPDATE orders SET note = 'b'", ""},
				{"the column, to what it was", "UPDATE orders SET v = v, note = 'c'", ""},
				{"the column", "UPDATE orders SET v = 2 WHERE id = 1", "update 1"},
				{"the column, then another",
					"UPDATE orders SET v = 3 WHERE id = 2; UPDATE orders SET note = 'd' WHERE id = 2", "update 2"},
				{"another, then the column",
					"UPDATE orders SET note = 'e' WHERE id = 3; UPDATE orders SET v = 3 WHERE id = 3", "update 3"},
				{"there and back", "UPDATE orders SET v = 9 WHERE id = 3; UPDATE orders SET v = 3 WHERE id = 3", "update 3"},
				{"a delete after another column", "UPDATE orders SET note = 'f' WHERE id = 4; DELETE FROM orders WHERE id = 4",
					"delete 4"},
				{"again", "INSERT INTO orders VALUES (4, 1, 'a'); UPDATE orders SET note = 'g' WHERE id = 4", "insert 4"},
				{"its key", "UPDATE orders SET id = 14 WHERE id = 4", "delete 4, insert 14"},
				{"all of it at once", "UPDATE orders SET note = 'h'; UPDATE orders SET v = 7 WHERE id = 14", "update 14"},
			} {
				for one := range strings.SplitSeq(step.sql, ";") {
					r.exec(one)
				}
				was := at
				var events []change.Event
				if at, events, err = r.read(src, at); err != nil || toldOf(events) != step.want {
					t.Errorf("%s: told %q, want %q, %v", step.name, toldOf(events), step.want, err)
				}
				if at.Equal(was) {
					t.Errorf("%s: the position stays at %s", step.name, at)
				}
			}
		})
	}
}

// TestChangedByteByByte: what a collation holds equal was written all the same.
func TestChangedByteByByte(t *testing.T) {
	t.Parallel()
	for _, name := range everyEngine {
		t.Run(name, func(t *testing.T) {
			r := watching(t, name, "note")
			r.insert2(1)
			src := r.openChanged("note")
			at, _, err := src.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, note := range []string{"'A'", "'A '", "NULL", "''"} {
				r.exec("UPDATE orders SET note = " + note)
				var events []change.Event
				if at, events, err = r.read(src, at); err != nil || toldOf(events) != "update 1" {
					t.Errorf("note = %s: told %q, %v", note, toldOf(events), err)
				}
			}
		})
	}
}

func (r *rig) insert2(id int) {
	r.Helper()
	r.exec(fmt.Sprintf("INSERT INTO orders VALUES (%d, 1, 'a')", id))
}

// TestChangedIsNotRecorded: a change table that was not made for these columns is refused, with what to do, and the
// install of other columns does not take them from who reads it.
func TestChangedIsNotRecorded(t *testing.T) {
	t.Parallel()
	for _, name := range everyEngine {
		t.Run(name, func(t *testing.T) {
			r := watching(t, name)
			_, err := r.openChanged("v").Describe(t.Context())
			if !errors.Is(err, poller.ErrConfig) || !strings.Contains(err.Error(), "source__changed") ||
				!strings.Contains(err.Error(), "rowrelay track uninstall") {
				t.Errorf("not recorded: %v", err)
			}
			r.reinstall(tracking.Writes{Changed: []string{"v"}})
			if _, err := r.openChanged("v").Describe(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := r.openChanged().Describe(t.Context()); err != nil {
				t.Errorf("whoever asks for nothing reads it: %v", err)
			}
			for _, changed := range [][]string{nil, {"note"}, {"v", "note"}} {
				_, err := tracking.Install(t.Context(), r.conn, "orders", "", "orders", tracking.Writes{Changed: changed})
				if err == nil || !strings.Contains(err.Error(), "source__track_table") {
					t.Errorf("installed for %q over v: %v", changed, err)
				}
			}
			for _, c := range []struct{ column, why string }{{"id", "part of the key"}, {"nil", "no column"}} {
				if _, err := r.openChanged(c.column).Describe(t.Context()); err == nil || !strings.Contains(err.Error(), c.why) {
					t.Errorf("%s: %v", c.column, err)
				}
			}
		})
	}
}

// TestChangedSiege: writers, pages of a few rows, and late commits; the receiver ends with every row's column.
func TestChangedSiege(t *testing.T) {
	t.Parallel()
	quick.Skip(t)
	for _, name := range everyEngine {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := watching(t, name, "v")
			s := settings{ttl: 10 * time.Second, delay: 10 * time.Millisecond, maxAttempts: 1000, batch: 3,
				changed: []string{"v"}}
			ctx, end := context.WithTimeout(t.Context(), 2*time.Second)
			defer end()
			var writers sync.WaitGroup
			for n := range 4 {
				random := rand.New(rand.NewPCG(uint64(n), 7))
				writers.Go(func() {
					for ctx.Err() == nil {
						r.write(ctx, random)
					}
				})
			}
			i := r.instance(s)
			for ctx.Err() == nil {
				i.Tick(t.Context())
			}
			writers.Wait()
			var differ []string
			for until := time.Now().Add(programtest.Patience); time.Now().Before(until); {
				i.Tick(t.Context())
				if differ = r.differ(); len(differ) == 0 {
					break
				}
			}
			if len(differ) > 0 {
				t.Errorf("LOST %d: %v", len(differ), differ[:min(5, len(differ))])
			}
		})
	}
}

// write writes one or two rows in a transaction. Of one key v only grows.
func (r *rig) write(ctx context.Context, random *rand.Rand) {
	tx, err := r.db.BeginTx(ctx, nil)
	if err != nil {
		return
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	for range 1 + random.IntN(2) {
		id := random.IntN(30)
		text := fmt.Sprintf("UPDATE orders SET note = '%d' WHERE id = %d", random.IntN(100), id)
		switch random.IntN(8) {
		case 0:
			text = fmt.Sprintf("DELETE FROM orders WHERE id = %d", id)
		case 1, 2:
			text = fmt.Sprintf("INSERT INTO orders VALUES (%d, %d, 'a')", id, time.Now().UnixNano())
		case 3, 4:
			text = fmt.Sprintf("UPDATE orders SET v = v + 1 WHERE id = %d", id)
		}
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return
		}
	}
	if random.IntN(8) > 0 {
		_ = tx.Commit() // or it was rolled back
	}
}
