package publisher_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/poller"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// dumped reads what an older version left in the database: see the comment at the top of each file.
func (w *world) dumped(folder string) {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", folder, w.engine+".sql"))
	if err != nil {
		w.t.Fatal(err)
	}
	dump := strings.ReplaceAll(string(text), "'shop.outbox'", "'"+w.qualified()+"'")
	if w.engine == "mysql" && !testenv.IsMariaDB(w.t, w.app) { // which made the dump
		dump = strings.ReplaceAll(dump, "utf8mb4_nopad_bin", "utf8mb4_0900_bin")
	}
	for _, statement := range strings.Split(dump, ";\n") {
		if strings.TrimSpace(statement) != "" {
			w.exec(statement)
		}
	}
}

// mend runs what `rowrelay outbox init --apply` adds to what is there.
func (w *world) mend() {
	w.t.Helper()
	conn, err := engines.Parse(w.url)
	if err != nil {
		w.t.Fatal(err)
	}
	found, err := publisher.Find(w.t.Context(), conn, w.cfg.Table)
	if err != nil {
		w.t.Fatal(err)
	}
	w.own()
	for _, statement := range found.Lacks {
		w.exec(statement)
	}
}

// TestClaimsOfAnEarlierVersion: strategies of an early version claimed aggregates, or the whole outbox. Whoever holds
// such a claim publishes: nobody takes a partition beside it, and everybody once it has ended.
func TestClaimsOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		w.dumped("publishing")
		w.mend()
		later := map[string]string{"postgres": "now() + interval '1 hour'", "mysql": "UTC_TIMESTAMP(6) + INTERVAL 1 HOUR",
			"sqlite": "'2999-01-01 00:00:00.000'"}[w.engine]
		w.exec("UPDATE rowrelay_claims SET expires_at = " + later + " WHERE unit LIKE 'a:%'")
		w.exec("UPDATE rowrelay_claims SET info = '{\"strategy\":\"skip_locked\",\"partitions\":64}' WHERE unit = '*'")
		p := w.open()
		if report := w.tick(p); report.Event != poller.LeaseAcquireSkipped {
			t.Errorf("the tick ended as %s, %v", report.Event, report.Err)
		}
		if got := w.broker.payloads("e"); len(got) > 0 {
			t.Errorf("beside the claims of another came %v", got)
		}
		w.exec("UPDATE rowrelay_claims SET expires_at = '2020-01-01 00:00:00.000' WHERE unit LIKE 'a:%'")
		w.until(p, "all has gone", func() bool { return w.states(p)[event.Published] == 7 })
	})
}

// TestTimesAreAdded: `rowrelay outbox init --apply` adds available_at to an earlier version's table while an instance
// runs. An event that is written with it from then on does not go before its time.
func TestTimesAreAdded(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		w.dumped("publishing")
		w.exec("UPDATE outbox SET state = 'PENDING' WHERE state = 'PUBLISHING'")
		p := w.open()
		w.until(p, "all has gone", func() bool { return w.states(p)[event.Published] == 7 })
		w.mend()
		w.writeTimed("x", "x1", w.instant(3600), "NULL")
		w.writeTimed("x", "x2", "NULL", "NULL")
		w.writeTimed("y", "y1", "NULL", "NULL")
		w.until(p, "what has no time has gone", func() bool { return len(w.broker.payloads("y")) == 1 })
		if got := w.broker.payloads("x"); len(got) > 0 {
			t.Errorf("before its time came %v", got)
		}
		if states := w.states(p); states[event.Delayed] != 1 || states[event.Waiting] != 2 {
			t.Errorf("the states are %v", states)
		}
	})
}

// TestLeftPublishing: an instance of an early version that was killed has left events in a state that only it knew.
// They are neither passed, which would lose them and let later ones of their aggregates go first, nor taken unasked
// from an instance of that version that is still at work: the outbox stops, and `rowrelay outbox init --apply` frees
// them.
func TestLeftPublishing(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		w.dumped("publishing")
		p := w.open()
		report := w.tick(p)
		if report.Event != poller.ConfigInvalid || report.Err == nil ||
			!strings.Contains(report.Err.Error(), "rowrelay outbox init events --apply") {
			t.Errorf("the tick ended as %s, %v", report.Event, report.Err)
		}
		if _, err := p.About(t.Context()); err == nil || !strings.Contains(err.Error(), "PUBLISHING") {
			t.Errorf("about: %v", err)
		}
		if got := w.broker.payloads("a"); len(got) > 0 {
			t.Errorf("of a came %v", got)
		}

		w.mend()
		p = w.open()
		w.until(p, "all has gone", func() bool { return w.states(p)[event.Published] == 7 })
		want := map[event.State]int{event.Published: 7, event.Dead: 1, event.Waiting: 1}
		if diff := cmp.Diff(want, w.states(p)); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		for aggregate, want := range map[string][]string{"a": {`{"n": 4}`, `{"n": 8}`}, "c": {`{"n": 5}`, `{"n": 6}`},
			"d": {`{"n": 7}`}, "e": {`{"n": 9}`}} {
			if got := w.broker.payloads(aggregate); !slices.Equal(got, want) {
				t.Errorf("of %s came %v, want %v", aggregate, got, want)
			}
		}
		w.mend() // it may be repeated
	})
}
