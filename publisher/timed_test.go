package publisher_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// instant is the database's clock and some seconds, as the application's own SQL says it.
func (w *world) instant(seconds int) string {
	return map[string]string{
		"postgres": fmt.Sprintf("now() + interval '%d seconds'", seconds),
		"mysql":    fmt.Sprintf("UTC_TIMESTAMP(6) + INTERVAL %d SECOND", seconds),
		"sqlite":   fmt.Sprintf("strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', 'now', '%d seconds')", seconds), // not our own form
	}[w.engine]
}

// writeTimed writes an event that has times; "NULL" for none.
func (w *world) writeTimed(aggregate, payload, available, expires string) {
	w.t.Helper()
	w.exec("INSERT INTO "+w.cfg.Table+" (aggregate_type, aggregate_id, event_type, payload, idempotency_key, available_at, expires_at) "+
		"VALUES ('Order', ?, 'Happened', ?, ?, "+available+", "+expires+")", aggregate, payload, "key-"+payload)
}

// comes changes the time of an event that has been looked at already.
func (w *world) comes(payload string) {
	w.t.Helper()
	w.exec("UPDATE "+w.cfg.Table+" SET available_at = "+w.instant(-1)+" WHERE payload = ?", payload)
	if w.cfg.Map == nil { // an own table
		w.exec("UPDATE "+w.cfg.Table+" SET next_attempt_at = created_at WHERE payload = ?", payload)
		return
	}
	now := map[string]string{"postgres": "now()", "mysql": "UTC_TIMESTAMP(6)",
		"sqlite": "strftime('%Y-%m-%d %H:%M:%f', 'now')"}[w.engine]
	text := map[string]string{"postgres": "text", "mysql": "CHAR", "sqlite": "TEXT"}[w.engine]
	w.exec("UPDATE rowrelay_claims_events SET next_attempt_at = "+now+" WHERE event = (SELECT CAST(id AS "+text+") FROM "+
		w.cfg.Table+" WHERE payload = ?)", payload)
}

// TestTimedEvents: an event is not published before its available_at, and its aggregate waits, the others do not; none
// is published after its expires_at. The operator sees which wait for their time, and may give them up.
func TestTimedEvents(t *testing.T) {
	t.Parallel()
	timedLayouts(t, func(t *testing.T, w *world) {
		w.writeTimed("a", "a1", w.instant(-5), w.instant(3600))
		w.writeTimed("a", "a2", w.instant(3600), "NULL")
		w.writeTimed("a", "a3", "NULL", "NULL")
		w.writeTimed("b", "b1", "NULL", w.instant(-1))
		w.writeTimed("b", "b2", "NULL", "NULL")
		w.writeTimed("c", "c1", w.instant(40*24*3600), "NULL")
		w.writeTimed("d", "d1", w.instant(3600), w.instant(-1))
		p := w.open()
		expired := 0
		for range 3 {
			expired += w.tick(p).Expired
		}
		sent := append(w.broker.payloads("a"), w.broker.payloads("b")...)
		if !slices.Equal(sent, []string{"a1", "b2"}) || expired != 2 {
			t.Fatalf("sent are %v, and %d have expired", sent, expired)
		}
		want := map[event.State]int{event.Published: 2, event.Delayed: 2, event.Waiting: 1, event.Discarded: 2}
		if w.cfg.Table == "outbox" { // it has no such state
			want[event.Published], want[event.Discarded] = 4, 0
			delete(want, event.Discarded)
		}
		if diff := cmp.Diff(want, w.states(p)); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		about, err := p.About(t.Context())
		if f := about.Figures; err != nil || f.Delayed != 2 || f.Failed != 0 || f.Waiting != 1 || f.Pending != 0 {
			t.Errorf("%+v, %v", f, err)
		}
		for _, c := range []struct {
			states []event.State
			want   []string
		}{
			{[]event.State{event.Delayed}, []string{"a2", "c1"}}, {[]event.State{event.Failed}, []string{}},
			{[]event.State{event.Failed, event.Delayed, event.Waiting}, []string{"a2", "a3", "c1"}},
		} {
			if got := w.listed(p, event.Filter{States: c.states}); !slices.Equal(got, c.want) {
				t.Errorf("%v are %v, want %v", c.states, got, c.want)
			}
		}
		if n, err := p.Requeue(t.Context(), event.Filter{}, nil); n != 0 || err != nil {
			t.Errorf("requeued %d, %v: what waits for its time has not failed", n, err)
		}
		c1 := event.Filter{States: []event.State{event.Delayed}, Keys: []string{"key-c1"}}
		if n, err := p.Discard(t.Context(), c1, "me", nil); n != 1 || err != nil {
			t.Errorf("discarded %d, %v", n, err)
		}
		w.comes("a2")
		w.until(p, "its time has come", func() bool { return len(w.broker.payloads("a")) == 3 })
		if got := w.broker.payloads("a"); !slices.Equal(got, []string{"a1", "a2", "a3"}) {
			t.Errorf("of a came %v", got)
		}
		if got := append(w.broker.payloads("b"), w.broker.payloads("c")...); !slices.Equal(got, []string{"b2"}) {
			t.Errorf("of b and c came %v", got)
		}
	})
}

// TestDelayEndsByItself: nobody has to look for an event whose time comes.
func TestDelayEndsByItself(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		w.own()
		w.writeTimed("a", "a1", w.instant(2), "NULL")
		w.write("Order", "a", "Happened", "a2")
		p := w.open()
		begun := time.Now()
		if r := w.tick(p); r.Parked != 0 || r.Err != nil {
			t.Errorf("%d are parked, and none has failed; %v", r.Parked, r.Err)
		}
		w.until(p, "its time has come", func() bool { return len(w.broker.payloads("a")) == 2 })
		if early := 1500*time.Millisecond - time.Since(begun); early > 0 {
			t.Errorf("it came %s too early", early)
		}
	})
}

// TestRequeueOfDelayed: an event whose available_at was brought forward goes when it is requeued, also in a table whose
// rows say nothing of the delay. One whose time is still to come waits as before.
func TestRequeueOfDelayed(t *testing.T) {
	t.Parallel()
	timedLayouts(t, func(t *testing.T, w *world) {
		w.writeTimed("a", "a1", w.instant(3600), "NULL")
		w.writeTimed("a", "a2", "NULL", "NULL")
		w.writeTimed("b", "b1", w.instant(3600), "NULL")
		p := w.open()
		w.tick(p)
		w.exec("UPDATE "+w.cfg.Table+" SET available_at = "+w.instant(-1)+" WHERE payload = ?", "a1")
		if n, err := p.Requeue(t.Context(), event.Filter{States: []event.State{event.Failed}}, nil); n != 0 || err != nil {
			t.Errorf("requeued %d FAILED ones, %v", n, err)
		}
		if n, err := p.Requeue(t.Context(), event.Filter{States: []event.State{event.Delayed}}, nil); n != 2 || err != nil {
			t.Errorf("requeued %d, %v", n, err)
		}
		w.until(p, "a1 and a2 have gone, in order", func() bool {
			return slices.Equal(w.broker.payloads("a"), []string{"a1", "a2"})
		})
		if got := w.states(p); got[event.Delayed] != 1 || len(w.broker.payloads("b")) != 0 {
			t.Errorf("states: %v", got)
		}
	})
}

// TestTimesOfAnOlderOutbox: `rowrelay outbox init` adds the columns to a table of an earlier version. Until then it is
// published as it was.
func TestTimesOfAnOlderOutbox(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		w.own()
		for _, c := range []string{"available_at", "expires_at"} {
			w.exec("ALTER TABLE outbox DROP COLUMN " + c)
		}
		w.write("Order", "a", "Happened", "a1")
		p := w.open()
		if about, err := p.About(t.Context()); err != nil || !strings.Contains(strings.Join(about.Warnings, "\n"),
			"lacks available_at or expires_at") {
			t.Errorf("%+v, %v", about, err)
		}
		w.until(p, "it has gone", func() bool { return len(w.broker.payloads("a")) == 1 })
		conn, err := engines.Parse(w.url)
		if err != nil {
			t.Fatal(err)
		}
		found, err := publisher.Find(t.Context(), conn, w.cfg.Table)
		if err != nil || !found.Own || len(found.Lacks) != 2 {
			t.Fatalf("%+v, %v", found, err)
		}
		for _, statement := range found.Lacks {
			w.exec(statement)
		}
		if found, err = publisher.Find(t.Context(), conn, w.cfg.Table); err != nil || len(found.Lacks) != 0 {
			t.Errorf("%+v, %v", found, err)
		}
		w.writeTimed("a", "a2", w.instant(3600), "NULL")
		p = w.open()
		if about, err := p.About(t.Context()); err != nil || len(about.Warnings) > 0 {
			t.Errorf("%+v, %v", about, err)
		}
		w.tick(p)
		if got := w.states(p); got[event.Delayed] != 1 {
			t.Errorf("%v", got)
		}
	})
}

// timedLayouts is layouts with times in both.
func timedLayouts(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	layouts(t, func(t *testing.T, w *world) {
		if w.cfg.Table == "outbox" {
			moment := map[string]string{"postgres": "timestamp", "mysql": "datetime(6)", "sqlite": "text"}[w.engine]
			for _, c := range []string{"available_at", "expires_at"} {
				w.exec("ALTER TABLE outbox ADD " + c + " " + moment + " NULL")
			}
			w.cfg.Map = map[string]string{"available_at": "available_at", "expires_at": "expires_at"}
		}
		test(t, w)
	})
}

// TestInfiniteTimes: what is available at infinity is held, and what expires at -infinity is not published.
func TestInfiniteTimes(t *testing.T) {
	t.Parallel()
	timedLayouts(t, func(t *testing.T, w *world) {
		if w.engine != "postgres" {
			t.Skip("it has no such times")
		}
		w.writeTimed("a", "held", "'infinity'", "NULL")
		w.writeTimed("b", "expired", "NULL", "'-infinity'")
		w.writeTimed("c", "sent", "'-infinity'", "'infinity'")
		p := w.open()
		w.tick(p)
		if got := w.broker.all(); len(got) != 1 || string(got[0].Payload) != "sent" {
			t.Errorf("sent: %v", got)
		}
		if got := w.states(p); got[event.Delayed] != 1 {
			t.Errorf("states: %v", got)
		}
	})
}

// TestSQLitesTimes: the table takes what SQLite reads as a time, and each form means what SQLite reads.
func TestSQLitesTimes(t *testing.T) {
	t.Parallel()
	timedLayouts(t, func(t *testing.T, w *world) {
		if w.engine != "sqlite" {
			t.Skip("it has a type for times")
		}
		forms := []string{"%s-01-01", "%s-01-01 10:00", "%s-01-01T10:00", "%s-01-01 10:00+02:00", "%s-01-01T10:00Z",
			"%s-01-01 24:00:00", "%s-02-31", "%s-01-01 10:00:00.1234567890123", "%s-01-01 10:00:00 +02:00"}
		for i, form := range forms {
			w.writeTimed(fmt.Sprint("later", i), fmt.Sprint("later", i), "'"+fmt.Sprintf(form, "2999")+"'", "NULL")
			w.writeTimed(fmt.Sprint("over", i), fmt.Sprint("over", i), "NULL", "'"+fmt.Sprintf(form, "2020")+"'")
		}
		w.writeTimed("day", "day", "julianday('now', '+3 days')", "NULL")
		w.writeTimed("past", "past", "julianday('now', '-3 days')", "julianday('now', '+3 days')")
		p := w.open()
		w.tick(p)
		if got := w.broker.all(); len(got) != 1 || string(got[0].Payload) != "past" {
			t.Errorf("sent: %v", got)
		}
		if got := w.states(p); got[event.Delayed] != len(forms)+1 {
			t.Errorf("states: %v", got)
		}
	})
}

// TestTimesThatAreNone: a time that cannot be read is not no time. Such an event is broken.
func TestTimesThatAreNone(t *testing.T) {
	t.Parallel()
	timedLayouts(t, func(t *testing.T, w *world) {
		if w.engine != "sqlite" || w.cfg.Table != "outbox" {
			t.Skip("the column takes times only")
		}
		w.writeTimed("a", "available", "'next week'", "NULL")
		w.writeTimed("b", "expires", "NULL", "'1893456000'")
		w.writeTimed("c", "sent", "NULL", "NULL")
		p := w.open()
		w.tick(p)
		if got := w.broker.all(); len(got) != 1 || string(got[0].Payload) != "sent" {
			t.Errorf("sent: %v", got)
		}
		n, failed := 0, event.Filter{States: []event.State{event.Failed, event.Dead}}
		if err := p.List(t.Context(), failed, func(e event.Entry) error {
			if n++; !strings.Contains(e.LastError, "which is no time") {
				t.Errorf("%+v", e)
			}
			return nil
		}); err != nil || n != 2 {
			t.Errorf("%d have failed, %v", n, err)
		}
	})
}
