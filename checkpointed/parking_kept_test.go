package checkpointed

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/poller"
)

// parkedIn counts each row that a draft holds, as a head or behind one.
func parkedIn(d *draft) map[string]int {
	rows := map[string]int{}
	for _, e := range d.entries {
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
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 11))
			s := newShop()
			s.describe.Coarse = true
			p := newProcess(t, nil, s, func(c *Config) {
				c.Policy.MaxAttempts, c.Policy.Block = 1+rnd.IntN(3), rnd.IntN(4) == 0
				c.Policy.MaxParked = []int{3, 1000}[rnd.IntN(2)]
			})
			p.graves.put = func(poller.DeadLetter) error {
				if rnd.IntN(4) == 0 {
					return errors.New("away")
				}
				return nil
			}
			l := p.open().newTally(nil)
			var turns []turn // as they were handed out, some of them long ago
			var owners []string
			for step := range 200 {
				for key, e := range l.draft.entries {
					turns, owners = append(turns, turn{key, e.turn}), append(owners, string(e.Key))
				}
				row := 1 + rnd.IntN(4)
				s.put(row, fmt.Sprint("t", rnd.IntN(3)), "new")
				event := s.event(s.rows[row])
				before, buried := parkedIn(l.draft), len(l.letters)
				left := "" // the row that this step may take out
				why := poller.Rejection{Cause: poller.Refused, Reason: "bad", At: time.Now()}
				parks := false
				var at turn
				if len(turns) > 0 {
					n := len(turns) - 1 - rnd.IntN(min(len(turns), 8))
					at, left = turns[n], owners[n]
				}
				what := rnd.IntN(5)
				where := fmt.Sprintf("seed %d, step %d (%d)", seed, step, what)
				switch {
				case what < 2 || at.orderKey == "":
					left = string(event.Key)
					parks = l.rejected(t.Context(), event.OrderKey, &event, why)
				case what == 2:
					parks = l.absorbed(event.OrderKey, &event)
					left = ""
				case what == 3:
					event.Key, event.OrderKey = []byte(left), []byte(at.orderKey)
					l.retried(t.Context(), at, &event, []poller.Outcome{poller.Accepted, poller.Rejected}[rnd.IntN(2)], why)
				case rnd.IntN(2) == 0:
					event.Key = []byte(left)
					l.begin(&note{moved: []moved{{at, &event}}})
					left = ""
				default:
					l.begin(&note{gone: []gone{{turn: at}}})
				}
				after := parkedIn(l.draft)
				for key := range before {
					if after[key] == 0 && key != left {
						t.Fatalf("%s: %s has left, and nothing was settled about it", where, key)
					}
				}
				if parks && len(l.letters) == buried && after[string(event.Key)] == 0 {
					t.Fatalf("%s: %s is settled, and neither parked nor given up", where, event.Key)
				}
				count := 0
				for _, n := range after {
					count += n
				}
				if count != l.draft.count {
					t.Fatalf("%s: %d rows are counted, %d are parked", where, l.draft.count, count)
				}
			}
		})
	}
}
