package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/e2e/fakehost"
)

// refuse returns an answer that turns down every request that holds one of the rows with these versions.
func refuse(status int, versions ...int) func(http.ResponseWriter, []cloudEvent) bool {
	bad := map[string]bool{}
	for _, v := range versions {
		bad[fmt.Sprint(v)] = true
	}
	return func(w http.ResponseWriter, events []cloudEvent) bool {
		for _, e := range events {
			if bad[fmt.Sprint(e.Data["version"])] {
				w.WriteHeader(status)
				return false
			}
		}
		return true
	}
}

// quick makes retries come soon enough for a test.
func quick(s settings) settings {
	return s.with(settings{"pollers__orders__retry_delays": "20ms,50ms", "pollers__orders__max_attempts": "3"})
}

// tick invokes the function once, whatever comes of it.
func tick(t *testing.T, host *fakehost.Host) { t.Helper(); host.Invoke(t.Context(), "orders") }

// deadLetters are what `rowrelay deadletter list --json` shows of the poller orders, one object for each.
func deadLetters(t *testing.T, s settings) []map[string]any {
	t.Helper()
	out := stdout(t, t.TempDir(), s, "deadletter", "list", "orders", "--json")
	var letters []map[string]any
	for line := range strings.Lines(out) {
		var letter map[string]any
		if err := json.Unmarshal([]byte(line), &letter); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		letters = append(letters, letter)
	}
	return letters
}

// TestPoisonRowAmongAHundred: 99 arrive with the first tick, which succeeds; the one is tried again when it is due, and
// dead-lettered after max_attempts, with an Error line, a record that can be shown, and nothing else held up. Other
// statuses: TestTicksWithAPoisonRow of checkpointed.
func TestPoisonRowAmongAHundred(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	to.decide(refuse(http.StatusInternalServerError, 42))
	s, db := sqliteShop(t, to.URL, 100)
	s = quick(s)
	host := startHost(t, functionApp(t, s), s)
	must(t, host, "orders")
	if n, repeated := to.count(); n != 99 || repeated != 0 {
		t.Errorf("after one tick %d events arrived, %d of them twice; want 99\n%s", n, repeated, transcript(host))
	}
	next := 101
	until(t, "the dead letter", func() bool {
		// Other rows go on: they are the evidence that the destination works.
		execute(t, db, `INSERT INTO orders (version, status) VALUES (?, 'new')`, next)
		next++
		tick(t, host)
		return len(deadLetters(t, s)) == 1
	})
	letter := deadLetters(t, s)[0]
	if fmt.Sprint(letter["attempts"]) != "3" || fmt.Sprint(letter["status"]) != "500" {
		t.Errorf("the dead letter says %v", letter)
	}
	until(t, "an Error line to tell of the dead letter", func() bool {
		return slices.ContainsFunc(host.Logs(), func(l fakehost.Line) bool {
			return l.Level == fakehost.Error && strings.Contains(l.Text, "dead_lettered")
		})
	})
	if n, _ := to.count(); n != next-2 {
		t.Errorf("%d events arrived of %d good ones", n, next-2)
	}
	out, errs, err := command(t, t.TempDir(), s, "deadletter", "show", "orders", fmt.Sprint(letter["id"]), "--json")
	if err != nil || !strings.Contains(out, `"version":42`) {
		t.Errorf("deadletter show: %v\n%s%s", err, out, errs)
	}

	// The destination is mended: a replay brings the row, and takes the record away.
	to.decide(nil)
	stdout(t, t.TempDir(), s, "deadletter", "replay", "orders", "--yes")
	until(t, "the replayed row", func() bool { tick(t, host); return to.column("version")["42"] > 0 })
	if left := deadLetters(t, s); len(left) != 0 {
		t.Errorf("after the replay there are still %v", left)
	}
}
