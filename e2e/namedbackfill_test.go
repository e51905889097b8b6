package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestNamedBackfillKeepsItsRange: under its name a backfill goes on where it was, with the range that it was begun
// with, and refuses any other.
func TestNamedBackfillKeepsItsRange(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, db := sqliteShop(t, to.URL, 50)
	s = s.with(settings{"pollers__orders__batch_size": "5", "pollers__orders__output__retries": "1",
		"pollers__orders__concurrency": "1"})
	dir := t.TempDir()
	once(t, dir, s)
	to.decide(func(w http.ResponseWriter, events []cloudEvent) bool {
		for _, e := range events {
			if v, ok := e.Data["version"].(float64); ok && v > 20 && e.Backfill != "" {
				w.WriteHeader(http.StatusServiceUnavailable)
				return false
			}
		}
		return true
	})
	backfill := func(code int, args ...string) string {
		t.Helper()
		out, errs, err := command(t, dir, s, append([]string{"backfill", "orders", "--name", "history", "--yes"}, args...)...)
		if exitCode(t, err) != code {
			t.Errorf("backfill %v: %v\n%s%s", args, err, out, errs)
		}
		return out + errs
	}
	wants(t, backfill(2), "--from beginning or --from cursor=VALUE")
	wants(t, backfill(1, "--from", "cursor=10"), "40 row(s) after", "start it again under the same name")
	to.decide(nil)
	execute(t, db, `INSERT INTO orders (version, status) VALUES (51, 'new')`)
	for _, other := range []string{"--from beginning", "--from cursor=10 --to cursor=40",
		"--from cursor=40 --to cursor=51", "--to cursor=51"} {
		wants(t, backfill(1, strings.Fields(other)...), "--from cursor=10 --to latest", "give another --name")
	}
	wants(t, backfill(0, "--dry-run"), "30 row(s) after", `"value":20`, "dry run: nothing was changed")
	wants(t, backfill(0, "--from", "cursor=10", "--to", "latest"), "30 row(s) after", "done: 30 row(s)")
	wants(t, backfill(0), "0 row(s) after", "done: 0 row(s)")
	came := to.column("version")
	for version, times := range map[int]int{10: 1, 11: 2, 20: 2, 21: 2, 50: 2, 51: 0} {
		if came[fmt.Sprint(version)] != times {
			t.Errorf("version %d came %d times, want %d", version, came[fmt.Sprint(version)], times)
		}
	}
}

// TestNamedBackfillEndsWithDeadLetters: whatever after_dead_letter says, a named backfill ends, says where its dead
// letters are, and the commands reach them.
func TestNamedBackfillEndsWithDeadLetters(t *testing.T) {
	t.Parallel()
	for _, ordering := range []string{"key", "source", "none"} {
		t.Run(ordering, func(t *testing.T) {
			t.Parallel()
			to := newSink(t)
			s, _ := sqliteShop(t, to.URL, 6)
			s = quick(s).with(settings{"pollers__orders__ordering": ordering})
			if ordering == "key" {
				s["pollers__orders__after_dead_letter"] = "block"
			}
			dir := t.TempDir()
			once(t, dir, s)
			to.decide(refuse(422, 2))
			wants(t, operate(t, dir, s, "backfill", "orders", "--name", "history", "--from", "beginning"),
				"done: 6 row(s), of which 1 were given up", "rowrelay deadletter list orders --output backfill-history")
			letter := func(args ...string) (int, string) {
				t.Helper()
				return answering(t, dir, s, "orders\n", append([]string{"deadletter"}, args...)...)
			}
			if code, said := letter("list", "orders", "--output", "backfill-history"); code != 0 ||
				!strings.Contains(said, "1 dead letter(s)") || !strings.Contains(said, `{"id":2}`) {
				t.Errorf("list: %d %s", code, said)
			}
			if code, said := letter("list", "orders", "--output", "backfill-other"); code != 1 ||
				!strings.Contains(said, `has no backfill "other"`) {
				t.Errorf("list of another: %d %s", code, said)
			}
			if code, said := letter("replay", "orders", "--output", "backfill-history"); code != 1 ||
				!strings.Contains(said, "--as-recorded") {
				t.Errorf("replay: %d %s", code, said)
			}
			marked := ""
			to.decide(func(_ http.ResponseWriter, events []cloudEvent) bool { marked = events[0].Backfill; return true })
			if code, said := letter("replay", "orders", "--output", "backfill-history", "--as-recorded"); code != 0 ||
				!strings.Contains(said, "done: 1") {
				t.Errorf("replay --as-recorded: %d %s", code, said)
			}
			if came := to.column("version"); came["2"] != 2 || marked != "history" {
				t.Errorf("version 2 came %d times, marked %q", came["2"], marked)
			}
			if code, said := letter("purge", "orders", "--output", "backfill-history"); code != 0 ||
				!strings.Contains(said, "there are no such dead letters") {
				t.Errorf("purge: %d %s", code, said)
			}
		})
	}
}

// TestNamedBackfillDeadLetterQueue: with dead_letter__kind=queue they go there as well.
func TestNamedBackfillDeadLetterQueue(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 4)
	s, queue, client := buriedInQueue(t, s)
	dir := t.TempDir()
	once(t, dir, s)
	to.decide(refuse(422, 2))
	wants(t, operate(t, dir, s, "backfill", "orders", "--name", "history", "--from", "beginning"), "1 were given up",
		"in the queue "+queue)
	page, err := client.DequeueMessages(t.Context(), nil)
	if err != nil || len(page.Messages) != 1 {
		t.Errorf("%d messages, %v", len(page.Messages), err)
	}
}
