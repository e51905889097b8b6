package sim

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rowrelay/rowrelay/checkpointed/late"
	"github.com/rowrelay/rowrelay/poller"
)

// dimension is a kind of fault or of table that runs can do without. Each is drawn by a source of chance of its own, so
// that one that is left out changes nothing of the others' profiles.
type dimension string

const (
	deletes dimension = "deletes" // rows are deleted, and some come back
	moves   dimension = "moves"   // rows change their order key
	limits  dimension = "limits"  // Retry-After of up to minutes, for one order key or for all
	crowd   dimension = "crowd"   // many rows are bad at a time
	quiet   dimension = "quiet"   // no new order keys once faults have stopped, or nothing new at all
	newest  dimension = "newest"  // the last row of a table that is quiet from then on is bad
	hang    dimension = "hang"    // the place for dead letters hangs, or is out of order for long
	whole   dimension = "whole"   // ordering=source is in order across keys
	jumps   dimension = "jumps"   // the database's clock jumps
	future  dimension = "future"  // rows are dated ahead of the database's clock
	changes dimension = "changes" // settings change between ticks
	replays dimension = "replays" // operators replay, purge and drop
	modes   dimension = "modes"   // late_commits changes between ticks, and an operator accepts it
	holds   dimension = "holds"   // rows that are dated ahead are held, or fail the tick, and are not delivered at once
	second  dimension = "second"  // the poller has a second output
	writers dimension = "writers" // rows tell which transaction wrote them; a restored database gives numbers again
	sieges  dimension = "sieges"  // one fault goes on, and others' rows must arrive meanwhile
	written dimension = "written" // rows that share an order key come in the order of their writes
	tracked dimension = "tracked" // changes are tracked, deletes are events
	busy    dimension = "busy"    // one order key has most of the rows
	once    dimension = "once"    // nothing goes wrong, and nothing may come twice
	old     dimension = "old"     // writers set times from before their transactions
	several dimension = "several" // requests hold several events of an order key, and batches grow
)

// dimensions are all of them.
var dimensions = []dimension{deletes, moves, limits, crowd, quiet, newest, hang, whole, jumps, future, changes, replays,
	modes, holds, second, writers, sieges, written, tracked, busy, once, old, several}

// pending are the dimensions that runs have only when DIMS names them, because the product breaks a promise there.
var pending = []dimension{}

// enabled are the dimensions of this process: those that are not pending; with DIMS=all all of them, with DIMS=none
// none, and with DIMS=a,b these. DIMS=+a adds a, DIMS=-a leaves a out.
var enabled = func() []dimension {
	on := slices.DeleteFunc(slices.Clone(dimensions), func(d dimension) bool { return slices.Contains(pending, d) })
	text := os.Getenv("DIMS")
	switch text {
	case "":
		return on
	case "all":
		return dimensions
	case "none":
		return nil
	}
	if text[0] != '+' && text[0] != '-' {
		on = nil
	}
	for name := range strings.SplitSeq(text, ",") {
		bare := dimension(strings.TrimLeft(name, "+-"))
		if !slices.Contains(dimensions, bare) {
			panic("DIMS: there is no dimension " + name)
		}
		on = slices.DeleteFunc(on, func(d dimension) bool { return d == bare })
		if name[0] != '-' {
			on = append(on, bare)
		}
	}
	return on
}()

// widen draws the dimensions of a seed's profile.
func (p *profile) widen(seed uint64) {
	with := func(d dimension, share float64, do func(r *rand.Rand)) {
		h := fnv.New64a()
		_, _ = h.Write([]byte(d)) // it never fails
		r := rand.New(rand.NewPCG(seed, h.Sum64()))
		if slices.Contains(enabled, d) && r.Float64() < share {
			do(r)
		}
	}
	with(deletes, 0.4, func(r *rand.Rand) { p.Deletes = 0.05 + 0.35*r.Float64() })
	with(moves, 0.5, func(r *rand.Rand) {
		p.Moves = 0.1 + 0.5*r.Float64()
		p.Groups, p.MostBad, p.StaysBad = max(p.Groups, 2+r.IntN(2)), 8, r.Float64()
		p.BadRow, p.SinkSlow = max(p.BadRow, 0.05+0.25*r.Float64()), max(p.SinkSlow, 0.3*r.Float64())
	})
	with(limits, 0.3, func(r *rand.Rand) { p.Limits = 0.02 + 0.1*r.Float64() })
	with(crowd, 0.2, func(r *rand.Rand) {
		p.MostBad, p.Policy.MaxParked = 4+r.IntN(40), 1000
		p.BadRow = 0.1 + 0.5*r.Float64()
	})
	with(quiet, 0.4, func(r *rand.Rand) { p.Quiet = sameKeys + silence(r.IntN(2)) })
	with(newest, 0.5, func(*rand.Rand) { p.Newest = p.BadRow > 0 })
	with(whole, 1, func(r *rand.Rand) {
		p.Whole = true
		if r.IntN(12) == 0 {
			p.Ordering, p.Policy.Block = poller.OrderSource, false
		}
	})
	with(jumps, 0.3, func(r *rand.Rand) {
		// Rows that are ahead of the clock since it fell have half of the memory: in a tiny one they wait until their time
		// comes.
		p.LateMemory = 1000
		p.Jumps, p.Jump = 0.02+0.1*r.Float64(), []time.Duration{time.Second, p.Window, 2 * time.Hour}[r.IntN(3)]
	})
	with(future, 0.3, func(r *rand.Rand) {
		p.Future, p.Ahead = 0.02+0.2*r.Float64(), []time.Duration{p.Window, 10 * p.Window, 8760 * time.Hour}[r.IntN(3)]
		p.LateMemory = 1000
	})
	with(changes, 0.3, func(r *rand.Rand) { p.Settings = 0.02 + 0.2*r.Float64() })
	with(replays, 0.4, func(r *rand.Rand) {
		p.Replays, p.Human = 0.3+0.4*r.Float64(), max(p.Human, 0.1+0.3*r.Float64())
		p.BadRow = max(p.BadRow, 0.05+0.2*r.Float64())
	})
	with(modes, 0.2, func(r *rand.Rand) {
		if !p.Windows && len(p.modesOf()) > 1 { // positions of another kind are another source
			p.Modes = 0.02 + 0.1*r.Float64()
		}
	})
	with(holds, 0.5, func(r *rand.Rand) {
		if p.Future > 0 {
			p.FutureRows = []late.FutureRows{late.FutureHold, late.FutureFail}[r.IntN(2)]
		}
	})
	with(second, 0.15, func(*rand.Rand) { p.Second = true })
	with(writers, 0.5, func(r *rand.Rand) {
		if p.Writers = p.Late == late.Overlap; p.Writers && r.IntN(3) == 0 {
			p.Restore, p.Human = max(p.Restore, 0.3), max(p.Human, 0.1)
		}
	})
	with(sieges, 0.25, func(*rand.Rand) { p.Siege = true })
	with(hang, 0.3, func(r *rand.Rand) {
		p.LetterHang = 0.1 + 0.5*r.Float64()
		if r.IntN(3) == 0 {
			p.LetterOutages = 0.05 + 0.1*r.Float64()
		}
	})
	with(written, 0.7, p.order)
	with(tracked, 0.25, p.tracking)
	with(busy, 0.3, p.crowd)
	with(old, 0.4, func(*rand.Rand) {
		// The window begins when such a time is drawn. See table.longest.
		if p.Clock && p.Late == late.Overlap && !p.Shown && !p.InOrder && p.Jumps == 0 {
			p.Old = p.Window * 15 / 100
		}
	})
	with(several, 0.3, func(r *rand.Rand) {
		p.Rows, p.RequestEvents = 2+r.IntN(9), 2+r.IntN(5)
		p.KeyEvents, p.FetchMost = 1+r.IntN(p.RequestEvents), p.Rows*(1+r.IntN(4))
		p.Groups, p.BadRow = 1+r.IntN(3), max(p.BadRow, 0.1*r.Float64())
		p.SinkFail = max(p.SinkFail, 0.2*r.Float64())
	})
	with(once, 0.15, p.once)
}

// silence says what is written once faults have stopped.
type silence uint8

const (
	newKeys    silence = iota // rows of new order keys, now and then
	sameKeys                  // rows of order keys that are known, now and then
	nothingNew                // nothing
)

// longestLimit is how long the receiver asks at most to be left alone.
const longestLimit = 5 * time.Minute
