package e2e

import (
	"cmp"
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

// nameAll returns an answer that names every event in batchItemFailures.
func nameAll(t *testing.T) func(http.ResponseWriter, []cloudEvent) bool {
	return func(w http.ResponseWriter, events []cloudEvent) bool {
		var failed []string
		for _, e := range events {
			failed = append(failed, fmt.Sprintf(`{"itemIdentifier":%q}`, e.ID))
		}
		w.Header().Set("Content-Type", "application/json")
		if _, err := fmt.Fprintf(w, `{"batchItemFailures":[%s]}`, strings.Join(failed, ",")); err != nil {
			t.Error(err)
		}
		return false
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
// dead-lettered after max_attempts, with an Error line, a record that can be shown, and nothing else held up.
func TestPoisonRowAmongAHundred(t *testing.T) {
	t.Parallel()
	for _, status := range []int{422, 500} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			to := newSink(t)
			to.decide(refuse(status, 42))
			s, db := sqliteShop(t, to.URL, 100)
			s = quick(s)
			host := startHost(t, functionApp(t, s), s)
			must(t, host, "orders")
			if n, repeated := to.count(); n != 99 || repeated != 0 {
				t.Errorf("after one tick %d events arrived, %d of them twice; want 99\n%s", n, repeated, transcript(host))
			}
			next := 101
			until(t, "the dead letter", func() bool {
				// Other rows go on: with status 500 they are the evidence that the destination works.
				execute(t, db, `INSERT INTO orders (version, status) VALUES (?, 'new')`, next)
				next++
				tick(t, host)
				return len(deadLetters(t, s)) == 1
			})
			letter := deadLetters(t, s)[0]
			if fmt.Sprint(letter["attempts"]) != "3" || fmt.Sprint(letter["status"]) != fmt.Sprint(status) {
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
		})
	}
}

// TestNothingIsDeadLetteredInAnOutage: a destination that takes nothing is unavailable, whatever it says. When it works
// again, everything arrives.
func TestNothingIsDeadLetteredInAnOutage(t *testing.T) {
	t.Parallel()
	answers := map[string]func(http.ResponseWriter, []cloudEvent) bool{}
	for _, status := range []int{400, 401, 404, 413, 422, 429, 500, 503} {
		answers[fmt.Sprint(status)] = func(w http.ResponseWriter, _ []cloudEvent) bool {
			w.WriteHeader(status)
			return false
		}
	}
	answers["every item named"] = nameAll(t)
	reasons := map[string]string{"401": "denied", "404": "not_found"}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := newSink(t)
			to.decide(answer)
			s, _ := sqliteShop(t, to.URL, 30)
			s = quick(s).with(settings{"pollers__orders__output__retries": "1"})
			host := startHost(t, functionApp(t, s), s)
			for range 6 {
				if line := readLine(t, mustFail(t, host, "orders")); line.Reason != cmp.Or(reasons[name], "unavailable") {
					t.Errorf("a tick in the outage says %s", line)
				}
			}
			if letters := deadLetters(t, s); len(letters) != 0 {
				t.Errorf("dead-lettered: %v", letters)
			}
			to.decide(nil)
			must(t, host, "orders")
			if n, repeated := to.count(); n != 30 || repeated != 0 {
				t.Errorf("%d of 30 events arrived after the outage, %d of them twice\n%s", n, repeated, transcript(host))
			}
		})
	}
}

// TestCoarseOrderKey: one tenant's 2,000 rows stand at the head, and the first of them is bad. The other tenants flow,
// and the tenant's rows follow in order once the bad one is given up.
func TestCoarseOrderKey(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	to.decide(refuse(422, 1))
	s, db := sqliteShop(t, to.URL, 0)
	execute(t, db, `ALTER TABLE orders ADD COLUMN tenant INTEGER NOT NULL DEFAULT 1`)
	execute(t, db, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2100)
		INSERT INTO orders (version, status, tenant) SELECT i, 'new', CASE WHEN i <= 2000 THEN 1 ELSE i END FROM n`)
	s = s.with(settings{
		"pollers__orders__source__order_key": "tenant", "pollers__orders__source__late_commits": "overlap",
		"pollers__orders__max_parked":   "5000",
		"pollers__orders__max_attempts": "2", "pollers__orders__retry_delays": "1s",
		"pollers__orders__tick_budget": "8s", // enough of the tenant's rows for a test
	})
	host := startHost(t, functionApp(t, s), s)
	must(t, host, "orders")
	arrived := to.column("version")
	for v := 2001; v <= 2100; v++ {
		if arrived[fmt.Sprint(v)] == 0 {
			t.Fatalf("version %d of another tenant did not arrive with the first tick\n%s", v, transcript(host))
		}
	}
	until(t, "the tenant's rows", func() bool {
		tick(t, host)
		n, _ := to.count()
		// they come one by one, with a commit for each: these show the order, the simulation that all come
		return n >= 100+300
	})
	to.mu.Lock()
	defer to.mu.Unlock()
	last := 0.0
	for _, e := range to.sequence {
		if e["tenant"] == 1.0 {
			if v, ok := e["version"].(float64); !ok || v < last {
				t.Fatalf("version %v of the tenant arrived after version %v", e["version"], last)
			} else {
				last = v
			}
		}
	}
}
