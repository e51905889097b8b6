package publisher_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowrelay/rowrelay/engine/engines"
	"github.com/rowrelay/rowrelay/internal/testenv"
	"github.com/rowrelay/rowrelay/publisher"
	"github.com/rowrelay/rowrelay/publisher/event"
)

// TestOlderOutbox: a table that the first version made, with events in every state and claims of its instances, is
// published by this one once `rowrelay outbox init --apply` has run. What is older than it would be now is said.
func TestOlderOutbox(t *testing.T) {
	t.Parallel()
	everyEngine(t, func(t *testing.T, w *world) {
		if w.engine == "mysql" && !testenv.IsMariaDB(t, w.app) {
			t.Skip("MySQL refused what that version wrote to make its tables")
		}
		first, err := os.ReadFile(filepath.Join("testdata", "first", w.engine+".sql"))
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range strings.Split(string(first), ";\n") {
			if strings.TrimSpace(statement) != "" {
				w.exec(statement)
			}
		}
		soon := map[string]string{"postgres": "now()", "mysql": "UTC_TIMESTAMP(6)",
			"sqlite": "strftime('%Y-%m-%d %H:%M:%f', 'now')"}[w.engine]
		for i, e := range []struct {
			aggregate string
			state     event.State
		}{
			{"a", event.Published}, {"a", event.Failed}, {"a", event.Waiting}, {"a", event.Waiting}, {"b", event.Discarded},
			{"b", event.Dead}, {"b", event.Waiting}, {"c", event.Pending}, {"c", event.Pending}, {"d", event.Waiting},
		} {
			w.exec("INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload, idempotency_key, state, retry_count, next_attempt_at) "+
				"VALUES ('Order', ?, 'Happened', ?, ?, ?, 1, CASE WHEN ? = 'FAILED' THEN "+soon+" END)", e.aggregate,
				fmt.Sprintf(`{"n":%d}`, i+1), fmt.Sprintf("key-%d", i+1), string(e.state), string(e.state))
		}
		for i, unit := range []string{"*", "p0", "p63", "i:shop/old#1", "order"} { // the last one of a kind that is no more
			w.exec("INSERT INTO rowrelay_claims (outbox, unit, owner, token, expires_at) SELECT ?, ?, 'shop/old#1', ?, "+
				map[string]string{"postgres": "now() - interval '1 hour'", "mysql": "UTC_TIMESTAMP(6) - INTERVAL 1 HOUR",
					"sqlite": "'2020-01-01 00:00:00.000'"}[w.engine], w.qualified(), unit, 41-i)
		}

		conn, err := engines.Parse(w.url)
		if err != nil {
			t.Fatal(err)
		}
		found, err := publisher.Find(t.Context(), conn, w.cfg.Table)
		if err != nil || !found.Own {
			t.Fatalf("%+v, %v", found, err)
		}
		if about, err := w.open().About(t.Context()); err == nil && !slices.ContainsFunc(about.Warnings,
			func(text string) bool {
				return strings.Contains(text, "_order") && strings.Contains(text, "rowrelay outbox init")
			}) {
			t.Errorf("before `outbox init`: %v", about.Warnings)
		} else if err != nil && (w.engine != "mysql" || !strings.Contains(err.Error(), "rowrelay outbox init")) {
			t.Error(err)
		}
		w.own() // what `rowrelay outbox init --apply` runs
		for _, statement := range found.Lacks {
			w.exec(statement)
		}

		p := w.open()
		about, err := p.About(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if old := strings.Contains(strings.Join(about.Warnings, "\n"), "earlier version"); old != (w.engine == "sqlite") {
			t.Errorf("afterwards: %v", about.Warnings)
		}
		if w.engine == "mysql" { // earlier versions left so many, without a word
			w.exec("DELETE FROM rowrelay_locks WHERE slot > 1000")
			lacks, err := w.open().About(t.Context())
			if told := strings.Join(lacks.Warnings, "\n"); err != nil || !strings.Contains(told, "1001 of its 1024 rows") ||
				strings.Contains(strings.Join(about.Warnings, "\n"), "1024") {
				t.Errorf("of rows to lock: %v, %s", err, told)
			}
		}
		w.until(p, "all that can go has gone", func() bool { return w.states(p)[event.Published] == 7 })
		if diff := cmp.Diff(map[event.State]int{event.Published: 7, event.Dead: 1, event.Waiting: 1, event.Discarded: 1},
			w.states(p)); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		if n, err := p.Requeue(t.Context(), event.Filter{}, nil); n != 1 || err != nil {
			t.Fatalf("requeued %d, %v", n, err)
		}
		w.until(p, "the rest has gone", func() bool { return w.states(p)[event.Published] == 9 })
		for aggregate, want := range map[string][]string{"a": {`{"n":2}`, `{"n":3}`, `{"n":4}`}, "b": {`{"n":6}`, `{"n":7}`},
			"c": {`{"n":8}`, `{"n":9}`}, "d": {`{"n":10}`}} {
			if got := w.broker.payloads(aggregate); !slices.Equal(got, want) {
				t.Errorf("of %s came %v, want %v", aggregate, got, want)
			}
		}
		if tokens := w.column("SELECT token FROM rowrelay_claims WHERE unit = '*'"); len(tokens) != 1 || tokens[0] <= "41" {
			t.Errorf("the counter of tokens is %v, and was 41", tokens)
		}
	})
}

// qualified is the outbox' name in the claims table.
func (w *world) qualified() string {
	w.t.Helper()
	switch w.engine {
	case "postgres":
		return "public.outbox"
	case "mysql":
		return w.column("SELECT CONCAT(DATABASE(), '.outbox')")[0]
	}
	return "outbox"
}
