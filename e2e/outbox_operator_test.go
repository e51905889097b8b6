package e2e

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/e2e/fakehost"
	"github.com/rowrelay/rowrelay/internal/programtest"
)

// TestOutboxChoosesWhatIsMeant: an empty flag is refused, a key that looks like a number is only a key, and what a dead
// letter's line says is the row.
func TestOutboxChoosesWhatIsMeant(t *testing.T) {
	t.Parallel()
	on(t, "postgres", func(t *testing.T, engine string) {
		o := newOutboxShop(t, engine, "http://127.0.0.1:9/")
		o.write(3, 1)
		execute(t, o.db, `UPDATE outbox SET state = 'DEAD LETTER', retry_count = 3`)
		seq := map[string]string{}
		for line := range strings.Lines(o.say("outbox", "list", "events", "--json")) {
			var e struct{ ID, Key string }
			if err := json.Unmarshal([]byte(strings.ReplaceAll(line, "idempotency_key", "key")), &e); err != nil {
				t.Fatal(err)
			}
			seq[e.Key] = e.ID
		}
		execute(t, o.db, `UPDATE outbox SET idempotency_key = '`+seq["a0-0"]+`' WHERE idempotency_key = 'a2-0'`)
		execute(t, o.db, `UPDATE outbox SET idempotency_key = '`+seq["a0-0"]+`,9' WHERE idempotency_key = 'a1-0'`)
		for _, args := range [][]string{{"--id", ""}, {"--key", ""}, {"--aggregate", ""}, {"--aggregate-type", ""},
			{"--event-type", ""}, {"--older-than", "0s"}, {"--younger-than", "0s"}} {
			for _, command := range []string{"requeue", "discard"} {
				wants(t, o.refused(append([]string{"outbox", command, "events", "--yes"}, args...)...), args[0]+" is ")
			}
		}
		if s := o.status(); s.Dead != 3 {
			t.Fatalf("%+v", s)
		}
		wants(t, o.say("outbox", "discard", "events", "--yes", "--key", seq["a0-0"], "--key", "absent"), "Order/a2",
			"done: 1; no such event has --key absent")
		wants(t, o.say("outbox", "discard", "events", "--yes", "--key", seq["a0-0"]+",9"), "Order/a1", "done: 1\n")
		wants(t, o.say("outbox", "discard", "events", "--yes", "--json", "--id", seq["a0-0"], "--id", "4711"),
			`{"done":true,"result":"done: 1; no such event has --id 4711"}`)
		if s := o.status(); s.Dead != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// seedTables are the seed's own table, as an application has made it.
var seedTables = map[string]string{
	"sqlite": `CREATE TABLE outbox (id INTEGER PRIMARY KEY, aggregate_type TEXT NOT NULL, aggregate_id TEXT NOT NULL, event_type TEXT NOT NULL, payload TEXT NOT NULL,
		created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, published BOOLEAN NOT NULL DEFAULT FALSE, published_at TEXT,
		retry_count INT NOT NULL DEFAULT 0, idempotency_key TEXT UNIQUE NOT NULL)`,
	"postgres": `CREATE TABLE outbox (id BIGSERIAL PRIMARY KEY, aggregate_type VARCHAR(255) NOT NULL, aggregate_id VARCHAR(255) NOT NULL, event_type VARCHAR(255) NOT NULL, payload JSONB NOT NULL,
		created_at TIMESTAMPTZ NOT NULL DEFAULT now(), published BOOLEAN NOT NULL DEFAULT FALSE, published_at TIMESTAMPTZ,
		retry_count INT NOT NULL DEFAULT 0, idempotency_key VARCHAR(255) UNIQUE NOT NULL)`,
}

// TestOutboxInitOfTheSeedsTable: a table that exists with other columns is left alone, and what goes beside it is
// created, applied or piped; what check says to do before is what works.
func TestOutboxInitOfTheSeedsTable(t *testing.T) {
	t.Parallel()
	for engine, table := range seedTables {
		for _, how := range []string{"applied", "piped", "as check says", "as check says, claims left"} {
			t.Run(engine+", "+how, func(t *testing.T) {
				t.Parallel()
				o := newOutboxShop(t, engine, "http://127.0.0.1:9/")
				execute(t, o.db, `DROP TABLE outbox`)
				if how != "as check says, claims left" {
					execute(t, o.db, `DROP TABLE rowrelay_claims`)
				}
				execute(t, o.db, table)
				switch how {
				case "applied":
					wants(t, o.say("outbox", "init", "events", "--apply"), "outbox exists, with columns of its own",
						"done: rowrelay_claims and the table of failed events")
				case "piped":
					runShell(t, o, o.say("outbox", "init", "events"))
				default:
					out, _, err := command(t, o.dir, o.settings, "check")
					if exitCode(t, err) != 1 {
						t.Fatalf("check of an outbox without its tables: %s", out)
					}
					said := regexp.MustCompile("`rowrelay (outbox init events [^`]*)`").FindStringSubmatch(out)
					if said == nil || !strings.Contains(said[1], "--beside") ||
						!strings.Contains(out, "rowrelay outbox init events --beside\n") {
						t.Fatalf("check says %q:\n%s", said, out)
					}
					o.say(strings.Fields(said[1])...)
				}
				o.write(2, 2)
				if s := o.status(); s.Layout != "mapped" || s.Pending != 4 {
					t.Errorf("%+v", s)
				}
				o.say("check")
			})
		}
	}
}

// TestOutboxInitMakesTheFile: --apply needs no sqlite3.
func TestOutboxInitMakesTheFile(t *testing.T) {
	t.Parallel()
	o := newOutboxShop(t, "sqlite", "http://127.0.0.1:9/")
	path := filepath.Join(t.TempDir(), "new.db")
	o.settings = o.settings.with(settings{"SHOP_DB": "sqlite:" + path})
	o.say("outbox", "init", "events")
	if _, err := os.Stat(path); err == nil {
		t.Error("printing has created the file")
	}
	o.say("outbox", "init", "events", "--apply")
	if s := o.status(); s.Layout != "own" {
		t.Errorf("%+v", s)
	}
	o.settings = o.settings.with(settings{"SHOP_DB": "sqlite:" + filepath.Join(path, "below", "a.db")})
	wants(t, o.refused("outbox", "init", "events", "--apply"), "create the SQLite file of SHOP_DB")
}

// TestOutboxOperatorsNeedNoOutput: what works on rows works while the output's settings are wrong, and what publishes
// does not.
func TestOutboxOperatorsNeedNoOutput(t *testing.T) {
	t.Parallel()
	o := newOutboxShop(t, "sqlite", "http://127.0.0.1:9/")
	o.write(1, 1)
	o.settings = o.settings.with(settings{"pollers__events__output__kind": "rabbitmq",
		"pollers__events__output__connection":   "ABSENT",
		"pollers__events__source__fanout_queue": "parts", "pollers__events__output__url": ""})
	for _, args := range []string{"init events", "status events", "list events", "pause events --yes",
		"resume events --yes", "requeue events --yes",
		"discard events --yes", "cleanup events"} {
		o.say(append([]string{"outbox"}, strings.Fields(args)...)...)
	}
	if out, errs, err := command(t, o.dir, o.settings, "run", "--once"); err == nil || !strings.Contains(errs, "ABSENT") {
		t.Errorf("run: %v\n%s%s", err, out, errs)
	}
}

// TestOutboxStatusOfADeadServer is one line, however many addresses were tried.
func TestOutboxStatusOfADeadServer(t *testing.T) {
	t.Parallel()
	o := newOutboxShop(t, "sqlite", "http://127.0.0.1:9/")
	o.settings = o.settings.with(settings{"SHOP_DB": "postgres://shop:secret@localhost:1/shop?sslmode=prefer"})
	// whoever prints it may have no access
	wants(t, o.say("outbox", "init", "events"), "CREATE TABLE IF NOT EXISTS", "outbox")
	if said := o.refused("outbox", "status", "events"); strings.Contains(said, "secret") ||
		!strings.Contains(said, "refused") {
		t.Errorf("%s", said)
	}
}

// TestOutboxesOfOneTable: two pollers of one outbox are at fault, under run and in check.
func TestOutboxesOfOneTable(t *testing.T) {
	t.Parallel()
	o := newOutboxShop(t, "postgres", "http://127.0.0.1:9/")
	o.settings = o.settings.with(settings{
		"pollers__audit__source__mode": "outbox", "pollers__audit__source__connection": "SHOP_DB",
		"pollers__audit__source__table": "public.outbox",
		"pollers__audit__output__kind":  "stdout",
	})
	_, errs, err := command(t, o.dir, o.settings, "run", "--once")
	if exitCode(t, err) != 1 {
		t.Error("they ran")
	}
	wants(t, errs, "pollers__audit__source__table: \"public.outbox\" is the outbox of the poller events too",
		"pollers__events__source__table: \"outbox\" is the outbox of the poller audit too")
	for _, name := range []string{"audit", "events"} {
		if code, p := checkJSON(t, o.dir, o.settings, name); code != 1 ||
			!strings.Contains(strings.Join(p.Faults, "\n"), "is the outbox of the poller") {
			t.Errorf("check of %s: %d %q", name, code, p.Faults)
		}
	}
}

// TestOutboxStopAtTheQuestion: one Ctrl-C ends a command that waits for the poller's name.
func TestOutboxStopAtTheQuestion(t *testing.T) {
	t.Parallel()
	o := newOutboxShop(t, "sqlite", "http://127.0.0.1:9/")
	o.write(1, 1)
	execute(t, o.db, `UPDATE outbox SET state = 'DEAD LETTER'`)
	in, typed := io.Pipe()
	defer typed.Close() //nolint:errcheck // nothing is under way
	r := programtest.Start(t, programtest.Options{Dir: o.dir, Settings: o.settings, Stdin: in}, "outbox", "discard",
		"events")
	r.Until("the question", func() bool { return strings.Contains(r.Log(), "Type the poller's name") })
	if code := r.Interrupt(); code != 1 || !strings.Contains(r.Log(), "stopped: nothing was changed") {
		t.Errorf("exit code %d: %s", code, r.Log())
	}
	if s := o.status(); s.Dead != 1 {
		t.Errorf("%+v", s)
	}
}

// TestOutboxCleanupThatIsStopped fails and says so, and the next one goes on.
func TestOutboxCleanupThatIsStopped(t *testing.T) {
	t.Parallel()
	o := newOutboxShop(t, "sqlite", "http://127.0.0.1:9/")
	o.settings = o.settings.with(settings{"pollers__events__source__retention": "1h",
		"pollers__events__source__cleanup_chunk": "1"})
	o.write(50, 100)
	execute(t, o.db, `UPDATE outbox SET state = 'PUBLISHED', published_at = strftime('%Y-%m-%d %H:%M:%f', 'now')`)
	o.age()
	r := programtest.Start(t, programtest.Options{Dir: o.dir, Settings: o.settings}, "outbox", "cleanup", "events",
		"--json")
	r.Until("the first chunks", func() bool { return o.count() < 5000 })
	if code := r.Interrupt(); code != 1 || !strings.HasPrefix(r.Stdout(), `{"done":false,"result":"stopped: `) ||
		o.count() == 0 {
		t.Errorf("exit code %d, %d events are left: %s", code, o.count(), r.Log())
	}
	o.settings = o.settings.with(settings{"pollers__events__source__cleanup_chunk": ""})
	wants(t, o.say("outbox", "cleanup", "events"), "were deleted in ")
	if n := o.count(); n != 0 {
		t.Errorf("%d events are left", n)
	}
}

// TestOutboxOnStandardOutput: nothing but events is there, where it is not a terminal.
func TestOutboxOnStandardOutput(t *testing.T) {
	t.Parallel()
	o := newOutboxShop(t, "sqlite", "http://127.0.0.1:9/")
	o.settings = o.settings.with(settings{"pollers__events__output__kind": "stdout", "pollers__events__output__url": ""})
	o.write(2, 3)
	out, errs, err := command(t, o.dir, o.settings, "run", "--once")
	if err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	n := 0
	for line := range strings.Lines(out) {
		var e struct{ ID, Type string }
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.ID == "" || e.Type == "" {
			t.Errorf("%v: %s", err, line)
		}
		n++
	}
	if n != 6 || !strings.Contains(errs, `"event":"tick_complete"`) {
		t.Errorf("%d events; the log is\n%s", n, errs)
	}
}

// TestOutboxPartitionEndsWhenDrained: with the settings' defaults, an idle partition's message does not hold its
// function.
func TestOutboxPartitionEndsWhenDrained(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	o := newOutboxShop(t, "postgres", to.URL)
	root, _ := fanoutApp(t, o)
	o.settings = o.settings.with(settings{"pollers__events__poll_interval": ""})
	o.write(20, 5)
	host := startHost(t, root, o.settings)
	var slowest time.Duration
	for _, what := range []string{"full", "idle"} {
		for n := range 8 {
			message, err := json.Marshal(map[string]any{"poller": "events", "partition": n, "of": 8})
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			if r := host.InvokeWith(t.Context(), "events_partition",
				fakehost.Invocation{Message: string(message)}); !r.Succeeded {
				t.Fatalf("%+v\n%s", r, transcript(host))
			}
			took := time.Since(begun)
			slowest = max(slowest, took)
			if took > 40*time.Second { // tick_budget is 50s
				t.Fatalf("the %s partition %d held its function for %s", what, n, took)
			}
		}
	}
	o.arrived(to)
	t.Logf("the slowest of 16 took %s", slowest)
}

// TestOutboxFunctionsThatAreLeft: what the settings do not ask for any more is named, and what they never asked for not
// written.
func TestOutboxFunctionsThatAreLeft(t *testing.T) {
	t.Parallel()
	o := newOutboxShop(t, "sqlite", "http://127.0.0.1:9/")
	host := `{"version":"2.0","customHandler":{"description":{"defaultExecutablePath":"rowrelay"}}, "extensionBundle":{"id":"x","version":"4"}, "extensions":{"queues":{"maxDequeueCount":1}}}`
	if err := os.WriteFile(filepath.Join(o.dir, "host.json"), []byte(host), 0o600); err != nil {
		t.Fatal(err)
	}
	fanout := o.settings.with(settings{"AzureWebJobsStorage": "UseDevelopmentStorage=true",
		"pollers__events__source__fanout_connection": "AzureWebJobsStorage",
		"pollers__events__source__fanout_queue":      "parts-of-events", "pollers__events__source__cleanup_schedule": "none"})
	plain := o.settings
	o.settings = fanout
	wants(t, o.say("functions"), "events_partition/function.json written", "maxPollingInterval is missing")
	if _, err := os.Stat(filepath.Join(o.dir, "events_cleanup")); err == nil {
		t.Error("source__cleanup_schedule=none has written a clean-up")
	}
	_, p := checkJSON(t, o.dir, withSchedules(o.settings), "events")
	wants(t, strings.Join(p.Warnings, "\n"), "maxPollingInterval is missing")
	if strings.Contains(strings.Join(p.Warnings, "\n"), "events_cleanup") {
		t.Errorf("a clean-up that nobody wants is missed: %q", p.Warnings)
	}
	o.settings = plain
	wants(t, o.say("functions"), "events_partition/ is left over")
	_, p = checkJSON(t, o.dir, withSchedules(o.settings), "events")
	wants(t, strings.Join(p.Warnings, "\n"), "events_partition/ is left over")
	o.settings = plain.with(settings{"pollers__events__source__cleanup_schedule": "none"})
	wants(t, o.say("functions"), "events_cleanup/ is left over")
}
