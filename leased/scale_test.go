package leased_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/inspect"
	"github.com/rowrelay/rowrelay/internal/boardtest"
	"github.com/rowrelay/rowrelay/internal/quick"
	"github.com/rowrelay/rowrelay/mode"
	"github.com/rowrelay/rowrelay/status"
)

// board is the report that `rowrelay status`, /status.json and /metrics are made of.
func (in *instance) board(perWorker int) *status.Board {
	return boardtest.Board(mode.Leased, inspect.Wired{Source: in.src, Leases: in.leases, Runs: true}, perWorker)
}

// TestScaleFigures: the figures of the binding's scaler, before the tables of leases are there, when they are, and
// while rows are leased or have failed: unprocessed changes, and one worker for each Sql_Trigger_MaxChangesPerWorker.
func TestScaleFigures(t *testing.T) {
	quick.Skip(t)
	for _, v := range []struct {
		changes, perWorker, workers int
	}{{0, 1000, 0}, {5, 1000, 1}, {30, 10, 3}, {100, 1000, 1}, {1080, 100, 11}, {4500, 1000, 5}, {6000, 1000, 6}} {
		synctest.Test(t, func(t *testing.T) {
			m := newServer()
			in := m.start(t, func(change.Event) error { return errDown })
			for n := range v.changes {
				m.commit(fmt.Sprintf("i %d 1", n+1))
			}
			check := func(when string) {
				t.Helper()
				time.Sleep(10 * time.Second) // nothing of an earlier report is shown again
				board := in.board(v.perWorker)
				for what, list := range map[string][]status.Output{"report": board.Report(t.Context()).Outputs,
					"metrics": board.Measured(t.Context())} {
					if len(list) != 1 || list[0].Scale == nil {
						t.Fatalf("%s, %s: %+v", when, what, list)
					}
					if s := list[0].Scale; s.Unprocessed != int64(v.changes) || s.TargetWorkers != int64(v.workers) {
						t.Errorf("%d changes, %s, %s: %d unprocessed make %d workers, want %d", v.changes, when, what,
							s.Unprocessed, s.TargetWorkers, v.workers)
					}
				}
			}
			check("without tables")
			in.tick()
			check("after a tick that delivered nothing")
			in.to = nil
			for m.from < m.Current {
				in.tick()
			}
			v.changes, v.workers = 0, 0
			check("when all is delivered")
		})
	}
}

// TestStatus: position, what failed and what was given up stand in the report.
func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newServer()
		in := m.start(t, func(e change.Event) error {
			if string(e.Key) == `{"id":2}` {
				return errBad
			}
			return nil
		})
		m.commit("i 1 1", "i 2 1")
		report := func() status.Output { return in.board(1000).Report(t.Context()).Outputs[0] }
		if o := report(); o.Health != status.New || o.Unread {
			t.Errorf("before the first tick: %s %s", o.Health, o.Says)
		}
		in.tick()
		if o := report(); o.Position != "0" || o.Parked != 1 || o.Scale.Unprocessed != 1 || o.Health != status.Parked {
			t.Errorf("a row failed: %+v", o)
		}
		for range 20 {
			time.Sleep(5 * time.Second)
			in.tick()
		}
		o := report()
		if o.Position != "1" || o.Parked != 0 || o.DeadLetters != 1 || len(o.Letters) != 1 || o.Letters[0].Key != "id=2" ||
			o.Letters[0].Attempts != 5 || !strings.Contains(o.Letters[0].Reason, "bad") {
			t.Errorf("a row was given up: %+v", o)
		}
	})
}
