package deploy_test

import (
	"fmt"
	"maps"
	"slices"
	"syscall"
	"testing"

	"github.com/rowrelay/rowrelay/internal/programtest"
)

// scrapes is how often an application is scraped at least: 76 minutes of simulated time.
const scrapes = 20

// runSick runs an application whose pollers are sick in one way each, and returns what it showed before and meanwhile.
func runSick(t *testing.T) recording {
	a, to := newApplication(t), newReceiver(t)
	ok := to.URL + "/ok"
	a.poller(t, "healthy", ok)
	a.poller(t, "down", "http://"+programtest.FreeAddress(t)+"/")
	a.poller(t, "forbidden", to.URL+"/forbid")
	a.poller(t, "stuck", ok)
	a.poller(t, "slow", ok, "source__cursor", "updated_at", "source__late_commits", "none", "batch_size", "5",
		"max_batches", "1")
	a.poller(t, "flooded", ok, "batch_size", "5", "max_batches", "1") // its cursor is no time
	a.poller(t, "leased", ok, "lease_ttl", "10s")
	a.poller(t, "refused", to.URL+"/picky", "retry_delays", "24h", "output__batch", "1")
	a.poller(t, "dead", to.URL+"/picky", "max_attempts", "1", "output__batch", "1")
	a.poller(t, "held", ok, "source__cursor", "updated_at", "source__late_commits", "overlap", "source__late_memory",
		"1000", "source__late_window", "1h")
	a.poller(t, "skipped", ok)
	a.poller(t, "moved", ok)
	a.poller(t, "nulls", ok, "source__cursor", "updated_at", "source__late_commits", "none")
	a.poller(t, "paused", ok)
	a.outbox(t, "events", to.URL+"/picky", "max_attempts", "1", "source__cleanup_schedule", "* * * * * *")
	a.outbox(t, "behind", "http://"+programtest.FreeAddress(t)+"/")
	a.outbox(t, "uncleanable", ok, "source__cleanup_schedule", "* * * * * *")

	execute(t, a.databases["nulls"], `INSERT INTO orders (note) VALUES ('no cursor')`)
	execute(t, a.databases["flooded"],
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) INSERT INTO orders (note) SELECT 'old' FROM n`)
	execute(t, a.databases["slow"], `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
		INSERT INTO orders (note, updated_at) SELECT 'old', strftime('%Y-%m-%d %H:%M:%f', 'now', '-2 hours', '+' || (i / 100.0) || ' seconds') FROM n`)
	a.write(t, "uncleanable", "old", `{}`)
	execute(t, a.databases["uncleanable"],
		`UPDATE outbox SET state = 'PUBLISHED', published_at = strftime('%Y-%m-%d %H:%M:%f', 'now', '-30 days')`)
	execute(t, a.databases["uncleanable"],
		`CREATE TRIGGER keep BEFORE DELETE ON outbox BEGIN SELECT RAISE(ABORT, 'nobody deletes here'); END`)

	// The documents of "stuck" and "moved" are of another definition of their sources. An operator moves the second one
	// on, in a process that has never had a tick of it that went well.
	for _, name := range []string{"stuck", "moved"} {
		where := "pollers__" + name + "__source__where"
		a.insert(t, name, "first")
		a.settings[where] = "id > 0"
		a.command(t, "run", "--once", name)
		delete(a.settings, where)
		a.insert(t, name, "second")
	}

	// "leased" is held by another instance, which is frozen while its request is under way.
	a.insert(t, "leased", "held by another")
	other := a.start(t, map[string]string{"status__listen": "127.0.0.1:0",
		"pollers__leased__output__url": to.URL + "/hang", "pollers__leased__output__timeout": "10m"}, "leased")
	other.Until("the other instance holds the lease", func() bool { return len(to.hanging) > 0 })

	a.start(t, nil)
	pollers := slices.Sorted(maps.Keys(a.databases))
	var r recording
	// A heartbeat is stale for five seconds at most, then the lease is taken over: a scrape that shows it is taken at
	// once.
	once := func(s scrape) bool { return stale(s) && !slices.ContainsFunc(r, stale) }
	for i := 0; i < scrapes || !slices.ContainsFunc(r, stale); i++ {
		if i > 5*scrapes {
			t.Fatal("the frozen instance's lease was never seen to be stale")
		}
		r.next(t, a.listen, pollers, once)
		a.insert(t, "healthy", fmt.Sprint("row ", i))
		switch i {
		case 0:
			a.command(t, "state", "pause", "paused", "--yes")
			a.insert(t, "refused", "good", "poison", "good")
			a.insert(t, "dead", "good", "poison", "good")
			a.insert(t, "down", "a row")
			a.insert(t, "forbidden", "more", "rows", "than", "a", "destination", "may", "refuse") // before that is an outage
			execute(t, a.databases["held"], `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
				INSERT INTO orders (note, updated_at) SELECT 'many', strftime('%Y-%m-%d %H:%M:%f', 'now', '-' || ((1500 - i) / 1000.0) || ' seconds') FROM n`)
			a.write(t, "events", "k1", `{"note":"poison"}`)
			a.write(t, "behind", "k1", `{"note":"a row"}`)
			other.Signal(syscall.SIGSTOP) // as a platform freezes an instance: it holds what it holds
		case 1:
			a.command(t, "state", "pause", "skipped", "--yes")
			a.insert(t, "skipped", "never sent", "never sent")
			a.command(t, "state", "reset", "skipped", "--to", "latest", "--yes")
			a.command(t, "state", "resume", "skipped", "--yes")
			a.command(t, "state", "reset", "moved", "--to", "latest", "--yes")
			a.command(t, "state", "accept-fingerprint", "moved", "--yes")
		}
		// Attempts count against an event only where others are accepted.
		a.insert(t, "refused", "good")
		a.insert(t, "dead", "good")
		a.write(t, "events", fmt.Sprint("good", i), `{"note":"good"}`)
	}
	rowsWait(t, a.listen)
	return r
}

// runHealthy runs an application that has nothing wrong, busy at first and then idle, and kills it in the end. gone
// goes on with scrapes of the process that is no more.
func runHealthy(t *testing.T) (healthy, gone recording) {
	a, to := newApplication(t), newReceiver(t)
	a.poller(t, "orders", to.URL+"/ok")
	a.poller(t, "stamped", to.URL+"/ok", "source__cursor", "updated_at", "source__late_commits", "overlap",
		"source__late_window", "1s")
	a.outbox(t, "events", to.URL+"/ok", "source__cleanup_schedule", "* * * * * *")
	p := a.start(t, nil)
	pollers := slices.Sorted(maps.Keys(a.databases))
	var r recording
	for i := range scrapes {
		r.next(t, a.listen, pollers, func(scrape) bool { return false })
		if i < scrapes/2 {
			a.insert(t, "orders", fmt.Sprint("row ", i), "another")
			a.insert(t, "stamped", fmt.Sprint("row ", i))
			a.write(t, "events", fmt.Sprint("k", i), `{"note":"good"}`)
		}
	}
	p.Kill()
	gone = slices.Clone(r)
	for range 10 {
		gone = append(gone, look(a.listen)) // nobody answers
	}
	return r, gone
}
