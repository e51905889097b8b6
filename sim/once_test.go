package sim

import (
	"math/rand/v2"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/checkpointed/late"
)

// Nothing comes twice without a cause: in a run of the overlap mode in which nothing fails, nobody acts and no lease is
// lost, however late transactions commit, roll back or hold savepoints, and however many ticks and instances take
// turns.

// once draws such a run.
func (p *profile) once(*rand.Rand) {
	if p.Late != late.Overlap || p.Tracked {
		return
	}
	*p = profile{
		Steps: p.Steps, Patience: p.Patience, Instances: p.Instances, TTL: 2 * time.Minute, Margin: p.Margin,
		Budget: p.Budget, Timeout: time.Minute, Poll: p.Poll, Rows: p.Rows, RequestEvents: p.RequestEvents,
		Parallel: p.Parallel, Retries: p.Retries, MaxBatches: p.MaxBatches, Ordering: p.Ordering, Late: p.Late,
		Wait: p.Wait, Window: p.Window, LateLimit: p.LateLimit, LateMemory: p.LateMemory, Policy: p.Policy,
		Groups: p.Groups, Clock: p.Clock, LateCommit: p.LateCommit, Shown: p.Shown, Hot: p.Hot, Writers: p.Writers,
		Ordered: p.Ordered, InOrder: p.InOrder, Slowness: p.Slowness, Writes: p.Writes, Ticks: p.Ticks,
		Deletes: p.Deletes, Quiet: p.Quiet, MostBad: p.MostBad, Whole: p.Whole, Old: p.Old, Once: true,
	}
}

// repeated judges an event that was accepted before.
func (w *world) repeated(e *change.Event) {
	if w.pro.Once {
		w.fail("%s came twice, for no reason", w.id(e.ID))
	}
}
