package main

import (
	"strings"
	"testing"
)

// TestFlagsThatDoNothing: a command line that makes no sense, or of which a part would do nothing, is refused as such,
// and prints nothing.
func TestFlagsThatDoNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	connection := newFile(t)
	runSQL(t, connection, `CREATE TABLE orders (id INTEGER PRIMARY KEY, version INTEGER NOT NULL)`,
		`INSERT INTO orders VALUES (1, 1), (3, 3)`)
	environ := ordersOf(connection, "pollers__orders__source__cursor=version", "state__create=true")
	if _, errs, err := sampled(t, environ, "run", "--once"); err != nil {
		t.Fatal(err, errs)
	}
	for line, want := range map[string]string{
		"backfill orders --status --from beginning":           "--status and --from do not go together",
		"backfill orders --stop --watch":                      "--stop and --watch do not go together",
		"backfill orders --watch --rate 5":                    "--rate belongs to a backfill that begins",
		"backfill orders --name x --watch":                    "--name belongs to a backfill that begins",
		"backfill orders --name x --status":                   "--name belongs to a backfill that begins",
		"backfill orders --name x --stop":                     "--name belongs to a backfill that begins",
		"backfill orders --from beginning --name x --detach":  "--detach is of a backfill that the poller sends",
		"backfill orders --to latest":                         "say where the range begins",
		"backfill orders --from beginning --to beginning":     "--to is latest or cursor=VALUE",
		"backfill orders --from latest":                       "--from is beginning or cursor=VALUE",
		"backfill orders --from beginning --rate -1":          "--rate must not be negative",
		"backfill orders --from beginning --name ../x":        "write a lower-case name",
		"state reset orders":                                  "say where to",
		"state reset orders --to bogus":                       `--to "bogus" is not beginning`,
		"state reset orders --to latest --ties after":         "--key and --ties belong to --to cursor=VALUE",
		"state reset orders --to cursor=3 --key id=3,id=4":    "id is given twice",
		"state reset orders --to cursor=3 --key id=3 --key 4": "4 must be formatted as column=value",
		"state reset orders --to cursor=3 --ties between":     `--ties "between" is not before or after`,
		"state reset orders --break-lease --parked drop":      "--break-lease alone moves no position",
		"state reset orders --break-lease --ties before":      "--break-lease alone moves no position",
		"state reset orders --to accept-gap":                  "rowrelay state accept-gap <poller>",
		"check --ddl --production":                            "--production and --ddl do not go together",
		"check --rows 5 --production":                         "--production and --rows do not go together",
		"check --ddl --json":                                  "--ddl prints SQL, and no JSON",
		"check --accept lag":                                  "--accept is for items of --production",
		"check --production --accept nope":                    "--accept nope: there is no such item",
		"deadletter list orders --cause zzz":                  `--cause "zzz" is not unavailable`,
		"deadletter list orders --since -5h":                  "must not be negative",
		"deadletter replay orders a --since 1h":               "give event ids, or filters",
		"test-event orders --payload {} --dry-run":            "--payload is of an outbox",
		"test-event orders --event-type x --dry-run":          "--event-type is of an outbox",
		"functions --json":                                    "rowrelay functions prints what it has written, and no JSON",
		"config to-yaml --json":                               "rowrelay config to-yaml prints YAML, and no JSON",
	} {
		out, errs, err := sampled(t, environ, strings.Fields(line)...)
		if err == nil || !strings.Contains(err.Error(), want) || exitCode(err) != 2 || out != "" {
			t.Errorf("%s: %v (exit code %d)\n%s%s", line, err, exitCode(err), out, errs)
		}
	}
	// Each once is what it was.
	out, errs, err := sampled(t, environ, "state", "reset", "orders", "--to", "cursor=3", "--key", "id=3", "--dry-run")
	if err != nil || !strings.Contains(out, `{"id":3}`) {
		t.Error(err, out, errs)
	}
}

// TestVariablesAreAllOrNone: what cannot be printed whole is not begun.
func TestVariablesAreAllOrNone(t *testing.T) {
	t.Chdir(t.TempDir())
	out, _, err := sampled(t, []string{"state__kind=file", "pollers__or-ders__source__table=orders"}, "config", "to-env")
	if err == nil || !strings.Contains(err.Error(), "cannot be a variable of a shell") || out != "" {
		t.Errorf("%v\n%s", err, out)
	}
}
