package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/programtest"
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

// TestExportCloneImport: positions travel, between documents of one source only.
func TestExportCloneImport(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, db := sqliteShop(t, to.URL, 5)
	// With overlap the position is the window's low edge, from which everything comes again that is not remembered.
	s["pollers__orders__source__late_commits"] = "none"
	dir := t.TempDir()
	once(t, dir, s)
	out := stdout(t, dir, s, "state", "export", "orders")
	file := filepath.Join(dir, "position.json")
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	execute(t, db, `INSERT INTO orders (version, status) VALUES (6, 'new'), (7, 'new')`)
	once(t, dir, s)
	wants(t, operate(t, dir, s, "state", "reset", "orders", "--to", "file="+file), "2 row(s) will be delivered again")
	once(t, dir, s)
	if came := to.column("version"); came["5"] != 1 || came["6"] != 2 {
		t.Errorf("after a reset to what was exported: %v", came)
	}

	copied := s.with(s.renamed("copy")).with(s.renamed("other"))
	copied["pollers__other__source__where"] = "version > 3"
	wants(t, operate(t, dir, copied, "state", "clone", "orders", "copy"), "done")
	for name, want := range map[string]string{"copy": "has a state document already", "other": "reads another source"} {
		wants(t, refusal(t, dir, copied, "state", "clone", "orders", name, "--yes"), want)
	}

	foreign := filepath.Join(dir, "foreign.json")
	document := `{"version":1,"poller_name":"orders","source_fingerprint":"sha256:00","checkpoint":{"cursor":{"kind":"integer+pk","value":4,
		"tiebreaker":{"id":4}},"last_successful_batch_id":"b1","updated_at":"2026-04-07T01:23:46.020000Z",
		"metadata":{"row_count":1}},
		"lease":{"owner_id":"","fencing_token":3,"acquired_at":null,"heartbeat_at":null,"expires_at":null}}`
	if err := os.WriteFile(foreign, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	fresh := s.with(settings{"state__path": filepath.Join(dir, "fresh")})
	wants(t, operate(t, dir, fresh, "state", "import", "orders", foreign), "3 row(s) lie after it", "done")
	once(t, dir, fresh)
	if came := to.column("version"); came["4"] != 1 || came["5"] != 2 || came["7"] != 3 {
		t.Errorf("after the import: %v", came)
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

// TestBreakLease: the last resort against a holder that is dead: the token goes up, nothing is delivered.
func TestBreakLease(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 3)
	reached, release := make(chan struct{}), make(chan struct{})
	to.decide(holdFirst(to, reached, release))
	dir := t.TempDir()
	holder := startRun(t, dir, s, "--once")
	<-reached
	wants(t, operate(t, dir, s, "state", "reset", "orders", "--break-lease"), "the lease is held by shop/",
		"the lease is free, the token is 2", "lease_broken_manually")
	if v := showState(t, dir, s); v.Token != "2" || v.Held != "" {
		t.Errorf("%+v", v)
	}
	close(release)
	holder.Wait() // whatever it says: what counts is that it did not commit under the broken lease
	to.decide(nil)
	once(t, dir, s)
	if n, _ := to.count(); n != 3 {
		t.Errorf("%d of 3 events", n)
	}
}

// TestBackfillBesideLiveRows: a range comes again while rows change; no key is ever followed by an older state of
// itself.
func TestBackfillBesideLiveRows(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, db := sqliteShop(t, to.URL, 300)
	s = busy(s).with(settings{"pollers__orders__batch_size": "20"})
	dir := t.TempDir()
	relay := startRun(t, dir, s)
	until(t, "the first rows", func() bool { n, _ := to.count(); return n == 300 })
	done := make(chan string)
	go func() {
		out, errs, err := command(t, dir, s, "backfill", "orders", "--from", "beginning", "--to", "latest", "--rate", "150",
			"--yes")
		done <- fmt.Sprint(out, errs, err)
	}()
	version, ended := 300, ""
	for ended == "" {
		version++
		execute(t, db, `UPDATE orders SET version = ? WHERE id = ?`, version, 1+version%100) // they leave the range
		select {
		case ended = <-done:
		default:
			programtest.Pause(t.Context())
		}
	}
	wants(t, ended, "will be sent again", "has ended")
	until(t, "the last row", func() bool { return to.column("version")[fmt.Sprint(version)] > 0 })
	if code := relay.Interrupt(); code != 0 {
		t.Errorf("code %d: %s", code, relay.Log())
	}
	if _, repeated := to.count(); repeated < 100 {
		t.Errorf("only %d rows came again", repeated)
	}
	to.assertOrder("version")
	if v := showState(t, dir, s); v.Held != "" {
		t.Errorf("%+v", v)
	}
	var view map[string]any
	out, _, err := command(t, dir, s, "state", "show", "orders", "--json")
	if err != nil || json.Unmarshal([]byte(out), &view) != nil || view["backfill"] != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestNamedBackfill: a range is sent from the command's own process, marked, with a position of its own; the live
// poller's is not touched, and a second start under the name has nothing left to send.
func TestNamedBackfill(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 50)
	dir := t.TempDir()
	once(t, dir, s)
	before := showState(t, dir, s)
	marked := 0
	to.decide(func(_ http.ResponseWriter, events []cloudEvent) bool {
		for _, e := range events {
			if e.Backfill == "history" {
				marked++
			}
		}
		return true
	})
	run := []string{"backfill", "orders", "--name", "history", "--from", "cursor=10", "--to", "cursor=40"}
	wants(t, operate(t, dir, s, run...), "30 row(s)", "OUTSIDE the order promise", "done: 30 row(s)")
	if n, repeated := to.count(); n != 50 || repeated != 30 || marked != 30 {
		t.Errorf("%d events, %d of them again, %d marked", n, repeated, marked)
	}
	if after := showState(t, dir, s); after.Position != before.Position {
		t.Errorf("the live position went from %v to %v", before.Position, after.Position)
	}
	wants(t, operate(t, dir, s, run...), "done: 0 row(s)")
}

// TestParkedAreShownAndAskedFor: `state show` lists what is parked, and a reset asks what shall become of it.
func TestParkedAreShownAndAskedFor(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	to.decide(refuse(http.StatusUnprocessableEntity, 2))
	s, _ := sqliteShop(t, to.URL, 3)
	dir := t.TempDir()
	once(t, dir, s)
	wants(t, stdout(t, dir, s, "state", "show", "orders"), `parked       {"id":2}: 1 attempt(s), next `, "422")
	wants(t, refusal(t, dir, s, "state", "reset", "orders", "--to", "beginning", "--yes"),
		"1 event(s) are parked", "--parked keep", "--parked drop")
	wants(t, operate(t, dir, s, "state", "reset", "orders", "--to", "beginning", "--parked", "drop"),
		"1 parked event(s) will be forgotten", "3 row(s) will be delivered again", "parked_dropped_manually")
	to.decide(nil)
	once(t, dir, s)
	if n, _ := to.count(); n != 3 {
		t.Errorf("%d of 3 events", n)
	}
}
