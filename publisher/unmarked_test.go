package publisher_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// stuck makes a database report success for changes of rows whose payload begins so, and change nothing.
func (w *world) stuck() {
	w.t.Helper()
	for _, event := range []string{"UPDATE", "DELETE"} {
		name := w.cfg.Table + "_stuck_" + strings.ToLower(event)
		if w.engine == "sqlite" {
			w.exec("CREATE TRIGGER " + name + " BEFORE " + event + " ON " + w.cfg.Table +
				" WHEN OLD.payload LIKE 'stuck%' BEGIN SELECT RAISE(IGNORE); END")
			continue
		}
		w.exec("CREATE OR REPLACE FUNCTION stuck() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
		w.exec("CREATE TRIGGER " + name + " BEFORE " + event + " ON " + w.cfg.Table +
			" FOR EACH ROW WHEN (OLD.payload LIKE 'stuck%') EXECUTE FUNCTION stuck()")
	}
}

// TestMarksThatMeetNoRow: an event whose row cannot be marked was counted as published, and sent again by every fetch.
// The tick fails and says so, the event is left alone for a while, and the others go on.
func TestMarksThatMeetNoRow(t *testing.T) {
	t.Parallel()
	layouts(t, func(t *testing.T, w *world) {
		if w.engine == "mysql" {
			t.Skip("its triggers do not skip a row")
		}
		w.stuck()
		for i := range 60 {
			w.write("Order", fmt.Sprint("s", i), "X", fmt.Sprintf("stuck-%d", i))
		}
		w.write("Order", "a", "X", "a1")
		w.write("Order", "a", "X", "a2")
		p := w.open()
		r := w.tick(p)
		if r.Event != poller.CommitFailed || r.Err == nil || !strings.Contains(r.Err.Error(), "row security") {
			t.Errorf("the tick ended as %s, %v", r.Event, r.Err)
		}
		if got := w.broker.payloads("a"); !slices.Equal(got, []string{"a1", "a2"}) {
			t.Errorf("of the others came %v", got)
		}
		w.write("Order", "a", "X", "a3")
		if r := w.tick(p); r.Event != poller.TickComplete {
			t.Errorf("the next tick ended as %s, %v", r.Event, r.Err)
		}
		if n := len(w.broker.taken); n != 63 {
			t.Errorf("%d were taken, not 63", n)
		}
		if diff := cmp.Diff(map[event.State]int{event.Pending: 60, event.Published: 3}, w.states(p)); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
	})
}

// refuse makes a database refuse changes of rows whose payload begins so, by an error of a trigger.
func (w *world) refuse() {
	w.t.Helper()
	fault := map[string]string{
		"sqlite": "BEGIN SELECT RAISE(ABORT, 'not this one') WHERE OLD.payload LIKE 'stuck%'; END",
		"mysql": "FOR EACH ROW BEGIN IF OLD.payload LIKE 'stuck%' THEN SIGNAL SQLSTATE '45000' " +
			"SET MESSAGE_TEXT = 'not this one'; END IF; END",
		"postgres": "FOR EACH ROW WHEN (OLD.payload LIKE 'stuck%') EXECUTE FUNCTION refuse()",
	}[w.engine]
	if w.engine == "postgres" {
		w.exec("CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql " +
			"AS 'BEGIN RAISE EXCEPTION ''not this one''; END'")
	}
	for _, event := range []string{"UPDATE", "DELETE"} {
		name := w.cfg.Table + "_refuse_" + strings.ToLower(event)
		w.exec("CREATE TRIGGER " + name + " BEFORE " + event + " ON " + w.cfg.Table + " " + fault)
	}
}

// TestMarksThatAreRefused: a row that refuses its mark undid the marks of all events that were sent with it, and all
// were sent again and again. It is left alone for a while, and the others go on, beside an event that the destination
// refused as well.
func TestMarksThatAreRefused(t *testing.T) {
	t.Parallel()
	layouts(t, func(t *testing.T, w *world) {
		w.refuse()
		for i := range 5 {
			w.write("Order", fmt.Sprint("s", i), "X", fmt.Sprintf("stuck-%d", i))
			w.write("Order", fmt.Sprint("o", i), "X", fmt.Sprintf("other-%d", i))
		}
		w.write("Order", "r", "X", "r1")
		w.broker.will(true, "r1")
		p := w.open()
		r := w.tick(p)
		if r.Event != poller.CommitFailed || r.Err == nil || !strings.Contains(r.Err.Error(), "not this one") {
			t.Errorf("the tick ended as %s, %v", r.Event, r.Err)
		}
		w.write("Order", "o1", "X", "another")
		if r := w.tick(p); r.Event != poller.TickComplete {
			t.Errorf("the next tick ended as %s, %v", r.Event, r.Err)
		}
		w.broker.took(t, 11)
		states := w.states(p)
		if states[event.Pending] != 5 || states[event.Published] != 6 {
			t.Errorf("states: %v", states)
		}
	})
}

// TestMarksOfRowsThatAreLocked: a row that an application's open transaction locked held up the marks of all events
// that were sent with it until source__timeout. Then all were sent again.
func TestMarksOfRowsThatAreLocked(t *testing.T) {
	t.Parallel()
	layouts(t, func(t *testing.T, w *world) {
		if w.engine == "sqlite" {
			t.Skip("it locks no rows")
		}
		for _, payload := range []string{"a1", "b1", "c1", "d1", "r1"} {
			w.write("Order", payload[:1], "X", payload)
		}
		tx, err := w.app.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		for _, payload := range []string{"b1", "c1"} {
			if _, err := tx.ExecContext(t.Context(),
				w.marks("UPDATE "+w.cfg.Table+" SET retry_count = 0 WHERE idempotency_key = ?"), "key-"+payload); err != nil {
				t.Fatal(err)
			}
		}
		w.broker.will(true, "r1")
		p := w.open()
		r := w.tick(p)
		if r.Event != poller.CommitFailed || r.Err == nil ||
			!strings.Contains(r.Err.Error(), "another transaction locks the rows") {
			t.Errorf("the tick ended as %s, %v", r.Event, r.Err)
		}
		w.write("Order", "e", "X", "e1")
		if r := w.tick(p); r.Event != poller.TickComplete {
			t.Errorf("the next tick ended as %s, %v", r.Event, r.Err)
		}
		w.broker.took(t, 5)
		if s := w.states(p); s[event.Pending] != 2 || s[event.Published] != 3 {
			t.Errorf("states: %v", s)
		}
	})
}

// TestMarksOfRowsThatAreGone: what others deleted while it was sent is no fault.
func TestMarksOfRowsThatAreGone(t *testing.T) {
	t.Parallel()
	layouts(t, func(t *testing.T, w *world) {
		w.write("Order", "a", "X", "a1")
		w.write("Order", "b", "X", "b1")
		w.broker.before = func() { w.exec("DELETE FROM " + w.cfg.Table + " WHERE payload = 'a1'") }
		if r := w.tick(w.open()); r.Event != poller.TickComplete {
			t.Errorf("the tick ended as %s, %v", r.Event, r.Err)
		}
	})
}

// TestIDsOfAnyStorageClass: a column of SQLite without a type, or of bytes, holds values of any class. 1 and '1' are
// two ids there. Each event is sent once, and what failed is found again.
func TestIDsOfAnyStorageClass(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		if w.engine != "sqlite" {
			t.Skip("its columns have types")
		}
		for _, typ := range []string{"", "blob"} {
			w.broker = &broker{refuse: map[string]bool{}}
			w.exec("DROP TABLE IF EXISTS outbox")
			w.exec("CREATE TABLE outbox (id " + typ + " PRIMARY KEY NOT NULL, seq integer NOT NULL, aggregate_id text, " +
				"payload text, published boolean NOT NULL DEFAULT FALSE)")
			w.mapped()
			ids := []string{"1", "'1'", "1.1", "'text:a'", "x'31'", "9007199254740993", "''", "'integer:1'", "0.1 + 0.2"}
			for i, id := range ids {
				w.exec("INSERT INTO outbox (id, seq, aggregate_id, payload) VALUES ("+id+", ?, ?, ?)", i, id, id)
			}
			w.broker.will(true, "1")
			w.broker.will(true, "'1'")
			p := w.open()
			r := w.tick(p)
			if r.Err != nil {
				t.Errorf("%q: %v", typ, r.Err)
			}
			w.broker.took(t, len(ids)-2)
			if s := w.states(p); s[event.Failed] != 2 || s[event.Published] != len(ids)-2 {
				t.Errorf("%q: states %v", typ, s)
			}
			f := event.Filter{IDs: []string{"integer:1"}}
			var listed []string
			err := p.List(t.Context(), f, func(e event.Entry) error {
				listed = append(listed, e.AggregateID)
				return nil
			})
			if err != nil || !slices.Equal(listed, []string{"1"}) {
				t.Errorf("%q: listed %v, %v", typ, listed, err)
			}
			w.broker.will(false, "1")
			w.broker.will(false, "'1'")
			w.until(p, "the refused ones are sent", func() bool { return w.states(p)[event.Published] == len(ids) })
			w.broker.took(t, len(ids))
		}
	})
}
