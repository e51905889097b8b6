package production

import (
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/inspect"
)

func TestTimeItems(t *testing.T) { try(t, timeCases()) }

func timeCases() []verdictCase {
	polls := []string{"pollers__orders__poll_interval=1s"}
	gap := func(d time.Duration) func(*inspect.App, *inspect.Poller) {
		return func(_ *inspect.App, p *inspect.Poller) { p.Timer.Gap = d }
	}
	never := func(_ *inspect.App, p *inspect.Poller) { p.Timer.Fires = false }
	unread := func(_ *inspect.App, p *inspect.Poller) {
		p.Broken, p.Timer.Gap = "the poller has a fault: see settings", 0
	}
	ends := func(d time.Duration) func(*inspect.App, *inspect.Poller) {
		return both(hosted, func(f *inspect.App, _ *inspect.Poller) { f.Host.Timeout = d })
	}
	return []verdictCase{
		{"budget", nil, nil, NoMatter, ""},
		{"budget", nil, hosted, OK, "functionTimeout 5m"},
		{"budget", nil, ends(0), OK, "functionTimeout unbounded"},
		{"budget", nil, ends(time.Minute), ToMend, "functionTimeout 1m0s"},
		{"budget", []string{"pollers__orders__tick_budget=5m"}, hosted, ToMend, "not below"},
		{"timeouts", nil, nil, OK, ""},
		{"timeouts", []string{"pollers__orders__source__timeout=2m"}, nil, ToMend, "2m"},
		{"timeouts", []string{"pollers__orders__output__timeout=50s"}, nil, ToMend, "50s"},
		{"lease", nil, nil, OK, "lease_ttl=1m bears 40s"},
		{"lease", nil, func(_ *inspect.App, p *inspect.Poller) { p.Margin = 4 * time.Second }, OK, "bears 36s"},
		{"lease", nil, func(_ *inspect.App, p *inspect.Poller) { p.Margin = 35 * time.Second }, ToMend, "for 5s"},
		{"lease", []string{"pollers__orders__lease_ttl=10s"}, nil, ToMend, "10s"},
		{"lease", []string{"pollers__orders__lease_ttl=30m"}, nil, ToMend, "crash"},
		{"lease", []string{"pollers__orders__output__timeout=60s"}, nil, ToMend, "one request"},
		{"lease", []string{outboxMode}, nil, OK, "source__claim_ttl"},
		{"lease", []string{outboxMode, "pollers__orders__source__claim_ttl=5s"}, nil, ToMend, "source__claim_ttl"},
		{"schedule", nil, nil, OK, "*/10"},
		{"schedule", nil, never, ToMend, "never fires"},
		{"schedule", nil, unread, CannotTell, "has a fault"},
		{"schedule", polls, hosted, OK, ""},
		{"schedule", polls, both(hosted, gap(time.Minute)), ToMend, "nobody polls"},
		{"schedule", polls, gap(time.Minute), OK, ""}, // `rowrelay run` begins the next tick at once
		{"lag", nil, nil, OK, "10s"},
		{"lag", nil, gap(time.Hour), ToMend, "1h0m0s"},
		{"lag", nil, never, ToMend, "no tick"},
		{"lag", nil, unread, CannotTell, "has a fault"},
	}
}

func TestPlain(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", time.Hour: "1h", 156 * time.Second: "2m36s",
		10 * time.Minute: "10m", time.Hour + time.Second: "1h0m1s"} {
		if got := inspect.Plain(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}
