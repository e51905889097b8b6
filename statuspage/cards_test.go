package statuspage

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/status"
)

// TestTheCardSaysWhy: whatever the sentence has that does not stand below it.
func TestTheCardSaysWhy(t *testing.T) {
	at := time.Date(2026, 11, 21, 20, 29, 0, 0, time.UTC)
	boom := &status.Problem{At: &at, Event: "handler_failed", Text: "boom <1>", Mend: "mend it"}
	for name, c := range map[string]struct {
		o         status.Output
		has, hasn []string
	}{
		"silent, and held back by nobody known": {
			status.Output{Health: status.Silent, Says: "host-1 held the lease and died",
				HeldBack: &status.HeldBack{Seconds: 60}},
			[]string{"host-1 held the lease and died", "Rows held back for 1 min<"}, []string{" by <b></b>"},
		},
		"failing partitions, and nothing since": {
			status.Output{Health: status.Failing, LastError: boom,
				Says: "Failing partitions: 3, 7. A tick failed (handler_failed) at 2026-11-21 20:29:00 UTC: boom <1>. No tick has been noted since"},
			[]string{"Failing partitions: 3, 7. A tick failed (handler_failed) at 2026-11-21 20:29:00 UTC. No tick has been noted since<", ">boom &lt;1&gt;<", "mend it"},
			[]string{"UTC: boom"},
		},
		"an old error, and another reason": {
			status.Output{Health: status.Silent, LastError: boom, Says: "nobody publishes"},
			[]string{"nobody publishes", "boom"},
			nil,
		},
		"blocked by what stands below": {
			status.Output{Health: status.Blocked, Says: "Rows have been held back for 1 min, by session 7",
				HeldBack: &status.HeldBack{Seconds: 60, By: "session 7"}},
			[]string{"Rows held back for 1 min by <b>session 7</b>"}, []string{`class="says">Rows have been held back`},
		},
		"blocked by what is parked": {
			status.Output{Health: status.Blocked, Says: "3 rows are parked, as many as max_parked allows"},
			[]string{"as many as max_parked allows"}, nil,
		},
		"paused, which stands below": {
			status.Output{Health: status.Paused, Says: "Paused by ann since noon", Pause: &status.Pause{At: &at, By: "ann"}},
			[]string{"by <b>ann</b>"}, []string{`class="says">Paused by ann since`},
		},
		"not read": {
			status.Output{Health: status.Unknown, Says: "Nothing wrong is known, but the dead letters could not be read"},
			[]string{`class="card unknown"`, "Nothing wrong is known, but"}, nil,
		},
		"noted a minute ago": {status.Output{Health: status.Healthy, NotedAt: &at},
			[]string{`<dt>Noted</dt><dd><time datetime="2026-11-21T20:29:00Z"`, ">1 min ago<"}, nil},
	} {
		d := newDesk(t, token)
		d.logIn()
		c.o.Poller = "orders"
		d.shop.report.Outputs = []status.Output{c.o}
		page := d.send("GET", "/status", "")
		d.wants(name, page, http.StatusOK, c.has...)
		for _, text := range c.hasn {
			if strings.Contains(page.text, text) {
				t.Errorf("%s: the page says %q", name, text)
			}
		}
	}
}

// TestAPageOfManyPollersIsSmall: it is asked for every ten seconds. Each poller alone is shown with all that is listed
// of it.
func TestAPageOfManyPollersIsSmall(t *testing.T) {
	const pollers = 200
	d := newDesk(t, token)
	d.logIn()
	letters := func(what string, i int) []status.Letter {
		var all []status.Letter
		for j := range status.MaxLetters {
			all = append(all, status.Letter{ID: fmt.Sprintf("%s-%d-%d", what, i, j), Key: fmt.Sprintf(`{"id":%d}`, j),
				Attempts: 5, Reason: strings.Repeat("r", 300), Blocked: true})
		}
		return all
	}
	d.shop.report.Outputs = nil
	for i := range pollers {
		d.shop.report.Outputs = append(d.shop.report.Outputs, status.Output{
			Poller: fmt.Sprintf("p%03d", i), Mode: "cursor", Source: "dbo.T", Kind: "http", Health: status.Parked,
			Says: "It works", DeadLetters: 5000, Parked: 5000,
			Letters: letters("dead", i), Entries: letters("parked", i),
		})
	}
	page := d.send("GET", "/status", "")
	d.wants("all", page, http.StatusOK, ">dead-0-49<", ">parked-0-49<", `<a href="status?poller=p001">p001 alone</a>`,
		`<a href="status?poller=p199">p199 alone</a>`)
	if n := strings.Count(page.text, "rrr</td>"); n != maxListed || strings.Contains(page.text, "p000 alone") ||
		len(page.text) > 1<<20 {
		t.Errorf("%d events are listed in %d bytes", n, len(page.text))
	}
	t.Logf("%d pollers take %d bytes", pollers, len(page.text))
	alone := d.send("GET", "/status?poller=p199", "")
	d.wants("one alone", alone, http.StatusOK, ">dead-199-49<", ">parked-199-49<", `<a href="status">All pollers</a>`,
		`href="status?poller=p199">Reload<`)
	if strings.Contains(alone.text, "p198") || strings.Contains(alone.text, "p199 alone") {
		t.Error("others are shown too")
	}
	d.wants("one that is listed nowhere can be replayed",
		d.send("GET", "/status?do=replay&poller=p199&letter=dead-199-49", ""), http.StatusOK, "dead-199-49")
	d.wants("nobody", d.send("GET", "/status?poller=nobody", ""), http.StatusOK,
		"There is no poller of the name <code>nobody</code>")
	hosted := get(t, View(Config{Reader: d.shop, Operator: d.shop}), "/api/status?code=k&poller=p199")
	d.wants("under the host", hosted, http.StatusOK, ">dead-199-49<", `<a href="status?code=k">All pollers</a>`)
}
