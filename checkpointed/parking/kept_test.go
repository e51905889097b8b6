package parking

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/poller"
)

// letters keeps dead letters, and fails now and then.
type letters struct {
	rnd  *rand.Rand
	kept int
}

func (l *letters) Put(context.Context, poller.DeadLetter) error {
	if l.rnd.IntN(4) == 0 {
		return errors.New("away")
	}
	l.kept++
	return nil
}

// parkedIn counts each row that an update holds, as a head or a follower.
func parkedIn(u *Update) map[string]int {
	rows := map[string]int{}
	for _, e := range u.entries {
		rows[string(e.Key)]++
		for _, f := range e.Followers {
			rows[string(f)]++
		}
	}
	return rows
}

// TestParkedRowsLeaveByTheirOwnOutcomeOnly: whatever is settled in whatever order, a row that is parked stays so
// until it is accepted by its own retry, given up, or gone. What is refused or absorbed is parked afterwards, or was
// superseded by its own row.
func TestParkedRowsLeaveByTheirOwnOutcomeOnly(t *testing.T) {
	for seed := range quick.Runs[uint64](300, 30) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 11))
			kept := &letters{rnd: rnd}
			u := New(Config{Ordering: poller.OrderKey, DeadLetters: kept, Policy: poller.Policy{
				MaxAttempts: 1 + rnd.IntN(3), Delays: []time.Duration{time.Second}, Block: rnd.IntN(4) == 0,
				MaxParked: []int{3, 1000}[rnd.IntN(2)],
			}}).Update(t.Context())
			u.lot.coarse = true
			var attempts []attempt // as they were handed out, some of them long ago
			var owners []string
			for step := range 200 {
				for key, e := range u.entries {
					attempts, owners = append(attempts, attempt{key, e.attempt}), append(owners, string(e.Key))
				}
				event := change.Event{
					ID: fmt.Sprint("event", step), Cursor: change.Cursor(fmt.Sprintf(`{"kind":"value","value":%d}`, step)),
					Key:      fmt.Appendf(nil, `{"id":%d}`, 1+rnd.IntN(4)),
					OrderKey: fmt.Appendf(nil, `{"tenant":%d}`, rnd.IntN(3)),
				}
				before, given := parkedIn(u), kept.kept
				left := "" // the row that this step may take out
				why := poller.Rejection{Cause: poller.Refused, Reason: "bad", At: time.Now()}
				parks := false
				var at attempt
				if len(attempts) > 0 {
					n := len(attempts) - 1 - rnd.IntN(min(len(attempts), 8))
					at, left = attempts[n], owners[n]
				}
				what, kind := rnd.IntN(5), []change.Kind{change.Live, change.Backfill}[rnd.IntN(2)]
				where := fmt.Sprintf("seed %d, step %d (%d)", seed, step, what)
				switch {
				case what < 2 || at.orderKey == "":
					left = string(event.Key)
					parks = u.rejected(t.Context(), event.OrderKey, &event, kind, why)
				case what == 2:
					parks = u.absorbed(event.OrderKey, &event, kind)
					left = ""
				case what == 3:
					event.Key, event.OrderKey = []byte(left), []byte(at.orderKey)
					outcome := []poller.Outcome{poller.Accepted, poller.Rejected}[rnd.IntN(2)]
					u.retried(t.Context(), at, event.OrderKey, &event, outcome, why)
				case rnd.IntN(2) == 0:
					event.Key = []byte(left)
					u.Leave(&Retries{moved: []moved{{at, &event}}})
					left = ""
				default:
					u.Leave(&Retries{gone: []gone{{attempt: at}}})
				}
				after := parkedIn(u)
				for key := range before {
					if after[key] == 0 && key != left {
						t.Fatalf("%s: %s has left, and nothing was settled about it", where, key)
					}
				}
				if parks && kept.kept == given && after[string(event.Key)] == 0 {
					t.Fatalf("%s: %s is settled, and neither parked nor given up", where, event.Key)
				}
				count := 0
				for _, n := range after {
					count += n
				}
				if count != u.count {
					t.Fatalf("%s: %d rows are counted, %d are parked", where, u.count, count)
				}
			}
		})
	}
}

// TestRetryOfTheWaitedEvent: ordering=source waited at a row, and its retry is on its way when the row is refused at
// its place. Then the retry is refused, too: the row is parked once, under its own order key.
func TestRetryOfTheWaitedEvent(t *testing.T) {
	lot := New(Config{Ordering: poller.OrderKey, Policy: poller.Policy{
		MaxAttempts: 9, MaxParked: 10, Delays: []time.Duration{time.Second}}})
	u := lot.Update(t.Context())
	event := change.Event{ID: "1", Cursor: change.Cursor(`{"kind":"value","value":1}`), Key: []byte(`{"id":1}`),
		OrderKey: []byte(`{"id":1}`)}
	why := poller.Rejection{Cause: poller.Refused, Reason: "bad", At: time.Now()}
	waited := u.park([]byte(sourceKey), &event)
	underWay := attempt{sourceKey, waited.attempt}
	u.rejected(t.Context(), event.OrderKey, &event, change.Live, why)
	u.retried(t.Context(), underWay, event.OrderKey, &event, poller.Rejected, why)
	if e := u.entries[string(event.OrderKey)]; len(u.entries) != 1 || e == nil || e.Attempts != 2 || u.count != 1 {
		t.Errorf("%d entries, %d rows: %+v", len(u.entries), u.count, e)
	}
}
