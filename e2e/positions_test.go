package e2e

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/testfile"
)

// TestResetInTheWindowCountsLateRows: with overlap, a reset forgets the memory by which a row is found that became
// visible behind the position: it says so, and such rows count as skipped.
func TestResetInTheWindowCountsLateRows(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"latest", "cursor=10 --ties after", "cursor=9 --ties after"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			to := newSink(t)
			s, db := sqliteShop(t, to.URL, 10)
			dir := t.TempDir()
			once(t, dir, s)
			args := append([]string{"state", "reset", "orders", "--to"}, strings.Fields(where)...)
			if said := operate(t, dir, s, append(args, "--dry-run")...); strings.Contains(said, "SKIPPED") {
				t.Errorf("nothing is late: %s", said)
			}
			execute(t, db, `INSERT INTO orders (version, status) VALUES (5, 'late')`)
			wants(t, operate(t, dir, s, args...), "Rows below that position that commit late will not be found",
				"At most 1 row(s)", "data loss",
				"checkpoint_advanced_manually")
			wants(t, stdout(t, dir, s, "state", "show", "orders"), "SKIPPED      1 row(s)")
		})
	}
}

// hold makes the state document one whose lease another instance holds.
func hold(t *testing.T, s settings) {
	t.Helper()
	path := filepath.Join(s["state__path"], "state", "shop", "orders.json")
	data := testfile.Read(t, path)
	text := regexp.MustCompile(`"owner_id": "[^"]*"`).ReplaceAllString(string(data), `"owner_id":"shop/dead"`)
	text = regexp.MustCompile(`"(heartbeat|expires)_at": ("[^"]*"|null)`).ReplaceAllString(text,
		`"${1}_at":"2999-01-01T00:00:00.000000Z"`)
	testfile.Write(t, path, text)
}

// TestBreakLeaseAndMove: both in one command, with one question, and nothing is broken for a position that there is
// not.
func TestBreakLeaseAndMove(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 3)
	dir := t.TempDir()
	once(t, dir, s)
	hold(t, s)
	run := func(code int, answer string, args ...string) string {
		t.Helper()
		got, said := answering(t, dir, s, answer, append([]string{"state", "reset", "orders"}, args...)...)
		if got != code {
			t.Errorf("%v: %d %s", args, got, said)
		}
		return said
	}
	wants(t, run(1, "", "--to", "beginning", "--yes"), "the lease is held by shop/dead", "--break-lease")
	wants(t, run(1, "", "--break-lease", "--to", "cursor=nothing", "--yes"), "nothing")
	wants(t, run(2, "", "--break-lease", "--to", "the end", "--yes"), "is not beginning")
	wants(t, run(0, "", "--break-lease", "--to", "beginning", "--dry-run"), "The lease will be taken away",
		"3 row(s) will be delivered again", "dry run: nothing was changed")
	wants(t, run(1, "no\n", "--break-lease", "--to", "beginning"), "nothing was changed")
	if v := showState(t, dir, s); v.Held == "" || v.reached() != 3 {
		t.Fatalf("after refusals and a dry run: %+v", v)
	}
	wants(t, run(0, "orders\n", "--break-lease", "--to", "beginning"), "the lease is free", "lease_broken_manually",
		"checkpoint_reset_manually")
	if v := showState(t, dir, s); v.Held != "" || v.reached() != 0 || v.Token != "2" {
		t.Errorf("%+v", v)
	}
}

// TestExportOfAnotherDatabase: a position is not taken into another life of the database.
func TestExportOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	db, url := openPostgres(t)
	execute(t, db, `CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, status text)`)
	execute(t, db, `INSERT INTO orders (status) VALUES ('a'), ('b'), ('c')`)
	s := settings{
		"state__kind": "file", "state__path": filepath.Join(t.TempDir(), "state"), "state__app_name": "shop",
		"SHOP_DB": url, "pollers__orders__source__connection": "SHOP_DB", "pollers__orders__source__table": "orders",
		"pollers__orders__source__cursor": "id", "pollers__orders__source__late_commits": "none",
		"pollers__orders__output__kind": "http", "pollers__orders__output__url": to.URL,
	}
	dir := t.TempDir()
	once(t, dir, s)
	out := stdout(t, dir, s, "state", "export", "orders")
	incarnation := regexp.MustCompile(`"incarnation": "postgres/[^"]*"`)
	if !incarnation.MatchString(out) {
		t.Fatalf("the export names no incarnation: %s", out)
	}
	file := filepath.Join(dir, "position.json")
	for text, code := range map[string]int{
		out: 0,
		incarnation.ReplaceAllString(out, `"incarnation": "postgres/1/1/1/elsewhere"`): 1,
		incarnation.ReplaceAllString(out, `"incarnation": ""`):                         0,
	} {
		testfile.Write(t, file, text)
		said, errs, err := command(t, dir, s, "state", "reset", "orders", "--to", "file="+file, "--yes")
		if exitCode(t, err) != code {
			t.Errorf("%v: %s%s\n%s", err, said, errs, text)
		}
		if code != 0 {
			wants(t, errs, "postgres/1/1/1/elsewhere", "--to beginning", "accept-gap")
		}
	}
}

// TestJSONResults: with --json, what changes something prints one line of JSON on standard output, and nothing else
// there.
func TestJSONResults(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 3)
	dir := t.TempDir()
	once(t, dir, s)
	for _, c := range []struct {
		args string
		done bool
	}{
		{"state accept-fingerprint orders --yes", false},
		{"state accept-gap orders --yes", false},
		{"state pause orders --yes", true},
		{"state resume orders --yes", true},
		{"deadletter purge orders --yes", false},
		{"backfill orders --from beginning --detach --yes", true},
		{"backfill orders --stop --yes", true},
		{"state reset orders --to beginning --dry-run", false},
		{"state reset orders --to beginning --yes", true},
		{"backfill orders --from beginning --name history --yes", true},
	} {
		out, errs, err := command(t, dir, s, append(strings.Fields(c.args), "--json")...)
		var result struct {
			Done   *bool
			Result string
		}
		if err != nil || json.Unmarshal([]byte(out), &result) != nil || result.Done == nil || *result.Done != c.done ||
			result.Result == "" {
			t.Errorf("%s: %v\n%s%s", c.args, err, out, errs)
		}
	}
}

// TestSettleByMarksRefusesOnce: a single tick knows of no row how old it is, where the cursor is no time.
func TestSettleByMarksRefusesOnce(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 3)
	s = s.with(settings{"pollers__orders__source__cursor": "id", "pollers__orders__source__late_commits": "settle"})
	wants(t, refusal(t, t.TempDir(), s, "run", "--once"), "would never send anything", "settle", "overlap")
}

// TestParkedUnderAnotherKey: events that were parked under another source__key cannot be read any more. Accepting the
// change asks what shall become of them; whoever keeps them can take them out later.
func TestParkedUnderAnotherKey(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"drop", "keep"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			to := newSink(t)
			to.decide(refuse(422, 2))
			s, db := sqliteShop(t, to.URL, 4)
			execute(t, db, `CREATE UNIQUE INDEX orders_by_version ON orders (version)`)
			s = quick(s)
			dir := t.TempDir()
			once(t, dir, s)
			s = s.with(settings{"pollers__orders__source__key": "version"})
			if code, said := answering(t, dir, s, "orders\n", "state", "accept-fingerprint", "orders"); code != 1 ||
				!strings.Contains(said, "--parked drop") {
				t.Errorf("%d %s", code, said)
			}
			said := operate(t, dir, s, "state", "accept-fingerprint", "orders", "--parked", how)
			wants(t, said, "The stored position does not fit the settings", "rowrelay state reset") // it has a key in it as well
			operate(t, dir, s, "state", "reset", "orders", "--to", "cursor=4", "--ties", "after", "--parked", how)
			if how == "drop" {
				wants(t, said, "1 parked event(s) will be forgotten", "done")
			} else {
				until(t, "the parked event to be due", func() bool {
					out, errs, err := command(t, dir, s, "run", "--once")
					return exitCode(t, err) == 1 && strings.Contains(out+errs, "does not fit the settings")
				})
				wants(t, operate(t, dir, s, "deadletter", "purge", "orders", "--parked"),
					"does not fit the settings any more: it is taken out", "parked_purged", "done: 1")
			}
			to.decide(nil)
			execute(t, db, `UPDATE orders SET version = 77 WHERE id = 2`)
			once(t, dir, s)
			if came := to.column("version"); came["77"] != 1 {
				t.Errorf("afterwards came %v", came)
			}
			out, _, err := command(t, dir, s, "state", "show", "orders")
			if err != nil || strings.Contains(out, "parked") {
				t.Errorf("still parked: %v\n%s", err, out)
			}
			wants(t, out, "SKIPPED      1 row(s)") // the version that was refused came nowhere
		})
	}
}
