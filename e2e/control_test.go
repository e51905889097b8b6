package e2e

import (
	"strings"
	"testing"
)

// TestAcceptGap: a table that was emptied, its counter with it, gives values again that were passed: the position is
// ahead of the source. The tick stops and names the two ways on; accepted, the poller goes on behind the last row that
// there is.
func TestAcceptGap(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"accept-gap", "accept-gap, overlap", "reset"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			to := newSink(t)
			s, db := sqliteShop(t, to.URL, 5)
			s["pollers__orders__source__cursor"] = "id" // AUTOINCREMENT: auto is exact
			way, overlap := strings.CutSuffix(way, ", overlap")
			if overlap { // the position is the window's low edge, which is not ahead: what was delivered is
				s["pollers__orders__source__late_commits"] = "overlap"
			}
			dir := t.TempDir()
			once(t, dir, s)
			execute(t, db, `DELETE FROM orders`)
			execute(t, db, `DELETE FROM sqlite_sequence WHERE name = 'orders'`)
			execute(t, db, `INSERT INTO orders (version, status) VALUES (6, 'new'), (7, 'new')`) // with the ids 1 and 2
			out, errs, err := command(t, dir, s, "run", "--once")
			if exitCode(t, err) != 1 {
				t.Errorf("a position ahead of the source was passed over: %s%s", out, errs)
			}
			wants(t, out+errs, "source_gap", "rowrelay state accept-gap orders", "rowrelay state reset orders --to beginning")
			wants(t, stdout(t, dir, s, "state", "show", "orders"), "gap          sqlite orders: the position")
			want := map[string]int{"6": 0, "7": 0, "8": 1}
			if way == "accept-gap" {
				wants(t, operate(t, dir, s, "state", "accept-gap", "orders", "--dry-run"),
					"The poller cannot go on at its position", "dry run: nothing was changed")
				wants(t, operate(t, dir, s, "state", "accept-gap", "orders"), "The poller cannot go on at its position",
					"the last row that there is now", "gap_accepted",
					"at most 2 row(s) up to it are SKIPPED", "checkpoint_advanced_manually")
				wants(t, stdout(t, dir, s, "state", "show", "orders"), "SKIPPED      2 row(s)")
			} else {
				operate(t, dir, s, "state", "reset", "orders", "--to", "beginning")
				want = map[string]int{"6": 1, "7": 1, "8": 1}
			}
			execute(t, db, `INSERT INTO orders (version, status) VALUES (8, 'new')`)
			once(t, dir, s)
			came := to.column("version")
			for version, times := range want {
				if came[version] != times {
					t.Errorf("version %s came %d times, want %d", version, came[version], times)
				}
			}
			if way == "accept-gap" {
				wants(t, operate(t, dir, s, "state", "accept-gap", "orders", "--dry-run"), "") // it succeeds
			}
		})
	}
}

// TestBackfillStatusAndStop: one at a time, seen and stopped while it runs; the live rows do not wait for it.
func TestBackfillStatusAndStop(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, db := sqliteShop(t, to.URL, 300)
	s = busy(s).with(settings{
		"pollers__orders__batch_size": "5",
		// An idle holder meets what an operator asks for with its next heartbeat, after a third of this.
		"pollers__orders__lease_ttl": "9s",
	})
	dir := t.TempDir()
	relay := startRun(t, dir, s)
	until(t, "the first rows", func() bool { n, _ := to.count(); return n == 300 })
	until(t, "their commit", func() bool { // a range ends where the document says that the poller has come to
		return strings.Contains(stdout(t, dir, s, "state", "show", "orders"), `"value":300`)
	})
	backfill := func(code int, args ...string) string {
		t.Helper()
		out, errs, err := command(t, dir, s, append([]string{"backfill", "orders"}, args...)...)
		if exitCode(t, err) != code {
			t.Errorf("backfill %v: %v\n%s%s", args, err, out, errs)
		}
		return out + errs
	}
	wants(t, backfill(0, "--status"), "no backfill of orders is running")
	wants(t, backfill(0, "--stop", "--yes"), "no backfill of orders is running")
	wants(t, backfill(2), "--from beginning or --from cursor=VALUE")
	wants(t, backfill(2, "--from", "the start"), "--from is beginning or cursor=VALUE")
	wants(t, backfill(2, "--from", "beginning", "--rate", "-1"), "must not be negative")
	wants(t, backfill(0, "--from", "cursor=300"), "holds no rows")
	wants(t, backfill(0, "--from", "beginning", "--dry-run"), "300 row(s) after", "dry run: nothing was changed")
	wants(t, backfill(0, "--from", "cursor=100", "--to", "cursor=300", "--rate", "2", "--detach", "--yes"),
		"200 row(s) after", "backfill_begun", "is asked for")
	wants(t, backfill(0, "--status"), "of about 200 row(s)")
	wants(t, backfill(1, "--from", "beginning", "--yes"), "a backfill is running")
	until(t, "rows to come again", func() bool { _, repeated := to.count(); return repeated > 0 })
	execute(t, db, `INSERT INTO orders (version, status) VALUES (301, 'new')`)
	until(t, "the live row", func() bool { return to.column("version")["301"] == 1 })
	wants(t, backfill(0, "--status", "--json"), `"per_second":2`, `"total":200`)
	wants(t, backfill(0, "--stop", "--yes"), "stopped", "backfill_stopped")
	wants(t, backfill(0, "--status"), "no backfill of orders is running")
	execute(t, db, `INSERT INTO orders (version, status) VALUES (302, 'new')`)
	until(t, "the next live row", func() bool { return to.column("version")["302"] == 1 })
	if code := relay.Interrupt(); code != 0 {
		t.Errorf("code %d: %s", code, relay.Log())
	}
	came := to.column("version")
	if _, repeated := to.count(); repeated == 0 || repeated == 200 || came["100"] != 1 {
		t.Errorf("%d rows came again, version 100 %d times", repeated, came["100"])
	}
	to.assertOrder("version")
	if strings.Contains(relay.Log(), `"level":"ERROR"`) {
		t.Errorf("it said %s", relay.Log())
	}
}
