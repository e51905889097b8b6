package sim

import (
	"math/rand/v2"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
)

// profile says which faults a run has and how often, and how its poller is set: some runs are calm but for one kind of
// fault, some are wild. Weights are relative to those in world.step; the others are probabilities of one call.
type profile struct {
	Steps    int
	Patience time.Duration // until everything must have arrived, once faults have stopped

	// The poller's settings.
	Instances                     int
	TTL, Margin, Budget, Timeout  time.Duration
	Poll                          time.Duration
	Rows, RequestEvents, Parallel int
	Retries, MaxBatches           int
	KeyEvents, FetchMost          int // of one order key in a request; what Rows grows to
	Ordering                      poller.Ordering
	Late                          late.Mode
	Wait                          bool
	Window, LateLimit             time.Duration
	LateMemory                    int
	Policy                        poller.Policy

	// The table.
	Groups     int           // order keys that several rows share; 0: each row is its own
	Clock      bool          // the cursor is the time at which a transaction began, instead of a number for each write
	LateCommit bool          // transactions stay open over several steps
	Windows    bool          // it is read by snapshots: positions are windows between two of them
	Shown      bool          // the server shows the oldest open transaction
	Hot        bool          // one row is updated again and again
	Writers    bool          // rows tell which transaction wrote them
	Ordered    bool          // the source reads rows again in one snapshot
	InOrder    bool          // the order of writes is judged
	Once       bool          // nothing may come twice
	Old        time.Duration // before its transaction an application may draw a time
	Busy       float64       // that a new row is of the first order key

	// Change tracking (see tracking).
	Tracked  bool
	Shared   bool    // the rows of a transaction share one version
	Snapshot bool    // the poller begins with the whole table
	Before   int     // rows that were there before changes were recorded
	Keys     int     // that there are: others come again
	Resync   bool    // where changes are missing the whole table is read again
	Purges   float64 // weight of a purge

	// Weights of what happens besides calls.
	Slowness, Leaps, Writes, Ticks, Crashes, Freezes, Outages, ClockFaults, Human float64
	// Probabilities of what a call meets.
	CrashAtCall                                        float64
	StoreFail, StoreLost, StoreLate, StoreSlow         float64
	SourceFail, SourceSlow                             float64
	SinkFail, SinkLost, SinkLate, SinkSlow, SinkSilent float64
	LetterFail, LetterLost                             float64
	BadRow                                             float64 // that a new row version is one that the sink refuses
	Restore                                            float64 // that the database is restored, when an operator acts

	// What widen draws.
	Deletes, Moves float64 // that an update is one
	Limits         float64 // that a new row version limits the rate of its order key
	MostBad        int     // rows at a time
	StaysBad       float64 // that a row which is refused is refused in its next version too
	Quiet          silence
	Newest         bool          // the last row of all is bad
	LetterHang     float64       // that a dead letter gets no answer
	LetterOutages  float64       // weight of the beginning and the end of one
	Settings       float64       // weight of a change of settings
	Jumps          float64       // weight of a jump of the database's clock
	Jump           time.Duration // at most
	Future         float64       // that a row is dated ahead of the database's clock
	Ahead          time.Duration // at most
	Replays        float64       // that a command is about dead letters or parked events
	Whole          bool          // under ordering=source the order of all events is checked, and not each key's alone
	Modes          float64       // weight of a change of late_commits
	FutureRows     late.FutureRows
	Second         bool // a second output
	Siege          bool // in the end one fault goes on while others' rows must arrive
}

// falls reports whether the position may go back: to a clock that was set back, or before a row that is dated ahead.
func (p *profile) falls() bool { return p.Clock && p.Jumps+p.Future > 0 }

// draw makes the profile of a seed.
func draw(r *rand.Rand) profile {
	pick := func(p, low, high float64) float64 {
		if r.Float64() >= p {
			return 0
		}
		return low + r.Float64()*(high-low)
	}
	p := profile{
		MostBad: mostBad,
		Steps:   80 + r.IntN(320), Patience: 20 * time.Minute,
		Instances: 1 + r.IntN(3),
		TTL:       []time.Duration{15 * time.Second, 30 * time.Second, time.Minute}[r.IntN(3)],
		Budget:    []time.Duration{10 * time.Second, 20 * time.Second, 50 * time.Second}[r.IntN(3)],
		Timeout:   []time.Duration{3 * time.Second, 10 * time.Second}[r.IntN(2)],
		Rows:      1 + r.IntN(5), RequestEvents: 1 + r.IntN(4), Parallel: 1 + r.IntN(4), Retries: 1 + r.IntN(3),
		Ordering: poller.OrderKey,
		Late:     late.None,
		Window:   20 * time.Second, LateLimit: 10 * time.Second, LateMemory: 1000,
		Policy: poller.Policy{
			MaxAttempts: 2 + r.IntN(3), MaxParked: 4 + r.IntN(20),
			Delays: []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute},
		},
		Slowness: 0.2 + 2*r.Float64(), Leaps: pick(0.5, 0.02, 0.3), Writes: 1 + 2*r.Float64(), Ticks: 1,
		Crashes: pick(0.4, 0.02, 0.2), Freezes: pick(0.4, 0.02, 0.15), Outages: pick(0.4, 0.05, 0.2),
		CrashAtCall: pick(0.5, 0.005, 0.05),
		StoreFail:   pick(0.5, 0.02, 0.25), StoreLost: pick(0.5, 0.02, 0.2), StoreLate: pick(0.4, 0.02, 0.15),
		StoreSlow:  pick(0.5, 0.02, 0.2),
		SourceFail: pick(0.3, 0.02, 0.1), SourceSlow: pick(0.4, 0.02, 0.2),
		SinkFail: pick(0.5, 0.02, 0.2), SinkLost: pick(0.5, 0.02, 0.2), SinkLate: pick(0.5, 0.02, 0.2),
		SinkSlow:   pick(0.5, 0.05, 0.3),
		SinkSilent: pick(0.3, 0.01, 0.1),
	}
	if r.IntN(4) == 0 {
		p.Margin = p.TTL / 10
	}
	if r.IntN(3) == 0 {
		p.Poll = 700 * time.Millisecond
	}
	if r.IntN(4) == 0 {
		p.MaxBatches = 1 + r.IntN(3)
	}
	if r.IntN(3) == 0 {
		p.Groups = 1 + r.IntN(3)
	}
	p.Clock = r.IntN(4) == 0
	switch r.IntN(5) {
	case 0, 1:
		p.Late, p.LateCommit, p.Clock = late.Overlap, true, r.IntN(2) == 0
	case 2, 3:
		p.Late, p.LateCommit, p.Clock = late.Exact, true, false
		p.Wait = r.IntN(4) == 0
		p.Windows = r.IntN(2) == 0
	}
	p.Shown = r.IntN(2) == 0
	if r.IntN(4) == 0 {
		p.LateMemory = 4 + r.IntN(20)
	}
	p.Human, p.Restore = pick(0.4, 0.05, 0.3), pick(0.3, 0.1, 0.5)
	p.BadRow = pick(0.5, 0.01, 0.15)
	p.LetterFail, p.LetterLost = pick(0.4, 0.1, 0.4), pick(0.4, 0.1, 0.4)
	switch r.IntN(12) {
	case 0:
		p.Ordering = poller.OrderNone
	case 1:
		p.Ordering = poller.OrderSource
	}
	if p.Ordering != poller.OrderSource && r.IntN(10) == 0 {
		p.Policy.Block, p.Policy.MaxParked = true, 1000
	}
	p.Hot = r.IntN(4) == 0
	p.ClockFaults = pick(0.15, 0.02, 0.1)
	return p
}
