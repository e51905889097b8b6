package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"testing"

	"github.com/rowrelay/rowrelay/e2e/fakehost"
)

// TestStateFailsBeforeTheCommit: the state cannot be written any more once the receiver has accepted events. The tick
// fails, the position stays, and after the mend nothing is missing: what nobody acknowledged comes at least once.
func TestStateFailsBeforeTheCommit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stall func(*testing.T, string) *stall
		ttl   string
		// ready returns what breaks and mends the state under a running host, and the settings that lead there.
		ready func(t *testing.T, s *stall) (more settings, breakIt, mend func(*fakehost.Host))
	}{
		"full disk": {sqliteStall, "10s",
			func(t *testing.T, _ *stall) (settings, func(*fakehost.Host), func(*fakehost.Host)) {
				return nil, limitTo(t, "0:"), limitTo(t, "unlimited:")
			}},
		"access denied": {postgresStall, "10s",
			func(t *testing.T, s *stall) (settings, func(*fakehost.Host), func(*fakehost.Host)) {
				storage, through := countStorage(t, s.settings["AzureWebJobsStorage"])
				return settings{".AzureWebJobsStorage": through}, func(*fakehost.Host) {
					storage.broken.Store(403)
				}, func(*fakehost.Host) { storage.broken.Store(0) }
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for the end of a lease
			to := newSink(t)
			s := c.stall(t, to.URL)
			s.add(1, 4)
			more, breakIt, mend := c.ready(t, s)
			set := s.withOwn(more).with(settings{s.own("lease_ttl"): c.ttl})
			host := startHost(t, functionApp(t, s.settings), set)
			must(t, host, s.poller)
			s.add(4, 7)
			before := positions(t, s.documents())
			to.decide(func(http.ResponseWriter, []cloudEvent) bool {
				breakIt(host)
				return true
			})
			line := readLine(t, mustFail(t, host, s.poller))
			if line.Event != "commit_failed" && line.Event != "lost_lease" {
				t.Errorf("got %s", line)
			}
			t.Log(line)
			if is := positions(t, s.documents()); !maps.Equal(before, is) {
				t.Errorf("the position moved: %s", is)
			}
			if n, _ := to.count(); n != 6 {
				t.Fatalf("%d events were accepted, want 6", n)
			}
			to.decide(nil)
			mend(host)
			s.add(7, 10)
			until(t, "the events after them", func() bool {
				must(t, host, s.poller) // nothing, until the lease that could not be given back has expired
				n, _ := to.count()
				return n == 9
			})
			for v, times := range to.column("version") {
				// The process may know that its last events have arrived, although that is not stored.
				if most := map[bool]int{true: 2, false: 1}[v >= "4" && v <= "6"]; times > most {
					t.Errorf("version %s came %d times", v, times)
				}
			}
			if err := host.Stopped(); err != nil || host.Restarts() > 0 {
				t.Errorf("the process did not go on: %v, %d restarts", err, host.Restarts())
			}
		})
	}
}

// limitTo sets the size of the largest file that the worker may write, as soft and hard limit.
func limitTo(t *testing.T, fsize string) func(*fakehost.Host) {
	return func(host *fakehost.Host) {
		if out, err := exec.Command("prlimit", "--pid", fmt.Sprint(host.PID()),
			"--fsize="+fsize).CombinedOutput(); err != nil {
			t.Errorf("prlimit: %v: %s", err, out)
		}
	}
}
