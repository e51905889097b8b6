package e2e

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/rowrelay/rowrelay/internal/programtest"
)

// TestOutboxIsPublishedInOrder: `rowrelay run` publishes what is there and what comes, in order per aggregate, says so,
// and ends cleanly.
func TestOutboxIsPublishedInOrder(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, engine string) {
		to := newSink(t)
		o := newOutboxShop(t, engine, to.URL)
		// once more harms nothing
		wants(t, o.say("outbox", "init", "events", "--apply"), "done: outbox and rowrelay_claims are there")
		o.write(20, 15)
		if s := o.status(); s.Pending != 300 || s.Layout != "own" || s.OldestPendingSeconds <= 0 {
			t.Errorf("before: %+v", s)
		}
		r := startRun(t, o.dir, o.settings)
		o.arrived(to)
		for range 5 {
			o.write(20, 2)
		}
		o.arrived(to)
		if code := r.Interrupt(); code != 0 {
			t.Errorf("exit code %d\n%s", code, r.Log())
		}
		if s := o.status(); s.Pending != 0 || s.Failed+s.Waiting+s.Dead != 0 || len(s.Owners) != 0 {
			t.Errorf("after: %+v", s)
		}
		if _, repeated := to.count(); repeated != 0 {
			t.Errorf("%d events came twice", repeated)
		}
	})
}

// TestOutboxSurvivesAKill: what was published but not marked comes again with the same id; nothing is lost or out of
// order. The next one does not wait for the claims of the dead one, which last an hour.
func TestOutboxSurvivesAKill(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, engine string) {
		for _, strategy := range []string{"leader", "partitioned", "skip_locked"} {
			t.Run(strategy, func(t *testing.T) {
				t.Parallel()
				to := newSink(t)
				o := newOutboxShop(t, engine, to.URL)
				o.settings = o.settings.with(settings{"pollers__events__source__claim_ttl": "1h",
					"pollers__events__source__strategy": strategy})
				o.write(20, 50)
				r := startRun(t, o.dir, o.settings)
				until(t, "some events", func() bool { n, _ := to.count(); return n > 100 })
				r.Kill()
				startRun(t, o.dir, o.settings)
				o.arrived(to)
			})
		}
	})
}

// TestOutboxPause: a paused outbox publishes nothing and fails nothing; `state pause` is the same.
func TestOutboxPause(t *testing.T) {
	t.Parallel()
	on(t, "mysql", func(t *testing.T, engine string) {
		to := newSink(t)
		o := newOutboxShop(t, engine, to.URL)
		o.settings = o.settings.with(settings{"pollers__events__poll_interval": "0s"})
		for _, by := range []string{"outbox", "state"} {
			wants(t, o.say(by, "pause", "events", "--yes"), "paused")
			wants(t, o.say(by, "pause", "events", "--yes"), "is paused already")
			if s := o.status(); s.Paused == "" {
				t.Errorf("status: %+v", s)
			}
			before, _ := to.count()
			o.write(3, 2)
			wants(t, o.say("run", "--once"), `"event":"paused"`)
			if n, _ := to.count(); n != before {
				t.Errorf("%d events came while it was paused", n-before)
			}
			wants(t, o.say(by, "resume", "events", "--yes"), "resumed")
			wants(t, o.say(by, "resume", "events", "--yes"), "is not paused")
			o.say("run", "--once")
			o.arrived(to)
		}
	})
}

// requeueByID is the command that a dead letter's line gives.
var requeueByID = regexp.MustCompile("rowrelay outbox requeue events --id [0-9]+`")

// TestOutboxDeadLetter: a poison event becomes a dead letter, its followers wait while others flow, and requeue
// publishes it and then them, in order; discard lets them go on without it.
func TestOutboxDeadLetter(t *testing.T) {
	t.Parallel()
	on(t, "postgres", func(t *testing.T, engine string) {
		to := newSink(t)
		poison := map[string]bool{"a1-2": true, "a2-0": true}
		to.decide(func(w http.ResponseWriter, events []cloudEvent) bool {
			for _, e := range events {
				if poison[e.ID] {
					w.WriteHeader(http.StatusUnprocessableEntity)
					return false
				}
			}
			return true
		})
		o := newOutboxShop(t, engine, to.URL)
		o.write(5, 6)
		listen := programtest.FreeAddress(t)
		r := startRun(t, o.dir, o.settings.with(settings{"status__listen": listen}))
		until(t, "two dead letters", func() bool {
			o.write(1, 1) // of another aggregate: the destination accepts others
			return o.status().Dead == 2
		})
		until(t, "the others to arrive", func() bool { n, _ := to.count(); return n == o.total()-4-6 })
		until(t, "their followers to wait", func() bool { s := o.status(); return s.Waiting == 3+5 && s.Failed == 0 })
		until(t, "the dead letters to be said", func() bool {
			said := r.Log()
			return strings.Contains(said, `"event":"dead_lettered"`) && len(requeueByID.FindAllString(said, -1)) == 2
		})
		until(t, "the metrics to show the dead letters", func() bool {
			text := get(t, "http://"+listen+"/metrics", "")
			return strings.Contains(text, `rowrelay_outbox_dead{poller="events"} 2`) &&
				strings.Contains(text, `rowrelay_outbox_waiting{poller="events"} 8`) &&
				strings.Contains(text, `rowrelay_deadlettered_total{output="",poller="events",reason="refused"} 2`)
		})
		wants(t, o.say("outbox", "list", "events", "--state", "dead"), "a1-2", "a2-0", "Order/a1", "DEAD LETTER",
			"failed 3 time(s)", "422", "2 event(s)")
		wants(t, o.say("outbox", "list", "events"), "WAITING", "10 event(s)")
		wants(t, o.say("outbox", "list", "events", "--aggregate", "a1", "--state", "waiting", "--limit", "1"), "a1-3",
			"1 event(s)", "there may be more")
		wants(t, o.say("outbox", "requeue", "events", "--dry-run"), "2 event(s) will be published again",
			"dry run: nothing was changed")
		wants(t, o.refused("outbox", "requeue", "events", "--key", "a1-2"), "not confirmed")
		wants(t, o.refused("outbox", "discard", "events", "--state", "published", "--yes"),
			"only delayed, failed, waiting, dead")

		to.decide(nil)
		wants(t, o.say("outbox", "requeue", "events", "--key", "a1-2", "--yes"), "1 event(s)", "done: 1")
		until(t, "the aggregate to arrive", func() bool { n, _ := to.count(); return n == o.total()-6 })
		to.assertOrder("n")
		wants(t, o.say("outbox", "discard", "events", "--key", "a2-0", "--yes"), "NEVER", "done: 1")
		until(t, "its followers to arrive", func() bool { n, _ := to.count(); return n == o.total()-1 })
		to.assertOrder("n")
		wants(t, o.say("outbox", "list", "events", "--state", "discarded"), "a2-0", "DISCARDED")
	})
}

// TestOutboxPoisonAlone: a poison event becomes a dead letter although no other event comes beside or after it. What
// the destination accepted minutes ago is evidence enough, and each attempt is few requests.
func TestOutboxPoisonAlone(t *testing.T) {
	t.Parallel()
	on(t, "sqlite", func(t *testing.T, engine string) {
		to := newSink(t)
		requests := 0
		to.decide(func(w http.ResponseWriter, events []cloudEvent) bool {
			for _, e := range events {
				if e.ID == "a0-1" {
					requests++
					w.WriteHeader(http.StatusInternalServerError)
					return false
				}
			}
			return true
		})
		o := newOutboxShop(t, engine, to.URL)
		o.write(1, 1)
		r := startRun(t, o.dir, o.settings)
		until(t, "the good event", func() bool { n, _ := to.count(); return n == 1 })
		o.write(1, 1)
		until(t, "a dead letter", func() bool { return o.status().Dead == 1 })
		r.Interrupt()
		if n, _ := to.count(); n != 1 {
			t.Errorf("%d events arrived", n)
		}
		to.mu.Lock()
		defer to.mu.Unlock()
		if requests > 20 {
			t.Errorf("three attempts took %d requests", requests)
		}
	})
}

// TestOutboxCleanup: published events beyond the retention go, dead letters and pending ones stay.
func TestOutboxCleanup(t *testing.T) {
	t.Parallel()
	on(t, "mysql", func(t *testing.T, engine string) {
		to := newSink(t)
		o := newOutboxShop(t, engine, to.URL)
		o.settings = o.settings.with(settings{"pollers__events__poll_interval": "0s",
			"pollers__events__source__retention": "1h", "pollers__events__source__cleanup_chunk": "7"})
		o.write(10, 2)
		o.say("run", "--once")
		o.arrived(to)
		o.age()
		o.write(10, 1)
		wants(t, o.say("outbox", "cleanup", "events", "--dry-run"), "20 event(s)", "nothing was deleted")
		wants(t, o.say("outbox", "cleanup", "events"), "done: 20 event(s) were deleted in ")
		wants(t, o.say("outbox", "cleanup", "events"), "done: 0 event(s)")
		if n := o.count(); n != 10 {
			t.Errorf("%d events are left", n)
		}
	})
}

// TestOutboxInitPrintsWhatItApplies: the printed DDL, run by the engine's own shell, makes the same tables.
func TestOutboxInitPrintsWhatItApplies(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, engine string) {
		o := newOutboxShop(t, engine, "http://127.0.0.1:9/")
		ddl := o.say("outbox", "init", "events")
		wants(t, ddl, "-- For the outbox of the poller events", "CREATE TABLE", ";\n")
		execute(t, o.db, `DROP TABLE outbox`)
		execute(t, o.db, `DROP TABLE rowrelay_claims`)
		runShell(t, o, ddl)
		o.write(1, 3)
		if s := o.status(); s.Pending != 3 {
			t.Errorf("%+v", s)
		}
	})
}

// TestOutboxAndDocuments: what works on state documents names the outbox' own command, and the other way round.
func TestOutboxAndDocuments(t *testing.T) {
	t.Parallel()
	o := newOutboxShop(t, "sqlite", "http://127.0.0.1:9/")
	for args, want := range map[string]string{
		"state show events":                     "rowrelay outbox status events",
		"state reset events --to beginning":     "rowrelay outbox requeue events",
		"deadletter list events":                "rowrelay outbox list events",
		"deadletter replay events":              "rowrelay outbox requeue events",
		"backfill events --from beginning":      "rowrelay outbox",
		"outbox status absent":                  `there is no poller "absent"`,
		"outbox list events --state lost":       "pending, delayed, published",
		"outbox list events --limit -1":         "--limit",
		"outbox requeue events --state waiting": "only delayed, failed, dead",
		"outbox init":                           "does not take 0 argument(s): write rowrelay outbox init <poller>",
	} {
		wants(t, o.refused(strings.Fields(args)...), want)
	}
	s, _ := sqliteShop(t, "http://127.0.0.1:9/", 0)
	o.settings = s
	wants(t, o.refused("outbox", "status", "orders"), "orders is no outbox", "rowrelay state")
}

// TestOutboxCheck: without its tables an outbox is at fault, and the command that creates them is named; with them the
// check shows layout, strategy and figures, and changes nothing.
func TestOutboxCheck(t *testing.T) {
	t.Parallel()
	o := newOutboxShop(t, "sqlite", "http://127.0.0.1:9/")
	o.write(2, 2)
	out := o.say("check")
	wants(t, out, "own columns, claims in rowrelay_claims", "strategy",
		"4 pending, 0 delayed, 0 failed, 0 waiting, 0 dead", `"idempotency_key":"a0-0"`, "clean-up", "aggregate waits")
	if s := o.status(); s.Pending != 4 {
		t.Errorf("%+v", s)
	}
	execute(t, o.db, `DROP TABLE rowrelay_claims`)
	out, errs, err := command(t, o.dir, o.settings, "check")
	if exitCode(t, err) != 1 {
		t.Errorf("%s%s", out, errs)
	}
	wants(t, out, "✗", "rowrelay outbox init events")
}

func TestOutboxHelp(t *testing.T) {
	for args, parts := range map[string][]string{
		"outbox": {"init", "status", "list", "requeue", "discard", "cleanup", "pause", "resume", "DEAD LETTER",
			"WAITING", "docs/outbox.md"},
		"outbox init":   {"psql", "sqlcmd", "mysql", "sqlite3", "--apply", "exists already is left as it is"},
		"outbox status": {"fencing token", "--json", "at least"},
		"outbox list": {"--state", "--id", "--key", "--aggregate-type", "--aggregate ", "--event-type", "--older-than",
			"--younger-than", "--limit", "--json"},
		"outbox requeue": {"--dry-run", "--yes", "in order", "Ctrl-C"},
		"outbox discard": {"NEVER published", "data loss", "--dry-run"},
		"outbox cleanup": {"source__retention", "Dead letters", "Ctrl-C"},
		"outbox pause":   {"Every instance", "--yes"},
		"outbox resume":  {"--yes"},
	} {
		out, errs, err := command(t, t.TempDir(), settings{}, append(strings.Fields(args), "--help")...)
		if err != nil || errs != "" {
			t.Errorf("%s: %v: %s", args, err, errs)
		}
		wants(t, out, parts...)
	}
}
