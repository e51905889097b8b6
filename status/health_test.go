package status

import (
	"strings"
	"testing"
	"time"
)

// TestHealth: the first rule that fits decides, the worst first.
func TestHealth(t *testing.T) {
	now := time.Date(2026, 4, 7, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) *time.Time { at := now.Add(-d); return &at }
	number := func(n int64) *int64 { return &n }
	seconds := func(s float64) *float64 { return &s }
	failed := func(d time.Duration) *Note {
		return &Note{At: *ago(d), Event: "fetch_failed", Failed: true,
			LastError: &Problem{At: ago(d), Event: "fetch_failed", Text: "login denied"}}
	}
	const limit = 5 * time.Minute
	told := &Note{At: *ago(30 * time.Second), SilentAfter: 60}
	held := []Lease{{Held: true}}
	silentFailure := failed(time.Hour)
	silentFailure.SilentAfter = 60
	for name, c := range map[string]struct {
		o    Output
		f    facts
		want Health
		says string
	}{
		"never ran": {Output{}, facts{}, New, "never run"},
		"idle": {Output{LastSuccess: ago(time.Hour)}, facts{exists: true, note: told, limit: limit}, Healthy,
			"No failure is noted since the success at 2026-04-07 11:00:00 UTC"},
		"idle, by own ticks": {Output{LastSuccess: ago(time.Second)},
			facts{exists: true, note: told, own: ago(time.Second), good: *ago(time.Second), limit: limit}, Healthy,
			"succeeded at 2026-04-07 11:59:59"},
		"an outbox with work": {Output{Mode: "outbox", Pending: number(3)},
			facts{exists: true, note: told, limit: limit}, Healthy, "3 pending"},
		"an outbox with much": {Output{Mode: "outbox", Pending: number(100), CountedTo: 100},
			facts{exists: true, note: told}, Healthy, "at least 100 pending"},
		"an idle outbox": {Output{Mode: "outbox", Pending: number(0), LagSeconds: seconds(0)},
			facts{exists: true, note: told, limit: limit}, Healthy, "No failure is noted"},
		"a fault": {Output{Pause: &Pause{By: "ann"}, Problems: []Problem{{Text: "schedule: nonsense"}}},
			facts{faults: 1}, Failing, "1 fault: schedule: nonsense"},
		"a fault of all": {Output{}, facts{exists: true, shared: []Problem{{Text: "state__kind: unknown"}}}, Failing,
			"all pollers have 1 fault: state__kind: unknown"},
		"without a store": {Output{Mode: "outbox", Pending: number(3)}, facts{exists: true, alone: true}, Unknown,
			"only the process that ticks knows"},
		"without a store, at work": {Output{Mode: "outbox", Pending: number(3), LagSeconds: seconds(10), Owners: held},
			facts{exists: true, alone: true}, Healthy, "3 pending"},
		"without a store, at work in vain": {
			Output{Mode: "outbox", Pending: number(3), LagSeconds: seconds(600), Owners: held},
			facts{exists: true, alone: true}, Unknown, "has waited for 10 min; whether publishing fails"},
		"faults": {Output{Problems: []Problem{{Text: "a"}, {Text: "b"}}}, facts{faults: 2}, Failing,
			"2 faults: a"},
		"a dead store": {Output{Problems: []Problem{{Text: "no answer"}}}, facts{unread: true}, Failing,
			"cannot be read: no answer"},
		"failed": {Output{Parked: 1}, facts{exists: true, note: failed(time.Second), limit: limit}, Failing,
			"(fetch_failed) at 2026-04-07 11:59:59 UTC: login denied"},
		"failed for a reason": {Output{}, facts{exists: true, limit: limit, note: &Note{At: now, Event: "handler_failed", Failed: true,
			LastError: &Problem{At: &now, Event: "handler_failed", Reason: "not_found", Text: "404"}}}, Failing,
			"The last tick failed (handler_failed, not_found) at 2026-04-07 12:00:00 UTC: 404"},
		"failed long ago": {Output{SilentSince: ago(time.Hour)},
			facts{exists: true, note: silentFailure, limit: limit}, Failing, "No tick has given a sign of life since"},
		"failed, then paused": {Output{Pause: &Pause{At: ago(time.Minute), By: "ann"}},
			facts{exists: true, note: failed(2 * time.Minute)}, Paused, "Paused by ann since 2026-04-07 11:59:00 UTC"},
		"paused, then failed": {Output{Pause: &Pause{At: ago(2 * time.Minute), By: "ann"}},
			facts{exists: true, note: failed(time.Minute)}, Failing, "login denied"},
		"paused at no time": {Output{Pause: &Pause{By: "an operator"}}, facts{exists: true, note: failed(time.Minute)},
			Paused, "Paused by an operator"},
		"an error of before": {Output{LastError: &Problem{Text: "x"}},
			facts{exists: true, note: &Note{At: now, LastError: &Problem{Text: "x"}}}, Healthy, ""},
		"a dead holder": {Output{Lease: &Lease{Holder: "host-1", HeartbeatSeconds: 600}},
			facts{exists: true, limit: limit}, Silent, "host-1 held the lease and died"},
		"a dead holder, at once": {Output{Lease: &Lease{Holder: "host-1", HeartbeatSeconds: 60}},
			facts{exists: true, note: told, limit: limit}, Healthy, ""},
		"no schedule known": {Output{Lease: &Lease{Holder: "host-1", HeartbeatSeconds: 6000}},
			facts{exists: true, note: told}, Healthy, ""},
		"silence of our own": {Output{}, facts{exists: true, good: *ago(time.Hour), limit: limit}, Silent,
			"No tick of this process has ended well since 2026-04-07 11:00:00"},
		"a long tick": {Output{Lease: &Lease{Holder: "host-1", Held: true}},
			facts{exists: true, good: *ago(time.Hour), limit: limit}, Healthy, ""},
		"no sign of life for long": {Output{SilentSince: ago(time.Hour)},
			facts{exists: true, note: &Note{At: *ago(time.Hour), SilentAfter: 60}}, Silent,
			"Silent since 2026-04-07 11:00:00 UTC: ticks leave a sign of life each minute, and it is missing for 1 h 0 min"},
		"no sign of life of a tick at work": {Output{SilentSince: ago(time.Hour), Lease: &Lease{Holder: "host-1", Held: true}},
			facts{exists: true, note: &Note{At: *ago(time.Hour), SilentAfter: 60}}, Healthy, ""},
		"no sign of life of a paused one": {Output{SilentSince: ago(time.Hour), Pause: &Pause{By: "ann"}},
			facts{exists: true, note: &Note{At: *ago(time.Hour), SilentAfter: 60}}, Paused, "Paused by ann. Silent since"},
		"no sign of life was ever left": {Output{}, facts{exists: true, limit: limit}, Unknown, "whether anybody ticks"},
		"run --once": {Output{LastSuccess: ago(time.Hour)}, facts{exists: true, note: &Note{At: *ago(time.Hour)}}, Healthy,
			"when the next tick is due is not known"},
		"nobody publishes": {Output{Mode: "outbox", Pending: number(9), LagSeconds: seconds(600)},
			facts{exists: true, limit: limit}, Silent, "nobody publishes"},
		"somebody publishes": {Output{Mode: "outbox", Pending: number(9), LagSeconds: seconds(600),
			Owners: []Lease{{Held: true}}}, facts{exists: true, limit: limit}, Healthy, "9 pending"},
		"paused is not stale": {Output{Mode: "outbox", Pending: number(9), LagSeconds: seconds(600),
			Pause: &Pause{By: "ann"}}, facts{exists: true, limit: limit}, Paused, "ann"},
		"held back": {Output{HeldBack: &HeldBack{Seconds: 90, By: "session 7"}, Parked: 1}, facts{exists: true},
			Blocked, "held back for 1 min, by session 7"},
		"parked to the brim": {Output{Parked: 2, Waiting: 1, MaxParked: 3, Pause: &Pause{By: "ann"}}, facts{exists: true},
			Blocked, "3 rows are parked, as many as max_parked allows"},
		"parked": {Output{Parked: 2, Waiting: 1, MaxParked: 4, DeadLetters: 1}, facts{exists: true}, Parked,
			"2 parked, 1 waiting behind them, 1 dead letter"},
		"dead letters": {Output{DeadLetters: 2}, facts{exists: true}, DeadLettered, "2 dead letters"},
		"an outbox that failed": {Output{Mode: "outbox", Parked: 7, CountedTo: 7, Pending: number(1)}, facts{exists: true},
			Parked, "at least 7 failed"},
		"paused, and parked": {Output{Parked: 1, Pause: &Pause{By: "ann"}}, facts{exists: true}, Paused, "ann"},
	} {
		t.Run(name, func(t *testing.T) {
			c.f.now = now
			got, says := judge(&c.o, &c.f)
			if got != c.want || !strings.Contains(says, c.says) || says == "" {
				t.Errorf("%s: %s; want %s: …%s…", got, says, c.want, c.says)
			}
		})
	}
}
