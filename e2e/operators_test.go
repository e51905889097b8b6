package e2e

import (
	"strings"
	"testing"
)

// operate runs a state command that must succeed, with --yes, and returns what it said.
func operate(t *testing.T, dir string, s settings, args ...string) string {
	t.Helper()
	out, errs, err := command(t, dir, s, append(args, "--yes")...)
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", args, err, out, errs)
	}
	return out + errs
}

// busy is the settings for `rowrelay run` with a poller that looks for rows all the time.
func busy(s settings) settings {
	return s.with(settings{
		"pollers__orders__poll_interval": "10ms", "pollers__orders__schedule": "* * * * * *", "status__listen": "127.0.0.1:0",
	})
}

// once runs every poller once.
func once(t *testing.T, dir string, s settings) string {
	t.Helper()
	out, errs, err := command(t, dir, s, "run", "--once")
	if err != nil {
		t.Fatalf("run --once: %v\n%s%s", err, out, errs)
	}
	return out + errs
}

// TestResetShowsCountsAndNotesSkips: every way to put the position elsewhere says how many rows come again or are
// skipped; a skip is data loss, and is logged and listed.
func TestResetShowsCountsAndNotesSkips(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, db := sqliteShop(t, to.URL, 10)
	dir := t.TempDir()
	once(t, dir, s)
	reset := func(more ...string) string {
		return operate(t, dir, s, append([]string{"state", "reset", "orders"}, more...)...)
	}
	wants(t, reset("--to", "beginning", "--dry-run"), "10 row(s) will be delivered again", "dry run: nothing was changed")
	wants(t, reset("--to", "cursor=4", "--ties", "after"), "6 row(s) will be delivered again")
	once(t, dir, s)
	if again := to.column("version"); again["4"] != 1 || again["5"] != 2 || again["10"] != 2 {
		t.Errorf("after a reset behind 4: %v", again)
	}
	wants(t, reset("--to", "cursor=4", "--ties", "before"), "7 row(s) will be delivered again")
	wants(t, reset("--to", "cursor=9", "--key", "id=9"), "6 row(s) will be SKIPPED", "data loss",
		"checkpoint_advanced_manually")
	execute(t, db, `INSERT INTO orders (version, status) VALUES (11, 'new'), (12, 'new')`)
	wants(t, reset("--to", "latest"), "3 row(s) will be SKIPPED")
	wants(t, stdout(t, dir, s, "state", "show", "orders"), "SKIPPED      6 row(s)", "SKIPPED      3 row(s)")
	once(t, dir, s)
	if n := to.column("version")["11"]; n != 0 {
		t.Errorf("a skipped row came %d times", n)
	}
	for args, want := range map[string]string{
		"--to cursor=4 --key line=3":    "line",
		"--to cursor=4 --ties between":  "before or after",
		"--to cursor=x --ties after":    "cursor",
		"--to beginning --ties after":   "--key and --ties belong to --to cursor=VALUE",
		"--to file=absent.json":         "absent.json",
		"--to beginning --parked maybe": "keep or drop",
	} {
		wants(t, refusal(t, dir, s, append([]string{"state", "reset", "orders", "--yes"}, strings.Fields(args)...)...), want)
	}
}

// TestPauseAndResume: a pause reaches a poller at work at its next batch; its ticks then succeed and do nothing.
func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, db := sqliteShop(t, to.URL, 3)
	s = busy(s).with(settings{"pollers__orders__batch_size": "1"})
	dir := t.TempDir()
	relay := startRun(t, dir, s)
	until(t, "the first rows", func() bool { n, _ := to.count(); return n == 3 })
	wants(t, operate(t, dir, s, "state", "pause", "orders"), "paused")
	until(t, "the lease to be given back", func() bool { return showState(t, dir, s).Held == "" })
	if v := showState(t, dir, s); v.Late.Mode != "overlap" || v.Paused == nil || v.reached() != 3 {
		t.Errorf("with the window open, a pause keeps what was delivered in mind: %+v", v)
	}
	execute(t, db, `INSERT INTO orders (version, status) VALUES (4, 'new')`)
	for range 3 {
		wants(t, once(t, dir, s), `"event":"paused"`) // and it succeeds
	}
	if n, _ := to.count(); n != 3 {
		t.Errorf("%d events: a paused poller delivered", n)
	}
	wants(t, operate(t, dir, s, "state", "pause", "orders"), "has been paused since")
	wants(t, operate(t, dir, s, "state", "resume", "orders"), "resumed")
	until(t, "the row after the pause", func() bool { n, _ := to.count(); return n == 4 })
	if code := relay.Interrupt(); code != 0 {
		t.Errorf("code %d: %s", code, relay.Log())
	}
	wants(t, operate(t, dir, s, "state", "resume", "orders"), "is not paused")
	if _, repeated := to.count(); repeated != 0 {
		t.Errorf("%d rows came again", repeated)
	}
}
