package poller

import (
	"time"

	"github.com/rowrelay/rowrelay/change"
)

// inFlight is a batch that is fetched and not settled.
type inFlight struct {
	grant    Grant
	sent     []change.Event // the batch's events as they are sent
	outcomes []Outcome
	// rejections says why, for each rejected event, by index; nil when there is none.
	rejections map[int]Rejection
	parks      bool   // an event was rejected or absorbed, and its order key counted in tick.parked
	open       int    // events without a final outcome in this tick
	gone       []bool // by index: events that a settlement was about before the others; nil while there was none
	left       int    // events of which that is not so
	over       bool   // settlements are about all of it
	bytes      int    // what its events hold
	begun      time.Time
	ended      time.Time
	drains     time.Time // no live row was left at this time, once the batch is settled; zero: that was not seen
}

// item is one event of a batch in flight.
type item struct {
	batch *inFlight
	index int    // in the batch
	key   uint64 // see lanes.hash
	// refused is when a request that held the event was first answered with a status in RejectStatus: see failure.since.
	refused uint64
	failed  bool  // a request that held it failed, and it is not known that another event is to blame
	next    *item // the next event of the same order key
	follows bool  // it is in the request of the event before it of its order key
}

// event is the item's as it is sent.
func (it *item) event() *change.Event { return &it.batch.sent[it.index] }
