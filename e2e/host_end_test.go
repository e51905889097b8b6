package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/e2e/fakehost"
	"github.com/rowrelay/rowrelay/internal/testfile"
)

// startHostAs starts the fake host with more options.
func startHostAs(t *testing.T, o fakehost.Options) *fakehost.Host {
	t.Helper()
	o.Settings = withSchedules(o.Settings)
	host, err := fakehost.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	return host
}

// TestTrap7AskedToStopItIsStartedAnew: a host of either rule has a worker again after SIGTERM, and the next tick
// delivers.
func TestTrap7AskedToStopItIsStartedAnew(t *testing.T) {
	t.Parallel()
	for name, newer := range map[string]bool{"0 is the end": false, "0 is a restart": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := newSink(t)
			s, db := sqliteShop(t, to.URL, 2)
			host := startHostAs(t, fakehost.Options{Root: functionApp(t, s), Settings: s, ZeroRestarts: newer})
			must(t, host, "orders")
			for n := range 4 { // more than the host forgives of any other code
				if code, err := host.Terminate(t.Context()); code != 200 || err != nil {
					t.Fatalf("exit code %d, %v\n%s", code, err, transcript(host))
				}
				if err := host.WaitRestarts(t.Context(), n+1); err != nil {
					t.Fatalf("no worker after SIGTERM: %v", err)
				}
			}
			execute(t, db, `INSERT INTO orders (version, status) VALUES (3, 'new')`)
			must(t, host, "orders")
			if n, _ := to.count(); n != 3 {
				t.Errorf("%d events, want 3", n)
			}
		})
	}
}

// TestAskedToStopItDoesNotWaitForTheDestination: under the host there are seconds only. What was accepted is
// committed, the lease is given back, and the request that hangs costs no event an attempt.
func TestAskedToStopItDoesNotWaitForTheDestination(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*fakehost.Host, context.Context) (int, error){
		"SIGTERM": (*fakehost.Host).Terminate, "Ctrl-C": (*fakehost.Host).Interrupt,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := newSink(t)
			s, _ := sqliteShop(t, to.URL, 6)
			s = s.with(settings{
				"pollers__orders__output__batch": "1", "pollers__orders__concurrency": "1",
				"pollers__orders__output__timeout": "3m", "pollers__orders__output__retries": "1",
				"pollers__orders__tick_budget": "20s", "pollers__orders__lease_ttl": "5m",
			})
			reached, release := holdThird(t, to)
			root := functionApp(t, s)
			host := startHost(t, root, s)
			done := make(chan fakehost.Result, 1)
			go func() { done <- host.Invoke(t.Context(), "orders") }()
			<-reached
			bounded, cancel := context.WithTimeout(t.Context(), time.Minute) // a third of output__timeout
			defer cancel()
			code, err := stop(host, bounded)
			release()
			<-done
			if code != 200 || err != nil {
				t.Fatalf("exit code %d, %v\n%s", code, err, transcript(host))
			}
			if lines := failures(host, "orders"); len(lines) > 0 {
				t.Errorf("a stop is no failure of the receiver: %s", lines)
			}
			if owner, parked := holding(t, root, s); owner != "" || parked != 0 {
				t.Errorf("after the end %q holds the lease, and %d events are parked\n%s", owner, parked, transcript(host))
			}
			next := startHost(t, root, s)
			must(t, next, "orders") // no lease stands in the way
			if n, repeated := to.count(); n != 6 || repeated != 0 {
				t.Errorf("%d events, %d of them twice", n, repeated)
			}
			to.assertOrder("version")
		})
	}
}

// holding returns who owns the lease of orders, and how many events are parked.
func holding(t *testing.T, root string, s settings) (owner string, parked int) {
	t.Helper()
	out := stdout(t, root, s, "state", "show", "orders", "--json")
	var doc struct {
		Owner  string
		Parked []json.RawMessage
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Owner, len(doc.Parked)
}

// TestTheStateOfTheFirstTickDisturbsNobody: the host starts anew when a directory appears beside host.json, so that
// of the state is made with the functions.
func TestTheStateOfTheFirstTickDisturbsNobody(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 3)
	s = s.with(settings{"state__path": ""}) // .rowrelay
	root := functionApp(t, s)
	host := startHost(t, root, s)
	for range 2 {
		must(t, host, "orders")
	}
	if host.JobHosts() != 1 || host.Restarts() != 0 {
		t.Errorf("%d JobHosts and %d restarts\n%s", host.JobHosts(), host.Restarts(), transcript(host))
	}
	if n, _ := to.count(); n != 3 {
		t.Errorf("%d events", n)
	}
}

// TestAPollerNamedHostIsRefused where functions are written and checked; alone it works.
func TestAPollerNamedHostIsRefused(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 2)
	named := s.renamed("host")
	root := functionApp(t, s)
	_, errs, err := command(t, root, named, "functions")
	if err == nil || !strings.Contains(errs, "refuses a function named host") {
		t.Errorf("functions: %v\n%s", err, errs)
	}
	out, _, err := command(t, root, named, "check")
	if err == nil || !strings.Contains(out, "refuses a function named host") {
		t.Errorf("check: %v\n%s", err, out)
	}
	if out, errs, err := command(t, t.TempDir(), named, "run", "--once"); err != nil {
		t.Errorf("run: %v\n%s%s", err, out, errs)
	}
	if n, _ := to.count(); n != 2 {
		t.Errorf("%d events", n)
	}
}

// TestTrap8ItsOrphanEnds: the host itself is killed in the middle of a tick. Its worker, whom nobody would invoke or
// end any more, commits what was accepted, gives the lease back, and ends.
func TestTrap8ItsOrphanEnds(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, _ := sqliteShop(t, to.URL, 6)
	s = s.with(settings{
		"pollers__orders__output__batch": "1", "pollers__orders__concurrency": "1", "pollers__orders__output__timeout": "3m",
		"pollers__orders__tick_budget": "20s", "pollers__orders__lease_ttl": "5m", "log__level": "debug",
	})
	reached, release := holdThird(t, to)
	root := functionApp(t, s)
	process, worker := hostProcess(t, root, s)
	<-reached
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, "the orphan to end", func() bool { return !alive(worker) })
	release()
	if owner, parked := holding(t, root, s); owner != "" || parked != 0 {
		t.Errorf("the orphan has left the lease with %q, and %d events parked", owner, parked)
	}
	must(t, startHost(t, root, s), "orders")
	if n, repeated := to.count(); n != 6 || repeated != 0 {
		t.Errorf("%d events, %d of them twice", n, repeated)
	}
	to.assertOrder("version")
}

// TestUnderARetryPolicy: the templates have none, but somebody may add one. Each attempt is a tick under one
// invocation id, and the log tells them apart.
func TestUnderARetryPolicy(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	failures := 8 // more than one tick asks for
	to.decide(func(w http.ResponseWriter, _ []cloudEvent) bool {
		if failures--; failures >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return false
		}
		return true
	})
	s, _ := sqliteShop(t, to.URL, 1)
	s["pollers__orders__output__retries"] = "1"
	root := functionApp(t, s)
	path := filepath.Join(root, "orders", "function.json")
	text := testfile.Read(t, path)
	with := strings.Replace(string(text), "{",
		`{"retry":{"strategy":"fixedDelay","maxRetryCount":9,"delayInterval":"00:00:00"},`, 1)
	testfile.Write(t, path, with)
	host := startHost(t, root, s)
	r := host.Invoke(t.Context(), "orders")
	if !r.Succeeded || r.Attempts < 2 {
		t.Fatalf("%+v\n%s", r, transcript(host))
	}
	last := fmt.Sprintf(`"retry_count":%d,"max_retry_count":9`, r.Attempts-1)
	until(t, "the last attempt to be told as such", func() bool { return strings.Contains(transcript(host), last) })
	if text := transcript(host); strings.Contains(text, `"retry_count":0`) {
		t.Errorf("the first attempt is told as a repetition:\n%s", text)
	}
	if n, repeated := to.count(); n != 1 || repeated != 0 {
		t.Errorf("%d events, %d twice", n, repeated)
	}
}

// TestCalledByHand: POST /admin/functions/orders runs a tick like the timer's.
func TestCalledByHand(t *testing.T) {
	t.Parallel()
	to := newSink(t)
	s, db := sqliteShop(t, to.URL, 0)
	host, front := startFront(t, functionApp(t, s), s)
	for n, body := range []string{`{}`, `{"input":""}`, `{"input":"{\"IsPastDue\":true}"}`} {
		execute(t, db, `INSERT INTO orders (version, status) VALUES (?, 'new')`, n+1)
		if code, said := ask(t, http.MethodPost, front+"/admin/functions/orders", body, "x-functions-key", hostKeys.Master,
			"Content-Type", "application/json"); code != http.StatusAccepted {
			t.Fatalf("%s: %d %s", body, code, said)
		}
		if _, err := host.AwaitLine(t.Context(), func(fakehost.Line) bool {
			return strings.Count(transcript(host), "tick complete") == n+1
		}); err != nil {
			t.Fatal(err)
		}
		if got, _ := to.count(); got != n+1 {
			t.Errorf("%s: %d events", body, got)
		}
	}
}
